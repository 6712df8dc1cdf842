//! The account of IO commands: one slot for each tag.

use core::array;
use core::time::Duration;

use hal::DmaPool;

use crate::buffer::Buffer;
use crate::error::CommandError;
use crate::request::{Completion, Ticket};
use crate::transport::Retired;

/// Tags are below 64, so that a map of them is one word.
pub(crate) const TAGS: usize = 1 << TAG_BITS;
const TAG_BITS: u32 = 6;

#[derive(Debug)]
struct Slot<P: DmaPool> {
    buffer: Option<Buffer<P>>,
    serial: u32,
    /// Nanoseconds of the clock at which the wait began.
    started: u64,
    /// How the command failed, if its tag is in the map of those that did: success costs no write.
    error: CommandError,
}

/// Each tag of the IO queue is in exactly one of the first five maps, or in `lost` and `finished` at once: a command that timed out
/// and was not yet told of.
#[derive(Debug)]
pub(crate) struct Slots<P: DmaPool> {
    /// May be used.
    free: u64,
    /// Named by a command that the controller has.
    in_flight: u64,
    /// Taken, and not with the controller: flushes that wait for, or ride on, the device flush of another.
    held: u64,
    /// Timed out. The controller may still reach the memory: not used again before a reset.
    lost: u64,
    /// Waits for the owner to hear of it.
    finished: u64,
    /// In flight, and the wait for it has not begun. See [`Slots::expired`].
    fresh: u64,
    /// The command is or was a flush.
    flush: u64,
    /// Ended with an error.
    failed: u64,
    /// No wait ends before this moment, in nanoseconds.
    check: u64,
    /// Commands that timed out and were asked to abort.
    aborting: u64,
    serial: u32,
    /// What tickets have above the tag: which queue pair it is.
    base: u32,
    slots: [Slot<P>; TAGS],
}

/// How long commands may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) io: u64,
    pub(crate) flush: u64,
    pub(crate) abort: u64,
}

impl<P: DmaPool> Slots<P> {
    /// The account of the commands of IO queue pair `index` with these tags.
    pub(crate) fn new(tags: u64, index: u16) -> Self {
        let slots = array::from_fn(|_| Slot { buffer: None, serial: 0, started: 0, error: CommandError::Reset });
        Self {
            free: tags,
            in_flight: 0,
            held: 0,
            lost: 0,
            finished: 0,
            fresh: 0,
            flush: 0,
            failed: 0,
            check: u64::MAX,
            aborting: 0,
            serial: 0,
            base: u32::from(index) << TAG_BITS,
            slots,
        }
    }

    /// Tags of which the controller may still say something.
    pub(crate) fn outstanding(&self) -> u64 {
        self.in_flight | self.lost
    }

    /// Commands that have not ended.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.in_flight | self.held).count_ones()
    }

    /// Whether any command has not ended.
    #[inline(always)]
    pub(crate) fn any_in_flight(&self) -> bool {
        self.in_flight | self.held != 0
    }

    /// Whether there is a command whose owner may ask for a flush once he hears of its end.
    pub(crate) fn may_be_followed(&self) -> bool {
        self.in_flight & !self.flush | self.finished != 0
    }

    /// Whether a command's end waits to be told.
    pub(crate) fn any_finished(&self) -> bool {
        self.finished != 0
    }

    /// The lowest free tag; it is taken by [`Slots::begin`].
    pub(crate) fn peek(&self) -> Option<u32> {
        (self.free != 0).then(|| self.free.trailing_zeros())
    }

    /// Takes `tag`, which [`Slots::peek`] gave.
    #[inline(always)]
    pub(crate) fn begin(&mut self, tag: u32, buffer: Option<Buffer<P>>, flush: bool) -> Ticket {
        let bit = bit(tag);
        self.free &= !bit;
        self.in_flight |= bit;
        self.fresh |= bit;
        self.flush = self.flush & !bit | u64::from(flush) << (tag & 63);
        self.serial = self.serial.wrapping_add(1);
        let serial = self.serial;
        if let Some(slot) = self.slots.get_mut(index(tag)) {
            slot.buffer = buffer;
            slot.serial = serial;
        }
        Ticket { tag: self.base | tag, serial }
    }

    /// Takes `tag` for a flush that is not sent now.
    pub(crate) fn hold(&mut self, tag: u32, buffer: Option<Buffer<P>>) -> Ticket {
        let ticket = self.begin(tag, buffer, true);
        self.in_flight &= !bit(tag);
        self.fresh &= !bit(tag);
        self.held |= bit(tag);
        ticket
    }

    /// A flush that was held is sent.
    pub(crate) fn send_held(&mut self, tag: u32) {
        self.held &= !bit(tag);
        self.in_flight |= bit(tag);
    }

    /// Flushes that were held end without a command of their own.
    pub(crate) fn end_held(&mut self, map: u64, result: Result<(), CommandError>) {
        let map = map & self.held;
        self.held &= !map;
        self.finished |= map;
        if let Err(error) = result {
            for tag in tags(map) {
                self.fail(tag, error);
            }
        }
    }

    /// How a command ended that has, without telling of it.
    pub(crate) fn result(&self, tag: u32) -> Option<Result<(), CommandError>> {
        let slot = self.slots.get(index(tag)).filter(|_| self.finished & bit(tag) != 0)?;
        Some(if self.failed & bit(tag) == 0 { Ok(()) } else { Err(slot.error) })
    }

    /// Which of these commands have ended and were not told of, and which of those failed.
    pub(crate) fn ended_among(&self, map: u64) -> (u64, u64) {
        (map & self.finished, map & self.finished & self.failed)
    }

    /// Forgets a command that has ended: nobody is to hear of it.
    pub(crate) fn swallow(&mut self, tag: u32) {
        drop(self.finish(tag));
    }

    /// Begins the wait for a flush, or for a command that was asked to abort.
    pub(crate) fn start(&mut self, tag: u32, now: u64, limits: Limits) {
        self.fresh &= !bit(tag);
        self.check = self.check.min(now.saturating_add(self.limit(tag, limits)));
        if let Some(slot) = self.slots.get_mut(index(tag)) {
            slot.started = now;
        }
    }

    fn limit(&self, tag: u32, limits: Limits) -> u64 {
        if self.aborting & bit(tag) != 0 {
            limits.abort
        } else if self.flush & bit(tag) != 0 {
            limits.flush
        } else {
            limits.io
        }
    }

    /// Takes note that the controller completed a command. Gives how long a flush took.
    #[inline(always)]
    pub(crate) fn retire(&mut self, retired: Retired) -> Retirement {
        let bit = bit(retired.tag);
        if self.in_flight & bit == 0 {
            return Retirement::Late;
        }
        self.in_flight &= !bit;
        self.fresh &= !bit;
        self.finished |= bit;
        self.aborting &= !bit;
        if retired.invalidation_failed {
            self.fail(retired.tag, CommandError::InvalidationFailed { tag: retired.tag });
        } else if !retired.status.is_success() {
            self.fail(retired.tag, CommandError::Status(retired.status));
        }
        if self.flush & bit == 0 {
            return Retirement::Plain;
        }
        Retirement::Flush { started: self.slots.get(index(retired.tag)).map_or(0, |slot| slot.started) }
    }

    #[cold]
    #[inline(never)]
    fn fail(&mut self, tag: u32, error: CommandError) {
        self.failed |= bit(tag);
        if let Some(slot) = self.slots.get_mut(index(tag)) {
            slot.error = error;
        }
    }

    /// The next end of a command that the owner has not heard of.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Completion<P>> {
        if self.finished == 0 {
            return None;
        }
        self.finish(self.finished.trailing_zeros())
    }

    /// The end of one command, if it has ended.
    pub(crate) fn take(&mut self, ticket: Ticket) -> Option<Completion<P>> {
        let serial = self.slots.get(index(ticket.tag))?.serial;
        if self.finished & bit(ticket.tag) == 0 || serial != ticket.serial {
            return None;
        }
        self.finish(ticket.tag & 63)
    }

    /// The tag of a command, if the controller still has it.
    pub(crate) fn tag_in_flight(&self, ticket: Ticket) -> Option<u32> {
        let slot = self.slots.get(index(ticket.tag))?;
        (self.in_flight & bit(ticket.tag) != 0 && slot.serial == ticket.serial).then_some(ticket.tag & 63)
    }

    /// Takes note that a command was asked to abort: from `now` on it has that limit. False if it was asked before.
    pub(crate) fn begin_abort(&mut self, tag: u32, now: u64, limits: Limits) -> bool {
        let fresh = self.aborting & bit(tag) == 0;
        if fresh {
            self.aborting |= bit(tag);
            self.start(tag, now, limits);
        }
        fresh
    }

    /// Success is told apart first, so that it carries no error around.
    #[inline(always)]
    fn finish(&mut self, tag: u32) -> Option<Completion<P>> {
        let bit = bit(tag);
        self.finished &= !bit;
        self.free |= bit & !self.lost;
        if self.failed & bit != 0 {
            return self.finish_failed(tag);
        }
        let slot = self.slots.get_mut(index(tag))?;
        Some(Completion {
            ticket: Ticket { tag: self.base | tag, serial: slot.serial },
            result: Ok(()),
            buffer: slot.buffer.take(),
        })
    }

    #[cold]
    #[inline(never)]
    fn finish_failed(&mut self, tag: u32) -> Option<Completion<P>> {
        self.failed &= !bit(tag);
        let lost = self.lost & bit(tag) != 0;
        let slot = self.slots.get_mut(index(tag))?;
        let buffer = if lost { None } else { slot.buffer.take() };
        Some(Completion {
            ticket: Ticket { tag: self.base | tag, serial: slot.serial },
            result: Err(slot.error),
            buffer,
        })
    }

    /// Begins the wait for fresh commands and gives a command whose wait is over.
    ///
    /// A wait begins at the first look at the clock after the submission, not at the submission itself: the clock is read
    /// when there is nothing else to do, and not for every command.
    pub(crate) fn expired(&mut self, now: u64, limits: Limits) -> Option<(u32, Duration)> {
        if self.fresh != 0 {
            for tag in tags(self.fresh) {
                if let Some(slot) = self.slots.get_mut(index(tag)) {
                    slot.started = now;
                }
            }
            // Flushes are never fresh: their wait begins with the submission.
            self.check = self.check.min(now.saturating_add(limits.io));
            self.fresh = 0;
        }
        if now < self.check {
            return None;
        }
        let mut check = u64::MAX;
        let mut over = None;
        for tag in tags(self.in_flight) {
            let Some(slot) = self.slots.get(index(tag)) else { continue };
            let end = slot.started.saturating_add(self.limit(tag, limits));
            if end <= now {
                over = Some((tag, Duration::from_nanos(now.saturating_sub(slot.started))));
            }
            check = check.min(end);
        }
        self.check = check;
        over
    }

    /// Gives a command up: its tag and memory stay out of use until [`Slots::reset`].
    pub(crate) fn lose(&mut self, tag: u32, error: CommandError) {
        let bit = bit(tag);
        self.in_flight &= !bit;
        self.lost |= bit;
        self.finished |= bit;
        self.aborting &= !bit;
        self.fail(tag, error);
    }

    /// Gives up every command in flight.
    pub(crate) fn lose_all(&mut self, error: CommandError) {
        for tag in tags(self.in_flight) {
            self.lose(tag, error);
        }
        self.end_held(self.held, Err(error));
    }

    /// Takes note that the controller was reset: it reaches no memory any more. What was in flight has ended so; what was
    /// lost and told of is free again.
    pub(crate) fn reset(&mut self) {
        self.in_flight |= core::mem::take(&mut self.held);
        for tag in tags(self.in_flight) {
            self.fail(tag, CommandError::Reset);
        }
        for tag in tags(self.lost & !self.finished) {
            if let Some(slot) = self.slots.get_mut(index(tag)) {
                drop(slot.buffer.take());
            }
        }
        self.free |= self.lost & !self.finished;
        self.finished |= self.in_flight;
        (self.in_flight, self.lost, self.fresh, self.aborting, self.check) = (0, 0, 0, 0, u64::MAX);
    }
}

impl<P: DmaPool> Drop for Slots<P> {
    fn drop(&mut self) {
        for tag in tags(self.outstanding()) {
            if let Some(buffer) = self.slots.get_mut(index(tag)).and_then(|slot| slot.buffer.take()) {
                buffer.into_region().quarantine();
            }
        }
    }
}

/// What a completion meant for the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retirement {
    Plain,
    Flush {
        started: u64,
    },
    /// The command had timed out before.
    Late,
}

fn bit(tag: u32) -> u64 {
    1 << (tag & 63)
}

fn index(tag: u32) -> usize {
    (tag & 63) as usize
}

/// The tags in a map, lowest first.
fn tags(mut map: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let tag = map.trailing_zeros();
        map &= map.wrapping_sub(1);
        (tag < 64).then_some(tag)
    })
}
