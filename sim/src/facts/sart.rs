//! SART versions 2 and 3 (Linux sart.c, m1n1 sart.c, U-Boot sart.c, which agree).

use super::Bits;

/// Windows in the list.
pub const ENTRIES: usize = 16;
/// Bytes between the words of two neighbours in an array.
pub const STRIDE: u64 = 4;
/// The array of configurations: flags, and in version 2 the size.
pub const CONFIG: u64 = 0x00;
/// The array of addresses, in pages.
pub const PADDR: u64 = 0x40;
/// Version 3: the array of sizes, in pages.
pub const SIZE: u64 = 0x80;

/// Version 2, CONFIG: flags.
pub const V2_FLAGS: Bits = Bits::at(31, 24);
/// Version 2, CONFIG: size in pages.
pub const V2_SIZE: Bits = Bits::at(23, 0);
/// Version 3, CONFIG: flags.
pub const V3_FLAGS: Bits = Bits::at(7, 0);
/// Version 3, SIZE: size in pages.
pub const V3_SIZE: Bits = Bits::at(29, 0);

/// The flags of an open window. 0 is an unused one.
pub const ALLOW: u32 = 0xff;
/// log2 of a page: 4 KiB.
pub const PAGE_SHIFT: u32 = 12;
/// Bits of an address, version 2.
pub const V2_ADDRESS_WIDTH: u32 = 36;
/// Bits of an address, version 3.
pub const V3_ADDRESS_WIDTH: u32 = 42;
