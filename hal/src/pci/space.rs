//! One function's configuration space, and how to come to it.

use core::fmt;

use tock_registers::interfaces::Readable as _;

use super::spec::{self, CLASS, HEADER, IDENTITY};
use crate::Mmio;

/// Device and function numbers of one bus.
const PER_BUS: u16 = 256;

/// Where a function is below its host. Shown as bus, device and function, `00:02.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    /// The bus, as it was numbered.
    pub bus: u8,
    /// The device, 0 to 31.
    pub device: u8,
    /// The function, 0 to 7.
    pub function: u8,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:02x}:{:02x}.{}", self.bus, self.device, self.function)
    }
}

/// What a function is good for: bytes 3 to 1 of its class register (PCI Local Bus 3.0, 6.2.1 and appendix D).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Class {
    /// The base class; 0x01 is mass storage.
    pub base: u8,
    /// The subclass.
    pub sub: u8,
    /// The programming interface.
    pub interface: u8,
}

impl Class {
    fn code(self) -> u32 {
        u32::from_be_bytes([0, self.base, self.sub, self.interface])
    }
}

/// The configuration space of a host: 4 KiB for each function, 1 MiB for each bus (PCI Express Base Specification, 7.2.2).
#[derive(Clone, Copy, Debug)]
pub(super) struct Host<M> {
    pub(super) window: M,
    /// The bus that the window starts with.
    pub(super) first: u8,
}

/// The configuration space of one function: a window of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space<M> {
    window: M,
    base: usize,
    pub(super) address: Address,
}

impl<M: Mmio + Copy> Host<M> {
    fn function(&self, bus: u8, number: u8) -> Space<M> {
        let base = usize::from(bus.saturating_sub(self.first)) << 20 | usize::from(number) << 12;
        let address = Address { bus, device: number >> 3, function: number & 7 };
        Space { window: self.window, base, address }
    }

    /// The functions that answer on a bus.
    pub(super) fn functions(self, bus: u8) -> Functions<M> {
        Functions { host: self, bus, next: 0 }
    }
}

impl<M: Mmio> Space<M> {
    pub(super) fn is_bridge(&self) -> bool {
        self.header_type() == spec::BRIDGE
    }

    /// The layout of the header behind its first 16 bytes, without the flag for several functions.
    pub(super) fn header_type(&self) -> u32 {
        spec::HEADER.of(self).read(HEADER::TYPE)
    }

    pub(super) fn is_of(&self, class: Class) -> bool {
        spec::CLASS.of(self).read(CLASS::CODE) == class.code()
    }

    fn is_present(&self) -> bool {
        spec::IDENTITY.of(self).read(IDENTITY::VENDOR) != spec::NO_VENDOR
    }
}

impl<M: Mmio> Mmio for Space<M> {
    fn read32(&self, offset: usize) -> u32 {
        self.window.read32(self.base + offset)
    }
    fn write32(&self, offset: usize, value: u32) {
        self.window.write32(self.base + offset, value);
    }
    fn read64(&self, offset: usize) -> u64 {
        self.window.read64(self.base + offset)
    }
    fn write64(&self, offset: usize, value: u64) {
        self.window.write64(self.base + offset, value);
    }
}

/// The functions that answer on a bus, in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Functions<M> {
    host: Host<M>,
    pub(super) bus: u8,
    /// Device times 8 plus function.
    next: u16,
}

impl<M: Mmio + Copy> Iterator for Functions<M> {
    type Item = Space<M>;

    fn next(&mut self) -> Option<Space<M>> {
        while let Some(number) = u8::try_from(self.next).ok().filter(|_| self.next < PER_BUS) {
            let space = self.host.function(self.bus, number);
            let present = space.is_present();
            // A device has a function 0, and it says whether there are more. To ask for those is not safe if it says no:
            // a device may answer for all of them (PCI Local Bus 3.0, 3.2.2.3.4).
            let alone = number & 7 == 0 && !(present && spec::HEADER.of(&space).is_set(HEADER::SEVERAL));
            self.next += if alone { 8 } else { 1 };
            if present {
                return Some(space);
            }
        }
        None
    }
}
