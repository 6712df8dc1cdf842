//! The watch over what should come back: time-outs, aborts, stalled queues, a controller that died.

use core::time::Duration;

use hal::{Clock, Platform};
use tock_registers::interfaces::Readable;

use super::Controller;
use crate::error::{CommandError, Fault};
use crate::request::Ticket;
use crate::spec::command::{NOT_ABORTED, SubmissionEntry};
use crate::spec::registers::{self, CSTS};
use crate::transport::{Queue, Transport};

/// How often the status register is looked at while commands are in flight, so that the end of a controller that died is
/// known long before its commands time out. One more access beside some ten thousands.
pub(super) const STATUS_PERIOD: Duration = Duration::from_millis(100);

/// What became of the wish to abort a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Abort {
    /// The controller aborts it: it ends with status type 0, code 0x07, to be polled as usual.
    Aborted,
    /// The controller did not abort it: it ends as it ends.
    NotAborted,
    /// It is not in flight any more.
    Ended,
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Asks the controller to abort a command that was submitted. Its buffer comes back with its end, as always.
    ///
    /// # Errors
    /// [`CommandError`] of the Abort command: [`CommandError::Unsupported`] on ANS, which has none.
    pub fn abort(&mut self, ticket: Ticket) -> Result<Abort, CommandError> {
        let index = ticket.queue_pair();
        let pair = self.pairs.get(usize::from(index));
        match pair.and_then(|pair| pair.slots.tag_in_flight(ticket)) {
            None => Ok(Abort::Ended),
            Some(tag) => {
                self.transport.ring(&self.window, Queue::Io(index));
                self.abort_tag(index, tag)
            }
        }
    }

    fn abort_tag(&mut self, index: u16, tag: u32) -> Result<Abort, CommandError> {
        if !T::ABORTS_AND_EVENTS {
            return Err(CommandError::Unsupported);
        }
        self.counters.aborts += 1;
        let entry = SubmissionEntry::abort(Queue::Io(index).identifier(), (tag & 0xffff) as u16);
        let result = self.admin_within(entry, self.config.admin.min(self.config.abort))?;
        Ok(if result & NOT_ABORTED == 0 { Abort::Aborted } else { Abort::NotAborted })
    }

    /// Gives up on commands whose wait is over, if they still are in flight when this is called the next time: the looks
    /// between are the last ones. A host that was held up must not call late what did arrive. Where the controller can abort,
    /// it is asked to before. Gives up on all of them if the controller is dead. Tells whether it gave up on any.
    #[cold]
    #[inline(never)]
    pub(super) fn watch(&mut self) -> bool {
        let now = self.clock.now();
        let over = self.over(now.as_nanos());
        let suspected = core::mem::replace(&mut self.suspected, over.is_some());
        let over = over.filter(|_| suspected);
        if !self.any_in_flight() || over.is_none() && now.as_nanos() < self.status_due {
            return false;
        }
        if now.as_nanos() >= self.status_due {
            self.wake_stalled();
        }
        self.status_due = now.after(STATUS_PERIOD).as_nanos();
        let status = registers::STATUS.of(&self.window).extract();
        let dead = if status.get() == registers::ALL_ONES {
            Some(Fault::Gone)
        } else {
            status.is_set(CSTS::CFS).then_some(Fault::Fatal { status: status.get() })
        };
        if dead.is_none()
            && let Some((index, tag, _)) = over
            && self.try_abort(index, tag, now.as_nanos())
        {
            return false;
        }
        let late = over.map(|(_, tag, waited)| Fault::TimedOut { tag, waited });
        let Some(fault) = dead.or(late) else { return false };
        hal::error!("{}", hal::log::Shown(&fault));
        self.fault.get_or_insert(fault);
        if dead.is_some() {
            for pair in &mut self.pairs {
                pair.slots.lose_all(CommandError::Failed(fault));
            }
        }
        while let Some((index, tag, waited)) = self.over(now.as_nanos()) {
            self.counters.time_outs += 1;
            if let Some(pair) = self.pairs.get_mut(usize::from(index)) {
                pair.slots.lose(tag, CommandError::TimedOut { tag, waited });
            }
        }
        self.flushes_ended();
        true
    }

    /// Begins the wait for fresh commands and gives one whose wait is over, with its queue pair.
    fn over(&mut self, now: u64) -> Option<(u16, u32, Duration)> {
        let limits = self.limits;
        let mut over = None;
        for (index, pair) in (0u16..).zip(&mut self.pairs) {
            if let Some((tag, waited)) = pair.slots.expired(now, limits) {
                over = Some((index, tag, waited));
            }
        }
        over
    }

    /// Asks for the abort of a command that timed out, once. Tells whether it is worth to wait for that.
    fn try_abort(&mut self, index: u16, tag: u32, now: u64) -> bool {
        if !T::ABORTS_AND_EVENTS {
            return false;
        }
        let limits = self.limits;
        let begun = self.pairs.get_mut(usize::from(index)).is_some_and(|pair| pair.slots.begin_abort(tag, now, limits));
        if !begun {
            return false;
        }
        hal::warn!("command with tag {} of queue pair {} timed out: asking to abort it", tag, index);
        match self.abort_tag(index, tag) {
            // What was not aborted may still end by itself, within the same limit.
            Ok(_) => true,
            Err(error) => {
                hal::warn!("abort: {}", hal::log::Shown(&error));
                !self.admin_lost
            }
        }
    }
}
