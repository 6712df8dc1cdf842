//! Bridges: their bus numbers and windows (PCI-to-PCI Bridge Architecture 1.2, chapter 3).

use tock_registers::interfaces::{Readable as _, Writeable as _};

use super::problem::Reason;
use super::room::Room;
use super::space::Space;
use super::spec::{self, BUSES, COMMAND};
use crate::Mmio;

/// Base above limit: nothing passes.
const CLOSED: (u64, u64) = (u64::MAX, 0);
/// The same for I/O: address bits 15:12 of the base in bits 7:4, those of its last byte in bits 15:12.
const IO_CLOSED: u32 = 0xf0;

/// A bridge whose bus is being walked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bridge<M> {
    pub(super) space: Space<M>,
    /// For each room, how much was dealt out before the bridge, and the granule that its window starts with.
    starts: [(u64, u64); 2],
}

impl<M: Mmio> Bridge<M> {
    /// Makes bus `secondary` the one behind the bridge and lets it have all buses up to `last` for now. Nothing passes but
    /// accesses to configuration space.
    pub(super) fn open(space: Space<M>, secondary: u8, last: u8, rooms: &mut [Room; 2]) -> Result<Self, Reason> {
        let [low, high] = rooms;
        let starts = [(low.mark(), low.align()), (high.mark(), high.align())];
        let bridge = Self { space, starts };
        bridge.number(secondary, last).inspect_err(|_| {
            let [(low_before, _), (high_before, _)] = starts;
            low.back_to(low_before);
            high.back_to(high_before);
            spec::BUSES.of(&bridge.space).set(0);
        })?;
        Ok(bridge)
    }

    fn number(&self, secondary: u8, subordinate: u8) -> Result<(), Reason> {
        let numbers = BUSES::PRIMARY.val(self.space.address.bus.into())
            + BUSES::SECONDARY.val(secondary.into())
            + BUSES::SUBORDINATE.val(subordinate.into());
        let buses = spec::BUSES.of(&self.space);
        buses.set(numbers.value);
        let seen = buses.get() & numbers.mask();
        if seen == numbers.value { Ok(()) } else { Err(Reason::NumbersNotTaken { wrote: numbers.value, seen }) }
    }

    /// Whether the bridge has a window for prefetchable memory with 64-bit addresses.
    pub(super) fn is_wide(&self) -> bool {
        spec::PREFETCHABLE_WINDOW.of(&self.space).get() & 0xf == spec::WIDE
    }

    /// Ends the numbering behind the bridge with bus `subordinate`, and opens its windows just around what was dealt out
    /// behind it.
    pub(super) fn close(&self, secondary: u8, subordinate: u8, rooms: &mut [Room; 2]) -> Result<(), Reason> {
        let space = &self.space;
        let [low, high] = rooms;
        let [low_start, high_start] = self.starts;
        spec::IO_WINDOW.of(space).set(IO_CLOSED);
        spec::IO_WINDOW_UPPER.of(space).set(0);
        spec::MEMORY_WINDOW.of(space).set(halves(window(low, low_start)));
        let (base, limit) = window(high, high_start);
        spec::PREFETCHABLE_WINDOW.of(space).set(halves((base, limit)));
        spec::PREFETCHABLE_BASE_UPPER.of(space).set((base >> 32) as u32);
        spec::PREFETCHABLE_LIMIT_UPPER.of(space).set((limit >> 32) as u32);
        self.number(secondary, subordinate)
    }

    /// Has the bridge pass memory accesses in both directions. Functions behind it neither answer nor ask before they are
    /// enabled themselves.
    pub(super) fn pass(&self) {
        let on = COMMAND::MEMORY::SET + COMMAND::MASTER::SET + COMMAND::INTERRUPT_DISABLE::SET;
        spec::COMMAND.of(&self.space).set(on.value);
    }
}

/// The first and the last byte of the window around what was dealt out since `start`, of whole granules; closed if that is
/// nothing, and then the room is as it was before.
fn window(room: &mut Room, (before, start): (u64, u64)) -> (u64, u64) {
    if room.mark() == start {
        room.back_to(before);
        return CLOSED;
    }
    (start, room.align().saturating_sub(1))
}

/// Address bits 31:20 of both ends, as the window registers have them.
fn halves((base, limit): (u64, u64)) -> u32 {
    let bits = |address: u64| (address & 0xfff0_0000) as u32;
    bits(base) >> 16 | bits(limit)
}
