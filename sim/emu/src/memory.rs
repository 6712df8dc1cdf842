//! The machine's RAM as its devices reach it.

use sim::{MemoryFault, PhysicalMemory};
use unicorn_engine::Unicorn;

use crate::board::Board;

/// Where RAM begins on a T8103 (`soc.md` section 1). Everything below belongs to registers.
pub const RAM: u64 = 0x8_0000_0000;

/// RAM behind the emulator's handle: usable within its call-backs too.
pub(crate) struct Ram<'a> {
    handle: Unicorn<'a, Board>,
    size: u64,
}

impl<'a> Ram<'a> {
    pub(crate) fn new(handle: Unicorn<'a, Board>, size: u64) -> Self {
        Self { handle, size }
    }

    fn check(&self, address: u64, length: usize) -> Result<(), MemoryFault> {
        let within = address.checked_sub(RAM).and_then(|offset| offset.checked_add(length as u64));
        match within {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(MemoryFault { address, length }),
        }
    }
}

impl PhysicalMemory for Ram<'_> {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        self.check(address, bytes.len())?;
        self.handle.mem_read(address, bytes).map_err(|_| MemoryFault { address, length: bytes.len() })
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        self.check(address, bytes.len())?;
        self.handle.mem_write(address, bytes).map_err(|_| MemoryFault { address, length: bytes.len() })
    }
}
