//! Standard NVMe over PCIe: rings with doorbells, and shadow doorbells where the controller has them.
//!
//! Commands that were placed wait for one doorbell ([`Transport::ring`]), and completion entries are given back a batch at a
//! time: a completion queue has room for several times the commands in flight, so that its head need not be told of after
//! each of them. What is left of register writes goes through [`shadow`] doorbells, if the controller took them.

mod queue;
pub mod shadow;

use hal::{DmaPool, Platform};

use self::queue::RingPair;
use self::shadow::ShadowPages;
use super::{
    Allowed, Batch, DoorbellBuffers, DoorbellCounters, MOST_PAIRS, Queue, QueuePair, Retired, ShadowDoorbells,
    Transport, TransportError,
};
use crate::spec::command::SubmissionEntry;
use crate::spec::identify;

/// Entries of the admin queues: one command, and every asynchronous event request, with room to spare.
const ADMIN_ENTRIES: u16 = 32;
/// Tags of admin commands: one for a command that is awaited, and [`crate::Controller`]'s event requests.
const ADMIN_TAGS: u64 = 0x1f;
/// Commands in flight on one queue pair: a map of them is one word.
const MOST_DEPTH: u16 = 64;
/// A completion queue has so many entries for each of its submission queue, if the controller allows.
const LAPS: u16 = 4;

/// What the owner may choose.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct PcieConfig {
    /// When doorbell buffers are set up, if the controller knows Doorbell Buffer Config.
    pub shadow_doorbells: ShadowDoorbells,
}

impl PcieConfig {
    /// With doorbell buffers set up at that time, or never.
    pub const fn new(shadow_doorbells: ShadowDoorbells) -> Self {
        Self { shadow_doorbells }
    }
}

/// The way to speak to a controller on PCIe.
pub struct PcieTransport<P: Platform> {
    admin: RingPair<P::Pool>,
    io: heapless::Vec<RingPair<P::Pool>, { MOST_PAIRS as usize }>,
    pool: P::Pool,
    shadow: ShadowPages<P::Pool>,
    wanted: ShadowDoorbells,
    batching: bool,
    counters: DoorbellCounters,
    tags: u64,
}

impl<P: Platform> Transport<P> for PcieTransport<P> {
    type Config = PcieConfig;

    const QUEUE_COUNT_AFTER_CREATION: bool = false;
    const LAST_IDENTIFY_STRUCTURE: u32 = identify::INDEPENDENT_NAMESPACE;
    const ABORTS_AND_EVENTS: bool = true;

    fn new(pool: &P::Pool, config: PcieConfig, allowed: Allowed) -> Result<Self, TransportError> {
        // A ring is full with one entry less than it has.
        let depth = allowed.depth.min(allowed.entries.saturating_sub(1)).clamp(1, MOST_DEPTH);
        let entries = allowed.entries.min(depth + 1);
        if entries < 2 {
            return Err(TransportError::QueueTooShort { entries, needed: 2 });
        }
        let completions = allowed.entries.min(entries.saturating_mul(LAPS));
        let alignment = allowed.page.bytes();
        let stride = 4usize << allowed.doorbell_stride.min(15);
        let ring = |index: u16, entries: u16, completions: u16, depth: u16| {
            RingPair::new(pool, (entries, completions, depth), alignment, (index, stride))
        };
        // No register names any of it yet, so it is free again after an error.
        let admin = ring(0, ADMIN_ENTRIES, ADMIN_ENTRIES, ADMIN_ENTRIES - 1)?;
        let shadow = match ShadowPages::new(pool, alignment) {
            Ok(shadow) => shadow,
            Err(error) => {
                admin.release();
                return Err(TransportError::Memory(error));
            }
        };
        let mut this = Self {
            admin,
            io: heapless::Vec::new(),
            pool: pool.clone(),
            shadow,
            wanted: config.shadow_doorbells,
            batching: true,
            counters: DoorbellCounters::default(),
            tags: u64::MAX >> (64 - depth),
        };
        for identifier in 1..=allowed.pairs.clamp(1, MOST_PAIRS) {
            match ring(identifier, entries, completions, depth) {
                // There is room: clamped above.
                Ok(pair) => drop(this.io.push(pair)),
                Err(error) => {
                    this.release();
                    return Err(error);
                }
            }
        }
        Ok(this)
    }

    fn prepare(&mut self, _: &P::Window) {
        self.shadow.unbind();
        self.admin.empty();
        self.io.iter_mut().for_each(RingPair::empty);
        self.pool.publish();
    }

    fn pairs(&self) -> u16 {
        // At most MOST_PAIRS.
        u16::try_from(self.io.len()).unwrap_or(MOST_PAIRS)
    }

    fn pair(&self, queue: Queue) -> QueuePair {
        self.ring_pair(queue).unwrap_or(&self.admin).place_in_memory()
    }

    fn tags(&self, queue: Queue) -> u64 {
        match queue {
            Queue::Admin => ADMIN_TAGS,
            Queue::Io(_) => self.tags,
        }
    }

    fn renew(&mut self, index: u16) {
        if let Some(pair) = self.io.get_mut(usize::from(index)) {
            pair.empty();
            self.shadow.clear_pair(pair.doorbells());
            self.pool.publish();
        }
    }

    #[inline(always)]
    fn place(&mut self, window: &P::Window, queue: Queue, tag: u32, entry: SubmissionEntry) {
        match queue {
            Queue::Admin => self.admin.place(tag, entry),
            Queue::Io(index) => {
                if let Some(pair) = self.io.get_mut(usize::from(index)) {
                    pair.place(tag, entry);
                }
            }
        }
        if !self.batching {
            self.ring(window, queue);
        }
    }

    #[inline(always)]
    fn ring(&mut self, window: &P::Window, queue: Queue) {
        match queue {
            Queue::Admin => self.admin.ring(window, &self.pool, None, &mut DoorbellCounters::default()),
            Queue::Io(index) => {
                if let Some(pair) = self.io.get_mut(usize::from(index)) {
                    pair.ring(window, &self.pool, self.shadow.bound(), &mut self.counters);
                }
            }
        }
    }

    #[inline(always)]
    fn reap(&mut self, window: &P::Window, queue: Queue, outstanding: u64, retire: impl FnMut(Retired)) -> Batch {
        match queue {
            Queue::Admin => {
                let bus = (window, &self.pool, None);
                self.admin.reap(bus, outstanding, (false, true), &mut DoorbellCounters::default(), retire)
            }
            Queue::Io(index) => {
                let bus = (window, &self.pool, self.shadow.bound());
                let Some(pair) = self.io.get_mut(usize::from(index)) else { return Batch::default() };
                pair.reap(bus, outstanding, (self.batching, false), &mut self.counters, retire)
            }
        }
    }

    fn ring_again(&mut self, window: &P::Window, index: u16) {
        if let Some(pair) = self.io.get_mut(usize::from(index)) {
            self.counters.rung_again += 1;
            pair.ring_again(window, &self.pool, self.shadow.bound());
        }
    }

    fn shadow_doorbells(&self) -> ShadowDoorbells {
        self.wanted
    }

    fn want_shadow_doorbells(&mut self, wanted: ShadowDoorbells) {
        self.wanted = wanted;
    }

    fn doorbell_buffers(&mut self) -> Option<DoorbellBuffers> {
        let last = self.io.last()?.doorbells();
        let buffers = self.shadow.offer(last.head);
        self.pool.publish();
        buffers
    }

    fn bind_doorbell_buffers(&mut self) {
        self.shadow.bind();
    }

    fn doorbell_buffers_bound(&self) -> bool {
        self.shadow.bound().is_some()
    }

    fn set_batching(&mut self, on: bool) {
        self.batching = on;
    }

    fn doorbell_counters(&self) -> DoorbellCounters {
        self.counters
    }

    fn release(self) {
        self.admin.release();
        self.io.into_iter().for_each(RingPair::release);
        self.shadow.release();
    }
}

impl<P: Platform> PcieTransport<P> {
    fn ring_pair(&self, queue: Queue) -> Option<&RingPair<P::Pool>> {
        match queue {
            Queue::Admin => Some(&self.admin),
            Queue::Io(index) => self.io.get(usize::from(index)),
        }
    }
}
