//! Base address registers: what they ask for (PCI Local Bus 3.0, 6.2.5.1).

use super::problem::Reason;
use super::space::Space;
use super::spec::BASE_ADDRESSES;
use crate::Mmio;

/// Bit 0: an I/O address.
const IO: u32 = 1;
/// Bits 2:1: the kind of memory address. 1 and 3 are reserved.
const KIND: u32 = 0b11 << 1;
const WIDE: u32 = 0b10 << 1;
/// Bit 3: reading has no side effects.
const PREFETCHABLE: u32 = 1 << 3;
/// The bits of a memory register that are no address.
const FLAGS: u32 = 0xf;

/// What a base address register asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Nothing: there is no such register.
    Nothing,
    /// I/O addresses.
    InputOutput,
    /// Memory.
    Memory {
        /// The bytes, a power of two of at least 16.
        size: u64,
        /// The address has 64 bits, and the next register holds the upper ones.
        wide: bool,
        /// Reading has no side effects.
        prefetchable: bool,
    },
}

/// Register `index` of one function, which has `count`.
pub(super) struct Bar<'s, M> {
    pub(super) space: &'s Space<M>,
    pub(super) index: u8,
    pub(super) count: u8,
}

impl<M: Mmio> Bar<'_, M> {
    fn offset(&self) -> usize {
        BASE_ADDRESSES + usize::from(self.index) * 4
    }

    /// What `offset` reads after all ones were written, which stay there only where an address can be chosen. What was there
    /// before is put back.
    fn mask(&self, offset: usize) -> u32 {
        let before = self.space.read32(offset);
        self.space.write32(offset, u32::MAX);
        let mask = self.space.read32(offset);
        self.space.write32(offset, before);
        mask
    }

    /// Asks the register. The function must not decode addresses, since this one changes meanwhile.
    pub(super) fn wish(&self) -> Result<Wish, Reason> {
        let low = self.mask(self.offset());
        if low == 0 {
            return Ok(Wish::Nothing);
        }
        if low & IO != 0 {
            return Ok(Wish::InputOutput);
        }
        let wide = low & KIND == WIDE;
        let upper = wide && self.index + 1 < self.count;
        // A narrow register is as a wide one whose upper bits can all be chosen.
        let high = if upper { self.mask(self.offset() + 4) } else { u32::MAX };
        let mask = u64::from(high) << 32 | u64::from(low & !FLAGS);
        let size = mask & mask.wrapping_neg();
        // All bits from the lowest on: anything else would be no power of two.
        let whole = size != 0 && mask == size.wrapping_neg();
        let known = low & KIND == 0 || upper;
        // The top of the address space for one register cannot be an address of 32 bits.
        if !whole || !known || !wide && size > u64::from(u32::MAX) {
            return Err(Reason::BadRegister { index: self.index, mask: u64::from(high) << 32 | u64::from(low) });
        }
        Ok(Wish::Memory { size, wide, prefetchable: low & PREFETCHABLE != 0 })
    }

    /// Gives the register its address, and asks whether it took it.
    pub(super) fn place(&self, address: u64, wide: bool) -> Result<(), Reason> {
        let offset = self.offset();
        self.space.write32(offset, (address & 0xffff_ffff) as u32);
        let mut seen = u64::from(self.space.read32(offset) & !FLAGS);
        if wide {
            self.space.write32(offset + 4, (address >> 32) as u32);
            seen |= u64::from(self.space.read32(offset + 4)) << 32;
        }
        if seen == address { Ok(()) } else { Err(Reason::AddressNotTaken { index: self.index, address, seen }) }
    }
}
