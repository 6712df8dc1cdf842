//! Access to one window of device registers.

/// One window of device registers: 32- and 64-bit accesses at a byte offset.
///
/// Each call is exactly one bus access of exactly that width, in program order with every other access to a device. An
/// implementation for real hardware uses one plain load or store instruction for each, because a trapping hypervisor has
/// to be able to decode it.
///
/// Offsets come from constants of the drivers, never from a device; an offset outside the window is a programming error.
pub trait Mmio {
    /// Reads the 32-bit register at `offset` bytes.
    fn read32(&self, offset: usize) -> u32;

    /// Writes the 32-bit register at `offset` bytes.
    fn write32(&self, offset: usize, value: u32);

    /// Reads the 64-bit register at `offset` bytes in a single access.
    fn read64(&self, offset: usize) -> u64;

    /// Writes the 64-bit register at `offset` bytes in a single access.
    fn write64(&self, offset: usize, value: u64);

    /// Reads a 64-bit register as two 32-bit accesses, low half first.
    ///
    /// Every source and every trace decoder accepts this order, and some buses take nothing wider than 32 bits.
    fn read_halves(&self, offset: usize) -> u64 {
        let low = self.read32(offset);
        let high = self.read32(offset + 4);
        u64::from(high) << 32 | u64::from(low)
    }

    /// Writes a 64-bit register as two 32-bit accesses, low half first.
    fn write_halves(&self, offset: usize, value: u64) {
        self.write32(offset, (value & 0xffff_ffff) as u32);
        self.write32(offset + 4, (value >> 32) as u32);
    }
}

impl<M: Mmio + ?Sized> Mmio for &M {
    fn read32(&self, offset: usize) -> u32 {
        (**self).read32(offset)
    }
    fn write32(&self, offset: usize, value: u32) {
        (**self).write32(offset, value);
    }
    fn read64(&self, offset: usize) -> u64 {
        (**self).read64(offset)
    }
    fn write64(&self, offset: usize, value: u64) {
        (**self).write64(offset, value);
    }
}
