//! From registers and memory to a controller that is up.

use core::time::Duration;

use hal::{Clock, DmaError, Platform, poll_until};
use tock_registers::interfaces::{Readable, Writeable};
use tock_registers::{LocalRegisterCopy, fields::FieldValue};

use super::event::Events;
use super::{Controller, Counters, Pair, Parts, Stage};
use crate::buffer::Lent;
use crate::config::Config;
use crate::durability::WriteCache;
use crate::error::{Error, Failure, Fault, Step};
use crate::identity::Identity;
use crate::prp::PageSize;
use crate::slots::{Limits, Slots, TAGS};
use crate::spec::command::SubmissionEntry;
use crate::spec::registers::{self, AQA, CAP, CC, CSTS};
use crate::transport::{Allowed, MOST_PAIRS, Queue, ShadowDoorbells, Transport};

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
    /// [`crate::CommandError::Reset`], to be polled as usual; memory that was in quarantine is free again. Write access is as it
    /// was for namespaces that are still there with the same size.
    ///
    /// # Errors
    /// [`Error`]: the controller takes no commands; reset it again or shut it down.
    pub fn reset(&mut self) -> Result<(), Error> {
        let result = self.try_reset();
        self.up_or_at_fault(result)
    }

    /// After a step that can leave the controller without its queues: if it failed, no command is accepted any more.
    pub(super) fn up_or_at_fault(&mut self, result: Result<(), Error>) -> Result<(), Error> {
        if result.is_err() {
            self.fault.get_or_insert(Fault::NotUp);
        }
        result
    }

    fn try_reset(&mut self) -> Result<(), Error> {
        if self.answers() {
            // A reset makes nothing durable: what cannot be flushed now stays to be done.
            if self.fault.is_none()
                && let Err(error) = self.settle_all()
            {
                hal::warn!("{}", hal::log::Shown(&error));
            }
            // Firmware minds if EN is cleared while they exist; a controller that cannot delete them is reset all the same.
            if let Err(error) = self.delete_queues() {
                hal::warn!("{}", hal::log::Shown(&error));
            }
        }
        self.disable()?;
        self.pairs.iter_mut().for_each(|pair| pair.slots.reset());
        self.forget_flushes();
        let before = core::mem::take(&mut self.namespaces);
        if let Err(error) = self.start(&mut |_| ()) {
            // The next attempt knows from them what was armed.
            self.namespaces = before;
            return Err(error);
        }
        for namespace in self.namespaces.iter_mut().filter(|namespace| !namespace.write_protected) {
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
        let page_size = u32::try_from(smallest).ok().and_then(PageSize::new);
        let Some(page_size) = page_size else { return fail(Error::PageSize { smallest }, parts) };
        let allowed = Allowed {
            entries: ((capabilities.read(CAP::MQES) & 0xffff) as u16).saturating_add(1),
            depth: config.depth,
            pairs: config.queue_pairs,
            page: page_size,
            doorbell_stride: (capabilities.read(CAP::DSTRD) & 0xf) as u32,
        };
        let transport = match T::new(&parts.pool, transport, allowed) {
            Ok(transport) => transport,
            Err(error) => return fail(Error::Transport(error), parts),
        };
        let page = page_size.bytes();
        config.transfer = (config.transfer / page * page).clamp(page, 16 << 20);
        let list_bytes = page_size.list_pages(config.transfer) * page;
        let (page, pairs) = match memory(&parts.pool, &transport, list_bytes, page) {
            Ok(memory) => memory,
            Err(error) => {
                transport.release();
                return fail(Error::Memory(error), parts);
            }
        };
        let limits =
            Limits { io: nanoseconds(config.io), flush: nanoseconds(config.flush), abort: nanoseconds(config.abort) };
        Ok(Self {
            window: parts.window,
            pool: parts.pool,
            clock: parts.clock,
            config,
            limits,
            transport,
            page_size,
            page,
            list_bytes,
            identity: Identity::unknown(),
            cache: WriteCache::default(),
            flushes: heapless::Vec::new(),
            flush_work: false,
            trouble: false,
            starved: false,
            namespaces: heapless::Vec::new(),
            left_out: heapless::Vec::new(),
            pairs,
            granted: 0,
            turn: 0,
            events: Events::new(),
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
        self.status_due = self.clock.now().after(super::watch::STATUS_PERIOD).as_nanos();
        observe(Stage::Identify);
        self.identify_controller()?;
        self.find_cache()?;
        observe(Stage::IoQueues);
        self.create_queues()?;
        self.begin_events();
        observe(Stage::Namespaces);
        self.scan()?;
        self.keep_flushes();
        Ok(())
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
        for pair in &mut self.pairs {
            (pair.submission, pair.completion, pair.waited) = (false, false, None);
        }
        self.forget_events();
        Ok(())
    }

    /// Programs the queues and enables.
    fn configure(&mut self) -> Result<(), Error> {
        self.transport.prepare(&self.window);
        let admin = self.transport.pair(Queue::Admin);
        let last = |entries: u16| u32::from(entries.saturating_sub(1));
        let sizes = AQA::ASQS.val(last(admin.submission_entries)) + AQA::ACQS.val(last(admin.completion_entries));
        registers::ADMIN_QUEUE_ATTRIBUTES.of(&self.window).write(sizes);
        registers::ADMIN_SUBMISSION_QUEUE.of(&self.window).set(admin.submission);
        registers::ADMIN_COMPLETION_QUEUE.of(&self.window).set(admin.completion);
        // All fields are written: what the former stage left in CC is nothing to build on (seen on M5 with other sizes).
        registers::CONFIGURATION.of(&self.window).write(
            CC::EN::SET
                + CC::MPS.val(self.page_size.exponent())
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

    /// Settles the number of IO queue pairs and creates them.
    fn create_queues(&mut self) -> Result<(), Error> {
        self.granted = self.transport.pairs();
        if !T::QUEUE_COUNT_AFTER_CREATION {
            self.set_queue_count()?;
        }
        self.recreate_queues()?;
        if T::QUEUE_COUNT_AFTER_CREATION {
            self.set_queue_count()?;
        }
        Ok(())
    }

    /// Creates the IO queue pairs, and gives the controller the doorbell buffers before or after that. Their number is settled:
    /// it can be set only before the first of them is created.
    pub(super) fn recreate_queues(&mut self) -> Result<(), Error> {
        let shadow =
            if self.identity.doorbell_buffers { self.transport.shadow_doorbells() } else { ShadowDoorbells::Off };
        if shadow == ShadowDoorbells::BeforeQueues {
            self.give_doorbell_buffers()?;
        }
        for index in 0..self.granted {
            self.create_pair(index)?;
        }
        if shadow == ShadowDoorbells::AfterQueues {
            self.give_doorbell_buffers()?;
        }
        Ok(())
    }

    /// Creates one IO queue pair, the completion queue first.
    fn create_pair(&mut self, index: u16) -> Result<(), Error> {
        self.transport.renew(index);
        let queue = Queue::Io(index);
        let place = self.transport.pair(queue);
        let (identifier, at) = (queue.identifier(), usize::from(index));
        self.step(
            Step::CreateCompletionQueue,
            SubmissionEntry::create_completion_queue(identifier, place.completion_entries, place.completion),
        )?;
        if let Some(pair) = self.pairs.get_mut(at) {
            pair.completion = true;
        }
        self.step(
            Step::CreateSubmissionQueue,
            SubmissionEntry::create_submission_queue(identifier, place.submission_entries, place.submission),
        )?;
        if let Some(pair) = self.pairs.get_mut(at) {
            pair.submission = true;
        }
        Ok(())
    }

    /// Asks for the queue pairs that there is memory for. The zero-based result names what there is, which may be less; any
    /// number of pairs includes one.
    fn set_queue_count(&mut self) -> Result<(), Error> {
        let wanted = self.transport.pairs();
        let counts = self.step(Step::SetQueueCount, SubmissionEntry::queue_pairs(wanted))?;
        let granted = (counts & 0xffff).min(counts >> 16) + 1;
        // Once the queues exist, as on ANS, the answer changes nothing.
        if !T::QUEUE_COUNT_AFTER_CREATION {
            self.granted = u16::try_from(granted).map_or(wanted, |granted| granted.min(wanted));
        }
        Ok(())
    }

    pub(super) fn step(&mut self, step: Step, entry: SubmissionEntry) -> Result<u32, Error> {
        self.admin(entry).map_err(|error| Error::Command { step, error })
    }
}

fn capabilities(window: &impl hal::Mmio) -> LocalRegisterCopy<u64, CAP::Register> {
    registers::CAPABILITIES.of(window).extract()
}

/// The admin page, and the account of each queue pair.
type Memory<P> = (Lent<<P as Platform>::Pool>, heapless::Vec<Pair<P>, { MOST_PAIRS as usize }>);

/// Takes the admin page, and PRP lists for every tag of every queue pair: all of it or nothing.
fn memory<P: Platform, T: Transport<P>>(
    pool: &P::Pool,
    transport: &T,
    list_bytes: usize,
    page: usize,
) -> Result<Memory<P>, DmaError> {
    let admin = Lent::new(pool, page, page)?;
    let mut pairs: heapless::Vec<Pair<P>, { MOST_PAIRS as usize }> = heapless::Vec::new();
    for index in 0..transport.pairs() {
        match Lent::new(pool, TAGS * list_bytes, page) {
            Ok(lists) => {
                let slots = Slots::new(transport.tags(Queue::Io(index)), index);
                let pair = Pair { slots, lists, submission: false, completion: false, batches: 0, waited: None };
                // There is room: a transport has at most so many pairs.
                let _ = pairs.push(pair);
            }
            Err(error) => {
                admin.free();
                pairs.into_iter().for_each(|pair| pair.lists.free());
                return Err(error);
            }
        }
    }
    Ok((admin, pairs))
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
