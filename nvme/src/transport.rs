//! How one speaks to a controller: the seam between what is standard NVMe and what is not.

pub mod apple;

use hal::{DmaError, Platform};

use crate::spec::command::SubmissionEntry;
use crate::spec::status::Status;

/// Which of the two queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// The admin queue pair.
    Admin,
    /// The IO queue pair, with identifier 1.
    Io,
}

/// Where a queue pair lies and how long it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePair {
    /// Entries of each of the two queues.
    pub entries: u16,
    /// Device address of the submission queue.
    pub submission: u64,
    /// Device address of the completion queue.
    pub completion: u64,
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
    /// The command's result; zero for commands of the IO queue, whose results nobody reads.
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

    /// Takes the memory of the queues; touches no register. `entries` is what the controller (CAP.MQES) and the owner allow
    /// for one queue.
    ///
    /// # Errors
    /// [`TransportError`]; nothing is kept.
    fn new(pool: &P::Pool, config: Self::Config, entries: u16) -> Result<Self, TransportError>;

    /// Empties both queue pairs and programs what the controller needs to know beyond the standard. Called while the
    /// controller is disabled, before the admin queue's registers are written.
    fn prepare(&mut self, window: &P::Window);

    /// Where a queue pair lies.
    fn pair(&self, queue: Queue) -> QueuePair;

    /// The tags that commands of a queue may use, as a bit map.
    fn tags(&self, queue: Queue) -> u64;

    /// Places a command under `tag`, which is free, and rings. The entry's identifier is filled in here. What the command
    /// refers to was written before, and becomes visible to the device no later than the entry.
    fn submit(&mut self, window: &P::Window, queue: Queue, tag: u32, entry: SubmissionEntry);

    /// Consumes every completion that waits, tells `retire` of each that names a tag in the bit map `outstanding`, and lets
    /// the controller have the entries back.
    ///
    /// That this is one call is what makes it impossible to ring a submission doorbell in the midst of a batch. When it
    /// returns, the data of the retired commands may be read.
    fn reap(&mut self, window: &P::Window, queue: Queue, outstanding: u64, retire: impl FnMut(Retired)) -> Batch;

    /// Gives the memory of the queues back. The controller is known to be disabled; dropping the transport instead
    /// quarantines the memory.
    fn release(self);
}
