//! Commands to namespaces: submitted, then polled for.

use hal::{Clock, Instant, Pause, Platform};

use super::Controller;
use crate::buffer::Buffer;
use crate::error::SubmitError;
use crate::identity::Namespace;
use crate::prp::{self, Prps};
use crate::request::{Completion, Operation, Refused, Request, Ticket};
use crate::slots::Retirement;
use crate::spec::command::{DEALLOCATE, FORCE_UNIT_ACCESS, RANGE, SubmissionEntry, nvm};
use crate::transport::{Queue, Transport};

/// Looks at the queue, whether they find something or not, after which the clock is read: reading it for each would cost
/// more than the look itself.
const LOOKS: u8 = 16;
/// For so many commands in flight, one `relax` goes before a look of a wait: ends then come in batches that share one look
/// and one write of the head. What that adds to a command's latency is small beside what the queue's depth adds.
const GATHER: u32 = 8;
/// The count in a command has 16 bits and is zero-based.
const MOST_ZEROED: u32 = 1 << 16;

/// A wait for the end of commands.
pub(super) struct Wait {
    /// How often to relax before each look.
    gather: u32,
    pause: Pause,
}

/// What a command is to do, in the words of its entry.
#[derive(Clone, Copy)]
struct Transfer {
    opcode: u8,
    lba: u64,
    count: u32,
    /// Bits of CDW12 above the count.
    flags: u32,
}

impl Transfer {
    #[inline(always)]
    fn of(operation: Operation) -> Self {
        let plain = |opcode, lba, count| Self { opcode, lba, count, flags: 0 };
        match operation {
            Operation::Read { lba, count } => plain(nvm::READ, lba, count),
            Operation::Write { lba, count, force_unit_access } => {
                let flags = if force_unit_access { FORCE_UNIT_ACCESS } else { 0 };
                Self { opcode: nvm::WRITE, lba, count, flags }
            }
            Operation::Flush | Operation::Sync => plain(nvm::FLUSH, 0, 0),
            Operation::Compare { lba, count } => plain(nvm::COMPARE, lba, count),
            Operation::WriteZeroes { lba, count } => plain(nvm::WRITE_ZEROES, lba, count),
            Operation::Discard { lba, count } => plain(nvm::DATASET_MANAGEMENT, lba, count),
        }
    }
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Submits a command to the first IO queue pair. Its end comes from [`Controller::poll`].
    ///
    /// # Errors
    /// [`Refused`] with the buffer; nothing was sent. [`SubmitError::Busy`] passes once a command has ended and was
    /// polled.
    pub fn submit(&mut self, request: Request<P::Pool>) -> Result<Ticket, Refused<P::Pool>> {
        self.submit_on(0, request)
    }

    /// Submits a command to IO queue pair `index`, of those that [`Controller::queue_pairs`] counts. Commands of one pair wait
    /// behind each other for its places, and not behind those of another.
    ///
    /// # Errors
    /// As [`Controller::submit`]; [`SubmitError::UnknownQueuePair`].
    #[inline(always)]
    pub fn submit_on(&mut self, index: u16, request: Request<P::Pool>) -> Result<Ticket, Refused<P::Pool>> {
        let Request { namespace, operation, buffer } = request;
        if let Some(error) = self.refusal(namespace) {
            return Err(Refused { error, buffer });
        }
        if let Operation::Flush | Operation::Sync = operation {
            let sync = operation == Operation::Sync;
            return self.submit_flush(index, namespace, sync, buffer);
        }
        let transfer = Transfer::of(operation);
        match self.check(index, namespace, transfer, buffer.as_ref()) {
            Ok((tag, prps)) => Ok(self.send(index, tag, namespace, transfer, prps, buffer)),
            Err(error) => Err(Refused { error, buffer }),
        }
    }

    /// Tells the controller of every command that was submitted, but for flushes that a policy holds. [`Controller::poll`] and the calls that wait do it too; call
    /// this where you submit, and then do something else before you poll.
    pub fn ring(&mut self) {
        for index in 0..self.granted {
            self.transport.ring(&self.window, Queue::Io(index));
        }
    }

    /// The next end of a command of any queue pair, if there is one. Never waits.
    ///
    /// A command that timed out is told of once, and the controller takes no more from then on.
    pub fn poll(&mut self) -> Option<Completion<P::Pool>> {
        if self.flush_work {
            self.serve_flushes();
        }
        // A pair that the controller did not grant again may still have ends to tell of from before a reset.
        let pairs = self.transport.pairs();
        for _ in 0..pairs {
            let index = self.turn;
            let end = self.poll_on(index);
            // The turn passes on when a batch is told of, so that a busy pair does not keep the others waiting.
            if !self.any_finished_on(index) {
                self.turn = if index + 1 < pairs { index + 1 } else { 0 };
            }
            if end.is_some() {
                return end;
            }
        }
        None
    }

    /// The next end of a command of IO queue pair `index`, if there is one. Never waits.
    #[inline(always)]
    pub fn poll_on(&mut self, index: u16) -> Option<Completion<P::Pool>> {
        if !self.any_finished_on(index) {
            if self.flush_work {
                self.serve_flushes();
            }
            self.reap(index);
        }
        self.pairs.get_mut(usize::from(index))?.slots.next()
    }

    #[inline(always)]
    fn any_finished_on(&self, index: u16) -> bool {
        self.pairs.get(usize::from(index)).is_some_and(|pair| pair.slots.any_finished())
    }

    /// Awaits the next end of a command; nothing if no command is in flight. Every wait ends, since commands time out.
    ///
    /// (Inlined, so that the completion is handed over in registers and not through memory twice.)
    #[inline(always)]
    pub fn wait(&mut self) -> Option<Completion<P::Pool>> {
        self.await_end();
        let pair = self.pairs.iter_mut().find(|pair| pair.slots.any_finished())?;
        pair.slots.next()
    }

    /// Waits until a command has ended, or none is in flight.
    pub(super) fn await_end(&mut self) {
        let any_finished = |this: &Self| this.pairs.iter().any(|pair| pair.slots.any_finished());
        if any_finished(self) {
            return;
        }
        let mut wait = self.begin_wait();
        while !any_finished(self) && self.any_in_flight() {
            self.look(&mut wait);
        }
    }

    /// Begins a wait: the controller hears of what was submitted before anyone pauses.
    pub(super) fn begin_wait(&mut self) -> Wait {
        if self.flush_work {
            self.serve_flushes();
        }
        self.ring();
        Wait { gather: self.in_flight() / GATHER, pause: Pause::default() }
    }

    /// Looks once, as part of a wait: lets ends gather before, and a pause pass if there was nothing.
    #[inline(always)]
    pub(super) fn look(&mut self, wait: &mut Wait) {
        if self.flush_work {
            self.serve_flushes();
        }
        for _ in 0..wait.gather {
            self.clock.relax();
        }
        let mut found = false;
        for index in 0..self.granted {
            found |= self.reap(index);
        }
        if !(found || wait.pause.is_long() && self.watch()) {
            wait.pause.pass(&self.clock);
        }
    }

    /// Whether any command is in flight.
    #[inline(always)]
    pub(super) fn any_in_flight(&self) -> bool {
        self.pairs.iter().any(|pair| pair.slots.any_in_flight())
    }

    /// Why nothing may be sent to a namespace at all.
    #[inline(always)]
    fn refusal(&mut self, namespace: u32) -> Option<SubmitError> {
        if let Some(fault) = self.fault {
            return Some(SubmitError::Dead(fault));
        }
        if self.trouble { self.take_trouble(namespace) } else { None }
    }

    /// Decides whether a request may be sent; gives the tag for it, and names its memory.
    #[inline(always)]
    fn check(
        &self,
        index: u16,
        namespace: u32,
        transfer: Transfer,
        buffer: Option<&Buffer<P::Pool>>,
    ) -> Result<(u32, Prps), SubmitError> {
        let namespace = self.namespace(namespace).ok_or(SubmitError::UnknownNamespace { namespace })?;
        let pair = self.pairs.get(usize::from(index)).filter(|_| index < self.granted);
        let pair = pair.ok_or(SubmitError::UnknownQueuePair { index })?;
        let tag = pair.slots.peek().ok_or(SubmitError::Busy)?;
        let lists = (pair.lists.region(), tag as usize * self.list_bytes);
        let prps = match transfer.opcode {
            nvm::READ => self.data(namespace, transfer, buffer, lists)?,
            nvm::WRITE => {
                self.may_change(namespace, transfer)?;
                self.data(namespace, transfer, buffer, lists)?
            }
            _ => self.check_other(namespace, transfer, buffer, lists)?,
        };
        Ok((tag, prps))
    }

    /// The same for the commands that are not worth the room where every read passes.
    #[cold]
    #[inline(never)]
    fn check_other(
        &self,
        namespace: &Namespace,
        transfer: Transfer,
        buffer: Option<&Buffer<P::Pool>>,
        lists: (Option<&hal::DmaRegion<P::Pool>>, usize),
    ) -> Result<Prps, SubmitError> {
        let none = Prps { first: 0, second: 0 };
        let Transfer { opcode, lba, count, .. } = transfer;
        let has = |supported: bool| if supported { Ok(()) } else { Err(SubmitError::Unsupported { opcode }) };
        match opcode {
            nvm::COMPARE => {
                has(self.identity.compare)?;
                self.data(namespace, transfer, buffer, lists)
            }
            nvm::WRITE_ZEROES => {
                has(self.identity.write_zeroes)?;
                self.may_change(namespace, transfer)?;
                inside(namespace, lba, count, MOST_ZEROED)?;
                Ok(none)
            }
            _ => {
                has(self.identity.discard)?;
                self.may_change(namespace, transfer)?;
                inside(namespace, lba, count, u32::MAX)?;
                // The command has no data of the caller's: its range stands where the list of others is.
                let (Some(region), offset) = lists else { return Ok(none) };
                region.write_words(offset, [u64::from(count) << 32, lba]);
                Ok(Prps { first: region.address() + offset as u64, second: 0 })
            }
        }
    }

    /// Whether the owner armed the blocks.
    #[inline(always)]
    fn may_change(&self, namespace: &Namespace, Transfer { lba, count, .. }: Transfer) -> Result<(), SubmitError> {
        if namespace.may_write(lba, u64::from(count)) { Ok(()) } else { Err(SubmitError::ReadOnly) }
    }

    /// Checks blocks and buffer against each other and describes the memory.
    #[inline(always)]
    fn data(
        &self,
        namespace: &Namespace,
        Transfer { lba, count, .. }: Transfer,
        buffer: Option<&Buffer<P::Pool>>,
        (lists, offset): (Option<&hal::DmaRegion<P::Pool>>, usize),
    ) -> Result<Prps, SubmitError> {
        inside(namespace, lba, count, namespace.most_blocks)?;
        let needed = (count as usize) << namespace.block_shift;
        let given = buffer.map_or(0, Buffer::length);
        let Some(buffer) = buffer.filter(|_| given >= needed) else {
            return Err(SubmitError::BufferTooShort { needed, given });
        };
        let address = buffer.address();
        if address % 4 != 0 {
            return Err(SubmitError::Misaligned { address });
        }
        Ok(match lists {
            Some(lists) => prp::describe(self.page_size, address, needed, lists, offset),
            None => Prps { first: address, second: 0 },
        })
    }

    #[inline(always)]
    fn send(
        &mut self,
        index: u16,
        tag: u32,
        namespace: u32,
        transfer: Transfer,
        prps: Prps,
        buffer: Option<Buffer<P::Pool>>,
    ) -> Ticket {
        let Transfer { opcode, lba, count, flags } = transfer;
        // `check` found the pair.
        let Some(pair) = self.pairs.get_mut(usize::from(index)) else { return Ticket { tag, serial: 0 } };
        // A command without data does not lend what came with it to the device; it comes back all the same.
        let ticket = pair.slots.begin(tag, buffer, false);
        match opcode {
            nvm::READ => self.counters.reads += 1,
            nvm::WRITE => self.counters.writes += 1,
            _ => self.counters.others += 1,
        }
        // The number of blocks is zero-based.
        let mut dwords =
            [(lba & 0xffff_ffff) as u32, (lba >> 32) as u32, count.saturating_sub(1) & 0xffff | flags, 0, 0, 0];
        if opcode == nvm::DATASET_MANAGEMENT {
            // One range, zero-based.
            dwords = [0, DEALLOCATE, 0, 0, 0, 0];
        }
        let entry = SubmissionEntry {
            opcode,
            namespace,
            prp1: prps.first,
            prp2: prps.second,
            dwords,
            ..SubmissionEntry::default()
        };
        self.transport.place(&self.window, Queue::Io(index), tag, entry);
        ticket
    }

    /// Rings for what was submitted, consumes what the controller completed, and tells whether there was something; now and
    /// then looks whether a wait is over.
    #[inline(always)]
    pub(super) fn reap(&mut self, index: u16) -> bool {
        let Some(pair) = self.pairs.get_mut(usize::from(index)) else { return false };
        let outstanding = pair.slots.outstanding();
        if outstanding == 0 {
            return false;
        }
        self.transport.ring(&self.window, Queue::Io(index));
        let (slots, counters, clock) = (&mut pair.slots, &mut self.counters, &self.clock);
        let mut flushed = false;
        let batch = self.transport.reap(&self.window, Queue::Io(index), outstanding, |retired| {
            if retired.invalidation_failed {
                counters.failed_invalidations += 1;
            }
            match slots.retire(retired) {
                Retirement::Plain => {}
                Retirement::Late => counters.late_completions += 1,
                Retirement::Flush { started } => {
                    flushed = true;
                    counters.flushed(clock.now().since(Instant::from_nanos(started)));
                }
            }
        });
        counters.unknown_completions += u64::from(batch.unknown);
        pair.batches = pair.batches.wrapping_add(u32::from(batch.entries != 0));
        if flushed {
            self.flushes_ended();
        }
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS) {
            self.watch();
        }
        batch.entries != 0
    }
}

/// Checks that there are blocks, no more than `most`, and all of them in the namespace.
#[inline(always)]
fn inside(namespace: &Namespace, lba: u64, count: u32, most: u32) -> Result<(), SubmitError> {
    if count == 0 {
        return Err(SubmitError::NoBlocks);
    }
    if count > most {
        return Err(SubmitError::TooManyBlocks { count, most });
    }
    if lba >= namespace.blocks || u64::from(count) > namespace.blocks - lba {
        return Err(SubmitError::OutOfRange { lba, count: u64::from(count), blocks: namespace.blocks });
    }
    Ok(())
}

const _: () = assert!(RANGE == size_of::<[u64; 2]>());
