//! The protocol's core: takes a message, gives back what to do.
//!
//! It knows neither registers nor memory nor time. Its user sends what it says, lends memory where it asks for some, and
//! decides how long to wait; [`Coprocessor`](crate::Coprocessor) is such a user.

mod buffer;
mod endpoints;
mod error;
mod management;
mod system;
mod version;

use core::ops::RangeInclusive;

pub use buffer::{BufferError, BufferRequest};
pub use error::ProtocolError;
pub use version::{UnsupportedVersion, VersionReason};

use endpoints::EndpointSet;
use system::SyslogShape;

use crate::spec::management::{POWER_STATE, SET_AP_POWER, SET_IOP_POWER};
use crate::{Config, Endpoint, Message, PowerState};

/// How far a session is, in the order of a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// No session.
    Off,
    /// Waits for HELLO.
    Hello,
    /// Waits for the endpoint map's pages.
    Map,
    /// Endpoints are started; waits for the coprocessor to say that it is on.
    IopPower,
    /// Waits for the acknowledgement that the host is on.
    ApPower,
    /// In use.
    Running,
    /// Waits for the acknowledgement that the host is quiesced; the coprocessor comes next.
    ApQuiesce(PowerState),
    /// Waits for the coprocessor to reach this state.
    IopStop(PowerState),
    /// The coprocessor reached the state that it was asked for and touches no memory any more.
    Down(PowerState),
    /// The coprocessor crashed. There is no way on but a reset of the machine.
    Crashed,
}

impl Phase {
    /// Whether the endpoints are started, so that requests for memory make sense.
    const fn has_endpoints(self) -> bool {
        matches!(self, Self::IopPower | Self::ApPower | Self::Running | Self::ApQuiesce(_) | Self::IopStop(_))
    }

    /// Whether a coprocessor may be talking to us.
    const fn is_session(self) -> bool {
        self.has_endpoints() || matches!(self, Self::Hello | Self::Map)
    }
}

/// One thing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this message.
    Send(Message),
    /// Lend zeroed memory, let the coprocessor reach it, then send [`BufferRequest::reply`].
    Grant(BufferRequest),
    /// The coprocessor named memory of its own. No reply is due.
    Announced(BufferRequest),
    /// Read a line of the firmware's log from the memory lent on [`Endpoint::SYSLOG`], before the next action: the echo
    /// that follows lets the coprocessor write there again.
    ReadLog {
        /// Where the entry starts, in bytes.
        offset: usize,
        /// Bytes of text in it.
        text_size: usize,
    },
    /// The coprocessor has crashed; the memory lent on [`Endpoint::CRASHLOG`] tells why.
    Crashed,
    /// Nothing here handles this message.
    Unknown(Message),
}

/// What one message leads to, to be done in order.
///
/// The most is the end of the map: its reply, five endpoints to start, and the host's power if the coprocessor is on.
#[derive(Clone, Debug, Default)]
pub struct Actions(heapless::Vec<Action, 8>);

impl Actions {
    fn push(&mut self, action: Action) {
        let pushed = self.0.push(action);
        debug_assert!(pushed.is_ok(), "no message leads to more than seven actions");
    }
}

impl IntoIterator for Actions {
    type Item = Action;
    type IntoIter = heapless::vec::IntoIter<Action, 8, usize>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// One session with a coprocessor.
#[derive(Clone, Debug)]
pub struct Protocol {
    versions: RangeInclusive<u16>,
    largest_buffer: usize,
    phase: Phase,
    /// Pages of the endpoint map since the last one marked as last.
    pages: usize,
    present: EndpointSet,
    started: EndpointSet,
    iop_power: Option<PowerState>,
    /// Endpoints that asked for memory, or named their own.
    asked: EndpointSet,
    syslog: Option<SyslogShape>,
}

impl Protocol {
    /// A protocol without a session.
    pub fn new(config: &Config) -> Self {
        Self {
            versions: config.versions.clone(),
            largest_buffer: config.largest_buffer,
            phase: Phase::Off,
            pages: 0,
            present: EndpointSet::default(),
            started: EndpointSet::default(),
            iop_power: None,
            asked: EndpointSet::default(),
            syslog: None,
        }
    }

    /// How far the session is.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Begins a session: forgets the former one and waits for HELLO. `power` is asked of the coprocessor first, if given.
    pub fn start(&mut self, power: Option<PowerState>) -> Actions {
        self.reset();
        self.phase = Phase::Hello;
        let mut actions = Actions::default();
        if let Some(power) = power {
            actions.push(Action::Send(power_message(SET_IOP_POWER, power)));
        }
        actions
    }

    /// Ends a session in order: the host is quiesced, then the coprocessor goes to `target`, [`PowerState::SLEEP`] or
    /// [`PowerState::QUIESCED`]. (In the other order, or without the first, a later start fails: m1n1.) Before the endpoints
    /// are started the host has no state to take back, and the coprocessor goes at once, as U-Boot has it.
    ///
    /// # Errors
    /// [`ProtocolError::WrongPhase`] when there is no session.
    pub fn stop(&mut self, target: PowerState) -> Result<Actions, ProtocolError> {
        if !self.phase.is_session() {
            return Err(ProtocolError::WrongPhase(self.phase));
        }
        if !self.phase.has_endpoints() {
            return Ok(self.stop_coprocessor(target));
        }
        self.phase = Phase::ApQuiesce(target);
        let mut actions = Actions::default();
        actions.push(Action::Send(power_message(SET_AP_POWER, PowerState::QUIESCED)));
        Ok(actions)
    }

    /// The second half of [`Protocol::stop`], whether or not the first was acknowledged: U-Boot's sleep is this alone.
    pub fn stop_coprocessor(&mut self, target: PowerState) -> Actions {
        self.phase = Phase::IopStop(target);
        let mut actions = Actions::default();
        actions.push(Action::Send(power_message(SET_IOP_POWER, target)));
        actions
    }

    /// Forgets the session: the coprocessor was reset, or is given up.
    pub fn reset(&mut self) {
        self.phase = Phase::Off;
        self.pages = 0;
        self.present = EndpointSet::default();
        self.started = EndpointSet::default();
        self.iop_power = None;
        self.asked = EndpointSet::default();
        self.syslog = None;
    }

    /// The message that starts an endpoint of the coprocessor's application; each is started once.
    ///
    /// # Errors
    /// [`ProtocolError::WrongPhase`] while not running, [`ProtocolError::NoSuchEndpoint`] for one that is not in the map,
    /// is a system endpoint or was started before.
    pub fn start_application(&mut self, endpoint: Endpoint) -> Result<Message, ProtocolError> {
        if self.phase != Phase::Running {
            return Err(ProtocolError::WrongPhase(self.phase));
        }
        if !endpoint.is_application() || !self.present.contains(endpoint) || !self.started.insert(endpoint) {
            return Err(ProtocolError::NoSuchEndpoint(endpoint));
        }
        Ok(Message::start(endpoint.0))
    }

    /// Takes the next message of the coprocessor. The actions of the message before must have been done.
    ///
    /// # Errors
    /// [`ProtocolError`] when the message breaks the protocol or refuses what was asked; the session can then be stopped
    /// or reset, or in [`Phase::Running`] go on.
    pub fn handle(&mut self, message: Message) -> Result<Actions, ProtocolError> {
        let mut actions = Actions::default();
        match Endpoint(message.endpoint) {
            Endpoint::MANAGEMENT => self.handle_management(message, &mut actions)?,
            Endpoint::CRASHLOG | Endpoint::SYSLOG | Endpoint::IOREPORT | Endpoint::OSLOG => {
                self.handle_system(message, &mut actions)?;
            }
            // What the debug endpoint says is not needed: Linux and m1n1 start it and listen no further.
            _ => actions.push(Action::Unknown(message)),
        }
        Ok(actions)
    }
}

/// A power message of one of the two types.
const fn power_message(kind: u64, state: PowerState) -> Message {
    Message::management(kind, POWER_STATE.put_u16(state.0))
}
