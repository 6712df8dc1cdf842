//! Physical region pages: how a command names its memory (NVMe base specification, chapter 4).

use hal::{DmaPool, DmaRegion};

use crate::spec::PAGE_SHIFT;

/// The page size that CC.MPS selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    shift: u32,
}

impl PageSize {
    /// 4 KiB.
    pub const SMALLEST: Self = Self { shift: PAGE_SHIFT };

    /// 2^(12 + `exponent`) bytes, as CC.MPS and CAP count; up to 64 KiB. More is no page that a host would give away for each
    /// list.
    pub const fn new(exponent: u32) -> Option<Self> {
        if exponent <= 4 { Some(Self { shift: PAGE_SHIFT + exponent }) } else { None }
    }

    /// The value of CC.MPS.
    pub const fn exponent(self) -> u32 {
        self.shift - PAGE_SHIFT
    }

    /// The size in bytes.
    pub const fn bytes(self) -> usize {
        1 << self.shift
    }

    /// Bits of an address within a page.
    const fn mask(self) -> u64 {
        self.bytes() as u64 - 1
    }

    /// Entries of one page of a list.
    const fn entries(self) -> usize {
        self.bytes() / 8
    }

    /// Pages that `length` bytes touch when they start `offset` bytes into a page.
    pub const fn touched(self, offset: usize, length: usize) -> usize {
        (offset + length + self.bytes() - 1) >> self.shift
    }

    /// Pages of list that a transfer of `length` bytes may need, wherever in a page it starts; at least one.
    ///
    /// A list page that is not the last gives its last entry to the pointer to the next, so it holds one entry less.
    pub const fn list_pages(self, length: usize) -> usize {
        let entries = length.div_ceil(self.bytes());
        if entries <= self.entries() { 1 } else { (entries - 1).div_ceil(self.entries() - 1) }
    }
}

/// The two entries in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prps {
    /// The first byte of the data.
    pub first: u64,
    /// Zero, the second page, or the first page of a list.
    pub second: u64,
}

/// Names `length` bytes at device address `address`, which are contiguous, using `list` from byte `offset` on for what does
/// not fit the command.
///
/// `offset` is a multiple of the page size and there are [`PageSize::list_pages`] pages from there on, or entries are lost;
/// `length` is not zero. The caller publishes the list with the command.
#[inline(always)]
pub fn describe<P: DmaPool>(page: PageSize, address: u64, length: usize, list: &DmaRegion<P>, offset: usize) -> Prps {
    let within = address & page.mask();
    // Within a page of at most 64 KiB.
    let count = page.touched((within & 0xffff) as usize, length);
    if count <= 1 {
        return Prps { first: address, second: 0 };
    }
    let second = address - within + page.bytes() as u64;
    if count == 2 {
        return Prps { first: address, second };
    }
    fill(page, second, count - 1, list, offset);
    Prps { first: address, second: list.address() + offset as u64 }
}

/// Writes a list that names `count` pages from `address` on.
#[inline(never)]
fn fill<P: DmaPool>(page: PageSize, mut address: u64, count: usize, list: &DmaRegion<P>, offset: usize) {
    // Entries go out in blocks: writing device memory word by word would cost a call for each.
    const BLOCK: usize = 32;
    let base = list.address() + offset as u64;
    let last = page.entries() - 1;
    let mut remaining = count;
    let mut slot = 0;
    while remaining > 0 {
        let mut block = [0u64; BLOCK];
        let start = slot;
        for entry in &mut block {
            if remaining == 0 {
                break;
            }
            if slot & last == last && remaining > 1 {
                // The last slot of a page points to the next page, but only if more than one entry remains.
                *entry = base + (slot as u64 + 1) * 8;
            } else {
                *entry = address;
                address += page.bytes() as u64;
                remaining -= 1;
            }
            slot += 1;
        }
        list.write(offset + start * 8, &block);
    }
}
