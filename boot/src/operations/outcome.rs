//! What came of an operation, in words that do not depend on a controller's limits.

use core::fmt;

use nvme::{BlockError, CommandError, PassThroughError, Status, SubmitError};
use sha2::{Digest, Sha256};

/// Bytes of a digest that are shown.
const SHOWN: usize = 8;

/// What came of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It succeeded, and there is no data to be shown.
    Done,
    /// It succeeded with data of this digest.
    Data([u8; SHOWN]),
    /// The controller does not have it.
    NotThere,
    /// The driver refused it.
    Refused(SubmitError),
    /// The driver does not pass it through.
    NotPassed,
    /// The controller answered with an error.
    Status(Status),
    /// It must not end like this on any controller.
    Wrong(&'static str),
    /// Nor like this.
    Failed(CommandError),
}

impl From<CommandError> for Outcome {
    fn from(error: CommandError) -> Self {
        match error {
            CommandError::Status(status) => Self::Status(status),
            other => Self::Failed(other),
        }
    }
}

impl From<PassThroughError> for Outcome {
    fn from(error: PassThroughError) -> Self {
        match error {
            PassThroughError::Refused { .. } => Self::NotPassed,
            PassThroughError::Command(error) => error.into(),
        }
    }
}

impl From<BlockError> for Outcome {
    fn from(error: BlockError) -> Self {
        match error {
            BlockError::Submit(error) => Self::Refused(error),
            BlockError::Command(error) => error.into(),
            BlockError::Memory(_) => NO_MEMORY,
            BlockError::Length { .. } => Self::Wrong("no whole blocks"),
        }
    }
}

/// There is less memory than the list needs.
pub(super) const NO_MEMORY: Outcome = Outcome::Wrong("no memory");

impl Outcome {
    /// The outcome of data.
    pub(super) fn digest(hash: Sha256) -> Self {
        let mut shown = [0; SHOWN];
        for (to, from) in shown.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        Self::Data(shown)
    }

    /// This if it is what must come of it, else that it is wrong; what was wrong before stays what it is.
    pub(super) fn if_only(self, must: impl FnOnce(&Self) -> bool, otherwise: &'static str) -> Self {
        if self.is_wrong() || must(&self) { self } else { Self::Wrong(otherwise) }
    }

    /// Whether it is wrong whatever the controller.
    pub(super) const fn is_wrong(&self) -> bool {
        matches!(self, Self::Wrong(_) | Self::Failed(_))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done => f.write_str("done"),
            Self::Data(digest) => {
                f.write_str("sha256 ")?;
                digest.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::NotThere => f.write_str("not there"),
            Self::Refused(error) => write!(f, "refused, {}", refusal(error)),
            Self::NotPassed => f.write_str("refused, not passed through"),
            // Not its flags: whether a retry could help, or more is in a log, is the controller's choice.
            Self::Status(status) => {
                write!(f, "status type {}, code {:#04x}, {}", status.kind(), status.code(), status.name())
            }
            Self::Wrong(what) => write!(f, "WRONG, {what}"),
            Self::Failed(error) => write!(f, "WRONG, {error}"),
        }
    }
}

/// A refusal without its numbers, which are the controller's own.
const fn refusal(error: &SubmitError) -> &'static str {
    match error {
        SubmitError::Busy => "busy",
        SubmitError::Dead(_) => "the controller is at fault",
        SubmitError::UnknownNamespace { .. } => "unknown namespace",
        SubmitError::NoBlocks => "no blocks",
        SubmitError::OutOfRange { .. } => "out of range",
        SubmitError::TooManyBlocks { .. } => "too many blocks",
        SubmitError::ReadOnly => "not armed",
        SubmitError::WriteProtected { .. } => "write protected",
        SubmitError::Unsupported { .. } => "unsupported",
        SubmitError::NotArmed => "deferring not armed",
        SubmitError::Delay { .. } => "no such delay",
        SubmitError::Deferred { .. } => "a flush that had been answered failed",
        SubmitError::UnknownQueuePair { .. } => "unknown queue pair",
        SubmitError::BufferTooShort { .. } => "buffer too short",
        SubmitError::Misaligned { .. } => "misaligned",
    }
}
