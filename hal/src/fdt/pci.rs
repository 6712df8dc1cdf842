//! What a PCI host bridge's node says: where configuration space lies, and which windows lead to the functions.
//!
//! Source: IEEE 1275 PCI bus binding 2.1, section 2.2.1.1 (physical addresses of three cells) and chapter 3 (`bus-range`,
//! `ranges`); the Linux kernel's binding of `pci-host-ecam-generic` (`reg` is the enhanced configuration space, which starts
//! with the first bus of `bus-range`).

use core::ops::RangeInclusive;

use dtoolkit::{Cells, Node as _, Property as _};

use super::address::address;
use super::{BusAddress, CpuAddress, FdtError, Node, Region};

/// The most entries of `ranges` that are kept. QEMU's `virt` has three; no binding of a generic host has over four.
pub const PCI_WINDOWS: usize = 8;

/// The bytes of enhanced configuration space of one bus (PCI Express Base Specification, 7.2.2).
const BUS_BYTES: u64 = 1 << 20;

/// The cells of a PCI address and of a size below it (IEEE 1275 PCI binding, 2.2.1.1 and 3.1).
const ADDRESS_CELLS: u32 = 3;
const SIZE_CELLS: u32 = 2;

/// A PCI host bridge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PciHost {
    /// The enhanced configuration space, 1 MiB for each bus, from the first bus of `buses` on.
    pub configuration: Region<CpuAddress>,
    /// The bus numbers below this host, as many as `configuration` has room for.
    pub buses: RangeInclusive<u8>,
    /// The windows, in their order.
    pub windows: heapless::Vec<PciWindow, PCI_WINDOWS>,
}

/// A window through which the processor reaches addresses of the PCI bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PciWindow {
    /// The kind of address.
    pub space: PciSpace,
    /// Whether it may be prefetched from, so that registers with side effects do not belong here.
    pub prefetchable: bool,
    /// Where it is on the PCI bus: what base address registers hold. Neither this nor `processor` overflows at its end.
    pub bus: Region<BusAddress>,
    /// Where the processor finds its first byte.
    pub processor: CpuAddress,
}

/// The kind of a PCI address: bits 25:24 of its first cell (IEEE 1275 PCI binding, 2.2.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PciSpace {
    /// Configuration space.
    Configuration,
    /// I/O ports.
    InputOutput,
    /// Memory with addresses of 32 bits.
    Memory32,
    /// Memory with addresses of 64 bits.
    Memory64,
}

impl<'t> Node<'t> {
    /// What the node says as a PCI host bridge whose `reg` is enhanced configuration space (`pci-host-ecam-generic`).
    /// Without `bus-range` it has all 256 buses, without `ranges` no window.
    ///
    /// # Errors
    /// As [`Node::reg`], for `reg` and for every window; [`FdtError::BadProperty`] for cell counts other than PCI's, a
    /// `bus-range` that is none, a `reg` with no room for one bus, and more than [`PCI_WINDOWS`] windows.
    pub fn pci_host(&self) -> Result<PciHost, FdtError> {
        for (property, count) in [("#address-cells", ADDRESS_CELLS), ("#size-cells", SIZE_CELLS)] {
            if self.cell(property)? != count {
                return Err(self.bad(property));
            }
        }
        let configuration = self.reg(0)?;
        let buses = self.pci_buses(configuration.size)?;
        let mut windows = heapless::Vec::new();
        // `dtoolkit` takes the cell counts from the node, which were found to be PCI's, and from the bus above, which `reg`
        // found well formed.
        for range in self.inner.ranges().map_err(|_| self.bad("ranges"))?.into_iter().flatten() {
            let window = self.pci_window(range.child_bus_address, range.parent_bus_address, range.length)?;
            windows.push(window).map_err(|_| self.bad("ranges"))?;
        }
        Ok(PciHost { configuration, buses, windows })
    }

    /// `bus-range`, cut to what `size` bytes of configuration space hold.
    fn pci_buses(&self, size: u64) -> Result<RangeInclusive<u8>, FdtError> {
        let bad = || self.bad("bus-range");
        let (first, last) = match self.inner.property("bus-range") {
            Some(property) => {
                let mut pair = property.as_prop_encoded_array([1, 1]).map_err(|_| bad())?;
                let (Some([first, last]), None) = (pair.next(), pair.next()) else { return Err(bad()) };
                let number = |cells: Cells<'_>| address(cells).and_then(|number| u8::try_from(number).ok());
                number(first).zip(number(last)).filter(|(first, last)| first <= last).ok_or_else(bad)?
            }
            None => (0, u8::MAX),
        };
        let held = (size / BUS_BYTES).checked_sub(1).ok_or_else(|| self.bad("reg"))?;
        let last_held = u8::try_from(u64::from(first).saturating_add(held)).unwrap_or(u8::MAX);
        Ok(first..=last.min(last_held))
    }

    fn pci_window(&self, child: Cells<'_>, parent: Cells<'_>, length: Cells<'_>) -> Result<PciWindow, FdtError> {
        let bad = || self.bad("ranges");
        let [kind, high, low] = child.as_ref() else { return Err(bad()) };
        let bus = u64::from(high.get()) << 32 | u64::from(low.get());
        let (above, size) = address(parent).zip(address(length)).ok_or_else(bad)?;
        bus.checked_add(size).ok_or_else(bad)?;
        let processor = Self::to_processor(self.parent(), above, size)?;
        processor.0.checked_add(size).ok_or_else(bad)?;
        let space = match kind.get() >> 24 & 0b11 {
            0 => PciSpace::Configuration,
            1 => PciSpace::InputOutput,
            2 => PciSpace::Memory32,
            _ => PciSpace::Memory64,
        };
        let prefetchable = kind.get() & 1 << 30 != 0;
        Ok(PciWindow { space, prefetchable, bus: Region { address: BusAddress(bus), size }, processor })
    }
}
