//! The SART: the list of physical windows through which the coprocessor's own DMA may pass.
//!
//! It filters and never translates. Only what the coprocessor itself touches needs an entry (its log and crash buffers);
//! queues and data go through the NVMMU. Entries that the boot chain installed are protected: they are never written,
//! neither to reuse nor to clear them. Entries that we leave behind are lost to the next stage, so all go at the end.

use core::fmt;

use hal::Mmio;
use tock_registers::interfaces::{Readable, Writeable};

use crate::spec::{self, SartConfig2, SartConfig3};

/// Which layout a SART has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// A14 and M1: flags and size share a word.
    Two,
    /// M1 Pro and later, M2: flags and size have a word each.
    Three,
}

impl TryFrom<u32> for Version {
    type Error = SartError;

    fn try_from(number: u32) -> Result<Self, SartError> {
        match number {
            2 => Ok(Self::Two),
            3 => Ok(Self::Three),
            other => Err(SartError::UnknownVersion(other)),
        }
    }
}

/// A range of physical addresses, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first address.
    pub address: u64,
    /// The length.
    pub size: u64,
}

impl Range {
    fn overlaps(&self, other: &Self) -> bool {
        self.address < other.address.saturating_add(other.size)
            && other.address < self.address.saturating_add(self.size)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x} bytes at {:#x}", self.size, self.address)
    }
}

/// Why the SART did not open or close a window. Except for [`SartError::StillOpen`], nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SartError {
    /// A version that this driver does not know.
    UnknownVersion(u32),
    /// The range is empty, or its address or size is no multiple of 4 KiB.
    Misaligned(Range),
    /// The range does not fit the fields of this version.
    TooLarge(Range),
    /// The range overlaps one that is open.
    Overlaps {
        /// The range that was to be opened.
        range: Range,
        /// The open one.
        open: Range,
    },
    /// All entries are in use.
    NoSlot,
    /// No entry of ours has exactly this address and size.
    NotFound(Range),
    /// The entry was cleared and still has flags.
    StillOpen {
        /// The entry's index.
        index: usize,
        /// Its CONFIG word.
        config: u32,
    },
}

impl SartError {
    /// The reason in few words, without numbers.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::UnknownVersion(_) => "SART version is not known",
            Self::Misaligned(_) => "window is not whole pages",
            Self::TooLarge(_) => "window does not fit the SART's fields",
            Self::Overlaps { .. } => "window overlaps an open one",
            Self::NoSlot => "all SART entries are in use",
            Self::NotFound(_) => "no such SART entry",
            Self::StillOpen { .. } => "SART entry does not close",
        }
    }
}

impl fmt::Display for SartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownVersion(version) => write!(f, "SART version {version} is not known (2 and 3 are)"),
            Self::Misaligned(range) => write!(f, "SART window of {range} is not whole pages of 4 KiB"),
            Self::TooLarge(range) => write!(f, "SART window of {range} does not fit this version's fields"),
            Self::Overlaps { range, open } => write!(f, "SART window of {range} overlaps the open one of {open}"),
            Self::NoSlot => write!(f, "all {} SART entries are in use", spec::SART_ENTRIES),
            Self::NotFound(range) => write!(f, "no SART entry of ours holds {range}"),
            Self::StillOpen { index, config } => {
                write!(f, "SART entry {index} was cleared and still reads {config:#010x}")
            }
        }
    }
}

impl core::error::Error for SartError {}

/// The SART of a coprocessor, with the entries that are ours.
#[derive(Debug)]
pub struct Sart<W: Mmio> {
    window: W,
    version: Version,
    protected: [bool; spec::SART_ENTRIES],
    ours: [Option<Range>; spec::SART_ENTRIES],
}

impl<W: Mmio> Sart<W> {
    /// The SART behind `window`. Nothing is read yet, and until [`Sart::scan`] every entry counts as protected.
    pub const fn new(window: W, version: Version) -> Self {
        Self { window, version, protected: [true; spec::SART_ENTRIES], ours: [None; spec::SART_ENTRIES] }
    }

    /// Reads all entries and marks those in use, other than ours, as protected. The SART's power domain is on.
    pub fn scan(&mut self) {
        self.protected = core::array::from_fn(|index| {
            self.flags(index) != 0 && self.ours.get(index).is_none_or(|ours| ours.is_none())
        });
    }

    /// Gives the window back.
    pub fn into_window(self) -> W {
        self.window
    }

    /// How many entries were in use before us.
    pub fn protected(&self) -> usize {
        self.protected.iter().filter(|protected| **protected).count()
    }

    /// How many entries are ours.
    pub fn open(&self) -> usize {
        self.ours.iter().flatten().count()
    }

    /// Lets the coprocessor reach a range, from this call on.
    ///
    /// # Errors
    /// [`SartError`]; nothing is then written.
    pub fn add(&mut self, range: Range) -> Result<(), SartError> {
        self.check(range)?;
        if let Some(open) = self.ours.iter().flatten().find(|open| open.overlaps(&range)) {
            return Err(SartError::Overlaps { range, open: *open });
        }
        let free = |index: &usize| {
            !self.protected.get(*index).is_none_or(|protected| *protected)
                && self.ours.get(*index).is_some_and(Option::is_none)
                // Somebody else's entry from after our scan is not ours to overwrite either.
                && self.flags(*index) == 0
        };
        let index = (0..spec::SART_ENTRIES).find(free).ok_or(SartError::NoSlot)?;
        self.write(index, range, spec::SART_ALLOW);
        if let Some(slot) = self.ours.get_mut(index) {
            *slot = Some(range);
        }
        Ok(())
    }

    /// Closes a window that [`Sart::add`] opened with exactly this address and size.
    ///
    /// # Errors
    /// [`SartError::NotFound`], or [`SartError::StillOpen`] when the hardware did not take it: the memory behind the window
    /// must then not be used again.
    pub fn remove(&mut self, range: Range) -> Result<(), SartError> {
        let index = self.ours.iter().position(|open| *open == Some(range)).ok_or(SartError::NotFound(range))?;
        self.close(index)
    }

    /// Closes every window of ours.
    ///
    /// # Errors
    /// The first [`SartError::StillOpen`]; all others are closed all the same.
    pub fn clear(&mut self) -> Result<(), SartError> {
        let mut result = Ok(());
        for index in 0..spec::SART_ENTRIES {
            if self.ours.get(index).is_some_and(Option::is_some) {
                result = result.and(self.close(index));
            }
        }
        result
    }

    fn close(&mut self, index: usize) -> Result<(), SartError> {
        self.write(index, Range { address: 0, size: 0 }, 0);
        if let Some(slot) = self.ours.get_mut(index) {
            *slot = None;
        }
        match self.flags(index) {
            0 => Ok(()),
            _ => Err(SartError::StillOpen { index, config: self.config(index) }),
        }
    }

    fn check(&self, range: Range) -> Result<(), SartError> {
        let page = 1u64 << spec::SART_PAGE_SHIFT;
        if range.size == 0 || !range.address.is_multiple_of(page) || !range.size.is_multiple_of(page) {
            return Err(SartError::Misaligned(range));
        }
        let (bits, pages) = match self.version {
            Version::Two => (spec::SART_2_ADDRESS_BITS, spec::SART_2_PAGES),
            Version::Three => (spec::SART_3_ADDRESS_BITS, spec::SART_3_PAGES),
        };
        let fits = range.address.checked_add(range.size).is_some_and(|end| end <= 1 << bits);
        if fits && range.size / page <= pages { Ok(()) } else { Err(SartError::TooLarge(range)) }
    }

    /// Writes an entry. The word with the flags is last, so that a window never opens half described.
    fn write(&self, index: usize, range: Range, flags: u32) {
        // `check` has bounded both: a page number has at most 30 bits.
        #[expect(clippy::cast_possible_truncation, reason = "bounded by `check`")]
        let in_pages = |bytes: u64| (bytes >> spec::SART_PAGE_SHIFT) as u32;
        let (address, size) = (in_pages(range.address), in_pages(range.size));
        spec::sart_address(index).of(&self.window).set(address);
        let config = match self.version {
            Version::Two => (SartConfig2::FLAGS.val(flags) + SartConfig2::SIZE.val(size)).value,
            Version::Three => {
                spec::sart_size(index).of(&self.window).set(size);
                SartConfig3::FLAGS.val(flags).value
            }
        };
        spec::sart_config(index).of(&self.window).set(config);
    }

    fn flags(&self, index: usize) -> u32 {
        let config = self.config(index);
        match self.version {
            Version::Two => SartConfig2::FLAGS.read(config),
            Version::Three => SartConfig3::FLAGS.read(config),
        }
    }

    fn config(&self, index: usize) -> u32 {
        spec::sart_config(index).of(&self.window).get()
    }
}

#[cfg(test)]
mod tests;
