//! What travels: messages, endpoints and power states.

use core::fmt;

use crate::spec::{endpoint, management, message};

/// One mailbox message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The endpoint that it goes to or comes from.
    pub endpoint: u8,
    /// 64 bits, whose meaning the endpoint gives.
    pub payload: u64,
}

impl Message {
    /// A management message of that type over these payload bits.
    pub(crate) const fn management(kind: u64, bits: u64) -> Self {
        Self { endpoint: endpoint::MANAGEMENT, payload: kind << 52 | bits }
    }

    /// The request to start an endpoint.
    pub(crate) const fn start(number: u8) -> Self {
        Self::management(management::START_ENDPOINT, (number as u64) << 32 | management::START_FLAG)
    }

    /// The operation, where the endpoint has it in bits 59:52.
    pub(crate) const fn kind(self) -> u64 {
        message::TYPE.get(self.payload)
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#018x} on {}", self.payload, Endpoint(self.endpoint))
    }
}

/// The number of an endpoint, shown by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint(pub u8);

impl Endpoint {
    /// Versions, endpoints, power.
    pub const MANAGEMENT: Self = Self(endpoint::MANAGEMENT);
    /// The crash record.
    pub const CRASHLOG: Self = Self(endpoint::CRASHLOG);
    /// Lines of the firmware's log.
    pub const SYSLOG: Self = Self(endpoint::SYSLOG);
    /// Kernel tracing.
    pub const DEBUG: Self = Self(endpoint::DEBUG);
    /// Statistics.
    pub const IOREPORT: Self = Self(endpoint::IOREPORT);
    /// The newer, structured log.
    pub const OSLOG: Self = Self(endpoint::OSLOG);

    /// The system endpoints that are started where the coprocessor has them: without them RTKit does not finish booting
    /// (Linux, m1n1). In ascending order, as Linux starts them.
    pub const STARTED_AT_BOOT: [Self; 5] = [Self::CRASHLOG, Self::SYSLOG, Self::DEBUG, Self::IOREPORT, Self::OSLOG];

    /// Whether the endpoint belongs to the coprocessor's application rather than to RTKit.
    pub const fn is_application(self) -> bool {
        self.0 >= endpoint::FIRST_APPLICATION
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MANAGEMENT => f.write_str("management"),
            Self::CRASHLOG => f.write_str("crashlog"),
            Self::SYSLOG => f.write_str("syslog"),
            Self::DEBUG => f.write_str("debug"),
            Self::IOREPORT => f.write_str("ioreport"),
            Self::OSLOG => f.write_str("oslog"),
            Self(number) => write!(f, "endpoint {number:#04x}"),
        }
    }
}

/// A power state of the coprocessor (IOP) or of the host (AP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PowerState(pub u16);

impl PowerState {
    /// Off: from here the coprocessor starts again only after the machine was restarted (Linux). Never sent.
    pub const OFF: Self = Self(0x000);
    /// Asleep: memory and queues are lost; starts again by reset and run.
    pub const SLEEP: Self = Self(0x001);
    /// Quiesced: what the host takes before the coprocessor sleeps.
    pub const QUIESCED: Self = Self(0x010);
    /// Running.
    pub const ON: Self = Self(0x020);
    /// Initialise or wake; acknowledged as [`PowerState::ON`].
    pub const INITIALISE: Self = Self(0x220);

    /// Whether the state counts as running: Linux looks at the low byte alone.
    pub const fn is_on(self) -> bool {
        self.0 & 0xff == Self::ON.0
    }
}

impl fmt::Display for PowerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::OFF => "off",
            Self::SLEEP => "sleep",
            Self::QUIESCED => "quiesced",
            Self::ON => "on",
            Self::INITIALISE => "initialise",
            _ => "unknown",
        };
        write!(f, "{name} ({:#x})", self.0)
    }
}
