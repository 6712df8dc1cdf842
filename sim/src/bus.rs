//! Where the blocks of a T8103 are, and what the bus says where none is.

use std::fmt;

/// An external abort: the bus has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusFault {
    /// The address of the access.
    pub address: u64,
    /// Why.
    pub reason: BusFaultReason,
}

/// Why the bus gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusFaultReason {
    /// No block is there.
    Hole,
    /// The block's power domain is off.
    Gated,
    /// The access is not aligned to its size, or not of a size that the block takes.
    Size,
}

impl fmt::Display for BusFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self.reason {
            BusFaultReason::Hole => "no block is there",
            BusFaultReason::Gated => "its power domain is off",
            BusFaultReason::Size => "wrong size or alignment",
        };
        write!(f, "external abort at {:#x}: {reason}", self.address)
    }
}

impl std::error::Error for BusFault {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Uart,
    Aic,
    Pmgr,
    PmgrMini,
    Watchdog,
    Asc,
    Mailbox,
    Sart,
    Nvme,
}

/// Where the blocks are (AsahiLinux memory map, Linux t8103.dtsi).
pub(crate) const BLOCKS: [(Block, &str, u64, u64); 9] = [
    (Block::Uart, "uart", 0x2_3520_0000, 0x4000),
    (Block::Aic, "aic", 0x2_3b10_0000, 0xc000),
    (Block::Pmgr, "pmgr", 0x2_3b70_0000, 0x1_4000),
    (Block::PmgrMini, "pmgr-mini", 0x2_3d28_0000, 0x4000),
    (Block::Watchdog, "wdt", 0x2_3d2b_0000, 0x4000),
    (Block::Asc, "asc", 0x2_7740_0000, 0x4000),
    (Block::Mailbox, "mailbox", 0x2_7740_8000, 0x4000),
    (Block::Sart, "sart", 0x2_7bc5_0000, 0x1_0000),
    (Block::Nvme, "nvme", 0x2_7bcc_0000, 0x4_0000),
];
