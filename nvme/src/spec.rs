//! Facts of the NVMe base specification (1.3 and 1.4): no behaviour.

pub mod command;
pub mod identify;
pub mod registers;
pub mod status;

/// The page size that CC.MPS = 0 selects, in bytes. ANS is driven with it although its processors use 16 KiB pages
/// (Linux apple.c, m1n1, U-Boot).
pub const PAGE: usize = 4096;
