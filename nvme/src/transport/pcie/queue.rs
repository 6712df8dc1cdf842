//! One ring pair: a submission queue, the completion queue that it answers in, and their doorbells.

use hal::{DmaPool, Mmio, Register};
use tock_registers::interfaces::Writeable;
use zerocopy::transmute;

use super::shadow::{self, ShadowPages};
use crate::buffer::Lent;
use crate::spec::command::{SUBMISSION_ENTRY, SubmissionEntry};
use crate::spec::registers::DOORBELLS;
use crate::spec::status::Status;
use crate::transport::completion::CompletionRing;
use crate::transport::{Batch, DoorbellCounters, QueuePair, Retired, TransportError};

/// Where the doorbells of a queue pair lie: bytes from the first doorbell, in the registers and in the doorbell buffers alike.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doorbells {
    /// Tail of the submission queue.
    pub(super) tail: usize,
    /// Head of the completion queue.
    pub(super) head: usize,
}

pub(super) struct RingPair<P: DmaPool> {
    submission: Lent<P>,
    completion: CompletionRing<P>,
    doorbells: Doorbells,
    entries: u16,
    /// Index of the next submission entry.
    tail: u16,
    /// The tail that the controller was told of.
    rung: u16,
    /// The completion head that the controller was told of.
    told: u16,
    /// Completion entries that were read since.
    untold: u16,
    /// So many of them may stay untold: then there is still an entry free for every command that can be in flight.
    spare: u16,
}

impl<P: DmaPool> RingPair<P> {
    /// Takes the memory of a pair with so many submission and completion entries and commands in flight; `identifier` with the
    /// doorbells' stride in bytes says where its doorbells are.
    pub(super) fn new(
        pool: &P,
        (entries, completions, depth): (u16, u16, u16),
        alignment: usize,
        (identifier, stride): (u16, usize),
    ) -> Result<Self, TransportError> {
        let submission = Lent::new(pool, usize::from(entries) * SUBMISSION_ENTRY, alignment);
        let submission = submission.map_err(TransportError::Memory)?;
        let completion = match CompletionRing::new(pool, completions, alignment) {
            Ok(completion) => completion,
            Err(error) => {
                submission.free();
                return Err(TransportError::Memory(error));
            }
        };
        let tail = 2 * usize::from(identifier) * stride;
        Ok(Self {
            submission,
            completion,
            doorbells: Doorbells { tail, head: tail + stride },
            entries,
            tail: 0,
            rung: 0,
            told: 0,
            untold: 0,
            spare: completions.saturating_sub(1).saturating_sub(depth),
        })
    }

    pub(super) fn doorbells(&self) -> Doorbells {
        self.doorbells
    }

    pub(super) fn place_in_memory(&self) -> QueuePair {
        QueuePair {
            submission_entries: self.entries,
            completion_entries: self.completion.entries(),
            submission: self.submission.address(),
            completion: self.completion.address(),
        }
    }

    /// Makes the pair as new.
    pub(super) fn empty(&mut self) {
        self.submission.clear();
        self.completion.empty();
        (self.tail, self.rung, self.told, self.untold) = (0, 0, 0, 0);
    }

    /// Writes an entry. There is room: no more commands are in flight than the ring takes, and a command that has ended was
    /// fetched.
    #[inline(always)]
    pub(super) fn place(&mut self, tag: u32, mut entry: SubmissionEntry) {
        entry.identifier = (tag & 0x3f) as u16;
        let words: [u64; SUBMISSION_ENTRY / 8] = transmute!(entry);
        self.submission.write_words(usize::from(self.tail) * SUBMISSION_ENTRY, words);
        let next = self.tail + 1;
        self.tail = if next == self.entries { 0 } else { next };
    }

    /// Tells the controller of the entries that it does not know of.
    #[inline(always)]
    pub(super) fn ring<M: Mmio>(
        &mut self,
        window: &M,
        pool: &P,
        shadow: Option<&ShadowPages<P>>,
        counters: &mut DoorbellCounters,
    ) {
        let (old, new) = (self.rung, self.tail);
        if old == new {
            return;
        }
        self.rung = new;
        let needed = match shadow {
            Some(pages) => shadow::announce(pages, self.doorbells.tail, old, new),
            None => {
                pool.publish();
                true
            }
        };
        if needed {
            counters.tail_writes += 1;
            doorbell(self.doorbells.tail).of(window).set(u32::from(new));
        } else {
            counters.spared += 1;
        }
    }

    /// Consumes every completion that waits. To find nothing is the common case while one polls, and costs little.
    #[inline(always)]
    pub(super) fn reap<M: Mmio>(
        &mut self,
        bus: (&M, &P, Option<&ShadowPages<P>>),
        outstanding: u64,
        how: (bool, bool),
        counters: &mut DoorbellCounters,
        retire: impl FnMut(Retired),
    ) -> Batch {
        match self.completion.next() {
            Some(word) => self.consume(word, bus, outstanding, how, counters, retire),
            None => Batch::default(),
        }
    }

    /// Consumes completions from the one with `word` on.
    #[inline(never)]
    fn consume<M: Mmio>(
        &mut self,
        mut word: u32,
        (window, pool, shadow): (&M, &P, Option<&ShadowPages<P>>),
        mut outstanding: u64,
        (batching, results): (bool, bool),
        counters: &mut DoorbellCounters,
        mut retire: impl FnMut(Retired),
    ) -> Batch {
        let mut batch = Batch::default();
        loop {
            let entry = self.completion.advance();
            batch.entries += 1;
            self.untold += 1;
            let identifier = word & 0xffff;
            let bit = if identifier < 64 { 1u64 << identifier } else { 0 };
            if outstanding & bit == 0 {
                batch.unknown += 1;
            } else {
                outstanding &= !bit;
                let result = if results { self.completion.result(pool, entry) } else { 0 };
                let status = Status::from_half_word((word >> 16) as u16);
                retire(Retired { tag: identifier, status, invalidation_failed: false, result });
            }
            if !batching {
                pool.observe();
                self.tell(window, shadow, counters);
            }
            // A controller that never stops must not hold us here: what there is room for at most, and no more than one lap
            // where each entry is given back at once.
            let entries = self.completion.entries();
            match self.completion.next() {
                Some(next) if self.untold < entries - 1 && batch.entries < u32::from(entries) => word = next,
                _ => break,
            }
        }
        // The data of the whole batch is read after this call only, so one barrier serves all of it.
        pool.observe();
        if self.untold > self.spare / 2 {
            self.tell(window, shadow, counters);
        }
        batch
    }

    /// Gives the completion entries back that were read: the caller has put a load barrier behind the reads, for what the
    /// controller writes into an entry that it gets back must not be what was read.
    fn tell<M: Mmio>(&mut self, window: &M, shadow: Option<&ShadowPages<P>>, counters: &mut DoorbellCounters) {
        let (old, new) = (self.told, self.completion.head());
        self.told = new;
        self.untold = 0;
        let needed = match shadow {
            Some(pages) => shadow::announce(pages, self.doorbells.head, old, new),
            None => true,
        };
        if needed {
            counters.head_writes += 1;
            doorbell(self.doorbells.head).of(window).set(u32::from(new));
        } else {
            counters.spared += 1;
        }
    }

    /// Rings both doorbells by register, with what they should be already.
    pub(super) fn ring_again<M: Mmio>(&mut self, window: &M, pool: &P, shadow: Option<&ShadowPages<P>>) {
        (self.rung, self.told, self.untold) = (self.tail, self.completion.head(), 0);
        for (offset, value) in [(self.doorbells.tail, self.rung), (self.doorbells.head, self.told)] {
            pool.publish();
            if let Some(pages) = shadow {
                shadow::SharedWords::set_shadow(pages, offset, u32::from(value));
                pool.order();
            }
            doorbell(offset).of(window).set(u32::from(value));
        }
    }

    pub(super) fn release(self) {
        self.submission.free();
        self.completion.release();
    }
}

/// The register of the doorbell so many bytes from the first.
#[inline(always)]
const fn doorbell(offset: usize) -> Register {
    Register::at(DOORBELLS + offset)
}
