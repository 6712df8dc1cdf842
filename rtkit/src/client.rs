//! Who lends memory to a coprocessor and hears what it says.

use core::fmt;

use hal::{DmaError, DmaPool, DmaRegion};

use crate::crash::CrashReport;
use crate::{Endpoint, Message, Stage};

/// Why no memory was lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrantError {
    /// There is none.
    Memory(DmaError),
    /// The filter before the coprocessor could not be opened, and why.
    Filter(&'static str),
}

impl From<DmaError> for GrantError {
    fn from(error: DmaError) -> Self {
        Self::Memory(error)
    }
}

impl fmt::Display for GrantError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(error) => write!(f, "{error}"),
            Self::Filter(why) => write!(f, "the coprocessor's DMA filter cannot be opened: {why}"),
        }
    }
}

impl core::error::Error for GrantError {}

/// The coprocessor's owner: lends it memory and hears what it says.
///
/// Its methods are called from within the calls of [`Coprocessor`](crate::Coprocessor), never at another time.
pub trait Client<P: DmaPool> {
    /// Lends at least `size` bytes of zeroed memory, at a multiple of 4096 (the size is one too, except on oslog). The
    /// coprocessor must be able to reach them when this returns: it is told of them next.
    ///
    /// # Errors
    /// [`GrantError`], which ends the call that led here.
    fn grant(&mut self, endpoint: Endpoint, size: usize) -> Result<DmaRegion<P>, GrantError>;

    /// Takes memory back that the coprocessor does not use any more: closes the filter, then frees the memory. Memory that
    /// stays reachable must be quarantined instead.
    fn revoke(&mut self, endpoint: Endpoint, region: DmaRegion<P>);

    /// Takes memory out of use that the coprocessor may still reach, because it crashed or did not go to sleep.
    fn abandon(&mut self, endpoint: Endpoint, region: DmaRegion<P>) {
        hal::warn!("rtkit: memory lent to {} stays out of use", hal::log::Shown(&endpoint));
        region.quarantine();
    }

    /// A stage begins.
    fn stage(&mut self, stage: Stage) {
        let _ = stage;
    }

    /// A line of the firmware's log: printable ASCII.
    fn syslog(&mut self, context: &str, text: &str) {
        hal::info!("firmware: {}: {}", context, text);
    }

    /// The coprocessor crashed. Called once; the report is gone afterwards.
    fn crashed(&mut self, report: &CrashReport<'_>) {
        report.log();
    }

    /// A message that nobody here handles: of an application endpoint, of the debug endpoint, or of an unknown type.
    fn unknown(&mut self, message: Message) {
        hal::debug!("rtkit: message not handled: {}", hal::log::Shown(&message));
    }
}
