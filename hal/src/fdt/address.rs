//! `reg`, and the way of an address from its bus to the processor.

use dtoolkit::standard::NodeStandard as _;
use dtoolkit::{Cells, ToCellInt as _};

use super::{FdtError, Node};

/// An address as the bus above a node knows it: what stands in `reg`.
///
/// It is a type of its own because using it as a [`CpuAddress`] reads the wrong place: on some of these machines 8 GiB
/// too low, where the fabric answers with a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BusAddress(pub u64);

/// An address as the processor knows it: translated by the `ranges` of every bus above the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CpuAddress(pub u64);

/// A span of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region<A> {
    /// The first address.
    pub address: A,
    /// The bytes.
    pub size: u64,
}

impl<'t> Node<'t> {
    /// Entry `index` of `reg`, translated to the processor's addresses.
    ///
    /// # Errors
    /// [`FdtError::NotFound`] without such an entry, [`FdtError::NotTranslatable`] if a bus on the way does not pass it
    /// on whole, [`FdtError::BadProperty`] for cells and sizes that make no sense.
    pub fn reg(&self, index: usize) -> Result<Region<CpuAddress>, FdtError> {
        let Region { address, size } = self.bus_reg(index)?;
        let address = Self::to_processor(self.parent(), address.0, size)?;
        Ok(Region { address, size })
    }

    /// Translates `size` bytes at an address on `bus` by all the buses above.
    pub(super) fn to_processor(mut bus: Option<Self>, mut address: u64, size: u64) -> Result<CpuAddress, FdtError> {
        while let Some(this) = bus {
            let Some(above) = this.parent() else { break };
            address = this.pass_on(&above, address, size)?;
            bus = Some(above);
        }
        Ok(CpuAddress(address))
    }

    /// The entry of `reg` that `reg-names` calls `name`, translated.
    ///
    /// # Errors
    /// As [`Node::reg`]; [`FdtError::NotFound`] for `reg-names` without the name.
    pub fn reg_named(&self, name: &str) -> Result<Region<CpuAddress>, FdtError> {
        let index = self.strings("reg-names").position(|each| each == name);
        self.reg(index.ok_or_else(|| self.not_found("reg-names"))?)
    }

    /// Entry `index` of `reg` as it stands there.
    ///
    /// # Errors
    /// [`FdtError::NotFound`] without such an entry, [`FdtError::BadProperty`] for cells and sizes that make no sense.
    pub fn bus_reg(&self, index: usize) -> Result<Region<BusAddress>, FdtError> {
        let missing = || self.not_found("reg");
        self.parent().ok_or_else(missing)?.check_cell_counts()?;
        let mut entries = self.inner.reg().map_err(|_| self.bad("reg"))?.ok_or_else(missing)?;
        let entry = entries.nth(index).ok_or_else(missing)?;
        let region = address(entry.address).zip(entry.size::<u64>().ok());
        let whole = region.filter(|(address, size)| address.checked_add(*size).is_some());
        let (address, size) = whole.ok_or_else(|| self.bad("reg"))?;
        Ok(Region { address: BusAddress(address), size })
    }

    /// Refuses malformed cell counts for the node's children: `dtoolkit` takes them for absent, and so reads wrong places.
    fn check_cell_counts(&self) -> Result<(), FdtError> {
        self.inner.address_cells().map_err(|_| self.bad("#address-cells"))?;
        self.inner.size_cells().map_err(|_| self.bad("#size-cells"))?;
        Ok(())
    }

    /// Translates an address on this bus to the bus `above` it.
    fn pass_on(&self, above: &Node<'t>, on_bus: u64, size: u64) -> Result<u64, FdtError> {
        above.check_cell_counts()?;
        let refused = || FdtError::NotTranslatable { bus: self.label(), address: on_bus };
        let bad = || self.bad("ranges");
        // No `ranges`: the bus is not mapped into its parent. An empty one: the two share their addresses.
        let mut ranges = self.inner.ranges().map_err(|_| bad())?.ok_or_else(refused)?.peekable();
        if ranges.peek().is_none() {
            return Ok(on_bus);
        }
        for range in ranges {
            let child = address(range.child_bus_address).ok_or_else(bad)?;
            let parent = address(range.parent_bus_address).ok_or_else(bad)?;
            let length = range.length::<u64>().map_err(|_| bad())?;
            let Some(offset) = on_bus.checked_sub(child) else { continue };
            if offset < length && size <= length - offset {
                let moved = parent.checked_add(offset).filter(|moved| moved.checked_add(size).is_some());
                return moved.ok_or_else(bad);
            }
        }
        Err(refused())
    }
}

/// An address of up to 64 bits: more (PCI) is none here, and neither is one of no bits.
pub(super) fn address(cells: Cells<'_>) -> Option<u64> {
    if cells.as_ref().is_empty() { None } else { cells.to_int().ok() }
}
