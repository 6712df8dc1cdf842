//! What was taken from the machine, and how each piece is given back.

use hal::{Deadline, Platform, poll_until};
use heapless::Vec;
use rtkit::Coprocessor;
use tock_registers::interfaces::Readable;

use crate::config::Config;
use crate::cpu::CpuControl;
use crate::error::{Error, Failed};
use crate::grants::Lender;
use crate::hardware::{ATTACHED, Hardware};
use crate::power::Domains;
use crate::progress::Progress;
use crate::sart::Sart;
use crate::spec;
use crate::stage::{Observer, Stage};

/// Something that a step took from the machine.
#[derive(Clone, Copy, Debug)]
enum Taken {
    /// A use of the domain of this index.
    Domain(usize),
    /// Entries of the SART.
    Sart,
    /// The coprocessor, which was found stopped, and reset and started.
    Started,
    /// The coprocessor, which was found running, and woken.
    Woken,
}

/// What the machine shall be like at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Goal {
    /// As it was found: the end of a failed bring-up.
    AsFound,
    /// As the next stage of the boot wants it: the coprocessor asleep and stopped, however it was found.
    HandOver,
}

/// ANS without its controller: everything that has to be there before the controller and until after it.
pub(crate) struct Session<P: Platform> {
    coprocessor: P::Window,
    rtkit: Coprocessor<P>,
    sart: Sart<P::Window>,
    sart_version: crate::sart::Version,
    domains: Domains<P::Window>,
    attached: Vec<usize, ATTACHED>,
    reset: usize,
    pool: P::Pool,
    clock: P::Clock,
    config: Config,
    /// The coprocessor was started or woken, and no message came.
    silent: bool,
    /// The coprocessor did not go to sleep and runs on.
    alive: bool,
    /// What has been taken, in order; given back from the end.
    taken: Vec<Taken, { ATTACHED + 2 }>,
}

impl<P: Platform<Clock: Clone>> Session<P> {
    /// Nothing is taken and no register is touched. Gives the window of the NVMe block aside.
    pub(crate) fn new(hardware: Hardware<P>, config: Config) -> (Self, P::Window) {
        let Hardware { nvme, coprocessor, mailbox, sart, sart_version, domains, attached, reset, pool, clock } =
            hardware;
        let rtkit = Coprocessor::new(mailbox, pool.clone(), config.rtkit.clone());
        let sart = Sart::new(sart, sart_version);
        let taken = Vec::new();
        let session = Self {
            coprocessor,
            rtkit,
            sart,
            sart_version,
            domains,
            attached,
            reset,
            pool,
            clock,
            config,
            silent: false,
            alive: false,
            taken,
        };
        (session, nvme)
    }

    /// The hardware again.
    pub(crate) fn into_hardware(self, nvme: P::Window) -> Hardware<P> {
        let (mailbox, _) = self.rtkit.into_parts();
        Hardware {
            nvme,
            coprocessor: self.coprocessor,
            mailbox,
            sart: self.sart.into_window(),
            sart_version: self.sart_version,
            domains: self.domains,
            attached: self.attached,
            reset: self.reset,
            pool: self.pool,
            clock: self.clock,
        }
    }

    pub(crate) const fn pool(&self) -> &P::Pool {
        &self.pool
    }

    pub(crate) const fn clock(&self) -> &P::Clock {
        &self.clock
    }

    pub(crate) const fn config(&self) -> &Config {
        &self.config
    }

    /// Everything up to firmware that waits for its controller to be programmed. What a failing step took stays noted for
    /// [`Session::give_back`].
    pub(crate) fn bring_up<O: Observer>(
        &mut self,
        nvme: &P::Window,
        progress: &mut Progress<'_, P::Clock, O>,
    ) -> Result<(), Error> {
        progress.enter(Stage::PowerDomains);
        for domain in self.attached.clone() {
            self.domains.acquire(&self.clock, domain, self.config.power)?;
            self.took(Taken::Domain(domain));
        }
        progress.enter(Stage::Sart);
        self.sart.scan();
        self.took(Taken::Sart);
        // RUN tells how the stage before left the coprocessor, and nothing else does. Resetting one that runs breaks it;
        // waking one that does not run is futile.
        let up = if CpuControl::new(&self.coprocessor).runs() {
            progress.enter(Stage::CoprocessorWake);
            self.took(Taken::Woken);
            let mut lender = Lender { sart: &mut self.sart, pool: &self.pool, progress };
            self.rtkit.wake(&self.clock, &mut lender)
        } else {
            progress.enter(Stage::CoprocessorStart);
            self.pulse_reset(progress)?;
            self.took(Taken::Started);
            CpuControl::new(&self.coprocessor).start();
            let mut lender = Lender { sart: &mut self.sart, pool: &self.pool, progress };
            self.rtkit.boot(&self.clock, &mut lender)
        };
        self.silent = matches!(up, Err(rtkit::Error::TimedOut { stage: rtkit::Stage::Hello, seen: None, .. }));
        up?;
        progress.enter(Stage::BootStatus);
        self.await_boot_status(nvme, progress)
    }

    /// Serves the coprocessor's messages.
    pub(crate) fn poll(&mut self) -> Result<(), rtkit::Error> {
        let mut deaf = |_, _| {};
        let mut progress = Progress::new(self.clock.clone(), &mut deaf);
        let mut lender = Lender { sart: &mut self.sart, pool: &self.pool, progress: &mut progress };
        self.rtkit.poll(&self.clock, &mut lender)
    }

    /// Whether the coprocessor has crashed.
    pub(crate) fn is_crashed(&self) -> bool {
        self.rtkit.is_crashed()
    }

    /// Gives everything back, the last first. Goes on after an error, and gives the first.
    ///
    /// Only a coprocessor that runs on, because it did not go to sleep, ends it: neither the windows through which it
    /// writes nor its power are taken from under it (Linux then stops with an error too).
    pub(crate) fn give_back<O: Observer>(
        &mut self,
        goal: Goal,
        progress: &mut Progress<'_, P::Clock, O>,
    ) -> Result<(), Failed> {
        let mut result = Ok(());
        let mut stage = None;
        while let Some(taken) = self.taken.pop() {
            let next = match taken {
                Taken::Started | Taken::Woken => Stage::CoprocessorStop,
                Taken::Sart => Stage::SartClose,
                Taken::Domain(_) => Stage::PowerRestore,
            };
            if stage.replace(next) != Some(next) {
                progress.enter(next);
            }
            let given = match taken {
                Taken::Started => self.stop_started(goal, progress),
                Taken::Woken => self.stop_woken(goal, progress),
                Taken::Sart => self.sart.clear().map_err(Error::Sart),
                Taken::Domain(index) => {
                    self.domains.release(&self.clock, index, self.config.power).map_err(Error::Power)
                }
            };
            result = result.and(given.map_err(|error| Failed { stage: next, error }));
            if self.alive {
                break;
            }
        }
        progress.passed();
        result
    }

    /// Ends a coprocessor that we started: asleep and stopped.
    ///
    /// RUN is cleared on a live core only after its sleep was acknowledged: some coprocessors hang otherwise (m1n1 history).
    /// One that crashed or never said a word is no live core. m1n1 then clears RUN and pulses the reset, which is the state
    /// from which the next stage starts it, and so do we.
    fn stop_started<O: Observer>(&mut self, goal: Goal, progress: &mut Progress<'_, P::Clock, O>) -> Result<(), Error> {
        if self.silent || self.rtkit.is_crashed() {
            let crashed = self.sleep(progress);
            CpuControl::new(&self.coprocessor).stop();
            self.pulse_reset(progress)?;
            // After a failed bring-up that is how it was found; in a shutdown it is no orderly end.
            return if goal == Goal::AsFound { Ok(()) } else { crashed };
        }
        self.sleep(progress)?;
        CpuControl::new(&self.coprocessor).stop();
        Ok(())
    }

    /// Ends a coprocessor that was found running: asleep; and stopped, if that is the goal.
    fn stop_woken<O: Observer>(&mut self, goal: Goal, progress: &mut Progress<'_, P::Clock, O>) -> Result<(), Error> {
        if self.silent {
            // As it was found: it was asked to wake, and that was all.
            return Ok(());
        }
        self.sleep(progress)?;
        if goal == Goal::HandOver {
            CpuControl::new(&self.coprocessor).stop();
        }
        Ok(())
    }

    /// Puts the coprocessor to sleep, or else gives up what it was lent.
    fn sleep<O: Observer>(&mut self, progress: &mut Progress<'_, P::Clock, O>) -> Result<(), Error> {
        let mut lender = Lender { sart: &mut self.sart, pool: &self.pool, progress };
        let asleep = self.rtkit.sleep(&self.clock, &mut lender);
        if asleep.is_err() && !self.silent {
            self.rtkit.abandon(&mut lender);
            self.alive = !self.rtkit.is_crashed();
        }
        asleep.map_err(Error::Rtkit)
    }

    /// Resets the stopped coprocessor, and takes back whatever it was lent while it is held (as Linux does).
    fn pulse_reset<O: Observer>(&mut self, progress: &mut Progress<'_, P::Clock, O>) -> Result<(), Error> {
        self.domains.assert_reset(&self.clock, self.reset, self.config.power)?;
        let held = Deadline::after(&self.clock, spec::RESET_HOLD);
        let mut lender = Lender { sart: &mut self.sart, pool: &self.pool, progress };
        self.rtkit.release(&mut lender);
        let remaining = held.remaining(&self.clock);
        // A pause, not a wait for something: it always runs to its end.
        let _ = poll_until(&self.clock, remaining, || None::<()>);
        self.domains.deassert_reset(self.reset)?;
        Ok(())
    }

    /// Firmware says in the NVMe block when its registers may be used, after every boot and every wake.
    fn await_boot_status<O: Observer>(
        &mut self,
        nvme: &P::Window,
        progress: &mut Progress<'_, P::Clock, O>,
    ) -> Result<(), Error> {
        let mut lender = Lender { sart: &mut self.sart, pool: &self.pool, progress };
        let mut value = 0;
        let ready = poll_until(&self.clock, self.config.boot_status, || {
            value = spec::BOOT_STATUS.of(nvme).get();
            if value == spec::BOOT_STATUS_READY {
                return Some(Ok(()));
            }
            // Firmware may want its log answered, or crash, on the way.
            self.rtkit.poll(&self.clock, &mut lender).err().map(Err)
        });
        match ready {
            Ok(ready) => ready.map_err(Error::Rtkit),
            Err(late) => Err(Error::BootStatus { waited: late.waited, value }),
        }
    }

    fn took(&mut self, taken: Taken) {
        let pushed = self.taken.push(taken);
        debug_assert!(pushed.is_ok(), "there is room for every step");
    }
}
