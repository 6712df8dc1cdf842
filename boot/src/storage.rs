//! The controllers that the monitor works on.

use core::fmt;

use ans::Ans;
use hal::Platform;
use hal::pci::Address;
use heapless::Vec;
use nvme::Controller;
use nvme::transport::pcie::PcieTransport;

use crate::any::AnyController;
use crate::reason::Reason;

/// The most controllers on PCI Express that are driven at once.
pub const CONTROLLERS: usize = 4;

/// Where a controller is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Behind Apple's coprocessor.
    Coprocessor,
    /// On PCI Express.
    Pci {
        /// The function.
        address: Address,
        /// The vendor's number.
        vendor: u16,
        /// The vendor's number for the device.
        device: u16,
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Coprocessor => f.write_str("ANS"),
            Self::Pci { address, vendor, device } => write!(f, "PCI {address} {vendor:04x}:{device:04x}"),
        }
    }
}

/// Controllers that are up, by index from 0 on; there is at least one.
pub trait Storage {
    /// Where they run.
    type Platform: Platform<Clock: Clone>;

    /// How many there are.
    fn count(&self) -> usize;

    /// Whether every controller that the machine has is among them. If not, they may have other indices than someone expects
    /// who knows the machine.
    fn is_complete(&self) -> bool;

    /// Where one of them is.
    fn place(&self, index: usize) -> Option<Place>;

    /// One of them.
    fn controller(&mut self, index: usize) -> Option<&mut dyn AnyController<Self::Platform>>;

    /// Serves what is beside the controllers, such as a coprocessor with messages of its own. Never waits.
    ///
    /// # Errors
    /// That it is lost, and the controllers with it.
    fn serve(&mut self) -> Result<(), Reason>;

    /// Whether that is lost.
    fn is_lost(&self) -> bool;
}

impl<P: Platform<Clock: Clone>> Storage for Ans<P> {
    type Platform = P;

    fn count(&self) -> usize {
        1
    }

    fn is_complete(&self) -> bool {
        true
    }

    fn place(&self, index: usize) -> Option<Place> {
        (index == 0).then_some(Place::Coprocessor)
    }

    fn controller(&mut self, index: usize) -> Option<&mut dyn AnyController<P>> {
        if index == 0 { Some(Ans::controller(self)) } else { None }
    }

    fn serve(&mut self) -> Result<(), Reason> {
        self.poll().map_err(Reason::new)
    }

    fn is_lost(&self) -> bool {
        self.is_crashed()
    }
}

/// Controllers on PCI Express.
pub struct PciStorage<P: Platform<Clock: Clone>> {
    /// Those that came up, in the order of the bus.
    pub controllers: Vec<(Place, Controller<P, PcieTransport<P>>), CONTROLLERS>,
    /// How many the bus may have between them that did not come up.
    pub missing: usize,
}

impl<P: Platform<Clock: Clone>> PciStorage<P> {
    /// No controller yet.
    pub const fn new() -> Self {
        Self { controllers: Vec::new(), missing: 0 }
    }
}

impl<P: Platform<Clock: Clone>> Default for PciStorage<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Platform<Clock: Clone>> Storage for PciStorage<P> {
    type Platform = P;

    fn count(&self) -> usize {
        self.controllers.len()
    }

    fn is_complete(&self) -> bool {
        self.missing == 0
    }

    fn place(&self, index: usize) -> Option<Place> {
        self.controllers.get(index).map(|(place, _)| *place)
    }

    fn controller(&mut self, index: usize) -> Option<&mut dyn AnyController<P>> {
        match self.controllers.get_mut(index) {
            Some((_, controller)) => Some(controller),
            None => None,
        }
    }

    /// There is nothing beside them.
    fn serve(&mut self) -> Result<(), Reason> {
        Ok(())
    }

    fn is_lost(&self) -> bool {
        false
    }
}
