//! The part of a host's window that is still to be dealt out.

use crate::fdt::{BusAddress, CpuAddress, PciHost, PciSpace, PciWindow, Region};

/// What the windows of bridges are multiples of (PCI-to-PCI Bridge Architecture 1.2, 3.2.5.8).
pub(super) const GRANULE: u64 = 1 << 20;

/// Dealt out from the start to the end and never taken back, except by going back to an earlier mark.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    next: u64,
    end: u64,
    window: Option<PciWindow>,
}

impl Room {
    /// Memory below 4 GiB, for 32-bit registers and all that is behind bridges, and memory with 64-bit addresses.
    /// Of several windows of a kind the first is taken, and first of all one without prefetching.
    pub(super) fn of(host: &PciHost) -> [Self; 2] {
        let first = |space| {
            let mut windows = host.windows.iter().filter(|window| window.space == space);
            let plain = windows.clone().find(|window| !window.prefetchable);
            plain.or_else(|| windows.next()).copied()
        };
        [Self::new(first(PciSpace::Memory32), 1 << 32), Self::new(first(PciSpace::Memory64), u64::MAX)]
    }

    /// The whole granules of a window below `limit`, so that a bridge's window never reaches beyond the host's.
    fn new(window: Option<PciWindow>, limit: u64) -> Self {
        let (start, size) = window.map_or((0, 0), |window| (window.bus.address.0, window.bus.size));
        let end = start.saturating_add(size).min(limit);
        // Address 0 is none: it is what a register holds that was not given any.
        Self { next: start.max(1), end: end - end % GRANULE, window }
    }

    /// Whether a register with side effects may be placed here.
    pub(super) fn takes_plain(&self) -> bool {
        self.window.is_some_and(|window| !window.prefetchable)
    }

    /// Takes `size` bytes, a power of two, at a multiple of `size`.
    pub(super) fn take(&mut self, size: u64) -> Option<(BusAddress, Region<CpuAddress>)> {
        let window = self.window?;
        let start = self.next.checked_next_multiple_of(size)?;
        let end = start.checked_add(size).filter(|end| *end <= self.end)?;
        let processor = window.processor.0.checked_add(start.checked_sub(window.bus.address.0)?)?;
        self.next = end;
        Some((BusAddress(start), Region { address: CpuAddress(processor), size }))
    }

    /// How much is dealt out.
    pub(super) fn mark(&self) -> u64 {
        self.next
    }

    /// Takes back all that was dealt out since.
    pub(super) fn back_to(&mut self, mark: u64) {
        self.next = mark;
    }

    /// Goes on to the next granule, where a bridge's window may start or end, and gives its address.
    pub(super) fn align(&mut self) -> u64 {
        self.next = self.next.checked_next_multiple_of(GRANULE).unwrap_or(self.end);
        self.next
    }
}
