//! A pool of real memory for devices.

use core::ptr::with_exposed_provenance_mut as pointer;

use spin::Mutex;

use super::copy;
use crate::dma::pages::PageMap;
use crate::{DmaError, DmaPool, barrier};

/// Whether devices see the processor's caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coherency {
    /// They do: barriers are enough. So it is with ANS on M1, where m1n1 keeps queues in write-back memory without any
    /// maintenance (soc reference, section 6).
    Coherent,
    /// They do not: what is written is cleaned to the point of coherency, and what is read is cleaned and invalidated
    /// before. Data that the processor and the device change at the same time must not share a cache line.
    Maintained,
}

/// A fixed span of Normal memory that devices reach at the same addresses, for up to `64 * WORDS` pages.
///
/// `&PhysicalPool` is the [`DmaPool`]; drivers use a `&'static` one. An access outside the pool touches nothing: it reads
/// zeroes, and drops what is written.
#[derive(Debug)]
pub struct PhysicalPool<const WORDS: usize = 64> {
    base: usize,
    size: usize,
    coherency: Coherency,
    pages: Mutex<PageMap<WORDS>>,
}

impl<const WORDS: usize> PhysicalPool<WORDS> {
    /// The pool of the whole pages in `size` bytes at `base`.
    ///
    /// # Safety
    /// For the pool's whole life, `base .. base + size` is memory that nothing else uses: no allocator, no static, no
    /// reference. Each byte is mapped at its physical address, as Normal memory with `SCTLR_ELx.A` clear (copies may be
    /// unaligned). `base` is a multiple of [`crate::DEVICE_PAGE`].
    pub const unsafe fn new(base: usize, size: usize, coherency: Coherency) -> Self {
        let pages = PageMap::new(size / crate::DEVICE_PAGE);
        Self { base, size: pages.size(), coherency, pages: Mutex::new(pages) }
    }

    /// The address of the first byte.
    pub const fn base(&self) -> usize {
        self.base
    }

    /// The bytes that the pool manages: whole pages, as many as its map holds.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Bytes in use and bytes in quarantine (which also count as in use).
    pub fn usage(&self) -> (usize, usize) {
        let pages = self.pages.lock();
        (pages.used() * crate::DEVICE_PAGE, pages.quarantined() * crate::DEVICE_PAGE)
    }

    /// The offset of `size` bytes at `address`, if all of them are the pool's.
    #[inline(always)]
    fn offset(&self, address: u64, size: usize) -> Option<usize> {
        let offset = usize::try_from(address).ok()?.wrapping_sub(self.base);
        (offset <= self.size && size <= self.size - offset).then_some(offset)
    }

    /// Where `size` bytes at `address` are, if all of them are the pool's.
    #[inline(always)]
    fn place(&self, address: u64, size: usize) -> Option<*mut u8> {
        self.offset(address, size).map(|offset| pointer(self.base + offset))
    }
}

impl<const WORDS: usize> DmaPool for &PhysicalPool<WORDS> {
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        let offset = self.pages.lock().take(self.base as u64, size, alignment)?;
        let bytes = size.next_multiple_of(crate::DEVICE_PAGE);
        let start = self.base + offset;
        // SAFETY: the map gave these pages to this call alone, inside the span that `new`'s caller vouched for; pages
        // that a device may still reach are in quarantine and are not given.
        unsafe { copy::zero(pointer(start), bytes) };
        self.clean(start, bytes);
        Ok(start as u64)
    }

    fn release(&self, address: u64, size: usize) {
        if let Some(offset) = self.offset(address, size) {
            self.pages.lock().give(offset, size);
        }
    }

    fn quarantine(&self, address: u64, size: usize) {
        if let Some(offset) = self.offset(address, size) {
            self.pages.lock().quarantine(offset, size);
        }
    }

    fn reclaim(&self) {
        self.pages.lock().reclaim();
    }

    #[inline]
    fn read(&self, address: u64, bytes: &mut [u8]) {
        match self.place(address, bytes.len()) {
            Some(from) => {
                self.refetch(from.addr(), bytes.len());
                // SAFETY: `place` checked the bounds, and nothing in the pool is ever a reference.
                unsafe { copy::load(bytes, from) };
            }
            None => bytes.fill(0),
        }
    }

    #[inline]
    fn write(&self, address: u64, bytes: &[u8]) {
        if let Some(to) = self.place(address, bytes.len()) {
            // SAFETY: `place` checked the bounds, and nothing in the pool is ever a reference.
            unsafe { copy::store(to, bytes) };
            self.clean(to.addr(), bytes.len());
        }
    }

    #[inline(always)]
    fn write_words<const COUNT: usize>(&self, address: u64, words: [u64; COUNT]) {
        let place = self.place(address, size_of_val(&words)).map(|place| place.cast::<u64>());
        if let Some(to) = place.filter(|place| place.is_aligned()) {
            // SAFETY: in bounds by `place`, aligned by the filter; nothing in the pool is ever a reference.
            unsafe { copy::store_words(to, words) };
            self.clean(to.addr(), size_of_val(&words));
        }
    }

    #[inline(always)]
    fn read_word(&self, address: u64) -> u32 {
        match self.place(address, 4).map(|place| place.cast::<u32>().cast_const()) {
            Some(from) if from.is_aligned() => {
                self.refetch(from.addr(), 4);
                // SAFETY: in bounds by `place`, aligned by the guard.
                unsafe { from.read_volatile() }
            }
            _ => 0,
        }
    }

    #[inline(always)]
    fn write_word(&self, address: u64, word: u32) {
        let place = self.place(address, 4).map(|place| place.cast::<u32>());
        if let Some(to) = place.filter(|place| place.is_aligned()) {
            // SAFETY: in bounds by `place`, aligned by the filter; nothing in the pool is ever a reference.
            unsafe { to.write_volatile(word) };
            self.clean(to.addr(), 4);
        }
    }

    #[inline(always)]
    fn publish(&self) {
        match self.coherency {
            Coherency::Coherent => barrier::publish(),
            // Only a DSB waits for cache maintenance to be complete.
            Coherency::Maintained => barrier::complete(),
        }
    }

    #[inline(always)]
    fn observe(&self) {
        barrier::observe();
    }

    #[inline(always)]
    fn order(&self) {
        match self.coherency {
            Coherency::Coherent => barrier::order(),
            Coherency::Maintained => barrier::complete(),
        }
    }
}

impl<const WORDS: usize> PhysicalPool<WORDS> {
    /// Sends what was written to the point of coherency, where the device does not see the caches.
    #[inline(always)]
    fn clean(&self, address: usize, size: usize) {
        if self.coherency == Coherency::Maintained {
            maintenance::clean(address, size);
        }
    }

    /// Makes the next read fetch from memory, where the device does not see the caches.
    #[inline(always)]
    fn refetch(&self, address: usize, size: usize) {
        if self.coherency == Coherency::Maintained {
            maintenance::clean_and_invalidate(address, size);
            barrier::complete();
        }
    }
}

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod maintenance {
    use core::arch::asm;

    /// `DC CVAC` on each line.
    #[cold]
    pub(super) fn clean(address: usize, size: usize) {
        for line in lines(address, size) {
            // SAFETY: writing a line back changes nothing that the program can see.
            unsafe { asm!("dc cvac, {line}", line = in(reg) line, options(nostack, preserves_flags)) }
        }
    }

    /// `DC CIVAC` on each line.
    #[cold]
    pub(super) fn clean_and_invalidate(address: usize, size: usize) {
        for line in lines(address, size) {
            // SAFETY: the line is written back before it is dropped, so that no write is lost.
            unsafe { asm!("dc civac, {line}", line = in(reg) line, options(nostack, preserves_flags)) }
        }
    }

    /// The first address of each cache line. `CTR_EL0.DminLine` (bits 19:16) tells the smallest line's size: four bytes
    /// shifted by it.
    fn lines(address: usize, size: usize) -> impl Iterator<Item = usize> {
        let cache_type: usize;
        // SAFETY: reading an identification register changes nothing.
        unsafe { asm!("mrs {v}, ctr_el0", v = out(reg) cache_type, options(nomem, nostack, preserves_flags)) }
        let line = 4usize << (cache_type >> 16 & 0xf);
        (address & !(line - 1)..address + size).step_by(line)
    }
}

#[cfg(not(all(target_arch = "aarch64", not(miri))))]
mod maintenance {
    pub(super) fn clean(_address: usize, _size: usize) {}
    pub(super) fn clean_and_invalidate(_address: usize, _size: usize) {}
}
