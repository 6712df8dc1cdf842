//! Memory for data, and memory that a device may still reach.

use hal::{DmaError, DmaPool, DmaRegion};
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use crate::spec::PAGE;

/// A piece of device memory that a command reads or fills: a part of a region that it owns.
#[derive(Debug)]
pub struct Buffer<P: DmaPool> {
    region: DmaRegion<P>,
    // Half words: a buffer moves with each command, and four words move without a call.
    offset: u32,
    length: u32,
}

impl<P: DmaPool> Buffer<P> {
    /// Takes `length` zeroed bytes from `pool`, at a page boundary.
    ///
    /// # Errors
    /// [`DmaError`] as [`DmaRegion::new`]; 4 GiB and more are never to be had.
    pub fn new(pool: &P, length: usize) -> Result<Self, DmaError> {
        let bytes = u32::try_from(length).map_err(|_| DmaError::Exhausted { size: length })?;
        Ok(Self { region: DmaRegion::new(pool, length, PAGE)?, offset: 0, length: bytes })
    }

    /// The `length` bytes at `offset` of `region`; the region comes back if they do not lie inside it and its first 4 GiB.
    ///
    /// # Errors
    /// The region, unused.
    pub fn part(region: DmaRegion<P>, offset: usize, length: usize) -> Result<Self, DmaRegion<P>> {
        let inside = offset.checked_add(length).is_some_and(|end| end <= region.size());
        match (u32::try_from(offset), u32::try_from(length)) {
            (Ok(offset), Ok(length)) if inside => Ok(Self { region, offset, length }),
            _ => Err(region),
        }
    }

    /// The device address of the first byte.
    #[inline(always)]
    pub fn address(&self) -> u64 {
        self.region.address() + u64::from(self.offset)
    }

    /// Bytes that a command may use.
    #[inline(always)]
    pub fn length(&self) -> usize {
        self.length as usize
    }

    /// Copies out from `offset` on; what lies beyond the region's end reads as zero.
    pub fn read_bytes(&self, offset: usize, bytes: &mut [u8]) {
        self.region.read_bytes(self.offset as usize + offset, bytes);
    }

    /// Copies in from `offset` on; what would lie beyond the region's end is dropped.
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        self.region.write_bytes(self.offset as usize + offset, bytes);
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

    /// Writes words at `offset`.
    #[inline(always)]
    pub(crate) fn write_words<const COUNT: usize>(&self, offset: usize, words: [u64; COUNT]) {
        if let Some(region) = &self.region {
            region.write_words(offset, words);
        }
    }

    /// Reads a value at `offset`.
    pub(crate) fn read<T: FromBytes + FromZeros + IntoBytes>(&self, offset: usize) -> T {
        self.region.as_ref().map_or_else(T::new_zeroed, |region| region.read(offset))
    }

    /// Writes an aligned word in one access.
    #[inline(always)]
    pub(crate) fn write_word(&self, offset: usize, word: u32) {
        if let Some(region) = &self.region {
            region.write_word(offset, word);
        }
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
        match &self.region {
            Some(region) => region.read_word(offset),
            None => 0,
        }
    }

    /// Zeroes the whole region, whose size is a multiple of 16 as a completion entry's is.
    pub(crate) fn clear(&self) {
        if let Some(region) = &self.region {
            for offset in (0..region.size()).step_by(size_of::<[u64; 2]>()) {
                region.write_words(offset, [0; 2]);
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
