//! Reads, writes and flushes: submitted, then polled for.

use core::time::Duration;

use hal::{Clock, Instant, Pause, Platform};
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
/// How often the status register is looked at while commands are in flight, so that the end of a controller that died is
/// known long before its commands time out. One more access beside some ten thousands.
pub(super) const STATUS_PERIOD: Duration = Duration::from_millis(100);
/// For so many commands in flight, one `relax` goes before a look of a wait: ends then come in batches that share one look
/// and one write of the head. What that adds to a command's latency is small beside what the queue's depth adds.
const GATHER: u32 = 8;

/// What a command is to do, in the words of its entry.
#[derive(Clone, Copy)]
struct Transfer {
    opcode: u8,
    lba: u64,
    count: u32,
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Sends a command. Its end comes from [`Controller::poll`].
    ///
    /// # Errors
    /// [`Refused`] with the buffer; nothing was sent. [`SubmitError::Busy`] passes once a command has ended and was
    /// polled.
    pub fn submit(&mut self, request: Request<P::Pool>) -> Result<Ticket, Refused<P::Pool>> {
        let Request { namespace, operation, buffer } = request;
        let transfer = match operation {
            Operation::Read { lba, count } => Transfer { opcode: nvm::READ, lba, count },
            Operation::Write { lba, count } => Transfer { opcode: nvm::WRITE, lba, count },
            Operation::Flush => Transfer { opcode: nvm::FLUSH, lba: 0, count: 0 },
        };
        match self.check(namespace, transfer, buffer.as_ref()) {
            Ok((tag, prps)) => Ok(self.send(tag, namespace, transfer, prps, buffer)),
            Err(error) => Err(Refused { error, buffer }),
        }
    }

    /// The next end of a command, if there is one. Never waits.
    ///
    /// A command that timed out is told of once, and the controller takes no more from then on.
    pub fn poll(&mut self) -> Option<Completion<P::Pool>> {
        if !self.slots.any_finished() {
            self.reap();
        }
        self.slots.next()
    }

    /// Awaits the next end of a command; nothing if no command is in flight. Every wait ends, since commands time out.
    ///
    /// (Inlined, so that the completion is handed over in registers and not through memory twice.)
    #[inline(always)]
    pub fn wait(&mut self) -> Option<Completion<P::Pool>> {
        self.await_end();
        self.slots.next()
    }

    /// Waits until a command has ended, or none is in flight.
    pub(super) fn await_end(&mut self) {
        let mut pause = Pause::default();
        while !self.slots.any_finished() && self.slots.in_flight() != 0 {
            self.look(&mut pause);
        }
    }

    /// Looks once, as part of a wait: lets ends gather before, and a pause pass if there was nothing.
    pub(super) fn look(&mut self, pause: &mut Pause) {
        for _ in 0..self.slots.in_flight() / GATHER {
            self.clock.relax();
        }
        if !(self.reap() || pause.is_long() && self.watch()) {
            pause.pass(&self.clock);
        }
    }

    /// Decides whether a request may be sent; gives the tag for it, and names its memory.
    #[inline(always)]
    fn check(
        &self,
        namespace: u32,
        Transfer { opcode, lba, count }: Transfer,
        buffer: Option<&Buffer<P::Pool>>,
    ) -> Result<(u32, Prps), SubmitError> {
        if let Some(fault) = self.fault {
            return Err(SubmitError::Dead(fault));
        }
        let namespace = self.namespace(namespace).ok_or(SubmitError::UnknownNamespace { namespace })?;
        let tag = self.slots.peek().ok_or(SubmitError::Busy)?;
        if opcode == nvm::FLUSH {
            return Ok((tag, Prps { first: 0, second: 0 }));
        }
        if opcode == nvm::WRITE && !namespace.may_write(lba, u64::from(count)) {
            return Err(SubmitError::ReadOnly);
        }
        Ok((tag, self.data(namespace, lba, count, buffer, tag)?))
    }

    /// Checks blocks and buffer against each other and describes the memory.
    #[inline(always)]
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

    #[inline(always)]
    fn send(
        &mut self,
        tag: u32,
        namespace: u32,
        Transfer { opcode, lba, count }: Transfer,
        prps: Prps,
        buffer: Option<Buffer<P::Pool>>,
    ) -> Ticket {
        // A flush moves no data, so whatever came with it is not lent to the device; it comes back all the same.
        let ticket = self.slots.begin(tag, buffer, opcode == nvm::FLUSH);
        match opcode {
            nvm::READ => self.counters.reads += 1,
            nvm::WRITE => self.counters.writes += 1,
            // How long flushes take is worth a look at the clock.
            _ => self.slots.start(tag, self.clock.now().as_nanos(), self.limits),
        }
        let entry = SubmissionEntry {
            opcode,
            namespace,
            prp1: prps.first,
            prp2: prps.second,
            // The number of blocks is zero-based; a flush has none.
            dwords: [(lba & 0xffff_ffff) as u32, (lba >> 32) as u32, count.saturating_sub(1), 0, 0, 0],
            ..SubmissionEntry::default()
        };
        self.transport.submit(&self.window, Queue::Io, tag, entry);
        ticket
    }

    /// Consumes what the controller completed, and tells whether there was something; now and then looks whether a wait is
    /// over.
    pub(super) fn reap(&mut self) -> bool {
        let outstanding = self.slots.outstanding();
        if outstanding == 0 {
            return false;
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
        batch.entries != 0
    }

    /// Gives up on commands whose wait is over, if they still are in flight when this is called the next time: the looks
    /// between are the last ones. A host that was held up must not call late what did arrive. Gives up on all of them if the
    /// controller is dead. Tells whether it gave up on any.
    #[cold]
    #[inline(never)]
    fn watch(&mut self) -> bool {
        let now = self.clock.now();
        let over = self.slots.expired(now.as_nanos(), self.limits);
        let suspected = core::mem::replace(&mut self.suspected, over.is_some());
        let over = over.filter(|_| suspected);
        if self.slots.in_flight() == 0 || over.is_none() && now.as_nanos() < self.status_due {
            return false;
        }
        self.status_due = now.after(STATUS_PERIOD).as_nanos();
        let status = registers::STATUS.of(&self.window).extract();
        let dead = if status.get() == registers::ALL_ONES {
            Some(Fault::Gone)
        } else {
            status.is_set(CSTS::CFS).then_some(Fault::Fatal { status: status.get() })
        };
        let late = over.map(|(tag, waited)| Fault::TimedOut { tag, waited });
        let Some(fault) = dead.or(late) else { return false };
        hal::error!("{}", hal::log::Shown(&fault));
        self.fault.get_or_insert(fault);
        if dead.is_some() {
            self.slots.lose_all(CommandError::Failed(fault));
        }
        while let Some((tag, waited)) = self.slots.expired(now.as_nanos(), self.limits) {
            self.counters.time_outs += 1;
            self.slots.lose(tag, CommandError::TimedOut { tag, waited });
        }
        true
    }
}
