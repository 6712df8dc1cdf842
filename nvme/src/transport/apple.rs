//! Apple's ANS: linear submission queues, and translations in memory for each command.
//!
//! A submission queue is no ring but an array that the tag indexes, and the doorbell takes the tag of the one command to
//! start. Beside it lies an array of translation control blocks (TCB): the controller's memory unit (NVMMU) reads block
//! `tag` to learn which memory command `tag` may reach, keeps it, and has to be told when it is no longer valid. That
//! invalidation names a tag and no queue, so the two queues share one space of tags (Linux apple.c).

mod queue;
pub mod spec;

use hal::{DmaPool, Platform};
use tock_registers::interfaces::{Readable, Writeable};

use self::queue::LinearQueue;
use self::spec::{LINEAR, PENDING, UNKNOWN_CONTROL};
use super::{Allowed, Batch, Queue, QueuePair, Retired, Transport, TransportError};
use crate::spec::command::SubmissionEntry;
use crate::spec::identify;

/// Tags that only admin commands use. Linux reserves as many, since its admin queue has two entries.
const ADMIN_TAGS: u64 = 0b11;

/// What may differ between machines with this controller.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AppleConfig {}

/// The way to speak to ANS of T8103, T8112, T600x and T602x.
pub struct AppleTransport<P: Platform> {
    admin: LinearQueue<P::Pool>,
    io: LinearQueue<P::Pool>,
    pool: P::Pool,
    entries: u16,
}

impl<P: Platform> Transport<P> for AppleTransport<P> {
    type Config = AppleConfig;

    const QUEUE_COUNT_AFTER_CREATION: bool = true;
    const LAST_IDENTIFY_STRUCTURE: u32 = identify::CONTROLLER;
    const ABORTS_AND_EVENTS: bool = false;

    fn new(pool: &P::Pool, _: AppleConfig, allowed: Allowed) -> Result<Self, TransportError> {
        // A queue takes one command fewer than it has entries.
        let entries = allowed.entries.min(allowed.depth.saturating_add(1)).min(spec::MOST_ENTRIES);
        if entries < spec::FEWEST_ENTRIES {
            return Err(TransportError::QueueTooShort { entries, needed: spec::FEWEST_ENTRIES });
        }
        let admin = LinearQueue::new(pool, spec::ADMIN_ENTRIES, entries)?;
        let io = match LinearQueue::new(pool, entries, entries) {
            Ok(io) => io,
            Err(error) => {
                // No register named the memory yet.
                admin.release();
                return Err(error);
            }
        };
        Ok(Self { admin, io, pool: pool.clone(), entries })
    }

    fn prepare(&mut self, window: &P::Window) {
        self.admin.empty();
        self.io.empty();
        spec::LINEAR_CONTROL.of(window).write(LINEAR::ENABLE::SET);
        // Linux and U-Boot write the number of entries to both halves, m1n1 one less. One less worked on every machine
        // reported, and on some firmware the other breaks the last completion entry.
        let most = u32::from(self.entries - 1);
        spec::PENDING_COMMANDS.of(window).write(PENDING::ADMIN.val(most) + PENDING::IO.val(most));
        spec::TCB_COUNT.of(window).set(most);
        // Left set, every command with a PRP of zero fails, even one that moves no data (Linux apple.c).
        let control = spec::UNKNOWN_CONTROL_REGISTER.of(window);
        control.set(control.get() & !UNKNOWN_CONTROL::PRP_NULL_CHECK::SET.value);
        spec::ADMIN_TCB_BASE.of(window).set(self.admin.blocks());
        spec::IO_TCB_BASE.of(window).set(self.io.blocks());
        self.pool.publish();
    }

    /// There is one, and no register for another.
    fn pairs(&self) -> u16 {
        1
    }

    fn renew(&mut self, _: u16) {
        self.io.empty();
    }

    fn pair(&self, queue: Queue) -> QueuePair {
        match queue {
            Queue::Admin => self.admin.pair(),
            Queue::Io(_) => self.io.pair(),
        }
    }

    fn tags(&self, queue: Queue) -> u64 {
        match queue {
            Queue::Admin => ADMIN_TAGS,
            // Like Linux, which has one request fewer than the queue has entries.
            Queue::Io(_) => (u64::MAX >> (64 - (self.entries - 1))) & !ADMIN_TAGS,
        }
    }

    #[inline(always)]
    fn place(&mut self, window: &P::Window, queue: Queue, tag: u32, entry: SubmissionEntry) {
        let (linear, doorbell) = match queue {
            Queue::Admin => (&self.admin, &spec::ADMIN.doorbell),
            Queue::Io(_) => (&self.io, &spec::IO.doorbell),
        };
        linear.place(tag, entry);
        self.pool.publish();
        doorbell.of(window).set(tag);
    }

    /// The doorbell takes one tag, so every command was rung for when it was placed.
    #[inline(always)]
    fn ring(&mut self, _: &P::Window, _: Queue) {}

    #[inline(always)]
    fn reap(&mut self, window: &P::Window, queue: Queue, outstanding: u64, retire: impl FnMut(Retired)) -> Batch {
        match queue {
            Queue::Admin => self.admin.reap((window, &self.pool, &spec::ADMIN), outstanding, true, retire),
            Queue::Io(_) => self.io.reap((window, &self.pool, &spec::IO), outstanding, false, retire),
        }
    }

    fn release(self) {
        self.admin.release();
        self.io.release();
    }
}
