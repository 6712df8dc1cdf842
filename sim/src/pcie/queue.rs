//! Rings: submission queues that are fetched from, completion queues that are posted to.

use std::collections::VecDeque;

use super::shadow;
use crate::facts::command::{CQE_BYTES, CQE_CID, CQE_RESULT, CQE_SQHD, CQE_SQID, CQE_STATUS, SQE_BYTES};
use crate::facts::status::PHASE;
use crate::memory::{MemoryFault, PhysicalMemory};
use crate::nvme::bits;
use crate::nvme::prp::Segment;
use crate::nvme::status::Status;

/// A submission queue.
#[derive(Debug)]
pub(super) struct Submissions {
    pub(super) base: u64,
    pub(super) size: u16,
    /// The next entry to fetch.
    pub(super) head: u16,
    /// As far as the host has said that there are entries.
    pub(super) tail: u16,
    /// Its completion queue.
    pub(super) completions: u16,
    /// Commands fetched that have not completed.
    pub(super) in_flight: u16,
    /// Fetching had to stop before the tail.
    pub(super) stopped: bool,
    /// What its shadow entry held when that was bound without meaning this queue's tail: it says nothing until it changes.
    pub(super) meaningless: Option<u32>,
}

impl Submissions {
    pub(super) fn new(base: u64, size: u16, completions: u16) -> Self {
        let (head, tail, in_flight, stopped, meaningless) = (0, 0, 0, false, None);
        Self { base, size, head, tail, completions, in_flight, stopped, meaningless }
    }

    pub(super) fn segment(&self) -> Segment {
        Segment { address: self.base, length: u64::from(self.size) * SQE_BYTES as u64 }
    }

    /// The address of the entry at the head; the head goes on.
    pub(super) fn next(&mut self) -> u64 {
        let address = self.base + u64::from(self.head) * SQE_BYTES as u64;
        self.head = (self.head + 1) % self.size;
        address
    }

    /// Whether a tail can be: an index of the queue, and not beyond its last free entry.
    pub(super) fn accepts(&self, tail: u16) -> bool {
        let used = shadow::distance(self.size, self.head, self.tail);
        tail < self.size
            && u32::from(used) + u32::from(shadow::distance(self.size, self.tail, tail)) < u32::from(self.size)
    }
}

/// What a completion entry will say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    /// The submission queue.
    pub(super) queue: u16,
    pub(super) id: u16,
    pub(super) status: Status,
    pub(super) result: u32,
}

/// A completion queue.
#[derive(Debug)]
pub(super) struct Completions {
    pub(super) base: u64,
    pub(super) size: u16,
    pub(super) head: u16,
    pub(super) tail: u16,
    phase: bool,
    /// IEN.
    pub(super) interrupt: bool,
    pub(super) vector: u16,
    /// Completions that wait for room, oldest first.
    pub(super) held: VecDeque<Completion>,
    /// As in [`Submissions`].
    pub(super) meaningless: Option<u32>,
}

impl Completions {
    pub(super) fn new(base: u64, size: u16, interrupt: bool, vector: u16) -> Self {
        let held = VecDeque::new();
        Self { base, size, head: 0, tail: 0, phase: true, interrupt, vector, held, meaningless: None }
    }

    pub(super) fn segment(&self) -> Segment {
        Segment { address: self.base, length: u64::from(self.size) * CQE_BYTES as u64 }
    }

    pub(super) fn is_full(&self) -> bool {
        shadow::is_full(self.size, self.head, self.tail)
    }

    /// Whether the host can have read up to `head`.
    pub(super) fn accepts(&self, head: u16) -> bool {
        let distance = |to| shadow::distance(self.size, self.head, to);
        head < self.size && distance(head) <= distance(self.tail)
    }

    /// Writes one entry: its half-word with the phase last.
    pub(super) fn post(
        &mut self,
        memory: &mut dyn PhysicalMemory,
        entry: &Completion,
        submission_head: u16,
    ) -> Result<(), MemoryFault> {
        let mut bytes = [0; CQE_STATUS];
        bits::put(&mut bytes, CQE_RESULT, &entry.result.to_le_bytes());
        bits::put(&mut bytes, CQE_SQHD, &submission_head.to_le_bytes());
        bits::put(&mut bytes, CQE_SQID, &entry.queue.to_le_bytes());
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
}
