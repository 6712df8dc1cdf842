//! How one speaks to a controller: the seam between what is standard NVMe and what is not.

pub mod apple;
mod completion;
pub mod pcie;

use hal::{DmaError, Platform};

use crate::prp::PageSize;
use crate::spec::command::SubmissionEntry;
use crate::spec::status::Status;

/// The most IO queue pairs that a controller is driven with.
pub const MOST_PAIRS: u16 = 4;

/// Which queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The admin queue pair, with identifier 0.
    Admin,
    /// An IO queue pair by its index, from 0 on.
    Io(u16),
}

impl Queue {
    /// The identifier that the controller knows it by; that of IO queue pair `index` is one more.
    pub const fn identifier(self) -> u16 {
        match self {
            Self::Admin => 0,
            Self::Io(index) => index.saturating_add(1),
        }
    }
}

/// Where a queue pair lies and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePair {
    /// Entries of the submission queue.
    pub submission_entries: u16,
    /// Entries of the completion queue.
    pub completion_entries: u16,
    /// Device address of the submission queue.
    pub submission: u64,
    /// Device address of the completion queue.
    pub completion: u64,
}

/// What controller and owner allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Entries of one queue, by CAP.MQES: 2..=65536, cut to 65535.
    pub entries: u16,
    /// Commands that the owner wants in flight on one queue pair, at least 1.
    pub depth: u16,
    /// IO queue pairs that the owner wants, at least 1.
    pub pairs: u16,
    /// The page size that will be in CC.MPS.
    pub page: PageSize,
    /// CAP.DSTRD, 0..=15: doorbells are 4 << this bytes apart.
    pub doorbell_stride: u32,
}

/// A command that the controller completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retired {
    /// The tag that it was submitted under.
    pub tag: u32,
    /// How it ended.
    pub status: Status,
    /// The transport failed to take the tag's translation back; the command's data is not to be trusted.
    pub invalidation_failed: bool,
    /// The command's result; zero for commands of an IO queue, whose results nobody reads.
    pub result: u32,
}

/// What one look at a completion queue found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// Entries consumed, those of unknown commands included.
    pub entries: u32,
    /// Entries that named no outstanding command of this queue.
    pub unknown: u32,
}

/// The two pages of Doorbell Buffer Config, by device address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorbellBuffers {
    /// Shadow doorbells, which the host writes.
    pub shadow: u64,
    /// Event indices, which the controller writes.
    pub event_index: u64,
}

/// When the doorbell buffers are given to the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShadowDoorbells {
    /// Never: every doorbell is a register write.
    Off,
    /// Before the IO queues are created, as Linux does it.
    #[default]
    BeforeQueues,
    /// After the IO queues were created, as SPDK does it.
    AfterQueues,
}

/// How doorbells were rung.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoorbellCounters {
    /// Writes of submission queue tail doorbells of IO queues.
    pub tail_writes: u64,
    /// Writes of completion queue head doorbells of IO queues.
    pub head_writes: u64,
    /// Doorbells of IO queues that went to the shadow page alone.
    pub spared: u64,
    /// Doorbells of IO queues that were rung again because nothing had come back for long.
    pub rung_again: u64,
}

/// Why a transport cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportError {
    /// No memory for its queues.
    Memory(DmaError),
    /// The controller and the configuration leave too short a queue.
    QueueTooShort {
        /// Entries that all limits leave.
        entries: u16,
        /// Entries that the transport needs.
        needed: u16,
    },
}

/// A way to speak to a controller: it places entries, rings, and reaps completions, and owns the memory of the queues.
///
/// It keeps no account of commands. The [`crate::Controller`] chooses a tag among [`Transport::tags`], and uses it again only
/// after it was retired. A tag is at most 63.
pub trait Transport<P: Platform>: Sized {
    /// What the transport has to be told beyond the standard.
    type Config;

    /// Whether the number of queues is set only after their creation (ANS, as Linux does it) and not before (the standard).
    const QUEUE_COUNT_AFTER_CREATION: bool;

    /// The last Identify structure (CNS) that the controller answers; on a later one it may fail as a whole.
    const LAST_IDENTIFY_STRUCTURE: u32;

    /// Whether the controller takes Abort and Asynchronous Event Requests.
    const ABORTS_AND_EVENTS: bool;

    /// Takes the memory of the queues; touches no register.
    ///
    /// # Errors
    /// [`TransportError`]; nothing is kept.
    fn new(pool: &P::Pool, config: Self::Config, allowed: Allowed) -> Result<Self, TransportError>;

    /// Empties every queue pair, forgets doorbell buffers, and programs what the controller needs to know beyond the
    /// standard. Called while the controller is disabled, before the admin queue's registers are written.
    fn prepare(&mut self, window: &P::Window);

    /// IO queue pairs that there is memory for; at least one.
    fn pairs(&self) -> u16;

    /// Where a queue pair lies.
    fn pair(&self, queue: Queue) -> QueuePair;

    /// The tags that commands of a queue may use, as a bit map.
    fn tags(&self, queue: Queue) -> u64;

    /// Makes an IO queue pair as new, its doorbell buffer entries included: the controller does not have it, or no longer.
    fn renew(&mut self, index: u16);

    /// Places a command under `tag`, which is free. The entry's identifier is filled in here. The controller hears of it at
    /// the latest with the next [`Transport::ring`]; what the command refers to becomes visible to it no later than the entry.
    fn place(&mut self, window: &P::Window, queue: Queue, tag: u32, entry: SubmissionEntry);

    /// Tells the controller of every command that was placed in a queue.
    fn ring(&mut self, window: &P::Window, queue: Queue);

    /// Consumes every completion that waits, tells `retire` of each that names a tag in the bit map `outstanding`, and lets
    /// the controller have the entries back.
    ///
    /// That this is one call is what makes it impossible to ring a submission doorbell in the midst of a batch. When it
    /// returns, the data of the retired commands may be read.
    fn reap(&mut self, window: &P::Window, queue: Queue, outstanding: u64, retire: impl FnMut(Retired)) -> Batch;

    /// Rings both doorbells of an IO queue pair by register, whatever the controller was told before. For a controller that
    /// sleeps although it has work; to one that does not, it changes nothing.
    fn ring_again(&mut self, _window: &P::Window, _index: u16) {}

    /// When the owner wants doorbell buffers.
    fn shadow_doorbells(&self) -> ShadowDoorbells {
        ShadowDoorbells::Off
    }

    /// Changes what the owner wants; it takes effect when the queues are created the next time.
    fn want_shadow_doorbells(&mut self, _wanted: ShadowDoorbells) {}

    /// The two pages for Doorbell Buffer Config, cleared; none if this transport has none. Asking for them again makes it
    /// forget that the controller had them.
    fn doorbell_buffers(&mut self) -> Option<DoorbellBuffers> {
        None
    }

    /// The controller took the pages: from now on doorbells of IO queues go there first. It may reach them until it is reset.
    fn bind_doorbell_buffers(&mut self) {}

    /// Whether doorbells go to the pages that the controller was given.
    fn doorbell_buffers_bound(&self) -> bool {
        false
    }

    /// Whether placed commands wait for [`Transport::ring`], and completion entries are given back in batches (the default),
    /// or each is told of by a register write of its own.
    fn set_batching(&mut self, _on: bool) {}

    /// How doorbells were rung since the transport was made.
    fn doorbell_counters(&self) -> DoorbellCounters {
        DoorbellCounters::default()
    }

    /// Gives the memory of the queues back. The controller is known to be disabled; dropping the transport instead
    /// quarantines the memory.
    fn release(self);
}
