//! The memory that devices read and write, as the models see it.

use std::fmt;

/// An access by a device to an address where there is no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryFault {
    /// The first address of the access.
    pub address: u64,
    /// Its length in bytes.
    pub length: usize,
}

impl fmt::Display for MemoryFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no memory at {:#x}, {} bytes", self.address, self.length)
    }
}

/// Physical memory: what a device reaches by DMA.
pub trait PhysicalMemory {
    /// Copies memory at `address` to `bytes`.
    ///
    /// # Errors
    /// [`MemoryFault`] when any byte of the range is not memory; `bytes` is then unspecified.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault>;

    /// Copies `bytes` to memory at `address`.
    ///
    /// # Errors
    /// [`MemoryFault`] when any byte of the range is not memory; nothing is then written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryFault>;
}
