//! One linear queue pair with its translation control blocks.

use hal::{DmaPool, Mmio};
use tock_registers::interfaces::{Readable, Writeable};
use zerocopy::transmute;

use super::spec::{self, Doorbells, TranslationControlBlock};
use crate::buffer::Lent;
use crate::spec::command::{SUBMISSION_ENTRY, SubmissionEntry};
use crate::spec::status::Status;
use crate::transport::completion::CompletionRing;
use crate::transport::{Batch, QueuePair, Retired, TransportError};

pub(super) struct LinearQueue<P: DmaPool> {
    submission: Lent<P>,
    completion: CompletionRing<P>,
    blocks: Lent<P>,
}

impl<P: DmaPool> LinearQueue<P> {
    /// Takes the memory of a pair of `entries` and of as many blocks as the NVMMU counts, which is one number for both
    /// queues.
    pub(super) fn new(pool: &P, entries: u16, blocks: u16) -> Result<Self, TransportError> {
        // Both submission arrays are as long as there are tags: the tag indexes them, and the queues share the tags.
        let take = |bytes: usize| Lent::new(pool, bytes, spec::ALIGNMENT).map_err(TransportError::Memory);
        let submission = take(usize::from(blocks) * SUBMISSION_ENTRY)?;
        let completion = CompletionRing::new(pool, entries, spec::ALIGNMENT).map_err(TransportError::Memory);
        let rest = completion.and_then(|completion| match take(usize::from(blocks) * spec::TCB) {
            Ok(blocks) => Ok((completion, blocks)),
            Err(error) => {
                completion.release();
                Err(error)
            }
        });
        match rest {
            Ok((completion, blocks)) => Ok(Self { submission, completion, blocks }),
            Err(error) => {
                submission.free();
                Err(error)
            }
        }
    }

    pub(super) fn pair(&self) -> QueuePair {
        QueuePair {
            submission_entries: self.completion.entries(),
            completion_entries: self.completion.entries(),
            submission: self.submission.address(),
            completion: self.completion.address(),
        }
    }

    pub(super) fn blocks(&self) -> u64 {
        self.blocks.address()
    }

    /// Makes the pair as new, for a controller that was reset: a completion of the past must not look like one of this life.
    pub(super) fn empty(&mut self) {
        self.submission.clear();
        self.completion.empty();
        self.blocks.clear();
    }

    /// Writes block and entry of a command. Every command has a block, with data or without.
    #[inline(always)]
    pub(super) fn place(&self, tag: u32, mut entry: SubmissionEntry) {
        // Generation bits in the identifier make the coprocessor panic, so it is the tag and nothing else.
        let identifier = (tag & 0x3f) as u8;
        entry.identifier = u16::from(identifier);
        let [_, _, twelfth, ..] = entry.dwords;
        let block = TranslationControlBlock {
            opcode: entry.opcode,
            direction: spec::direction(entry.opcode),
            identifier,
            length: twelfth & 0xffff,
            prp1: entry.prp1,
            prp2: entry.prp2,
            ..TranslationControlBlock::default()
        };
        let block: [u64; spec::TCB_WORDS] = transmute!(block);
        let entry: [u64; SUBMISSION_ENTRY / 8] = transmute!(entry);
        self.blocks.write_words(usize::from(identifier) * spec::TCB, block);
        self.submission.write_words(usize::from(identifier) * SUBMISSION_ENTRY, entry);
    }

    /// Consumes every completion that waits. To find nothing is the common case while one polls, and costs little.
    #[inline(always)]
    pub(super) fn reap<M: Mmio>(
        &mut self,
        bus: (&M, &P, &Doorbells),
        outstanding: u64,
        results: bool,
        retire: impl FnMut(Retired),
    ) -> Batch {
        match self.completion.next() {
            Some(word) => self.consume(word, bus, outstanding, results, retire),
            None => Batch::default(),
        }
    }

    /// Consumes completions from the one with `word` on: an invalidation for each, and one write of the head at the end.
    #[inline(never)]
    fn consume<M: Mmio>(
        &mut self,
        mut word: u32,
        (window, pool, doorbells): (&M, &P, &Doorbells),
        mut outstanding: u64,
        results: bool,
        mut retire: impl FnMut(Retired),
    ) -> Batch {
        let mut batch = Batch::default();
        loop {
            let entry = self.completion.advance();
            batch.entries += 1;
            let identifier = word & 0xffff;
            let bit = if identifier < 64 { 1u64 << identifier } else { 0 };
            if outstanding & bit == 0 {
                // Invalidating here could take the translation from a command that runs on the other queue.
                batch.unknown += 1;
            } else {
                outstanding &= !bit;
                spec::TCB_INVALIDATE.of(window).set(identifier);
                let invalidation_failed = spec::TCB_STATUS.of(window).get() != 0;
                let result = if results { self.completion.result(pool, entry) } else { 0 };
                let status = Status::from_half_word((word >> 16) as u16);
                retire(Retired { tag: identifier, status, invalidation_failed, result });
            }
            // A controller that overran the queue must not hold us here: one lap at most.
            match self.completion.next() {
                Some(next) if batch.entries < u32::from(self.completion.entries()) => word = next,
                _ => break,
            }
        }
        // The data of the whole batch is read after this call only, so one barrier serves all of it.
        pool.observe();
        doorbells.completion_head.of(window).set(u32::from(self.completion.head()));
        batch
    }

    pub(super) fn release(self) {
        self.submission.free();
        self.completion.release();
        self.blocks.free();
    }
}
