//! Reads, writes and flushes: submitted, then polled for.

use hal::{Clock, Instant, Platform};
use tock_registers::interfaces::Readable;

use super::Controller;
use crate::buffer::Buffer;
use crate::error::{CommandError, Fault, SubmitError};
use crate::identity::Namespace;
use crate::prp::{self, Prps};
use crate::request::{Completion, Operation, Refused, Request, Ticket};
use crate::slots::Retirement;
use crate::spec::command::{SubmissionEntry, nvm};
use crate::spec::registers::{self, CSTS};
use crate::transport::{Queue, Transport};

/// Looks at the queue, whether they find something or not, after which the clock is read: reading it for each would cost
/// more than the look itself.
const LOOKS: u8 = 16;

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Sends a command. Its end comes from [`Controller::poll`].
    ///
    /// # Errors
    /// [`Refused`] with the buffer; nothing was sent. [`SubmitError::Busy`] passes once a command has ended and was
    /// polled.
    #[inline]
    pub fn submit(&mut self, request: Request<P::Pool>) -> Result<Ticket, Refused<P::Pool>> {
        match self.check(&request) {
            Ok((tag, entry)) => Ok(self.send(tag, entry, request.buffer)),
            Err(error) => Err(Refused { error, buffer: request.buffer }),
        }
    }

    /// The next end of a command, if there is one. Never waits.
    ///
    /// A command that timed out is told of once, and the controller takes no more from then on.
    #[inline]
    pub fn poll(&mut self) -> Option<Completion<P::Pool>> {
        if !self.slots.any_finished() {
            self.reap();
        }
        self.slots.next()
    }

    /// Awaits the next end of a command; nothing if no command is in flight. Every wait ends, since commands time out.
    pub fn wait(&mut self) -> Option<Completion<P::Pool>> {
        loop {
            if let Some(completion) = self.poll() {
                return Some(completion);
            }
            if self.slots.in_flight() == 0 {
                return None;
            }
            self.clock.relax();
        }
    }

    /// Decides whether a request may be sent, and builds its entry.
    #[inline]
    fn check(&self, request: &Request<P::Pool>) -> Result<(u32, SubmissionEntry), SubmitError> {
        if let Some(fault) = self.fault {
            return Err(SubmitError::Dead(fault));
        }
        let namespace = self.namespace(request.namespace);
        let namespace = namespace.ok_or(SubmitError::UnknownNamespace { namespace: request.namespace })?;
        let tag = self.slots.peek().ok_or(SubmitError::Busy)?;
        let entry = match request.operation {
            Operation::Read { lba, count } => {
                let prps = self.data(namespace, lba, count, request.buffer.as_ref(), tag)?;
                transfer(nvm::READ, namespace, lba, count, prps)
            }
            Operation::Write { lba, count } => {
                if !namespace.may_write(lba, u64::from(count)) {
                    return Err(SubmitError::ReadOnly);
                }
                let prps = self.data(namespace, lba, count, request.buffer.as_ref(), tag)?;
                transfer(nvm::WRITE, namespace, lba, count, prps)
            }
            Operation::Flush => {
                SubmissionEntry { opcode: nvm::FLUSH, namespace: namespace.id, ..SubmissionEntry::default() }
            }
        };
        Ok((tag, entry))
    }

    /// Checks blocks and buffer against each other and describes the memory.
    #[inline]
    fn data(
        &self,
        namespace: &Namespace,
        lba: u64,
        count: u32,
        buffer: Option<&Buffer<P::Pool>>,
        tag: u32,
    ) -> Result<Prps, SubmitError> {
        if count == 0 {
            return Err(SubmitError::NoBlocks);
        }
        if count > namespace.most_blocks {
            return Err(SubmitError::TooManyBlocks { count, most: namespace.most_blocks });
        }
        if lba >= namespace.blocks || u64::from(count) > namespace.blocks - lba {
            return Err(SubmitError::OutOfRange { lba, count: u64::from(count), blocks: namespace.blocks });
        }
        let needed = (count as usize) << namespace.block_shift;
        let given = buffer.map_or(0, Buffer::length);
        let Some(buffer) = buffer.filter(|_| given >= needed) else {
            return Err(SubmitError::BufferTooShort { needed, given });
        };
        let address = buffer.address();
        if address % 4 != 0 {
            return Err(SubmitError::Misaligned { address });
        }
        Ok(match self.lists.region() {
            Some(lists) => prp::describe(address, needed, lists, tag as usize * self.list_bytes),
            None => Prps { first: address, second: 0 },
        })
    }

    #[inline]
    fn send(&mut self, tag: u32, entry: SubmissionEntry, buffer: Option<Buffer<P::Pool>>) -> Ticket {
        let flush = entry.opcode == nvm::FLUSH;
        // A flush moves no data, so whatever came with it is not lent to the device; it comes back all the same.
        let ticket = self.slots.begin(tag, buffer, flush);
        match entry.opcode {
            nvm::READ => self.counters.reads += 1,
            nvm::WRITE => self.counters.writes += 1,
            // How long flushes take is worth a look at the clock.
            _ => self.slots.start(tag, self.clock.now().as_nanos(), self.limits),
        }
        self.transport.submit(&self.window, Queue::Io, tag, entry);
        ticket
    }

    /// Consumes what the controller completed; now and then looks whether a wait is over.
    pub(super) fn reap(&mut self) {
        let outstanding = self.slots.outstanding();
        if outstanding == 0 {
            return;
        }
        let (slots, counters, clock) = (&mut self.slots, &mut self.counters, &self.clock);
        let batch = self.transport.reap(&self.window, Queue::Io, outstanding, |retired| {
            if retired.invalidation_failed {
                counters.failed_invalidations += 1;
            }
            match slots.retire(retired) {
                Retirement::Plain => {}
                Retirement::Late => counters.late_completions += 1,
                Retirement::Flush { started } => counters.flushed(clock.now().since(Instant::from_nanos(started))),
            }
        });
        counters.unknown_completions += u64::from(batch.unknown);
        self.looks = self.looks.wrapping_add(1);
        if self.looks.is_multiple_of(LOOKS) {
            self.watch();
        }
    }

    /// Gives up on commands whose wait is over, if they still are in flight when this is called the next time: the looks
    /// between are the last ones. A host that was held up must not call late what did arrive.
    #[cold]
    #[inline(never)]
    fn watch(&mut self) {
        let now = self.clock.now().as_nanos();
        let over = self.slots.expired(now, self.limits);
        let suspected = core::mem::replace(&mut self.suspected, over.is_some());
        let Some((tag, waited)) = over.filter(|_| suspected) else { return };
        let status = registers::STATUS.of(&self.window).extract();
        let fault = if status.get() == registers::ALL_ONES {
            Fault::Gone
        } else if status.is_set(CSTS::CFS) {
            Fault::Fatal { status: status.get() }
        } else {
            Fault::TimedOut { tag, waited }
        };
        hal::error!("{}", hal::log::Shown(&fault));
        self.fault.get_or_insert(fault);
        while let Some((tag, waited)) = self.slots.expired(now, self.limits) {
            self.counters.time_outs += 1;
            self.slots.lose(tag, CommandError::TimedOut { tag, waited });
        }
    }
}

#[inline]
fn transfer(opcode: u8, namespace: &Namespace, lba: u64, count: u32, prps: Prps) -> SubmissionEntry {
    SubmissionEntry {
        opcode,
        namespace: namespace.id,
        prp1: prps.first,
        prp2: prps.second,
        // The number of blocks is zero-based.
        dwords: [(lba & 0xffff_ffff) as u32, (lba >> 32) as u32, count - 1, 0, 0, 0],
        ..SubmissionEntry::default()
    }
}
