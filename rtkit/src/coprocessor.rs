//! A coprocessor that runs RTKit, from its start to its sleep.

use core::time::Duration;

use hal::{Deadline, DmaPool, Platform, poll_until};

use crate::buffers::Buffers;
use crate::crash::{Crash, CrashReport};
use crate::protocol::{Action, Actions, BufferError, BufferRequest, Phase, Protocol, ProtocolError};
use crate::syslog::SyslogEntry;
use crate::{Client, Config, Endpoint, Error, Mailbox, MailboxError, Message, PowerState, Stage};

/// Most messages that one [`Coprocessor::poll`] serves: four fillings of a FIFO of 16.
const MESSAGES_PER_POLL: usize = 64;

/// A coprocessor: its mailbox, the session with it, and the memory lent to it.
///
/// Power, CPU control and reset are its owner's; this type knows the mailbox only. Every wait has a limit, and while one
/// thing is awaited everything else that the coprocessor says is served.
///
/// Dropped with memory still lent, it quarantines that memory.
pub struct Coprocessor<P: Platform> {
    mailbox: Mailbox<P::Window>,
    pool: P::Pool,
    config: Config,
    protocol: Protocol,
    buffers: Buffers<P::Pool>,
    /// The last message in the present stage, for the report of a time-out.
    seen: Option<Message>,
    crash: Option<Crash>,
}

impl<P: Platform> Coprocessor<P> {
    /// A coprocessor without a session. `mailbox` is the mailbox's window (the ASC base plus 0x8000); nothing is accessed
    /// yet.
    pub fn new(mailbox: P::Window, pool: P::Pool, config: Config) -> Self {
        let protocol = Protocol::new(&config);
        let mailbox = Mailbox::new(mailbox);
        Self { mailbox, pool, config, protocol, buffers: Buffers::new(), seen: None, crash: None }
    }

    /// Gives window and pool back. Memory that is still lent is quarantined.
    pub fn into_parts(self) -> (P::Window, P::Pool) {
        (self.mailbox.into_window(), self.pool)
    }

    /// Brings a coprocessor up whose CPU the caller has just started: from HELLO to both sides powered on.
    ///
    /// # Errors
    /// [`Error`] with the stage. The session is then unfinished: try [`Coprocessor::sleep`], or reset the coprocessor and
    /// call [`Coprocessor::release`], or give up with [`Coprocessor::abandon`].
    pub fn boot(&mut self, clock: &P::Clock, client: &mut impl Client<P::Pool>) -> Result<(), Error> {
        self.bring_up(clock, client, self.config.first_power)
    }

    /// Brings a coprocessor up that was found with its CPU running, left idle by an earlier stage of the boot: asks it to
    /// initialise, then goes on as [`Coprocessor::boot`]. Resetting it instead breaks it.
    ///
    /// # Errors
    /// As [`Coprocessor::boot`].
    pub fn wake(&mut self, clock: &P::Clock, client: &mut impl Client<P::Pool>) -> Result<(), Error> {
        self.bring_up(clock, client, Some(self.config.first_power.unwrap_or(PowerState::INITIALISE)))
    }

    /// Serves the messages that wait, at most 64. Call it now and then while the coprocessor is in use: it stops when its
    /// log or its reports are not answered.
    ///
    /// # Errors
    /// [`Error::Crashed`] from the crash on. Any other error concerns one message, and the session goes on.
    pub fn poll(&mut self, clock: &P::Clock, client: &mut impl Client<P::Pool>) -> Result<(), Error> {
        self.refuse_crashed(Stage::Running)?;
        if matches!(self.protocol.phase(), Phase::Off | Phase::Down(_)) {
            return Ok(());
        }
        for _ in 0..MESSAGES_PER_POLL {
            if !self.serve_one(clock, client, Stage::Running)? {
                break;
            }
        }
        Ok(())
    }

    /// Puts the coprocessor to sleep in order and takes its memory back. Afterwards its CPU may be stopped. Does nothing
    /// when there is no session.
    ///
    /// # Errors
    /// [`Error`] with the stage; the memory then stays lent. May be tried again, except after a crash.
    pub fn sleep(&mut self, clock: &P::Clock, client: &mut impl Client<P::Pool>) -> Result<(), Error> {
        self.stop(clock, client, PowerState::SLEEP, Stage::Sleep)
    }

    /// Quiesces the coprocessor in order and takes its memory back; [`Coprocessor::wake`] brings it up again. Does nothing
    /// when there is no session.
    ///
    /// # Errors
    /// As [`Coprocessor::sleep`].
    pub fn quiesce(&mut self, clock: &P::Clock, client: &mut impl Client<P::Pool>) -> Result<(), Error> {
        self.stop(clock, client, PowerState::QUIESCED, Stage::Quiesce)
    }

    /// Takes all memory back and forgets the session, a crash included. Only for a caller that has just reset the
    /// coprocessor or cut its power: nothing may be left running that could write to that memory.
    pub fn release(&mut self, client: &mut impl Client<P::Pool>) {
        self.buffers.revoke(client);
        self.protocol.reset();
        self.crash = None;
    }

    /// Gives the session up, with a coprocessor that may still be running: all memory goes to [`Client::abandon`].
    pub fn abandon(&mut self, client: &mut impl Client<P::Pool>) {
        self.buffers.abandon(client);
        if !self.is_crashed() {
            self.protocol.reset();
        }
    }

    /// Whether the coprocessor is up and in use.
    pub fn is_running(&self) -> bool {
        self.protocol.phase() == Phase::Running
    }

    /// Whether the coprocessor has crashed.
    pub fn is_crashed(&self) -> bool {
        self.protocol.phase() == Phase::Crashed
    }

    /// How far the session is.
    pub fn phase(&self) -> Phase {
        self.protocol.phase()
    }

    /// Starts an endpoint of the coprocessor's application; what it says goes to [`Client::unknown`].
    ///
    /// # Errors
    /// [`Error::Protocol`] while not running and for endpoints that the coprocessor does not have or that are started.
    pub fn start_endpoint(&mut self, clock: &P::Clock, endpoint: Endpoint) -> Result<(), Error> {
        self.refuse_crashed(Stage::Running)?;
        let start = self.protocol.start_application(endpoint).map_err(protocol_error(Stage::Running))?;
        self.send(clock, Stage::Running, start)
    }

    /// Sends a message to an endpoint of the coprocessor's application.
    ///
    /// # Errors
    /// [`Error::Protocol`] while not running and for system endpoints, [`Error::Mailbox`] without room.
    pub fn send_to_application(&mut self, clock: &P::Clock, message: Message) -> Result<(), Error> {
        self.refuse_crashed(Stage::Running)?;
        let endpoint = Endpoint(message.endpoint);
        if !self.is_running() {
            return Err(protocol_error(Stage::Running)(ProtocolError::WrongPhase(self.phase())));
        }
        if !endpoint.is_application() {
            return Err(protocol_error(Stage::Running)(ProtocolError::NoSuchEndpoint(endpoint)));
        }
        self.send(clock, Stage::Running, message)
    }

    fn bring_up(
        &mut self,
        clock: &P::Clock,
        client: &mut impl Client<P::Pool>,
        power: Option<PowerState>,
    ) -> Result<(), Error> {
        self.refuse_crashed(Stage::Hello)?;
        let phase = self.protocol.phase();
        if !matches!(phase, Phase::Off | Phase::Down(_)) || !self.buffers.is_empty() {
            return Err(protocol_error(Stage::Hello)(ProtocolError::WrongPhase(phase)));
        }
        let (hello, map, acknowledge) = (self.config.hello, self.config.endpoint_map, self.config.power_acknowledge);
        self.enter(client, Stage::Hello);
        let actions = self.protocol.start(power);
        self.act(clock, client, Stage::Hello, actions)?;
        self.wait(clock, client, Stage::Hello, hello, |phase| phase != Phase::Hello)?;
        self.enter(client, Stage::Endpoints);
        self.wait(clock, client, Stage::Endpoints, map, |phase| phase != Phase::Map)?;
        self.enter(client, Stage::Power);
        self.wait(clock, client, Stage::Power, acknowledge, |phase| phase != Phase::IopPower)?;
        self.wait(clock, client, Stage::Power, acknowledge, |phase| phase != Phase::ApPower)?;
        hal::info!("rtkit: coprocessor and host are on");
        Ok(())
    }

    fn stop(
        &mut self,
        clock: &P::Clock,
        client: &mut impl Client<P::Pool>,
        target: PowerState,
        stage: Stage,
    ) -> Result<(), Error> {
        self.refuse_crashed(Stage::Quiesce)?;
        if matches!(self.protocol.phase(), Phase::Off | Phase::Down(_)) {
            return Ok(());
        }
        let limit = self.config.power_acknowledge;
        self.enter(client, Stage::Quiesce);
        let actions = self.protocol.stop(target).map_err(protocol_error(Stage::Quiesce))?;
        self.act(clock, client, Stage::Quiesce, actions)?;
        let quiesced =
            self.wait_down(clock, client, Stage::Quiesce, limit, |phase| !matches!(phase, Phase::ApQuiesce(_)));
        if let Err(late @ Error::TimedOut { .. }) = quiesced {
            hal::warn!("{}; the coprocessor is stopped all the same", hal::log::Shown(&late));
            let actions = self.protocol.stop_coprocessor(target);
            self.act(clock, client, Stage::Quiesce, actions)?;
        } else {
            quiesced?;
        }
        if stage != Stage::Quiesce {
            self.enter(client, stage);
        }
        self.wait_down(clock, client, stage, limit, |phase| !matches!(phase, Phase::IopStop(_)))?;
        self.buffers.revoke(client);
        Ok(())
    }

    fn enter(&mut self, client: &mut impl Client<P::Pool>, stage: Stage) {
        hal::debug!("rtkit: {}", stage.name());
        self.seen = None;
        client.stage(stage);
    }

    /// Serves messages until the session's phase is as awaited.
    fn wait(
        &mut self,
        clock: &P::Clock,
        client: &mut impl Client<P::Pool>,
        stage: Stage,
        limit: Duration,
        done: impl Fn(Phase) -> bool,
    ) -> Result<(), Error> {
        let outcome = poll_until(clock, limit, || {
            if done(self.protocol.phase()) {
                return Some(Ok(()));
            }
            match self.serve_one(clock, client, stage) {
                Ok(_) if done(self.protocol.phase()) => Some(Ok(())),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            }
        });
        outcome.unwrap_or_else(|late| {
            Err(Error::TimedOut { stage, phase: self.protocol.phase(), waited: late.waited, seen: self.seen })
        })
    }

    /// As [`Coprocessor::wait`] on the way down: what is wrong with a single message (a request for memory that cannot be
    /// met, say) must not keep the coprocessor from sleeping.
    fn wait_down(
        &mut self,
        clock: &P::Clock,
        client: &mut impl Client<P::Pool>,
        stage: Stage,
        limit: Duration,
        done: impl Fn(Phase) -> bool,
    ) -> Result<(), Error> {
        let deadline = Deadline::after(clock, limit);
        loop {
            match self.wait(clock, client, stage, deadline.remaining(clock), &done) {
                Err(error @ (Error::Grant { .. } | Error::Protocol { error: ProtocolError::Buffer(..), .. }))
                    if !deadline.passed(clock) =>
                {
                    hal::warn!("{}", hal::log::Shown(&error));
                }
                result => return result,
            }
        }
    }

    /// Serves the next message; says whether there was one.
    fn serve_one(&mut self, clock: &P::Clock, client: &mut impl Client<P::Pool>, stage: Stage) -> Result<bool, Error> {
        let message = match self.mailbox.receive() {
            Ok(None) => return Ok(false),
            Ok(Some(message)) => message,
            Err(error @ MailboxError::InvalidEndpoint { .. }) => {
                hal::warn!("rtkit: {}", hal::log::Shown(&error));
                return Ok(true);
            }
            Err(error) => return Err(Error::Mailbox { stage, error }),
        };
        // What the message tells of was written before it.
        self.pool.observe();
        hal::trace!("rtkit: received {}", hal::log::Shown(&message));
        self.seen = Some(message);
        let actions = self.protocol.handle(message).map_err(protocol_error(stage))?;
        self.act(clock, client, stage, actions)?;
        Ok(true)
    }

    fn act(
        &mut self,
        clock: &P::Clock,
        client: &mut impl Client<P::Pool>,
        stage: Stage,
        actions: Actions,
    ) -> Result<(), Error> {
        for action in actions {
            match action {
                Action::Send(message) => self.send(clock, stage, message)?,
                Action::Grant(request) => self.grant(clock, client, stage, request)?,
                Action::Announced(request) => hal::warn!(
                    "rtkit: {} uses memory of its own: {} bytes at {:#x}",
                    hal::log::Shown(&request.endpoint),
                    request.size,
                    request.address
                ),
                Action::ReadLog { offset, text_size } => self.read_log(client, offset, text_size),
                Action::Crashed => return Err(self.crashed(client, stage)),
                Action::Unknown(message) => client.unknown(message),
            }
        }
        Ok(())
    }

    fn send(&self, clock: &P::Clock, stage: Stage, message: Message) -> Result<(), Error> {
        hal::trace!("rtkit: sending {}", hal::log::Shown(&message));
        // Memory that the message tells of must be as it should when the coprocessor looks.
        self.pool.publish();
        self.mailbox.send(clock, message, self.config.send).map_err(|error| Error::Mailbox { stage, error })
    }

    fn grant(
        &mut self,
        clock: &P::Clock,
        client: &mut impl Client<P::Pool>,
        stage: Stage,
        request: BufferRequest,
    ) -> Result<(), Error> {
        let BufferRequest { endpoint, size, .. } = request;
        let region = client.grant(endpoint, size).map_err(|error| Error::Grant { stage, endpoint, size, error })?;
        let address = region.address();
        hal::debug!("rtkit: {} bytes at {:#x} for {}", size, address, hal::log::Shown(&endpoint));
        // Until the reply is sent the coprocessor does not know the memory, so a failure gives it straight back.
        let reply = match request.reply(address) {
            Ok(reply) => reply,
            Err(error) => {
                client.revoke(endpoint, region);
                return Err(protocol_error(stage)(ProtocolError::Buffer(endpoint, error)));
            }
        };
        if let Err(region) = self.buffers.insert(endpoint, region) {
            client.revoke(endpoint, region);
            return Err(protocol_error(stage)(ProtocolError::Buffer(endpoint, BufferError::Repeated)));
        }
        self.send(clock, stage, reply)
    }

    fn read_log(&self, client: &mut impl Client<P::Pool>, offset: usize, text_size: usize) {
        let memory = self.buffers.get(Endpoint::SYSLOG);
        if let Some(entry) = memory.and_then(|memory| SyslogEntry::read(memory, offset, text_size)) {
            client.syslog(entry.context.as_str(), entry.text.as_str());
        }
    }

    fn crashed(&mut self, client: &mut impl Client<P::Pool>, stage: Stage) -> Error {
        let report = CrashReport::new(self.buffers.get(Endpoint::CRASHLOG).map(|region| region as _));
        let crash = report.summary();
        client.crashed(&report);
        self.crash = Some(crash.clone());
        Error::Crashed { stage, crash }
    }

    fn refuse_crashed(&self, stage: Stage) -> Result<(), Error> {
        match &self.crash {
            Some(crash) => Err(Error::Crashed { stage, crash: crash.clone() }),
            None => Ok(()),
        }
    }
}

fn protocol_error(stage: Stage) -> impl Fn(ProtocolError) -> Error {
    move |error| Error::Protocol { stage, error }
}
