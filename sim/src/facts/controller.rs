//! The standard registers of a controller (NVMe base specification).

use super::Bits;

/// Capabilities, 64 bits.
pub const CAP: u64 = 0x00;
/// Version.
pub const VS: u64 = 0x08;
/// Interrupt mask set.
pub const INTMS: u64 = 0x0c;
/// Interrupt mask clear.
pub const INTMC: u64 = 0x10;
/// Configuration.
pub const CC: u64 = 0x14;
/// Status.
pub const CSTS: u64 = 0x1c;
/// Subsystem reset.
pub const NSSR: u64 = 0x20;
/// Sizes of the admin queues.
pub const AQA: u64 = 0x24;
/// Base of the admin submission queue, 64 bits.
pub const ASQ: u64 = 0x28;
/// Base of the admin completion queue, 64 bits.
pub const ACQ: u64 = 0x30;
/// Controller memory buffer: place.
pub const CMBLOC: u64 = 0x38;
/// Controller memory buffer: size.
pub const CMBSZ: u64 = 0x3c;
/// Doorbells: tail of submission queue y at 2y, head of completion queue y at 2y + 1 times the stride of 4 << CAP.DSTRD.
pub const DOORBELLS: u64 = 0x1000;
/// Doorbell: tail of the admin submission ring.
pub const ADMIN_SQ_TAIL: u64 = 0x1000;
/// Doorbell: head of the admin completion ring.
pub const ADMIN_CQ_HEAD: u64 = 0x1004;
/// Doorbell: tail of submission ring 1.
pub const IO_SQ_TAIL: u64 = 0x1008;
/// Doorbell: head of completion ring 1.
pub const IO_CQ_HEAD: u64 = 0x100c;

/// CAP: most entries of a queue, less one.
pub const CAP_MQES: Bits = Bits::at(15, 0);
/// CAP: queues in one piece only.
pub const CAP_CQR: Bits = Bits::one(16);
/// CAP: time for RDY to follow EN, in units of 500 ms.
pub const CAP_TO: Bits = Bits::at(31, 24);
/// CAP: 4 << n bytes between doorbells.
pub const CAP_DSTRD: Bits = Bits::at(35, 32);
/// CAP: command sets, of which the lowest bit is NVM's.
pub const CAP_CSS: Bits = Bits::at(44, 37);
/// CAP: least page, 2^(12 + n).
pub const CAP_MPSMIN: Bits = Bits::at(51, 48);
/// CAP: largest page, 2^(12 + n).
pub const CAP_MPSMAX: Bits = Bits::at(55, 52);

/// CC: enable.
pub const CC_EN: Bits = Bits::one(0);
/// CC: command set, 0 = NVM.
pub const CC_CSS: Bits = Bits::at(6, 4);
/// CC: page, 2^(12 + n).
pub const CC_MPS: Bits = Bits::at(10, 7);
/// CC: arbitration, 0 = round robin.
pub const CC_AMS: Bits = Bits::at(13, 11);
/// CC: notice of a shutdown.
pub const CC_SHN: Bits = Bits::at(15, 14);
/// CC: log2 of a submission entry.
pub const CC_IOSQES: Bits = Bits::at(19, 16);
/// CC: log2 of a completion entry.
pub const CC_IOCQES: Bits = Bits::at(23, 20);
/// CC.SHN: none.
pub const SHN_NONE: u32 = 0;
/// CC.SHN: normal.
pub const SHN_NORMAL: u32 = 1;
/// CC.SHN: abrupt.
pub const SHN_ABRUPT: u32 = 2;
/// CC.IOSQES of entries of 64 bytes.
pub const IOSQES: u32 = 6;
/// CC.IOCQES of entries of 16 bytes.
pub const IOCQES: u32 = 4;

/// CSTS: ready.
pub const CSTS_RDY: Bits = Bits::one(0);
/// CSTS: fatal.
pub const CSTS_CFS: Bits = Bits::one(1);
/// CSTS: how far a shutdown is.
pub const CSTS_SHST: Bits = Bits::at(3, 2);
/// CSTS.SHST: none.
pub const SHST_NONE: u32 = 0;
/// CSTS.SHST: under way.
pub const SHST_IN_PROGRESS: u32 = 1;
/// CSTS.SHST: done.
pub const SHST_COMPLETE: u32 = 2;

/// AQA: entries of the submission queue, less one.
pub const AQA_ASQS: Bits = Bits::at(11, 0);
/// AQA: entries of the completion queue, less one.
pub const AQA_ACQS: Bits = Bits::at(27, 16);

/// What a register of a device that is gone reads as.
pub const GONE: u32 = 0xffff_ffff;
/// The page of CC.MPS = 0, which every driver of ANS uses although the CPU's pages have 16 KiB.
pub const PAGE: u64 = 4096;
