//! A function that was found and has its addresses.

use core::fmt;

use tock_registers::interfaces::{Readable as _, Writeable as _};

use super::space::{Address, Space};
use super::spec::{self, COMMAND};
use crate::Mmio;
use crate::fdt::{CpuAddress, Region};

/// A function of the wanted class, with addresses in all its memory base address registers. It neither answers there nor
/// masters the bus until [`Function::enable`].
#[derive(Debug)]
pub struct Function<M> {
    space: Space<M>,
    vendor: u16,
    device: u16,
    registers: Region<CpuAddress>,
}

/// The command register does not keep what was written to it: the step, and both values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandNotTaken {
    /// The function.
    pub address: Address,
    /// What was written.
    pub wrote: u32,
    /// What was read back, of bits 15:0. All ones: the function is gone from the bus.
    pub seen: u32,
}

impl fmt::Display for CommandNotTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pci {}: command register was given {:#06x} and has {:#06x}", self.address, self.wrote, self.seen)
    }
}

impl core::error::Error for CommandNotTaken {}

impl<M: Mmio> Function<M> {
    pub(super) fn new(space: Space<M>, registers: Region<CpuAddress>) -> Self {
        let identity = spec::IDENTITY.of(&space).get();
        Self { space, vendor: (identity & 0xffff) as u16, device: (identity >> 16) as u16, registers }
    }

    /// Where it is on the bus.
    pub fn address(&self) -> Address {
        self.space.address
    }

    /// The vendor's number.
    pub fn vendor(&self) -> u16 {
        self.vendor
    }

    /// The vendor's number for the device.
    pub fn device(&self) -> u16 {
        self.device
    }

    /// What base address register 0 decodes, where the processor finds it. There is no answer before
    /// [`Function::enable`].
    pub fn registers(&self) -> Region<CpuAddress> {
        self.registers
    }

    /// Has the function decode its memory addresses and master the bus; interrupts by pin are off. The write has arrived on
    /// return. [`Function::disable`] takes both back.
    ///
    /// # Errors
    /// [`CommandNotTaken`] if the function does not keep the bits. Those that it did keep were taken back.
    pub fn enable(&mut self) -> Result<(), CommandNotTaken> {
        let on = COMMAND::MEMORY::SET + COMMAND::MASTER::SET + COMMAND::INTERRUPT_DISABLE::SET;
        self.command(on.value).inspect_err(|_| {
            let _ = self.disable();
        })
    }

    /// Takes back bus mastering and the decoding of memory addresses: on return the function starts no access to memory any
    /// more, and its registers do not answer. Stop the device first, or it is cut off in its work.
    ///
    /// # Errors
    /// [`CommandNotTaken`] if the function keeps any of the bits, and so may still write to memory.
    pub fn disable(&mut self) -> Result<(), CommandNotTaken> {
        self.command(COMMAND::INTERRUPT_DISABLE::SET.value)
    }

    fn command(&self, wrote: u32) -> Result<(), CommandNotTaken> {
        let command = spec::COMMAND.of(&self.space);
        command.set(wrote);
        // A read to the same function comes after the write, and so shows that it has arrived.
        let seen = command.get() & 0xffff;
        // The pin's bit may be fixed at 0 where there is no pin (PCI Express Base Specification, 7.5.1.1.3).
        let counts = (COMMAND::IO::SET + COMMAND::MEMORY::SET + COMMAND::MASTER::SET).value;
        if seen & counts == wrote & counts {
            Ok(())
        } else {
            Err(CommandNotTaken { address: self.address(), wrote, seen })
        }
    }
}
