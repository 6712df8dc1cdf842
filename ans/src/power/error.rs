//! What can go wrong with a power domain.

use core::fmt;
use core::time::Duration;

use hal::fdt::Label;
use hal::time::Span;

/// Why a power domain did not do as it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PowerError {
    /// The table names a block that is not there, or a parent that does not stand before its child.
    Table {
        /// The bad domain's index.
        index: usize,
    },
    /// There is no domain of that index.
    Unknown {
        /// The index that was asked for.
        index: usize,
    },
    /// The domain did not reach the state.
    TimedOut {
        /// The domain.
        domain: Label,
        /// The state that was awaited: 0xf active, 0x4 clock gated, 0 power gated.
        wanted: u32,
        /// The last word read.
        word: u32,
        /// How long the wait lasted.
        waited: Duration,
    },
}

impl fmt::Display for PowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Table { index } => {
                write!(f, "power domain {index} names a block or a parent that is not in the table")
            }
            Self::Unknown { index } => write!(f, "there is no power domain {index}"),
            Self::TimedOut { domain, wanted, word, waited } => write!(
                f,
                "power domain {domain} did not reach state {wanted:#x} in {}: its word is {word:#010x}",
                Span(*waited)
            ),
        }
    }
}

impl core::error::Error for PowerError {}
