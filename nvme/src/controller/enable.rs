//! From registers and memory to a controller that is up.

use core::time::Duration;

use hal::{Clock, DmaError, DmaPool, Platform, poll_until};
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::{LocalRegisterCopy, fields::FieldValue};

use super::{Controller, Counters, Parts, Queues, Stage};
use crate::buffer::Lent;
use crate::config::Config;
use crate::error::{CommandError, Error, Failure, Fault, Step};
use crate::identity::{Identity, Namespace, Unusable};
use crate::prp;
use crate::slots::{Limits, Slots, TAGS};
use crate::spec::command::SubmissionEntry;
use crate::spec::registers::{self, AQA, CAP, CC, CSTS};
use crate::spec::status::Status;
use crate::spec::{PAGE, identify};
use crate::transport::{Queue, Transport};

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Brings a controller up: registers, Identify, the IO queue pair, the namespaces. `observe` hears of each stage as it
    /// begins.
    ///
    /// The caller has made sure that registers answer at `window`; for ANS that means that the coprocessor runs and that
    /// BOOT_STATUS is right.
    ///
    /// # Errors
    /// [`Failure`] with the first error. Everything that was done is undone in reverse: queues deleted, controller shut
    /// down and disabled, memory free again (or in quarantine, if the controller would not go down).
    pub fn enable(
        window: P::Window,
        pool: P::Pool,
        clock: P::Clock,
        config: Config,
        transport: T::Config,
        observe: &mut dyn FnMut(Stage),
    ) -> Result<Self, Failure<P>> {
        observe(Stage::ControllerEnable);
        let parts = Parts { window, pool, clock };
        let mut controller = Self::assemble(parts, config, transport)?;
        match controller.start(observe) {
            Ok(()) => Ok(controller),
            Err(error) => Err(Failure { error, parts: controller.take_down().0 }),
        }
    }

    /// Resets a controller and brings it up again, which ends a [`Controller::fault`]. Commands in flight end with
    /// [`CommandError::Reset`], to be polled as usual; memory that was in quarantine is free again. Write access is as it
    /// was for namespaces that are still there with the same size.
    ///
    /// # Errors
    /// [`Error`]: the controller takes no commands; reset it again or shut it down.
    pub fn reset(&mut self) -> Result<(), Error> {
        if self.answers() {
            // Firmware minds if EN is cleared while they exist; a controller that cannot delete them is reset all the same.
            if let Err(error) = self.delete_queues() {
                hal::warn!("{}", hal::log::Shown(&error));
            }
        }
        self.disable()?;
        self.slots.reset();
        let before = core::mem::take(&mut self.namespaces);
        self.start(&mut |_| ())?;
        for namespace in &mut self.namespaces {
            let same = before.iter().find(|old| old.id == namespace.id);
            if let Some(old) =
                same.filter(|old| (old.blocks, old.block_shift) == (namespace.blocks, namespace.block_shift))
            {
                namespace.access = old.access;
            }
        }
        Ok(())
    }

    /// Takes all memory; reads registers but writes none.
    fn assemble(parts: Parts<P>, mut config: Config, transport: T::Config) -> Result<Self, Failure<P>> {
        let fail = |error, parts| Err(Failure { error, parts });
        let status = registers::STATUS.of(&parts.window).get();
        if status == registers::ALL_ONES {
            return fail(Error::Fault { step: Step::Probe, fault: Fault::Gone }, parts);
        }
        let capabilities = capabilities(&parts.window);
        let smallest = capabilities.read(CAP::MPSMIN);
        if smallest != 0 {
            return fail(Error::PageSize { smallest }, parts);
        }
        let entries = ((capabilities.read(CAP::MQES) & 0xffff) as u16).saturating_add(1).min(config.queue_entries);
        let transport = match T::new(&parts.pool, transport, entries) {
            Ok(transport) => transport,
            Err(error) => return fail(Error::Transport(error), parts),
        };
        config.transfer = (config.transfer / PAGE * PAGE).clamp(PAGE, 16 << 20);
        let list_bytes = prp::list_pages(config.transfer) * PAGE;
        let (lists, page) = match memory(&parts.pool, list_bytes) {
            Ok(memory) => memory,
            Err(error) => {
                transport.release();
                return fail(Error::Memory(error), parts);
            }
        };
        let limits = Limits { io: nanoseconds(config.io), flush: nanoseconds(config.flush) };
        let slots = Slots::new(transport.tags(Queue::Io));
        Ok(Self {
            window: parts.window,
            pool: parts.pool,
            clock: parts.clock,
            config,
            limits,
            transport,
            lists,
            list_bytes,
            page,
            identity: Identity::unknown(),
            namespaces: heapless::Vec::new(),
            slots,
            queues: Queues::default(),
            admin_lost: false,
            fault: None,
            looks: 0,
            suspected: false,
            status_due: 0,
            counters: Counters::default(),
        })
    }

    fn start(&mut self, observe: &mut dyn FnMut(Stage)) -> Result<(), Error> {
        self.disable()?;
        self.configure()?;
        (self.fault, self.admin_lost) = (None, false);
        self.status_due = self.clock.now().after(super::io::STATUS_PERIOD).as_nanos();
        observe(Stage::Identify);
        self.identify_controller()?;
        observe(Stage::IoQueues);
        self.create_queues()?;
        observe(Stage::Namespaces);
        self.scan()
    }

    /// Makes sure that the controller is disabled. One that was left enabled loses its queues by this.
    pub(super) fn disable(&mut self) -> Result<(), Error> {
        let configuration = registers::CONFIGURATION.of(&self.window);
        let found = configuration.extract();
        // A controller that is gone reads as all ones, and is not written to.
        if found.is_set(CC::EN) && found.get() != registers::ALL_ONES {
            configuration.set(found.get() & !CC::EN::SET.value);
        }
        self.await_status(Step::Disable, self.ready_limit(), CSTS::RDY::CLEAR)?;
        self.queues = Queues::default();
        Ok(())
    }

    /// Programs the queues and enables.
    fn configure(&mut self) -> Result<(), Error> {
        self.transport.prepare(&self.window);
        let admin = self.transport.pair(Queue::Admin);
        let last = u32::from(admin.entries.saturating_sub(1));
        registers::ADMIN_QUEUE_ATTRIBUTES.of(&self.window).write(AQA::ASQS.val(last) + AQA::ACQS.val(last));
        registers::ADMIN_SUBMISSION_QUEUE.of(&self.window).set(admin.submission);
        registers::ADMIN_COMPLETION_QUEUE.of(&self.window).set(admin.completion);
        // All fields are written: what the former stage left in CC is nothing to build on (seen on M5 with other sizes).
        registers::CONFIGURATION.of(&self.window).write(
            CC::EN::SET
                + CC::IOSQES.val(registers::SUBMISSION_ENTRY_SHIFT)
                + CC::IOCQES.val(registers::COMPLETION_ENTRY_SHIFT),
        );
        self.await_status(Step::Enable, self.ready_limit(), CSTS::RDY::SET)
    }

    /// The longest time that a change of RDY may take. Linux adds one unit, so that a TO of zero is some time too.
    fn ready_limit(&self) -> Duration {
        Duration::from_millis((capabilities(&self.window).read(CAP::TO) + 1) * 500)
    }

    /// Awaits a state of CSTS. A fatal error ends the wait at once, except where the controller is being disabled: that is
    /// the way out of it.
    pub(super) fn await_status(
        &self,
        step: Step,
        limit: Duration,
        state: FieldValue<u32, CSTS::Register>,
    ) -> Result<(), Error> {
        let status = registers::STATUS.of(&self.window);
        let awaited = poll_until(&self.clock, limit, || {
            let seen = status.extract();
            if seen.get() == registers::ALL_ONES {
                return Some(Err(Error::Fault { step, fault: Fault::Gone }));
            }
            if seen.is_set(CSTS::CFS) && step != Step::Disable {
                return Some(Err(Error::Fault { step, fault: Fault::Fatal { status: seen.get() } }));
            }
            seen.matches_all(state).then_some(Ok(()))
        });
        match awaited {
            Ok(result) => result,
            Err(late) => Err(Error::TimedOut { step, waited: late.waited, status: status.get() }),
        }
    }

    fn identify_controller(&mut self) -> Result<(), Error> {
        let step = Step::IdentifyController;
        let data = self.identify(identify::CONTROLLER, 0).map_err(|error| Error::Command { step, error })?;
        let version = registers::VERSION.of(&self.window).get();
        // The page size of MDTS is the smallest page, which was checked to be 4 KiB.
        if let Some(identity) = Identity::parse(&data, version, PAGE, self.config.transfer) {
            self.identity = identity;
        }
        Ok(())
    }

    fn create_queues(&mut self) -> Result<(), Error> {
        let pair = self.transport.pair(Queue::Io);
        if !T::QUEUE_COUNT_AFTER_CREATION {
            self.set_queue_count()?;
        }
        self.step(
            Step::CreateCompletionQueue,
            SubmissionEntry::create_completion_queue(pair.entries, pair.completion),
        )?;
        self.queues.completion = true;
        self.step(
            Step::CreateSubmissionQueue,
            SubmissionEntry::create_submission_queue(pair.entries, pair.submission),
        )?;
        self.queues.submission = true;
        if T::QUEUE_COUNT_AFTER_CREATION {
            self.set_queue_count()?;
        }
        Ok(())
    }

    /// Asks for one queue pair. The zero-based result names what there is; any number of pairs includes the one.
    fn set_queue_count(&mut self) -> Result<(), Error> {
        self.step(Step::SetQueueCount, SubmissionEntry::one_queue_pair()).map(|_| ())
    }

    /// Looks for namespaces one by one. ANS knows no list of them: on Identify structures beyond the first two it fails.
    fn scan(&mut self) -> Result<(), Error> {
        self.namespaces.clear();
        let last = self.identity.namespaces.min(self.config.scan);
        if last < self.identity.namespaces {
            hal::warn!("the controller reports {} namespaces, looking at {}", self.identity.namespaces, last);
        }
        for id in 1..=last {
            let data = match self.identify(identify::NAMESPACE, id) {
                Ok(data) => data,
                Err(CommandError::Status(status)) => {
                    if status.code() != Status::INVALID_NAMESPACE.code() {
                        hal::warn!("namespace {}: {}", id, hal::log::Shown(&status));
                    }
                    continue;
                }
                Err(error) => return Err(Error::Command { step: Step::IdentifyNamespace, error }),
            };
            match Namespace::parse(&data, id, self.identity.transfer) {
                Ok(namespace) => {
                    if self.namespaces.push(namespace).is_err() {
                        hal::warn!("namespace {} and those after it are left out: too many", id);
                        break;
                    }
                }
                Err(Unusable::Inactive) => {}
                Err(reason) => hal::warn!("namespace {} is left out: {}", id, hal::log::Shown(&reason)),
            }
        }
        Ok(())
    }

    /// Identify into the admin page, which is page-aligned (some firmware wants that), and out of it.
    fn identify(&mut self, structure: u32, namespace: u32) -> Result<[u8; identify::SIZE], CommandError> {
        self.admin(SubmissionEntry::identify(structure, namespace, self.page.address()))?;
        let mut data = [0; identify::SIZE];
        self.page.read_bytes(0, &mut data);
        Ok(data)
    }

    pub(super) fn step(&mut self, step: Step, entry: SubmissionEntry) -> Result<u32, Error> {
        self.admin(entry).map_err(|error| Error::Command { step, error })
    }
}

fn capabilities(window: &impl hal::Mmio) -> LocalRegisterCopy<u64, CAP::Register> {
    registers::CAPABILITIES.of(window).extract()
}

/// PRP lists for every tag, and the admin page.
fn memory<M: DmaPool>(pool: &M, list_bytes: usize) -> Result<(Lent<M>, Lent<M>), DmaError> {
    let lists = Lent::new(pool, TAGS * list_bytes, PAGE)?;
    match Lent::new(pool, PAGE, PAGE) {
        Ok(page) => Ok((lists, page)),
        Err(error) => {
            lists.free();
            Err(error)
        }
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
