//! From hardware to a controller that serves blocks, and back.

use hal::Platform;
use nvme::Controller;
use nvme::transport::apple::{AppleConfig, AppleTransport};

use crate::config::Config;
use crate::error::{Error, Failed, Failure};
use crate::hardware::Hardware;
use crate::progress::Progress;
use crate::session::{Goal, Session};
use crate::stage::{Observer, Stage};

/// ANS with its controller up.
///
/// Call [`Ans::poll`] now and then while it is in use, and [`Ans::shutdown`] at the end. Dropped without that, it leaves the
/// coprocessor running with its domains on, and all memory that can still be reached in quarantine.
pub struct Ans<P: Platform> {
    session: Session<P>,
    controller: Controller<P, AppleTransport<P>>,
}

impl<P: Platform<Clock: Clone>> Ans<P> {
    /// Brings ANS up, step by step; `observer` hears of each stage that was passed.
    ///
    /// A coprocessor that is found stopped is reset and booted; one that runs, left so by the stage before, is woken and
    /// never reset.
    ///
    /// # Errors
    /// [`Failure`] with the stage, what was seen there, and the hardware. Every step before it is undone in reverse order:
    /// the machine is as it was found, or [`Failure::left`] says what is not.
    #[expect(clippy::result_large_err, reason = "a failure gives the hardware back, and there is no heap to put it on")]
    pub fn start<O: Observer>(hardware: Hardware<P>, config: Config, observer: &mut O) -> Result<Self, Failure<P>> {
        let (mut session, nvme) = Session::new(hardware, config);
        let mut progress = Progress::new(session.clock().clone(), observer);
        if let Err(error) = session.bring_up(&nvme, &mut progress) {
            return Err(undo(session, nvme, error, &mut progress));
        }
        let controller = Controller::enable(
            nvme,
            session.pool().clone(),
            session.clock().clone(),
            session.config().nvme.clone(),
            AppleConfig::default(),
            &mut |stage| progress.enter(stage.into()),
        );
        match controller {
            Ok(controller) => {
                progress.passed();
                Ok(Self { session, controller })
            }
            Err(nvme::Failure { error, parts }) => Err(undo(session, parts.window, error.into(), &mut progress)),
        }
    }

    /// The controller: its identity, namespaces and traffic.
    pub const fn controller(&mut self) -> &mut Controller<P, AppleTransport<P>> {
        &mut self.controller
    }

    /// Serves the coprocessor's messages: log lines and reports, without whose answers it stops. Once in some ten
    /// milliseconds is plenty.
    ///
    /// # Errors
    /// [`Error::Rtkit`]. After a crash, which ends all use, it is the same error each time.
    pub fn poll(&mut self) -> Result<(), Error> {
        self.session.poll().map_err(Error::Rtkit)
    }

    /// Whether the coprocessor has crashed. There is no way on but [`Ans::shutdown`], and perhaps a restart of the machine.
    pub fn is_crashed(&self) -> bool {
        self.session.is_crashed()
    }

    /// Takes ANS down in order: queues deleted, controller shut down and disabled, RTKit asleep, its memory taken back, the
    /// coprocessor stopped (however it was found: that is what the next stage wants), power domains as they were found.
    ///
    /// # Errors
    /// [`Failure`] with the first thing that did not go as it should; everything else was done all the same.
    #[expect(clippy::result_large_err, reason = "a failure gives the hardware back, and there is no heap to put it on")]
    pub fn shutdown<O: Observer>(self, observer: &mut O) -> Result<Hardware<P>, Failure<P>> {
        let Self { mut session, controller } = self;
        let mut progress = Progress::new(session.clock().clone(), observer);
        progress.enter(Stage::ControllerShutdown);
        let (nvme, result) = match take_down(&mut session, controller) {
            (window, Ok(())) => (window, Ok(())),
            (window, Err(error)) => (window, Err(Failed { stage: Stage::ControllerShutdown, error })),
        };
        let back = session.give_back(Goal::HandOver, &mut progress);
        let hardware = session.into_hardware(nvme);
        match (result, back) {
            (Ok(()), Ok(())) => Ok(hardware),
            (Ok(()), Err(failed)) => Err(Failure { failed, left: None, hardware }),
            (Err(failed), back) => Err(Failure { failed, left: back.err(), hardware }),
        }
    }
}

/// Takes the controller down, unless its firmware is gone: then its registers answer nothing (Linux touches none either).
fn take_down<P: Platform<Clock: Clone>>(
    session: &mut Session<P>,
    controller: Controller<P, AppleTransport<P>>,
) -> (P::Window, Result<(), Error>) {
    match session.poll() {
        Err(error) if session.is_crashed() => (controller.abandon().window, Err(error.into())),
        _ => match controller.shutdown() {
            Ok(parts) => (parts.window, Ok(())),
            Err(nvme::Failure { error, parts }) => (parts.window, Err(error.into())),
        },
    }
}

/// Gives back what a failed bring-up took.
fn undo<P: Platform<Clock: Clone>, O: Observer>(
    mut session: Session<P>,
    nvme: P::Window,
    error: Error,
    progress: &mut Progress<'_, P::Clock, O>,
) -> Failure<P> {
    let failed = Failed { stage: progress.failed().unwrap_or(Stage::PowerDomains), error };
    let left = session.give_back(Goal::AsFound, progress).err();
    Failure { failed, left, hardware: session.into_hardware(nvme) }
}

impl From<nvme::Stage> for Stage {
    fn from(stage: nvme::Stage) -> Self {
        match stage {
            nvme::Stage::ControllerEnable => Self::ControllerEnable,
            nvme::Stage::Identify => Self::Identify,
            nvme::Stage::IoQueues => Self::IoQueues,
            nvme::Stage::Namespaces => Self::Namespaces,
        }
    }
}
