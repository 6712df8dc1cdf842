//! `reg`, and the way of an address from its bus to the processor.

use super::node::Cells;
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

/// What a bus counts its addresses and sizes in.
#[derive(Clone, Copy)]
struct Widths {
    address: usize,
    size: usize,
}

impl<'t> Node<'t> {
    /// Entry `index` of `reg`, translated to the processor's addresses.
    ///
    /// # Errors
    /// [`FdtError::NotFound`] without such an entry, [`FdtError::NotTranslatable`] if a bus on the way does not pass it
    /// on whole, [`FdtError::BadProperty`] for cells and sizes that make no sense.
    pub fn reg(&self, index: usize) -> Result<Region<CpuAddress>, FdtError> {
        let Region { address, size } = self.bus_reg(index)?;
        let mut address = address.0;
        let mut bus = self.parent();
        while let Some(this) = bus {
            let Some(above) = this.parent() else { break };
            address = this.pass_on(&above, address, size)?;
            bus = Some(above);
        }
        Ok(Region { address: CpuAddress(address), size })
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
        let bus = self.parent().ok_or_else(|| self.not_found("reg"))?;
        let widths = bus.widths()?;
        let mut cells = self.cells("reg")?;
        for _ in 0..index {
            if cells.is_empty() {
                return Err(self.not_found("reg"));
            }
            self.entry(&mut cells, widths)?;
        }
        if cells.is_empty() {
            return Err(self.not_found("reg"));
        }
        self.entry(&mut cells, widths)
    }

    fn entry(&self, cells: &mut Cells<'_>, widths: Widths) -> Result<Region<BusAddress>, FdtError> {
        let address = cells.number(widths.address).ok_or_else(|| self.bad("reg"))?;
        let size = cells.number(widths.size).ok_or_else(|| self.bad("reg"))?;
        address.checked_add(size).ok_or_else(|| self.bad("reg"))?;
        Ok(Region { address: BusAddress(address), size })
    }

    /// The widths for the node's children: 2 and 1 where it says nothing. More than 64 bits (PCI) is no address here.
    fn widths(&self) -> Result<Widths, FdtError> {
        let address = self.width("#address-cells", 2)?;
        if address == 0 {
            return Err(self.bad("#address-cells"));
        }
        Ok(Widths { address, size: self.width("#size-cells", 1)? })
    }

    fn width(&self, property: &'static str, default: usize) -> Result<usize, FdtError> {
        match self.property(property) {
            None => Ok(default),
            Some(&[0, 0, 0, cells @ 0..=2]) => Ok(usize::from(cells)),
            Some(_) => Err(self.bad(property)),
        }
    }

    /// Translates an address on this bus to the bus `above` it.
    fn pass_on(&self, above: &Node<'t>, address: u64, size: u64) -> Result<u64, FdtError> {
        let refused = || FdtError::NotTranslatable { bus: self.label(), address };
        // No `ranges`: the bus is not mapped into its parent. An empty one: the two share their addresses.
        let ranges = self.property("ranges").ok_or_else(refused)?;
        if ranges.is_empty() {
            return Ok(address);
        }
        let (below, upper) = (self.widths()?, above.widths()?);
        let mut cells = self.cells("ranges")?;
        while !cells.is_empty() {
            let mut number = |width| cells.number(width).ok_or_else(|| self.bad("ranges"));
            let (child, parent, length) = (number(below.address)?, number(upper.address)?, number(below.size)?);
            let Some(offset) = address.checked_sub(child) else { continue };
            if offset < length && size <= length - offset {
                let moved = parent.checked_add(offset).filter(|moved| moved.checked_add(size).is_some());
                return moved.ok_or_else(|| self.bad("ranges"));
            }
        }
        Err(refused())
    }
}
