//! Memory for data, and memory that a device may still reach.

use hal::{DmaError, DmaPool, DmaRegion};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

use crate::spec::PAGE;

/// A piece of device memory that a command reads or fills: a part of a region that it owns.
#[derive(Debug)]
pub struct Buffer<P: DmaPool> {
    region: DmaRegion<P>,
    offset: usize,
    length: usize,
}

impl<P: DmaPool> Buffer<P> {
    /// Takes `length` zeroed bytes from `pool`, at a page boundary.
    ///
    /// # Errors
    /// [`DmaError`] as [`DmaRegion::new`].
    pub fn new(pool: &P, length: usize) -> Result<Self, DmaError> {
        Ok(Self { region: DmaRegion::new(pool, length, PAGE)?, offset: 0, length })
    }

    /// The `length` bytes at `offset` of `region`; the region comes back if they do not lie inside it.
    ///
    /// # Errors
    /// The region, unused.
    pub fn part(region: DmaRegion<P>, offset: usize, length: usize) -> Result<Self, DmaRegion<P>> {
        match offset.checked_add(length) {
            Some(end) if end <= region.size() => Ok(Self { region, offset, length }),
            _ => Err(region),
        }
    }

    /// The device address of the first byte.
    #[inline(always)]
    pub fn address(&self) -> u64 {
        self.region.address() + self.offset as u64
    }

    /// Bytes that a command may use.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length
    }

    /// Copies out from `offset` on; what lies beyond the region's end reads as zero.
    pub fn read_bytes(&self, offset: usize, bytes: &mut [u8]) {
        self.region.read_bytes(self.offset + offset, bytes);
    }

    /// Copies in from `offset` on; what would lie beyond the region's end is dropped.
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        self.region.write_bytes(self.offset + offset, bytes);
    }

    /// The region that the buffer is a part of.
    pub fn into_region(self) -> DmaRegion<P> {
        self.region
    }
}

/// A region that a device may reach. Dropped, it is quarantined; [`Lent::free`] gives it back once the device is known to be
/// down. So every way out that forgets to ask is the safe one.
#[derive(Debug)]
pub(crate) struct Lent<P: DmaPool> {
    /// Empty only while the value is being dropped.
    region: Option<DmaRegion<P>>,
    address: u64,
}

impl<P: DmaPool> Lent<P> {
    /// Takes a region as [`DmaRegion::new`] does.
    pub(crate) fn new(pool: &P, size: usize, alignment: usize) -> Result<Self, DmaError> {
        let region = DmaRegion::new(pool, size, alignment)?;
        Ok(Self { address: region.address(), region: Some(region) })
    }

    /// The device address of the first byte.
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// The region itself.
    #[inline(always)]
    pub(crate) fn region(&self) -> Option<&DmaRegion<P>> {
        self.region.as_ref()
    }

    /// Writes a value at `offset`.
    #[inline(always)]
    pub(crate) fn write<T: IntoBytes + Immutable>(&self, offset: usize, value: &T) {
        if let Some(region) = &self.region {
            region.write(offset, value);
        }
    }

    /// Reads a value at `offset`.
    #[inline(always)]
    pub(crate) fn read<T: FromBytes + FromZeros + IntoBytes>(&self, offset: usize) -> T {
        self.region.as_ref().map_or_else(T::new_zeroed, |region| region.read(offset))
    }

    /// Copies bytes from `offset` on.
    pub(crate) fn read_bytes(&self, offset: usize, bytes: &mut [u8]) {
        if let Some(region) = &self.region {
            region.read_bytes(offset, bytes);
        }
    }

    /// Reads an aligned word in one access.
    #[inline(always)]
    pub(crate) fn read_word(&self, offset: usize) -> u32 {
        self.region.as_ref().map_or(0, |region| region.read_word(offset))
    }

    /// Zeroes the whole region.
    pub(crate) fn clear(&self) {
        if let Some(region) = &self.region {
            for offset in (0..region.size()).step_by(size_of::<[u64; 8]>()) {
                region.write(offset, &[0u64; 8]);
            }
        }
    }

    /// Gives the region back to its pool: no device can reach it any more.
    pub(crate) fn free(mut self) {
        drop(self.region.take());
    }
}

impl<P: DmaPool> Drop for Lent<P> {
    fn drop(&mut self) {
        if let Some(region) = self.region.take() {
            region.quarantine();
        }
    }
}
