//! Queues and tags.
//!
//! A submission queue of this controller is an array indexed by tag (Linux apple.c, m1n1); a completion queue is the
//! ring of the standard. Tags are shared by both queues, since an invalidation names a tag and no queue.

use std::collections::VecDeque;

use super::bits;
use super::prp::Segment;
use super::status::Status;
use crate::facts::command::{CQE_BYTES, CQE_CID, CQE_RESULT, CQE_SQHD, CQE_STATUS};
use crate::facts::status::PHASE;
use crate::memory::{MemoryFault, PhysicalMemory};

/// Which of the two queue pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QueueName {
    Admin,
    Io,
}

impl QueueName {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Io => "IO",
        }
    }
}

/// A submission queue: `size` slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SubmissionQueue {
    pub(crate) base: u64,
    pub(crate) size: u16,
}

/// What a completion entry will say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completion {
    pub(crate) tag: u8,
    pub(crate) id: u16,
    pub(crate) status: Status,
    pub(crate) result: u32,
}

/// Why a head doorbell value is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadProblem {
    BeyondQueue,
    BeyondTail,
}

/// A completion queue.
#[derive(Debug)]
pub(crate) struct CompletionQueue {
    base: u64,
    size: u16,
    head: u16,
    tail: u16,
    phase: bool,
    /// IEN: the admin queue's is always set.
    pub(crate) interrupt: bool,
    /// Completions that wait for room, oldest first.
    pub(crate) held: VecDeque<Completion>,
    /// Since when (model time) the oldest of them waits.
    pub(crate) held_since: Option<u64>,
    /// A tag of this queue was invalidated and the head was not written since.
    pub(crate) retiring: bool,
}

impl CompletionQueue {
    pub(crate) fn new(base: u64, size: u16, interrupt: bool) -> Self {
        let size = size.max(2);
        let held = VecDeque::new();
        Self { base, size, head: 0, tail: 0, phase: true, interrupt, held, held_since: None, retiring: false }
    }

    pub(crate) fn segment(&self) -> Segment {
        Segment { address: self.base, length: u64::from(self.size) * CQE_BYTES as u64 }
    }

    pub(crate) fn is_full(&self) -> bool {
        (self.tail + 1) % self.size == self.head
    }

    pub(crate) fn has_entries(&self) -> bool {
        self.head != self.tail
    }

    /// Writes one entry: its half-word with the phase last. The reserved words get `junk`, so that a driver which uses
    /// them as queue head and queue id is found out.
    pub(crate) fn post(
        &mut self,
        memory: &mut dyn PhysicalMemory,
        entry: &Completion,
        junk: u64,
    ) -> Result<(), MemoryFault> {
        let mut bytes = [0; CQE_STATUS];
        bits::put(&mut bytes, CQE_RESULT, &entry.result.to_le_bytes());
        bits::put(&mut bytes, CQE_SQHD, &bits::low32(junk).to_le_bytes());
        bits::put(&mut bytes, CQE_CID, &entry.id.to_le_bytes());
        let address = self.base + u64::from(self.tail) * CQE_BYTES as u64;
        memory.write(address, &bytes)?;
        let phase = if self.phase { bits::low16(PHASE.mask()) } else { 0 };
        memory.write(address + CQE_STATUS as u64, &(entry.status.bits() | phase).to_le_bytes())?;
        self.tail = (self.tail + 1) % self.size;
        if self.tail == 0 {
            self.phase = !self.phase;
        }
        Ok(())
    }

    /// Moves the head to where the host has read; whether it moved at all.
    pub(crate) fn consume(&mut self, head: u16) -> Result<bool, HeadProblem> {
        if head >= self.size {
            return Err(HeadProblem::BeyondQueue);
        }
        let distance = |to: u16| (to + self.size - self.head) % self.size;
        if distance(head) > distance(self.tail) {
            return Err(HeadProblem::BeyondTail);
        }
        let moved = head != self.head;
        self.head = head;
        Ok(moved)
    }
}

/// What a tag is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TagState {
    #[default]
    Free,
    /// Its command runs.
    InFlight(QueueName),
    /// Its completion is posted; the TCB is still cached until the invalidation.
    Completed(QueueName),
    /// Its queue is gone, with or without a completion: the host may still invalidate it or just use it again.
    Orphaned,
}

/// All tags.
#[derive(Debug, Default)]
pub(crate) struct Tags {
    states: std::collections::BTreeMap<u8, TagState>,
}

impl Tags {
    pub(crate) fn get(&self, tag: u8) -> TagState {
        self.states.get(&tag).copied().unwrap_or_default()
    }

    pub(crate) fn set(&mut self, tag: u8, state: TagState) {
        self.states.insert(tag, state);
    }

    pub(crate) fn clear(&mut self) {
        self.states.clear();
    }

    /// The tags of `queue`, or of both, lose it.
    pub(crate) fn orphan(&mut self, queue: Option<QueueName>) {
        for state in self.states.values_mut() {
            if let TagState::InFlight(owner) | TagState::Completed(owner) = *state
                && queue.is_none_or(|queue| queue == owner)
            {
                *state = TagState::Orphaned;
            }
        }
    }
}
