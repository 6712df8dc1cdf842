//! The life of a controller and the traffic through it.

mod admin;
mod blocking;
mod cache;
mod doorbells;
mod enable;
mod event;
mod flush;
mod identify;
mod io;
mod log;
mod shutdown;
mod watch;

use core::fmt;
use core::time::Duration;

use hal::Platform;

use self::event::Events;
use crate::buffer::Lent;
use crate::config::Config;
use crate::durability::{DeferredError, Flushes, WriteCache};
use crate::error::{BlockError, Fault, SubmitError};
use crate::identity::{Access, Identity, Namespace, Unusable};
use crate::prp::PageSize;
use crate::slots::{Limits, Slots};
use crate::transport::{MOST_PAIRS, Queue, Transport};

pub use self::cache::CacheError;
pub use self::doorbells::DoorbellState;
pub use self::event::Event;
pub use self::log::{ERRORS, ErrorEntry, Health, Select};
pub use self::watch::Abort;

/// Namespaces that are kept; ANS has seven or so.
pub const NAMESPACES: usize = 16;

/// What a controller is made of and gives back in the end.
pub struct Parts<P: Platform> {
    /// The registers.
    pub window: P::Window,
    /// The memory.
    pub pool: P::Pool,
    /// The time.
    pub clock: P::Clock,
}

impl<P: Platform> fmt::Debug for Parts<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// A stage of [`Controller::enable`], told of as it begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The registers are programmed and the controller is enabled.
    ControllerEnable,
    /// The controller is identified.
    Identify,
    /// The IO queues are created.
    IoQueues,
    /// The namespaces are looked for.
    Namespaces,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ControllerEnable => "controller-enable",
            Self::Identify => "identify",
            Self::IoQueues => "io-queues",
            Self::Namespaces => "namespaces",
        })
    }
}

/// What happened since the controller was enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Reads submitted.
    pub reads: u64,
    /// Writes submitted.
    pub writes: u64,
    /// Commands of other kinds submitted: compare, write zeroes, discard.
    pub others: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Time that flushes took, all together.
    pub flush_time: Duration,
    /// Time that the longest flush took.
    pub longest_flush: Duration,
    /// Completions that named no outstanding command of their queue.
    pub unknown_completions: u64,
    /// Completions of commands that had timed out.
    pub late_completions: u64,
    /// Invalidations that the controller refused.
    pub failed_invalidations: u64,
    /// Commands that timed out.
    pub time_outs: u64,
    /// Commands that the controller was asked to abort.
    pub aborts: u64,
    /// Asynchronous events.
    pub events: u64,
}

/// A controller that is up.
///
/// IO commands go through [`Controller::submit`] and [`Controller::poll`]; [`Controller::read`], [`Controller::write`] and
/// [`Controller::flush`] do both for one caller that waits. Nothing is interrupt-driven and nothing is shared: the owner
/// decides when to poll. What was submitted may wait for that: the controller hears of it with the next poll, wait or
/// [`Controller::ring`], so that commands submitted together share one doorbell.
///
/// A command that times out makes the controller take no more commands ([`Controller::fault`]) until
/// [`Controller::reset`] or [`Controller::shutdown`], unless it can be aborted. Dropping a controller without shutting it down
/// quarantines all memory that it may still reach.
pub struct Controller<P: Platform, T: Transport<P>> {
    window: P::Window,
    pool: P::Pool,
    clock: P::Clock,
    config: Config,
    limits: Limits,
    transport: T,
    /// The page size that CC.MPS selects.
    page_size: PageSize,
    /// Data of admin commands, one page.
    page: Lent<P::Pool>,
    list_bytes: usize,
    identity: Identity,
    cache: WriteCache,
    flushes: heapless::Vec<Flushes, NAMESPACES>,
    /// Flushes wait or were deferred.
    flush_work: bool,
    /// Something went wrong with flushes that were answered, in some namespace; or a device flush is starved.
    trouble: bool,
    /// A device flush is due, and no tag is free for it.
    starved: bool,
    namespaces: heapless::Vec<Namespace, NAMESPACES>,
    left_out: heapless::Vec<(u32, Unusable), NAMESPACES>,
    /// The IO queue pairs that there is memory for. The controller may have granted fewer: see `granted`.
    pairs: heapless::Vec<Pair<P>, { MOST_PAIRS as usize }>,
    /// How many of them are in use, from the first on.
    granted: u16,
    /// The pair whose ends are told of next.
    turn: u16,
    events: Events,
    /// An admin command timed out: its tag may not be used again.
    admin_lost: bool,
    fault: Option<Fault>,
    /// Looks at the completion queues; see [`Controller::poll`].
    looks: u8,
    /// A command's wait was over when the clock was read last.
    suspected: bool,
    /// When the status register is looked at next, in nanoseconds of the clock.
    status_due: u64,
    counters: Counters,
}

/// One IO queue pair's account.
struct Pair<P: Platform> {
    slots: Slots<P::Pool>,
    /// One PRP list for each tag.
    lists: Lent<P::Pool>,
    /// Which of its queues exist in the controller.
    submission: bool,
    completion: bool,
    /// Batches that came back.
    batches: u32,
    /// How many that were when someone looked last whether the pair is stalled, if commands were in flight then.
    waited: Option<u32>,
}

impl Counters {
    #[cold]
    fn flushed(&mut self, took: Duration) {
        self.flushes += 1;
        self.flush_time = self.flush_time.saturating_add(took);
        self.longest_flush = self.longest_flush.max(took);
    }
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// What the controller says of itself.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// The active namespaces, by ascending identifier.
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// One active namespace.
    pub fn namespace(&self, id: u32) -> Option<&Namespace> {
        self.namespaces.iter().find(|namespace| namespace.id == id)
    }

    /// The active namespaces that this driver does not use, and why.
    pub fn left_out(&self) -> &[(u32, Unusable)] {
        &self.left_out
    }

    /// Says which blocks of a namespace may be written from now on. Every namespace starts read-only; commands in flight
    /// stay what they are. What was deferred is flushed before a namespace becomes read-only.
    ///
    /// # Errors
    /// [`SubmitError::UnknownNamespace`], [`SubmitError::WriteProtected`] where the controller would refuse writes, and
    /// [`SubmitError::Deferred`] if what was deferred cannot be flushed; the access is as it was then.
    pub fn set_access(&mut self, id: u32, access: Access) -> Result<(), SubmitError> {
        let namespace = self.namespace(id).ok_or(SubmitError::UnknownNamespace { namespace: id })?;
        if namespace.write_protected && access != Access::ReadOnly {
            return Err(SubmitError::WriteProtected { namespace: id });
        }
        if access == Access::ReadOnly {
            self.settle(id).map_err(|error| match error {
                BlockError::Submit(error) => error,
                BlockError::Command(error) => {
                    SubmitError::Deferred { namespace: id, error: DeferredError::Failed(error) }
                }
                BlockError::Memory(_) | BlockError::Length { .. } => SubmitError::Busy,
            })?;
        }
        for namespace in self.namespaces.iter_mut().filter(|namespace| namespace.id == id) {
            namespace.access = access;
        }
        Ok(())
    }

    /// Why the controller takes no more commands, if so.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// What happened so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// IO commands that can be in flight at once on one queue pair.
    pub fn depth(&self) -> u32 {
        self.transport.tags(Queue::Io(0)).count_ones()
    }

    /// IO queue pairs that are in use, at least 1: what was configured and the controller granted.
    pub fn queue_pairs(&self) -> u16 {
        self.granted
    }

    /// IO commands in flight, on all queue pairs.
    #[inline(always)]
    pub fn in_flight(&self) -> u32 {
        self.pairs.iter().map(|pair| pair.slots.in_flight()).sum()
    }

    /// The page size in bytes, as CC.MPS has it.
    pub fn page_size(&self) -> usize {
        self.page_size.bytes()
    }

    /// The memory that data comes from.
    pub fn pool(&self) -> &P::Pool {
        &self.pool
    }

    /// The clock that the waits go by.
    pub fn clock(&self) -> &P::Clock {
        &self.clock
    }

    /// The registers. Whoever writes to them breaks what this type knows of the controller.
    pub fn window(&self) -> &P::Window {
        &self.window
    }
}

impl<P: Platform, T: Transport<P>> fmt::Debug for Controller<P, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Controller")
            .field("identity", &self.identity)
            .field("in_flight", &self.in_flight())
            .field("fault", &self.fault)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
