//! Memory that a device may read and write.
//!
//! A [`DmaRegion`] is an owned piece of a [`DmaPool`]. Its content is read and written **by value**: there is never a Rust
//! reference into memory that a device may change. Two calls order it against the device: [`DmaPool::publish`] before the
//! register write that lets the device look, [`DmaPool::observe`] after the read that told of the device's answer and
//! before anything else that the device wrote is read.

pub mod pages;
#[cfg(test)]
mod tests;

use core::fmt;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// The smallest unit of a pool, and the alignment that every region has at least: the NVMe page of 4 KiB.
pub const DEVICE_PAGE: usize = 4096;

/// Why a pool gave nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmaError {
    /// No free run of that many bytes with that alignment.
    Exhausted {
        /// Bytes asked for.
        size: usize,
    },
    /// The size is zero, or the alignment is no power of two.
    Invalid {
        /// Bytes asked for.
        size: usize,
        /// Alignment asked for, in bytes.
        alignment: usize,
    },
}

impl fmt::Display for DmaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exhausted { size } => write!(f, "no DMA memory left for {size} bytes"),
            Self::Invalid { size, alignment } => {
                write!(f, "DMA memory of {size} bytes aligned to {alignment} cannot be asked for")
            }
        }
    }
}

impl core::error::Error for DmaError {}

/// A handle to memory that devices may reach; cheap to clone.
///
/// Addresses are device addresses. On Apple Silicon those are physical addresses, since the SART filters and does not
/// translate. Access outside what was reserved is a programming error: an implementation may ignore it or stop, but must
/// not touch other memory.
pub trait DmaPool: Clone {
    /// Reserves `size` bytes (rounded up to [`DEVICE_PAGE`]), zeroed, at a multiple of `alignment` (at least
    /// [`DEVICE_PAGE`]), and gives the device address. [`DmaRegion::new`] is what drivers call.
    ///
    /// # Errors
    /// [`DmaError`] when there is no such run or the request makes no sense.
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError>;

    /// Gives back what `reserve` gave.
    fn release(&self, address: u64, size: usize);

    /// Takes memory out of use until [`DmaPool::reclaim`]: a device may still reach it.
    fn quarantine(&self, address: u64, size: usize);

    /// Frees all quarantined memory. The caller has made sure that every device on this pool is down or reset.
    fn reclaim(&self);

    /// Copies from device memory.
    fn read(&self, address: u64, bytes: &mut [u8]);

    /// Copies into device memory.
    fn write(&self, address: u64, bytes: &[u8]);

    /// Writes 64-bit words, in order of address, which is a multiple of 8: to any other, as outside what was reserved, nothing
    /// need be written. The words are passed by value, so that a pool of real memory stores them straight from registers.
    #[inline(always)]
    fn write_words<const COUNT: usize>(&self, address: u64, words: [u64; COUNT]) {
        self.write(address, words.as_bytes());
    }

    /// Reads one aligned 32-bit word in one access: the way to look at a word that a device may be changing.
    fn read_word(&self, address: u64) -> u32;

    /// Writes one aligned 32-bit word in one access: for a word that a device looks at whenever it likes.
    #[inline(always)]
    fn write_word(&self, address: u64, word: u32) {
        self.write(address, word.as_bytes());
    }

    /// Makes earlier writes to device memory visible before a later register write (`DMB OSHST`).
    fn publish(&self);

    /// Keeps later reads of device memory behind an earlier read that told of them (`DMB OSHLD`).
    fn observe(&self);

    /// Keeps later reads of device memory behind earlier writes to it (`DMB OSH`): what two sides need that each write one word
    /// and then read the other's, as with shadow doorbells. No weaker barrier orders a store before a load.
    #[inline(always)]
    fn order(&self) {
        crate::barrier::order();
    }
}

/// An owned piece of device memory, given back to its pool when it is dropped.
///
/// Drop a region only when no device can reach it any more; for one that may still be named by a command,
/// [`DmaRegion::quarantine`] takes it out of use instead.
#[derive(Debug)]
pub struct DmaRegion<P: DmaPool> {
    pool: P,
    address: u64,
    size: usize,
}

impl<P: DmaPool> DmaRegion<P> {
    /// Takes `size` zeroed bytes from `pool`, aligned to `alignment` bytes and at least to [`DEVICE_PAGE`].
    ///
    /// # Errors
    /// [`DmaError`] as [`DmaPool::reserve`].
    pub fn new(pool: &P, size: usize, alignment: usize) -> Result<Self, DmaError> {
        let address = pool.reserve(size, alignment)?;
        Ok(Self { pool: pool.clone(), address, size })
    }

    /// The address that the device uses for the first byte.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The size in bytes, as it was asked for.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The pool that the region came from.
    pub fn pool(&self) -> &P {
        &self.pool
    }

    /// The device address of `size` bytes at `offset`, if there are any and all of them lie in the region.
    #[inline(always)]
    fn place(&self, offset: usize, size: usize) -> Option<u64> {
        let inside = size != 0 && offset <= self.size && size <= self.size - offset;
        inside.then(|| self.address.wrapping_add(offset as u64))
    }

    /// How many of `size` bytes at `offset` lie in the region.
    fn inside(&self, offset: usize, size: usize) -> usize {
        self.size.saturating_sub(offset).min(size)
    }

    #[inline]
    fn load(&self, offset: usize, bytes: &mut [u8]) {
        match self.place(offset, bytes.len()) {
            Some(address) => self.pool.read(address, bytes),
            None => self.load_cut(offset, bytes),
        }
    }

    #[cold]
    #[inline(never)]
    fn load_cut(&self, offset: usize, bytes: &mut [u8]) {
        if let Some((within, beyond)) = bytes.split_at_mut_checked(self.inside(offset, bytes.len())) {
            if let Some(address) = self.place(offset, within.len()) {
                self.pool.read(address, within);
            }
            beyond.fill(0);
        }
    }

    #[inline]
    fn store(&self, offset: usize, bytes: &[u8]) {
        match self.place(offset, bytes.len()) {
            Some(address) => self.pool.write(address, bytes),
            None => self.store_cut(offset, bytes),
        }
    }

    #[cold]
    #[inline(never)]
    fn store_cut(&self, offset: usize, bytes: &[u8]) {
        if let Some(within) = bytes.get(..self.inside(offset, bytes.len()))
            && let Some(address) = self.place(offset, within.len())
        {
            self.pool.write(address, within);
        }
    }

    /// Copies bytes from `offset` on; what lies beyond the region's end reads as zero.
    #[inline(never)]
    pub fn read_bytes(&self, offset: usize, bytes: &mut [u8]) {
        self.load(offset, bytes);
    }

    /// Copies bytes to `offset` on; what would lie beyond the region's end is dropped.
    #[inline(never)]
    pub fn write_bytes(&self, offset: usize, bytes: &[u8]) {
        self.store(offset, bytes);
    }

    /// Reads a value at `offset`; bytes beyond the region's end read as zero.
    #[inline]
    pub fn read<T: FromBytes + FromZeros + IntoBytes>(&self, offset: usize) -> T {
        let mut value = T::new_zeroed();
        self.load(offset, value.as_mut_bytes());
        value
    }

    /// Writes words at `offset`, a multiple of 8: the fast way for queue entries. Nothing is written if not all of them lie in
    /// the region.
    #[inline(always)]
    pub fn write_words<const COUNT: usize>(&self, offset: usize, words: [u64; COUNT]) {
        if let Some(address) = self.place(offset, size_of_val(&words)) {
            self.pool.write_words(address, words);
        }
    }

    /// Writes a value at `offset`. Types that are aligned to eight bytes go as whole words.
    #[inline]
    pub fn write<T: IntoBytes + Immutable>(&self, offset: usize, value: &T) {
        self.store(offset, value.as_bytes());
    }

    /// Reads the aligned 32-bit word at `offset` in one access; zero at any other offset and beyond the region's end.
    #[inline(always)]
    pub fn read_word(&self, offset: usize) -> u32 {
        match self.place(offset, 4) {
            Some(address) if offset.is_multiple_of(4) => self.pool.read_word(address),
            _ => 0,
        }
    }

    /// Writes the aligned 32-bit word at `offset` in one access; nothing at any other offset and beyond the region's end.
    #[inline(always)]
    pub fn write_word(&self, offset: usize, word: u32) {
        if let Some(address) = self.place(offset, 4).filter(|_| offset.is_multiple_of(4)) {
            self.pool.write_word(address, word);
        }
    }

    /// Takes the region out of use without freeing it, because a device may still reach it.
    pub fn quarantine(mut self) {
        self.pool.quarantine(self.address, self.size);
        // An empty region has nothing to give back.
        self.size = 0;
    }
}

impl<P: DmaPool> Drop for DmaRegion<P> {
    fn drop(&mut self) {
        if self.size != 0 {
            self.pool.release(self.address, self.size);
        }
    }
}
