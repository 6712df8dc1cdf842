//! Why something failed: which step, what was awaited, what was seen.

mod submit;

use core::fmt;
use core::time::Duration;

use hal::DmaError;
use hal::time::Span;

use crate::controller::Parts;
use crate::spec::status::Status;
use crate::transport::TransportError;

pub use self::submit::SubmitError;

/// A step of a controller's life that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// First look at the registers.
    Probe,
    /// CC.EN = 0 until CSTS.RDY = 0.
    Disable,
    /// CC.EN = 1 until CSTS.RDY = 1.
    Enable,
    /// Identify the controller.
    IdentifyController,
    /// Set the number of queues.
    SetQueueCount,
    /// Read whether the write cache is on.
    ReadWriteCache,
    /// Perform the flushes that wait.
    Flush,
    /// Give the controller the doorbell buffers.
    DoorbellBuffers,
    /// Create the IO completion queue.
    CreateCompletionQueue,
    /// Create the IO submission queue.
    CreateSubmissionQueue,
    /// Identify a namespace.
    IdentifyNamespace,
    /// Wait for the commands that are in flight.
    Drain,
    /// Delete the IO submission queue.
    DeleteSubmissionQueue,
    /// Delete the IO completion queue.
    DeleteCompletionQueue,
    /// CC.SHN = 1 until CSTS.SHST = 2.
    Shutdown,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Probe => "probing the controller",
            Self::Disable => "disabling the controller (CC.EN = 0, awaiting CSTS.RDY = 0)",
            Self::Enable => "enabling the controller (CC.EN = 1, awaiting CSTS.RDY = 1)",
            Self::IdentifyController => "identifying the controller",
            Self::SetQueueCount => "setting the number of queues",
            Self::ReadWriteCache => "reading whether the write cache is on",
            Self::Flush => "performing the flushes that wait",
            Self::DoorbellBuffers => "giving the controller the doorbell buffers",
            Self::CreateCompletionQueue => "creating the IO completion queue",
            Self::CreateSubmissionQueue => "creating the IO submission queue",
            Self::IdentifyNamespace => "identifying a namespace",
            Self::Drain => "awaiting the commands in flight",
            Self::DeleteSubmissionQueue => "deleting the IO submission queue",
            Self::DeleteCompletionQueue => "deleting the IO completion queue",
            Self::Shutdown => "shutting the controller down (CC.SHN = 1, awaiting CSTS.SHST = 2)",
        })
    }
}

/// Why a controller takes no more commands. Only a reset or a shutdown leads out of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A command did not complete in time; its tag and memory are in quarantine.
    TimedOut {
        /// The command's tag.
        tag: u32,
        /// How long it was awaited.
        waited: Duration,
    },
    /// CSTS.CFS is set.
    Fatal {
        /// The status register.
        status: u32,
    },
    /// The registers read as all ones.
    Gone,
    /// The last reset did not bring it up again, or its queues could not be made anew.
    NotUp,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { tag, waited } => {
                write!(f, "command with tag {tag} did not complete in {}", Span(*waited))
            }
            Self::Fatal { status } => write!(f, "the controller reports a fatal error (CSTS {status:#010x})"),
            Self::Gone => f.write_str("the controller is gone (its registers read as all ones)"),
            Self::NotUp => f.write_str("the controller was not brought up again"),
        }
    }
}

/// A step of a controller's life failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The controller's state did not become what was awaited.
    TimedOut {
        /// The step.
        step: Step,
        /// How long it was awaited.
        waited: Duration,
        /// The status register at the end.
        status: u32,
    },
    /// The controller is at fault.
    Fault {
        /// The step.
        step: Step,
        /// What is wrong.
        fault: Fault,
    },
    /// A command of the step failed.
    Command {
        /// The step.
        step: Step,
        /// How.
        error: CommandError,
    },
    /// The smallest page of the controller is larger than the 64 KiB that this driver goes up to.
    PageSize {
        /// CAP.MPSMIN.
        smallest: u64,
    },
    /// Flushes could not be performed.
    Flush {
        /// The step.
        step: Step,
        /// How.
        error: BlockError,
    },
    /// The transport cannot be made.
    Transport(TransportError),
    /// No memory for PRP lists or Identify data.
    Memory(DmaError),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { step, waited, status } => {
                write!(f, "{step}: gave up after {}, CSTS is {status:#010x}", Span(*waited))
            }
            Self::Fault { step, fault } => write!(f, "{step}: {fault}"),
            Self::Command { step, error } => write!(f, "{step}: {error}"),
            Self::Flush { step, error } => write!(f, "{step}: {error}"),
            Self::PageSize { smallest } => {
                write!(f, "probing the controller: its smallest page is 2^{} bytes, 65536 are the most", 12 + smallest)
            }
            Self::Transport(TransportError::Memory(error)) | Self::Memory(error) => write!(f, "NVMe queues: {error}"),
            Self::Transport(TransportError::QueueTooShort { entries, needed }) => {
                write!(f, "probing the controller: queues of {entries} entries are too short, {needed} are needed")
            }
        }
    }
}

impl core::error::Error for Error {}

/// How a command failed that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandError {
    /// The controller answered with an error.
    Status(Status),
    /// The controller answered, but the translation of this tag could not be invalidated; the data is not to be trusted.
    InvalidationFailed {
        /// The tag.
        tag: u32,
    },
    /// It did not complete in time. Its memory is in quarantine and the controller takes no more commands.
    TimedOut {
        /// The tag.
        tag: u32,
        /// How long it was awaited.
        waited: Duration,
    },
    /// The controller failed while the command was in flight. Its memory is in quarantine.
    Failed(Fault),
    /// The controller was reset while the command was in flight.
    Reset,
    /// It was not sent, since the controller is at fault.
    Dead(Fault),
    /// It was not sent, since the controller does not have it.
    Unsupported,
    /// It succeeded with a result that makes no sense.
    Result {
        /// The result.
        result: u32,
    },
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(f, "the controller answered: {status}"),
            Self::InvalidationFailed { tag } => write!(f, "the translation of tag {tag} could not be invalidated"),
            Self::TimedOut { tag, waited } => write!(f, "no completion of tag {tag} in {}", Span(*waited)),
            Self::Failed(fault) => write!(f, "no completion: {fault}"),
            Self::Reset => f.write_str("the controller was reset"),
            Self::Dead(fault) => write!(f, "not sent: {fault}"),
            Self::Unsupported => f.write_str("not sent: the controller does not have it"),
            Self::Result { result } => write!(f, "unusable result {result:#010x}"),
        }
    }
}

impl core::error::Error for CommandError {}

/// Why an admin command of the owner's failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PassThroughError {
    /// It was not sent: it could change the controller, or it asks for what the controller or the memory cannot give.
    Refused {
        /// The opcode.
        opcode: u8,
    },
    /// The command failed.
    Command(CommandError),
}

impl fmt::Display for PassThroughError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused { opcode } => write!(f, "admin command {opcode:#04x} is not passed through"),
            Self::Command(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for PassThroughError {}

/// Why a blocking call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError {
    /// The request was not accepted.
    Submit(SubmitError),
    /// The command failed.
    Command(CommandError),
    /// No memory to move the data through.
    Memory(DmaError),
    /// The length is no multiple of the block size.
    Length {
        /// Bytes asked for.
        length: usize,
        /// The block size in bytes.
        block_size: u32,
    },
}

impl fmt::Display for BlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Submit(error) => error.fmt(f),
            Self::Command(error) => error.fmt(f),
            Self::Memory(error) => error.fmt(f),
            Self::Length { length, block_size } => {
                write!(f, "{length} bytes are no multiple of the block size of {block_size}")
            }
        }
    }
}

impl core::error::Error for BlockError {}

impl From<SubmitError> for BlockError {
    fn from(error: SubmitError) -> Self {
        Self::Submit(error)
    }
}

impl From<CommandError> for BlockError {
    fn from(error: CommandError) -> Self {
        Self::Command(error)
    }
}

/// A controller that could not be brought up or taken down, with what it was made of.
pub struct Failure<P: hal::Platform> {
    /// What failed first.
    pub error: Error,
    /// Window, pool and clock. Memory that the controller may still reach is in quarantine in the pool.
    pub parts: Parts<P>,
}

impl<P: hal::Platform> fmt::Debug for Failure<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Failure").field("error", &self.error).finish_non_exhaustive()
    }
}

impl<P: hal::Platform> fmt::Display for Failure<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}
