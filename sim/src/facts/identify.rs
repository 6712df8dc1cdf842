//! The data of Identify (NVMe base specification), as offsets in bytes from the start of each structure.

use super::Bits;

/// CNS of a namespace.
pub const CNS_NAMESPACE: u32 = 0x00;
/// CNS of the controller.
pub const CNS_CONTROLLER: u32 = 0x01;
/// CNS of the identifiers of active namespaces.
pub const CNS_ACTIVE: u32 = 0x02;
/// CNS of the identification descriptors of a namespace.
pub const CNS_DESCRIPTORS: u32 = 0x03;
/// CNS of what a namespace is whatever its command set (NVMe 2.0).
pub const CNS_INDEPENDENT: u32 = 0x08;
/// Bytes of a structure.
pub const BYTES: usize = 4096;

/// Controller: PCI vendor, 2 bytes.
pub const VID: usize = 0;
/// Controller: PCI subsystem vendor, 2 bytes.
pub const SSVID: usize = 2;
/// Controller: serial number, 20 characters.
pub const SN: usize = 4;
/// Controller: model, 40 characters.
pub const MN: usize = 24;
/// Controller: firmware revision, 8 characters.
pub const FR: usize = 64;
/// Controller: arbitration burst.
pub const RAB: usize = 72;
/// Controller: IEEE OUI, 3 bytes.
pub const IEEE: usize = 73;
/// Controller: multi-path.
pub const CMIC: usize = 76;
/// Controller: largest transfer, 2^n least pages; 0 is none.
pub const MDTS: usize = 77;
/// Controller: its number, 2 bytes.
pub const CNTLID: usize = 78;
/// Controller: version, 4 bytes.
pub const VER: usize = 80;
/// Controller: time to resume, 4 bytes.
pub const RTD3R: usize = 84;
/// Controller: time to go down, 4 bytes.
pub const RTD3E: usize = 88;
/// Controller: asynchronous events, 4 bytes.
pub const OAES: usize = 92;
/// Controller: what follows the events.
pub const CTRATT: usize = 96;
/// Controller: optional admin commands, 2 bytes.
pub const OACS: usize = 256;
/// Controller: aborts at once, less one.
pub const ACL: usize = 258;
/// Controller: asynchronous event requests at once, less one.
pub const AERL: usize = 259;
/// Controller: firmware updates.
pub const FRMW: usize = 260;
/// Controller: log pages.
pub const LPA: usize = 261;
/// Controller: entries of the error log, less one.
pub const ELPE: usize = 262;
/// Controller: power states, less one.
pub const NPSS: usize = 263;
/// Controller: sizes of submission entries, least 3:0, largest 7:4.
pub const SQES: usize = 512;
/// Controller: sizes of completion entries, the same way.
pub const CQES: usize = 513;
/// Controller: most commands, 2 bytes.
pub const MAXCMD: usize = 514;
/// Controller: namespaces, 4 bytes.
pub const NN: usize = 516;
/// Controller: optional NVM commands, 2 bytes.
pub const ONCS: usize = 520;
/// Controller: fused commands, 2 bytes.
pub const FUSES: usize = 522;
/// Controller: format.
pub const FNA: usize = 524;
/// Controller: volatile write cache.
pub const VWC: usize = 525;
/// Controller: atomic write unit, 2 bytes.
pub const AWUN: usize = 526;
/// Controller: atomic write unit over a power failure, 2 bytes: blocks, less one.
pub const AWUPF: usize = 528;

/// Namespace: blocks that can be addressed, 8 bytes.
pub const NSZE: usize = 0;
/// Namespace: blocks that can be allocated, 8 bytes.
pub const NCAP: usize = 8;
/// Namespace: blocks in use, 8 bytes.
pub const NUSE: usize = 16;
/// Namespace: features.
pub const NSFEAT: usize = 24;
/// Namespace: formats, less one.
pub const NLBAF: usize = 25;
/// Namespace: the format in use.
pub const FLBAS: usize = 26;
/// Namespace: metadata.
pub const MC: usize = 27;
/// Namespace: protection that is possible.
pub const DPC: usize = 28;
/// Namespace: protection that is on.
pub const DPS: usize = 29;
/// Namespace: sharing.
pub const NMIC: usize = 30;
/// Namespace: reservations. Not in the reference's table; it follows NMIC in the specification.
pub const RESCAP: usize = 31;
/// Namespace: what deallocated blocks read as, 2:0, and whether Write Zeroes may deallocate, 3.
pub const DLFEAT: usize = 33;
/// Namespace: attributes, of which bit 0 is write protected. Not in the reference's table.
pub const NSATTR: usize = 99;
/// Namespace: NGUID, 16 bytes.
pub const NGUID: usize = 104;
/// Namespace: EUI64, 8 bytes.
pub const EUI64: usize = 120;
/// Namespace: formats, 4 bytes each.
pub const LBAF: usize = 128;
/// Namespace: where the vendor's own begins; Apple's type of the namespace, 4 bytes (QEMU models, macOS' log strings).
pub const NSTYPE: usize = 384;

/// What a namespace is whatever its command set: its features. Its content is not in the reference.
pub const INDEPENDENT_NSFEAT: usize = 0;
/// NSFEAT there: the namespace has no volatile write cache (Linux' `NVME_NS_VWC_NOT_PRESENT`).
pub const INDEPENDENT_NO_CACHE: Bits = Bits::one(5);

/// Format: bytes of metadata, 2 bytes.
pub const LBAF_MS: usize = 0;
/// Format: log2 of a block.
pub const LBAF_LBADS: usize = 2;
/// Format: relative performance.
pub const LBAF_RP: usize = 3;

/// OACS: doorbell buffer config.
pub const OACS_DOORBELL_BUFFER: u32 = 1 << 8;
/// ONCS: compare.
pub const ONCS_COMPARE: u32 = 1 << 0;
/// ONCS: dataset management.
pub const ONCS_DATASET: u32 = 1 << 2;
/// ONCS: write zeroes.
pub const ONCS_WRITE_ZEROES: u32 = 1 << 3;
/// ONCS: save and select of features.
pub const ONCS_SELECT: u32 = 1 << 4;
/// ONCS: verify.
pub const ONCS_VERIFY: u32 = 1 << 7;
/// LPA: log of the effects of commands.
pub const LPA_EFFECTS: u8 = 1 << 1;
/// LPA: offsets into logs.
pub const LPA_OFFSETS: u8 = 1 << 2;
/// OAES: notices of changed namespaces.
pub const OAES_NAMESPACES: u32 = 1 << 8;
/// DLFEAT: deallocated blocks read as zero.
pub const DLFEAT_ZEROES: u8 = 1;
/// DLFEAT: write zeroes deallocates where it is asked to.
pub const DLFEAT_WRITE_ZEROES: u8 = 1 << 3;
/// NSATTR: write protected.
pub const NSATTR_PROTECTED: u8 = 1;
/// VWC: behaviour of a flush of all namespaces, from this bit on.
pub const VWC_BROADCAST: Bits = Bits::at(2, 1);
/// VWC: a flush of all namespaces is refused.
pub const BROADCAST_REFUSED: u32 = 2;
/// Descriptor: bytes before its data.
pub const DESCRIPTOR_HEAD: usize = 4;
/// Descriptor: EUI64.
pub const DESCRIPTOR_EUI64: u8 = 1;
/// Descriptor: command set.
pub const DESCRIPTOR_COMMAND_SET: u8 = 4;
/// Command set: zoned.
pub const COMMAND_SET_ZONED: u8 = 2;
