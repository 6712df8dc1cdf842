//! Physical region pages: how a command names its memory (NVMe base specification, chapter 4).

use hal::{DmaPool, DmaRegion};

use crate::spec::PAGE;

/// Entries of one page of a list.
const ENTRIES: usize = PAGE / 8;

/// The two entries in a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prps {
    /// The first byte of the data.
    pub first: u64,
    /// Zero, the second page, or the first page of a list.
    pub second: u64,
}

/// Pages that `length` bytes touch when they start `offset` bytes into a page.
pub const fn pages(offset: usize, length: usize) -> usize {
    (offset + length).div_ceil(PAGE)
}

/// Pages of list that a transfer of `length` bytes may need, wherever in a page it starts; at least one.
///
/// A list page that is not the last gives its last entry to the pointer to the next, so it holds one entry less.
pub const fn list_pages(length: usize) -> usize {
    let entries = length.div_ceil(PAGE);
    if entries <= ENTRIES { 1 } else { (entries - 1).div_ceil(ENTRIES - 1) }
}

/// Names `length` bytes at device address `address`, which are contiguous, using `list` from byte `offset` on for what does
/// not fit the command.
///
/// `offset` is a multiple of the page size and there are [`list_pages`] pages from there on, or entries are lost; `length`
/// is not zero. The caller publishes the list with the command.
#[inline(always)]
pub fn describe<P: DmaPool>(address: u64, length: usize, list: &DmaRegion<P>, offset: usize) -> Prps {
    let within = usize::from((address & 0xfff) as u16);
    let count = pages(within, length);
    if count <= 1 {
        return Prps { first: address, second: 0 };
    }
    let second = address - within as u64 + PAGE as u64;
    if count == 2 {
        return Prps { first: address, second };
    }
    fill(second, count - 1, list, offset);
    Prps { first: address, second: list.address() + offset as u64 }
}

/// Writes a list that names `count` pages from `page` on.
#[inline(never)]
fn fill<P: DmaPool>(mut page: u64, count: usize, list: &DmaRegion<P>, offset: usize) {
    // Entries go out in blocks: writing device memory word by word would cost a call for each.
    const BLOCK: usize = 32;
    let base = list.address() + offset as u64;
    let mut remaining = count;
    let mut slot = 0;
    while remaining > 0 {
        let mut block = [0u64; BLOCK];
        let start = slot;
        for entry in &mut block {
            if remaining == 0 {
                break;
            }
            if slot % ENTRIES == ENTRIES - 1 && remaining > 1 {
                // The last slot of a page points to the next page, but only if more than one entry remains.
                *entry = base + (slot as u64 + 1) * 8;
            } else {
                *entry = page;
                page += PAGE as u64;
                remaining -= 1;
            }
            slot += 1;
        }
        list.write(offset + start * 8, &block);
    }
}
