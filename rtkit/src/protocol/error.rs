//! What can be wrong with what a coprocessor says.

use core::fmt;

use super::{BufferError, Phase, UnsupportedVersion};
use crate::{Endpoint, PowerState};

/// A message that breaks the protocol, or a call at the wrong time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolError {
    /// No common protocol version.
    Version(UnsupportedVersion),
    /// The endpoint map has more pages than there can be endpoints.
    EndlessMap {
        /// Pages received without one marked as last.
        pages: usize,
    },
    /// HELLO in the middle of a session: the coprocessor has started over and knows nothing of it.
    StartedOver(Phase),
    /// A power state other than the requested one was acknowledged.
    Power {
        /// The state that was asked for.
        requested: PowerState,
        /// The state that was acknowledged.
        acknowledged: PowerState,
    },
    /// A request for memory was refused.
    Buffer(Endpoint, BufferError),
    /// Only a running coprocessor's map decides which application endpoints can be started, and each once.
    NoSuchEndpoint(Endpoint),
    /// The call makes no sense in this phase.
    WrongPhase(Phase),
}

impl fmt::Display for ProtocolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(refused) => write!(f, "{refused}"),
            Self::EndlessMap { pages } => {
                write!(f, "its endpoint map does not end: {pages} pages and none is the last")
            }
            Self::StartedOver(phase) => write!(f, "it said HELLO again in the middle of a session (phase {phase:?})"),
            Self::Power { requested, acknowledged } => {
                write!(f, "it was asked for power state {requested} and acknowledged {acknowledged}")
            }
            Self::Buffer(endpoint, error) => write!(f, "{endpoint} {error}"),
            Self::NoSuchEndpoint(endpoint) => write!(f, "{endpoint} cannot be started"),
            Self::WrongPhase(phase) => write!(f, "not possible in phase {phase:?}"),
        }
    }
}

impl core::error::Error for ProtocolError {}
