//! A completion queue as the host reads it: one ring, the same for every controller.

use hal::{DmaError, DmaPool};

use crate::buffer::Lent;
use crate::spec::command::{COMPLETION_ENTRY, COMPLETION_STATUS_WORD};

pub(super) struct CompletionRing<P: DmaPool> {
    memory: Lent<P>,
    entries: u16,
    /// Index of the next entry to be read.
    head: u16,
    /// What the phase bit of an entry of this lap is; starts at 1 and turns over with each lap.
    phase: bool,
}

impl<P: DmaPool> CompletionRing<P> {
    /// Takes the memory of a ring of `entries`.
    pub(super) fn new(pool: &P, entries: u16, alignment: usize) -> Result<Self, DmaError> {
        let memory = Lent::new(pool, usize::from(entries) * COMPLETION_ENTRY, alignment)?;
        Ok(Self { memory, entries, head: 0, phase: true })
    }

    pub(super) fn entries(&self) -> u16 {
        self.entries
    }

    pub(super) fn address(&self) -> u64 {
        self.memory.address()
    }

    /// Index of the next entry to be read: what the head doorbell takes.
    #[inline(always)]
    pub(super) fn head(&self) -> u16 {
        self.head
    }

    /// Makes the ring as new: a completion of the past must not look like one of this life.
    pub(super) fn empty(&mut self) {
        self.memory.clear();
        self.head = 0;
        self.phase = true;
    }

    /// The last word of the next entry, if the controller has written it.
    ///
    /// Identifier, phase and status are one word, so nothing of an entry is read apart from its phase.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<u32> {
        let entry = usize::from(self.head) * COMPLETION_ENTRY;
        let word = self.memory.read_word(entry + COMPLETION_STATUS_WORD);
        ((word >> 16 & 1 != 0) == self.phase).then_some(word)
    }

    /// Goes on to the next entry, and gives the place of this one.
    #[inline(always)]
    pub(super) fn advance(&mut self) -> usize {
        let entry = usize::from(self.head) * COMPLETION_ENTRY;
        self.head += 1;
        if self.head == self.entries {
            self.head = 0;
            self.phase = !self.phase;
        }
        entry
    }

    /// The result of the entry at `place`, whose phase was seen: the load barrier between the two is here.
    #[inline(always)]
    pub(super) fn result(&self, pool: &P, place: usize) -> u32 {
        pool.observe();
        self.memory.read_word(place)
    }

    pub(super) fn release(self) {
        self.memory.free();
    }
}
