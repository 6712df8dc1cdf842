//! Which pages of a pool are free: the bookkeeping that every pool shares.

use super::{DEVICE_PAGE, DmaError};

/// The state of up to `64 * WORDS` pages of [`DEVICE_PAGE`] bytes.
#[derive(Debug)]
pub struct PageMap<const WORDS: usize> {
    used: [u64; WORDS],
    quarantined: [u64; WORDS],
    pages: usize,
}

impl<const WORDS: usize> PageMap<WORDS> {
    /// A map of `pages` free pages, at most `64 * WORDS`.
    pub const fn new(pages: usize) -> Self {
        let most = 64 * WORDS;
        Self { used: [0; WORDS], quarantined: [0; WORDS], pages: if pages < most { pages } else { most } }
    }

    /// The bytes of all pages.
    pub const fn size(&self) -> usize {
        self.pages * DEVICE_PAGE
    }

    /// Finds and takes the lowest free run for `size` bytes whose byte offset plus `base` is a multiple of `alignment`;
    /// gives the byte offset.
    ///
    /// # Errors
    /// [`DmaError`] when there is no such run or the request makes no sense.
    pub fn take(&mut self, base: u64, size: usize, alignment: usize) -> Result<usize, DmaError> {
        if size == 0 || !alignment.is_power_of_two() {
            return Err(DmaError::Invalid { size, alignment });
        }
        let pages = size.div_ceil(DEVICE_PAGE);
        let mut run = 0;
        let mut start = 0;
        for page in 0..self.pages {
            if run == 0 {
                start = page;
                if base.wrapping_add((page * DEVICE_PAGE) as u64) & (alignment as u64 - 1) != 0 {
                    continue;
                }
            }
            if get(&self.used, page) {
                run = 0;
                continue;
            }
            run += 1;
            if run == pages {
                for taken in start..=page {
                    set(&mut self.used, taken, true);
                }
                return Ok(start * DEVICE_PAGE);
            }
        }
        Err(DmaError::Exhausted { size })
    }

    /// Gives back `size` bytes at byte `offset`; quarantined pages stay out of use.
    pub fn give(&mut self, offset: usize, size: usize) {
        for page in span(offset, size) {
            if !get(&self.quarantined, page) {
                set(&mut self.used, page, false);
            }
        }
    }

    /// Takes `size` bytes at byte `offset` out of use until [`PageMap::reclaim`].
    pub fn quarantine(&mut self, offset: usize, size: usize) {
        for page in span(offset, size) {
            set(&mut self.quarantined, page, true);
        }
    }

    /// Frees every quarantined page.
    pub fn reclaim(&mut self) {
        for (used, quarantined) in self.used.iter_mut().zip(self.quarantined.iter_mut()) {
            *used &= !*quarantined;
            *quarantined = 0;
        }
    }

    /// How many pages are in use, quarantined ones included.
    pub fn used(&self) -> usize {
        self.used.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// How many pages are quarantined.
    pub fn quarantined(&self) -> usize {
        self.quarantined.iter().map(|word| word.count_ones() as usize).sum()
    }
}

fn span(offset: usize, size: usize) -> core::ops::Range<usize> {
    offset / DEVICE_PAGE..offset.saturating_add(size).div_ceil(DEVICE_PAGE)
}

fn get(words: &[u64], page: usize) -> bool {
    words.get(page / 64).is_some_and(|word| word >> (page % 64) & 1 != 0)
}

fn set(words: &mut [u64], page: usize, value: bool) {
    if let Some(word) = words.get_mut(page / 64) {
        let bit = 1 << (page % 64);
        if value { *word |= bit } else { *word &= !bit }
    }
}
