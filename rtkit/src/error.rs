//! What can go wrong with a coprocessor, and when.

use core::fmt;
use core::time::Duration;

use hal::time::Span;

use crate::crash::Crash;
use crate::protocol::{Phase, ProtocolError};
use crate::{Endpoint, GrantError, MailboxError, Message};

/// A step of a coprocessor's life, as a log names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Started or woken; HELLO and the protocol version.
    Hello,
    /// The endpoint map.
    Endpoints,
    /// Endpoints start and get memory; the coprocessor's power, then the host's.
    Power,
    /// In use.
    Running,
    /// The host, and if asked for the coprocessor, goes quiet.
    Quiesce,
    /// The coprocessor goes to sleep.
    Sleep,
}

impl Stage {
    /// The stage's name in logs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hello => "rtkit-hello",
            Self::Endpoints => "rtkit-endpoints",
            Self::Power => "rtkit-power",
            Self::Running => "rtkit-running",
            Self::Quiesce => "rtkit-quiesce",
            Self::Sleep => "rtkit-sleep",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What went wrong, and at which stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The coprocessor did not say what was awaited.
    TimedOut {
        /// The stage.
        stage: Stage,
        /// How far the session is, which tells what was awaited.
        phase: Phase,
        /// How long it was awaited.
        waited: Duration,
        /// The last message that came in this stage.
        seen: Option<Message>,
    },
    /// The coprocessor broke the protocol or refused, or the call came at the wrong time.
    Protocol {
        /// The stage.
        stage: Stage,
        /// What was wrong.
        error: ProtocolError,
    },
    /// A message could not be sent.
    Mailbox {
        /// The stage.
        stage: Stage,
        /// Why.
        error: MailboxError,
    },
    /// The coprocessor's owner lent no memory.
    Grant {
        /// The stage.
        stage: Stage,
        /// The endpoint that it was for.
        endpoint: Endpoint,
        /// Bytes that the coprocessor asked for.
        size: usize,
        /// Why.
        error: GrantError,
    },
    /// The coprocessor has crashed, now or before.
    Crashed {
        /// The stage in which the call found out.
        stage: Stage,
        /// What the crash record says in short.
        crash: Crash,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut { stage, phase, waited, seen } => {
                write!(f, "{stage}: no {} within {}", Awaited(*phase), Span(*waited))?;
                match seen {
                    Some(message) => write!(f, "; the last message was {message}"),
                    None => f.write_str("; no message came"),
                }
            }
            Self::Protocol { stage, error } => write!(f, "{stage}: {error}"),
            Self::Mailbox { stage, error } => write!(f, "{stage}: {error}"),
            Self::Grant { stage, endpoint, size, error } => {
                write!(f, "{stage}: no buffer of {size} bytes for {endpoint}: {error}")
            }
            Self::Crashed { stage, crash } => write!(f, "{stage}: the coprocessor crashed: {crash}"),
        }
    }
}

impl core::error::Error for Error {}

/// What a phase waits for.
struct Awaited(Phase);

impl fmt::Display for Awaited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Phase::Hello => f.write_str("HELLO"),
            Phase::Map => f.write_str("last page of the endpoint map"),
            Phase::IopPower => f.write_str("acknowledgement of the coprocessor's power"),
            Phase::ApPower => f.write_str("acknowledgement of the host's power"),
            Phase::ApQuiesce(_) => f.write_str("acknowledgement that the host is quiesced"),
            Phase::IopStop(target) => write!(f, "acknowledgement of power state {target}"),
            Phase::Off | Phase::Running | Phase::Down(_) | Phase::Crashed => f.write_str("message"),
        }
    }
}
