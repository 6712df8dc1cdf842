//! The transport that ships, with somebody between it and the driver: he keeps a log of what is sent, and may break one thing.

use std::cell::RefCell;
use std::rc::Rc;

use hal::Platform;
use nvme::spec::command::SubmissionEntry;
use nvme::transport::pcie::{PcieConfig, PcieTransport};
use nvme::transport::{Allowed, Batch, DoorbellBuffers, Queue, QueuePair, Retired, TransportError};
use nvme::{ShadowDoorbells, Status, Transport};

pub(crate) const FLUSH: u8 = 0x00;
pub(crate) const WRITE: u8 = 0x01;
pub(crate) const SET_FEATURES: u8 = 0x09;
pub(crate) const GET_FEATURES: u8 = 0x0a;
pub(crate) const WRITE_CACHE: u32 = 0x06;

/// A bug of a driver, as the device and the caller see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bug {
    /// A flush is answered when it is sent, and not when the device has answered it (which it does later, under a tag that the
    /// driver does not know).
    FlushAnsweredEarly,
    /// The clock of the driver runs at half the speed, so that what is deferred by a second is deferred by two.
    DeferredTooLong,
    /// Flushes that are sent while the machine prepares to sleep are answered and dropped.
    LostAtSuspend,
    /// There is one state of flushes for all namespaces: every flush goes to the first of them.
    SharedState,
    /// The cache was turned on, and the next flush is spared as if it were off still.
    OldModeForOneWrite,
    /// What is read back after a raw Set Features is what was there before it.
    RacedSetFeatures,
    /// A durable write is sent without force unit access.
    NoForcedAccess,
}

/// One command, as it was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) queue: Queue,
    pub(crate) opcode: u8,
    pub(crate) namespace: u32,
    pub(crate) dwords: [u32; 6],
}

impl Sent {
    /// Whether it is an IO command of that opcode.
    pub(crate) fn is_io(&self, opcode: u8) -> bool {
        self.queue != Queue::Admin && self.opcode == opcode
    }

    /// Whether it is an admin command of that opcode about the write cache.
    pub(crate) fn is_cache(&self, opcode: u8) -> bool {
        self.queue == Queue::Admin && self.opcode == opcode && self.dwords[0] & 0xff == WRITE_CACHE
    }
}

/// What the wire's two ends share with the test.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub(crate) sent: Vec<Sent>,
    pub(crate) bug: Option<Bug>,
    /// The caller prepares to sleep.
    pub(crate) suspending: bool,
    /// The caller sends a raw admin command.
    pub(crate) raw: bool,
}

pub(crate) type SharedWire = Rc<RefCell<Wire>>;

/// See the module.
pub(crate) struct Meddler<P: Platform> {
    inner: PcieTransport<P>,
    wire: SharedWire,
    /// Flushes to be answered at the next look, by queue and tag.
    answered: Vec<(Queue, u32)>,
    /// Queues whose tag for commands that the driver does not know of is in use.
    spare_used: Vec<Queue>,
    /// The cache was turned on, and no flush was sent since.
    just_enabled: bool,
    /// The answer to the command under way is to be zero.
    stale: bool,
    raw_enable: bool,
}

impl<P: Platform> Meddler<P> {
    fn spare(&self, queue: Queue) -> u32 {
        63 - <PcieTransport<P> as Transport<P>>::tags(&self.inner, queue).leading_zeros()
    }

    fn has(&self, bug: Bug) -> bool {
        self.wire.borrow().bug == Some(bug)
    }

    /// A flush is answered at the next look; whether it is sent as well, under the spare tag.
    fn answer(&mut self, queue: Queue, tag: u32) {
        self.answered.push((queue, tag));
    }

    /// Whether the flush goes on as it is.
    fn flush(&mut self, window: &P::Window, queue: Queue, tag: u32, entry: &mut SubmissionEntry) -> bool {
        let suspending = self.wire.borrow().suspending;
        if self.has(Bug::FlushAnsweredEarly) {
            self.answer(queue, tag);
            if !self.spare_used.contains(&queue) {
                self.spare_used.push(queue);
                let spare = self.spare(queue);
                self.inner.place(window, queue, spare, *entry);
            }
            return false;
        }
        if suspending && self.has(Bug::LostAtSuspend) || self.just_enabled && self.has(Bug::OldModeForOneWrite) {
            self.just_enabled = false;
            self.answer(queue, tag);
            return false;
        }
        if self.has(Bug::SharedState) {
            entry.namespace = 1;
        }
        true
    }
}

impl<P: Platform> Transport<P> for Meddler<P> {
    type Config = SharedWire;

    const QUEUE_COUNT_AFTER_CREATION: bool = <PcieTransport<P> as Transport<P>>::QUEUE_COUNT_AFTER_CREATION;
    const LAST_IDENTIFY_STRUCTURE: u32 = <PcieTransport<P> as Transport<P>>::LAST_IDENTIFY_STRUCTURE;
    const ABORTS_AND_EVENTS: bool = <PcieTransport<P> as Transport<P>>::ABORTS_AND_EVENTS;

    fn new(pool: &P::Pool, wire: SharedWire, mut allowed: Allowed) -> Result<Self, TransportError> {
        if wire.borrow().bug == Some(Bug::FlushAnsweredEarly) {
            allowed.depth += 1;
        }
        let inner = PcieTransport::new(pool, PcieConfig::new(ShadowDoorbells::Off), allowed)?;
        let (answered, spare_used) = (Vec::new(), Vec::new());
        Ok(Self { inner, wire, answered, spare_used, just_enabled: false, stale: false, raw_enable: false })
    }

    fn prepare(&mut self, window: &P::Window) {
        self.answered.clear();
        self.spare_used.clear();
        self.inner.prepare(window);
    }

    fn pairs(&self) -> u16 {
        self.inner.pairs()
    }

    fn pair(&self, queue: Queue) -> QueuePair {
        self.inner.pair(queue)
    }

    fn tags(&self, queue: Queue) -> u64 {
        let tags = self.inner.tags(queue);
        let kept = queue != Queue::Admin && self.has(Bug::FlushAnsweredEarly);
        if kept { tags & !(1 << self.spare(queue)) } else { tags }
    }

    fn renew(&mut self, index: u16) {
        self.inner.renew(index);
    }

    fn place(&mut self, window: &P::Window, queue: Queue, tag: u32, mut entry: SubmissionEntry) {
        let sent = Sent { queue, opcode: entry.opcode, namespace: entry.namespace, dwords: entry.dwords };
        self.wire.borrow_mut().sent.push(sent);
        if sent.is_cache(SET_FEATURES) {
            self.just_enabled = sent.dwords[1] == 1;
            self.raw_enable = self.just_enabled && self.wire.borrow().raw;
        }
        if sent.is_cache(GET_FEATURES) && self.raw_enable && self.has(Bug::RacedSetFeatures) {
            (self.stale, self.raw_enable) = (true, false);
        }
        if sent.is_io(WRITE) && self.has(Bug::NoForcedAccess) {
            entry.dwords[2] &= !(1 << 30);
        }
        if !sent.is_io(FLUSH) || self.flush(window, queue, tag, &mut entry) {
            self.inner.place(window, queue, tag, entry);
        }
    }

    fn ring(&mut self, window: &P::Window, queue: Queue) {
        self.inner.ring(window, queue);
    }

    fn reap(
        &mut self,
        window: &P::Window,
        queue: Queue,
        mut outstanding: u64,
        mut retire: impl FnMut(Retired),
    ) -> Batch {
        let mut entries = 0;
        self.answered.retain(|(of, tag)| {
            if *of == queue {
                entries += 1;
                outstanding &= !(1 << tag);
                retire(Retired { tag: *tag, status: Status::SUCCESS, invalidation_failed: false, result: 0 });
            }
            *of != queue
        });
        let spare = self.spare_used.contains(&queue).then(|| self.spare(queue));
        outstanding |= spare.map_or(0, |spare| 1 << spare);
        let (spare_used, stale) = (&mut self.spare_used, &mut self.stale);
        let mut batch = self.inner.reap(window, queue, outstanding, |mut retired| {
            if spare == Some(retired.tag) {
                spare_used.retain(|used| *used != queue);
                return;
            }
            if queue == Queue::Admin && core::mem::take(stale) {
                retired.result = 0;
            }
            retire(retired);
        });
        batch.entries += entries;
        batch
    }

    fn ring_again(&mut self, window: &P::Window, index: u16) {
        self.inner.ring_again(window, index);
    }

    fn shadow_doorbells(&self) -> ShadowDoorbells {
        self.inner.shadow_doorbells()
    }

    fn doorbell_buffers(&mut self) -> Option<DoorbellBuffers> {
        self.inner.doorbell_buffers()
    }

    fn release(self) {
        self.inner.release();
    }
}
