//! Why ANS did not come up or go down.

use core::fmt;
use core::time::Duration;

use hal::Platform;
use hal::time::Span;

use crate::hardware::Hardware;
use crate::power::PowerError;
use crate::sart::SartError;
use crate::spec;
use crate::stage::Stage;

/// What went wrong in a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// A power domain.
    Power(PowerError),
    /// The SART.
    Sart(SartError),
    /// The coprocessor.
    Rtkit(rtkit::Error),
    /// BOOT_STATUS did not get its value.
    BootStatus {
        /// How long the wait lasted.
        waited: Duration,
        /// The last value read.
        value: u32,
    },
    /// The controller.
    Nvme(nvme::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Power(error) => error.fmt(f),
            Self::Sart(error) => error.fmt(f),
            Self::Rtkit(error) => error.fmt(f),
            Self::BootStatus { waited, value } => write!(
                f,
                "BOOT_STATUS is {value:#010x} after {}, awaited was {:#010x}",
                Span(*waited),
                spec::BOOT_STATUS_READY
            ),
            Self::Nvme(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {}

impl From<PowerError> for Error {
    fn from(error: PowerError) -> Self {
        Self::Power(error)
    }
}

impl From<SartError> for Error {
    fn from(error: SartError) -> Self {
        Self::Sart(error)
    }
}

impl From<rtkit::Error> for Error {
    fn from(error: rtkit::Error) -> Self {
        Self::Rtkit(error)
    }
}

impl From<nvme::Error> for Error {
    fn from(error: nvme::Error) -> Self {
        Self::Nvme(error)
    }
}

/// An error and the stage in which it came up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failed {
    /// The stage.
    pub stage: Stage,
    /// What went wrong in it.
    pub error: Error,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            // RTKit's errors begin with their stage.
            Error::Rtkit(error) => error.fmt(f),
            error => write!(f, "{}: {error}", self.stage),
        }
    }
}

/// ANS did not come up, or not go down in order; with what it was made of.
pub struct Failure<P: Platform> {
    /// What failed first.
    pub failed: Failed,
    /// What failed in putting things back, if anything. Nothing: the machine is as it was found.
    pub left: Option<Failed>,
    /// The hardware. Memory that the coprocessor or the controller may still reach is in quarantine in the pool.
    pub hardware: Hardware<P>,
}

impl<P: Platform> fmt::Display for Failure<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.failed.fmt(f)?;
        match &self.left {
            Some(left) => write!(f, " (and then, putting things back: {left})"),
            None => Ok(()),
        }
    }
}

impl<P: Platform> fmt::Debug for Failure<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure").field("failed", &self.failed).field("left", &self.left).finish_non_exhaustive()
    }
}

impl<P: Platform> core::error::Error for Failure<P> {}
