//! Flushes: what is asked for becomes device flushes, as the namespace's policy says.

use core::time::Duration;

use hal::{Clock, Platform};

use super::{Controller, Counters};
use crate::buffer::Buffer;
use crate::durability::{Accept, CacheMode, DeferredError, FlushPolicy, FlushStatistics, Flushes};
use crate::error::{BlockError, CommandError, Fault, SubmitError};
use crate::request::{Operation, Refused, Request, Ticket};
use crate::spec::command::{EVERY_NAMESPACE, SubmissionEntry, nvm};
use crate::transport::{Queue, Transport};

/// Flushes that share one wait for others by up to that part of the time that a flush takes: as much of a wait as
/// [`hal::time::Pause`] gives away.
const GATHER: u64 = 16;

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// When flushes of a namespace reach the device.
    ///
    /// # Errors
    /// [`SubmitError::UnknownNamespace`].
    pub fn flush_policy(&self, namespace: u32) -> Result<FlushPolicy, SubmitError> {
        self.flushes_of(namespace).map(|flushes| flushes.policy)
    }

    /// What became of a namespace's flushes since the controller was brought up.
    ///
    /// # Errors
    /// [`SubmitError::UnknownNamespace`].
    pub fn flush_statistics(&self, namespace: u32) -> Result<FlushStatistics, SubmitError> {
        self.flushes_of(namespace).map(|flushes| flushes.statistics)
    }

    /// Chooses a policy that keeps what a flush promises: strict or coalesce. What was deferred before is flushed first.
    ///
    /// # Errors
    /// [`BlockError`]: the policy is as it was. [`SubmitError::NotArmed`] for a policy that defers: see
    /// [`Controller::defer_flushes`].
    pub fn set_flush_policy(&mut self, namespace: u32, policy: FlushPolicy) -> Result<(), BlockError> {
        if matches!(policy, FlushPolicy::Deferred { .. }) {
            return Err(SubmitError::NotArmed.into());
        }
        self.change_policy(namespace, policy)
    }

    /// Has flushes of a namespace answered at once and sent at most `max_delay` later. `accepted` says what the caller takes
    /// on; nothing else arms this. It ends with [`Controller::set_flush_policy`], and with a device flush that fails.
    ///
    /// The delay is kept by [`Controller::poll`] and the calls that wait: call one of them every eighth of `max_delay`. A caller
    /// that does not is told so by the next call that submits something ([`SubmitError::Deferred`]); so is one whose own commands
    /// hold every tag of every queue pair for longer than that, for the device flush needs one too.
    ///
    /// # Errors
    /// [`SubmitError::Delay`] outside 1 ms to 60 s, and as [`Controller::set_flush_policy`].
    pub fn defer_flushes(&mut self, namespace: u32, max_delay: Duration, accepted: Accept) -> Result<(), BlockError> {
        let Accept::LossOfFlushedDataOnPowerCut = accepted;
        if !(FlushPolicy::SHORTEST..=FlushPolicy::LONGEST).contains(&max_delay) {
            return Err(SubmitError::Delay { asked: max_delay }.into());
        }
        self.change_policy(namespace, FlushPolicy::Deferred { max_delay })
    }

    fn change_policy(&mut self, namespace: u32, policy: FlushPolicy) -> Result<(), BlockError> {
        self.flushes_of(namespace)?;
        self.settle(namespace)?;
        if let Some(flushes) = self.flushes_of_mut(namespace) {
            flushes.policy = policy;
        }
        Ok(())
    }

    /// Makes durable what was written before, now, whatever the policy: awaits a device flush where the cache is write-back.
    ///
    /// # Errors
    /// [`BlockError`]: nothing is known about what is durable.
    pub fn sync(&mut self, namespace: u32) -> Result<(), BlockError> {
        self.complete(Request { namespace, operation: Operation::Sync, buffer: None })?.result?;
        Ok(())
    }

    /// Awaits what is in flight and performs every flush that waits or was deferred: for a machine that goes to sleep, or an
    /// owner that will not poll for a while.
    ///
    /// # Errors
    /// [`BlockError`]: what failed first. The others were tried all the same.
    pub fn quiesce(&mut self) -> Result<(), BlockError> {
        let drained = self.drain().map_err(|_| CommandError::Failed(self.fault.unwrap_or(Fault::Gone)));
        drained.map_err(BlockError::Command).and(self.settle_all())
    }

    /// Flushes every namespace with one command, which the controller is known to take.
    pub(super) fn flush_broadcast(&mut self) -> Result<(), BlockError> {
        let now = self.clock.now().as_nanos();
        let pair = self.pairs.first_mut().ok_or(SubmitError::UnknownQueuePair { index: 0 })?;
        let tag = pair.slots.peek().ok_or(SubmitError::Busy)?;
        let ticket = pair.slots.begin(tag, None, true);
        pair.slots.start(tag, now, self.limits);
        self.place_flush(0, tag, EVERY_NAMESPACE);
        self.await_ticket(ticket)?.result?;
        Ok(())
    }

    /// Accepts a flush, or a sync that no policy defers. Gives what the caller waits for.
    pub(super) fn submit_flush(
        &mut self,
        index: u16,
        namespace: u32,
        sync: bool,
        buffer: Option<Buffer<P::Pool>>,
    ) -> Result<Ticket, Refused<P::Pool>> {
        let mode = match self.cache_mode(namespace) {
            Ok(mode) => mode,
            Err(error) => return Err(Refused { error, buffer }),
        };
        let pair = self.pairs.get_mut(usize::from(index)).filter(|_| index < self.granted);
        let Some(pair) = pair else { return Err(Refused { error: SubmitError::UnknownQueuePair { index }, buffer }) };
        let Some(tag) = pair.slots.peek() else { return Err(Refused { error: SubmitError::Busy, buffer }) };
        let Some(flushes) = self.flushes.iter_mut().find(|flushes| flushes.namespace == namespace) else {
            return Err(Refused { error: SubmitError::UnknownNamespace { namespace }, buffer });
        };
        flushes.statistics.asked += 1;
        let now = self.clock.now().as_nanos();
        if mode == CacheMode::WriteThrough {
            flushes.statistics.spared += 1;
            let ticket = pair.slots.hold(tag, buffer);
            pair.slots.end_held(1 << tag, Ok(()));
            return Ok(ticket);
        }
        match flushes.policy {
            FlushPolicy::Deferred { max_delay } if !sync => {
                flushes.defer(now, max_delay);
                self.flush_work = true;
                let ticket = pair.slots.hold(tag, buffer);
                pair.slots.end_held(1 << tag, Ok(()));
                Ok(ticket)
            }
            FlushPolicy::Strict if flushes.due.is_none() => {
                flushes.statistics.sent += 1;
                if let Some(alone) = flushes.alone.get_mut(usize::from(index)) {
                    *alone |= 1 << tag;
                }
                let ticket = pair.slots.begin(tag, buffer, true);
                pair.slots.start(tag, now, self.limits);
                self.place_flush(index, tag, namespace);
                Ok(ticket)
            }
            _ => {
                flushes.wait(index, tag, now);
                self.flush_work = true;
                Ok(pair.slots.hold(tag, buffer))
            }
        }
    }

    /// Sends the device flushes that are due. Called before every look, while there is such work.
    #[cold]
    #[inline(never)]
    pub(super) fn serve_flushes(&mut self) {
        if let Some(fault) = self.fault {
            return self.fail_waiting(fault);
        }
        self.starved = false;
        let now = self.clock.now().as_nanos();
        let gather = self.gather();
        for at in 0..self.flushes.len() {
            if self.flushes.get(at).is_some_and(|flushes| flushes.is_due(now, gather)) {
                self.send_flush(at, now);
            }
        }
        self.flush_work = self.flushes.iter().any(Flushes::unsettled);
    }

    /// For how long flushes that share one wait for others to join, if anyone is there who could.
    fn gather(&self) -> Option<u64> {
        let Counters { flushes, flush_time, .. } = self.counters;
        let total = u64::try_from(flush_time.as_nanos()).unwrap_or(u64::MAX);
        let somebody = self.pairs.iter().any(|pair| pair.slots.may_be_followed());
        somebody.then(|| total / flushes.max(1) / GATHER)
    }

    /// Sends the device flush that everything asked for by now rides on: as the first of those that wait, or as one of its own.
    /// Without a free tag it is sent later.
    fn send_flush(&mut self, at: usize, now: u64) {
        let Some(flushes) = self.flushes.get_mut(at).filter(|_| self.fault.is_none()) else { return };
        let waiting = (0u16..).zip(&flushes.waiting).find(|(_, tags)| **tags != 0);
        let (index, tag, own) = match waiting {
            Some((index, tags)) => (index, tags.trailing_zeros(), false),
            None => {
                let free =
                    (0..self.granted).zip(&self.pairs).find_map(|(index, pair)| Some((index, pair.slots.peek()?)));
                let Some((index, tag)) = free else {
                    // The next tag that is free is for this, and not for what the caller submits next.
                    (self.starved, self.trouble) = (true, true);
                    return;
                };
                (index, tag, true)
            }
        };
        let Some(pair) = self.pairs.get_mut(usize::from(index)) else { return };
        if own {
            pair.slots.begin(tag, None, true);
        } else {
            pair.slots.send_held(tag);
        }
        pair.slots.start(tag, now, self.limits);
        flushes.send(index, tag, own, now);
        self.trouble |= flushes.trouble.is_some();
        let namespace = flushes.namespace;
        self.place_flush(index, tag, namespace);
        self.transport.ring(&self.window, Queue::Io(index));
    }

    /// The controller takes no more commands: flushes that wait to be sent end so, for nobody could wait for them otherwise. What
    /// was answered stays to be done.
    fn fail_waiting(&mut self, fault: Fault) {
        for flushes in &mut self.flushes {
            for (pair, map) in self.pairs.iter_mut().zip(core::mem::take(&mut flushes.waiting)) {
                pair.slots.end_held(map, Err(CommandError::Dead(fault)));
            }
        }
    }

    /// The controller was reset, and has none of the device flushes: nobody waits for those that had no owner.
    pub(super) fn forget_flushes(&mut self) {
        for flushes in &mut self.flushes {
            if let Some(leader) = flushes.leader.filter(|leader| leader.own)
                && let Some(pair) = self.pairs.get_mut(usize::from(leader.pair))
            {
                pair.slots.swallow(leader.tag);
            }
            flushes.forget_commands();
        }
    }

    fn place_flush(&mut self, index: u16, tag: u32, namespace: u32) {
        let entry = SubmissionEntry { opcode: nvm::FLUSH, namespace, ..SubmissionEntry::default() };
        self.transport.place(&self.window, Queue::Io(index), tag, entry);
    }

    /// Device flushes have ended, or were given up, and were not told of yet: answers all that rode on them.
    #[cold]
    #[inline(never)]
    pub(super) fn flushes_ended(&mut self) {
        let now = self.clock.now().as_nanos();
        for flushes in &mut self.flushes {
            for (alone, pair) in flushes.alone.iter_mut().zip(&self.pairs) {
                let (ended, failed) = pair.slots.ended_among(*alone);
                *alone &= !ended;
                flushes.statistics.failed += u64::from(failed.count_ones());
            }
            let Some(leader) = flushes.leader else { continue };
            let Some(pair) = self.pairs.get_mut(usize::from(leader.pair)) else { continue };
            let Some(result) = pair.slots.result(leader.tag) else { continue };
            if leader.own {
                pair.slots.swallow(leader.tag);
            }
            let riders = flushes.ended(leader, result, now);
            for (pair, map) in self.pairs.iter_mut().zip(riders) {
                pair.slots.end_held(map, result);
            }
            self.trouble |= flushes.trouble.is_some();
        }
        self.flush_work = self.flushes.iter().any(Flushes::unsettled);
        if self.starved {
            self.serve_flushes();
        }
    }

    /// What went wrong with flushes that were answered, told once.
    #[cold]
    pub(super) fn take_trouble(&mut self, namespace: u32) -> Option<SubmitError> {
        if self.starved {
            self.serve_flushes();
        }
        let error = self.flushes_of_mut(namespace)?.trouble.take();
        self.trouble = self.starved || self.flushes.iter().any(|flushes| flushes.trouble.is_some());
        error.map(|error| SubmitError::Deferred { namespace, error })
    }

    /// Performs what waits or was deferred in one namespace, and awaits it.
    ///
    /// # Errors
    /// [`SubmitError::Deferred`] if it failed, now or before and nobody was told; what failed now stays to be done.
    /// [`SubmitError::Busy`] if ends of commands that nobody polled for hold every tag.
    pub(super) fn settle(&mut self, namespace: u32) -> Result<(), BlockError> {
        // What failed before is tried again before it is told.
        let before = self.take_failure(namespace);
        let mut wait = self.begin_wait();
        while let Some(at) = self.flushes.iter().position(|each| each.namespace == namespace && each.unsettled()) {
            if let Some(fault) = self.fault {
                return Err(CommandError::Dead(fault).into());
            }
            if self.flushes.get(at).is_some_and(|flushes| flushes.leader.is_none()) {
                let now = self.clock.now().as_nanos();
                self.send_flush(at, now);
                if self.starved && !self.any_in_flight() {
                    return Err(SubmitError::Busy.into());
                }
            }
            self.look(&mut wait);
            if let Some(error) = self.take_failure(namespace) {
                return Err(error.into());
            }
        }
        before.map_or(Ok(()), |error| Err(error.into()))
    }

    fn take_failure(&mut self, namespace: u32) -> Option<SubmitError> {
        let failed =
            self.flushes_of(namespace).is_ok_and(|flushes| matches!(flushes.trouble, Some(DeferredError::Failed(_))));
        if failed { self.take_trouble(namespace) } else { None }
    }

    /// The same for every namespace; gives the first error.
    pub(super) fn settle_all(&mut self) -> Result<(), BlockError> {
        let mut first = Ok(());
        for at in 0..self.flushes.len() {
            if let Some(namespace) = self.flushes.get(at).map(|flushes| flushes.namespace) {
                first = first.and(self.settle(namespace));
            }
        }
        first
    }

    pub(super) fn flushes_of(&self, namespace: u32) -> Result<&Flushes, SubmitError> {
        let found = self.flushes.iter().find(|flushes| flushes.namespace == namespace);
        found.ok_or(SubmitError::UnknownNamespace { namespace })
    }

    fn flushes_of_mut(&mut self, namespace: u32) -> Option<&mut Flushes> {
        self.flushes.iter_mut().find(|flushes| flushes.namespace == namespace)
    }

    /// After the namespaces were looked for: each of them has an account of its flushes. What was deferred before a reset is
    /// still to be done, for a reset makes nothing durable.
    pub(super) fn keep_flushes(&mut self) {
        let kept = core::mem::take(&mut self.flushes);
        for namespace in &self.namespaces {
            let mut flushes = Flushes::new(namespace.id);
            if let Some(before) = kept.iter().find(|before| before.namespace == namespace.id) {
                flushes = *before;
                flushes.forget_commands();
            }
            // There is room: as many as namespaces.
            let _ = self.flushes.push(flushes);
        }
        for lost in kept.iter().filter(|lost| lost.due.is_some() && self.flushes_of(lost.namespace).is_err()) {
            hal::warn!("namespace {} is gone, and with it what its deferred flushes were for", lost.namespace);
        }
        self.flush_work = self.flushes.iter().any(Flushes::unsettled);
    }
}
