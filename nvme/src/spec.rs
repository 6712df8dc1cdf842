//! Facts of the NVMe base specification (1.3 and 1.4): no behaviour.

pub mod command;
pub mod identify;
pub mod log;
pub mod registers;
pub mod status;

/// log2 of the smallest page that there is, in bytes: the one that CC.MPS = 0 selects. ANS is driven with it although its
/// processors use 16 KiB pages (Linux apple.c, m1n1, U-Boot).
pub const PAGE_SHIFT: u32 = 12;
/// The bytes of that page.
pub const PAGE: usize = 1 << PAGE_SHIFT;
