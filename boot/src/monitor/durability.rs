//! What a completed write is worth: the write cache, the flushes and their policy, and what they came to.

use core::fmt;
use core::time::Duration;

use hal::time::Span;
use hal::{Clock, Platform};
use nvme::{Accept, Counters, DoorbellState, FlushPolicy, FlushStatistics, WriteCache};

use super::promise::LINE;
use super::{Armed, Monitor, controller, missing};
use crate::command::{Cache, Policy};
use crate::microseconds;
use crate::reason::Reason;

/// What deferring flushes risks.
const RISK: &str = "a power cut loses what was flushed within that time";

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    /// Arms deferring the flushes of the disk that commands are for at first, and no others, and has them deferred.
    ///
    /// # Errors
    /// A disk that is not there, a controller that is missing (then the disk may be another than is meant), a delay out of
    /// range.
    pub fn arm_deferral(&mut self, delay: Duration) -> Result<(), Reason> {
        if !self.storage.is_complete() {
            return Err(Reason::new(
                "deferring flushes: a controller is missing, so the disk may be another than is meant",
            ));
        }
        let id = self.selected.namespace;
        let controller = self.controller()?;
        if controller.namespace(id).is_none() {
            return Err(Reason::during("deferring flushes", missing(controller, id)));
        }
        let accepted = Accept::LossOfFlushedDataOnPowerCut;
        controller.defer_flushes(id, delay, accepted).map_err(|error| Reason::during("deferring flushes", error))?;
        self.deferral = Some(self.selected);
        writeln!(self.out, "flushes are deferred: namespace {id}, for at most {}; {RISK}", Span(delay))
            .map_err(Reason::new)
    }

    /// Says of a flush whether the device was asked.
    pub(super) fn flush(&mut self) -> Result<(), Reason> {
        let id = self.selected.namespace;
        let controller = self.controller()?;
        let before = controller.flush_statistics(id).unwrap_or_default();
        let began = controller.clock().now();
        controller.flush(id).map_err(|error| Reason::new(format_args!("namespace {id}: {error}")))?;
        let took = microseconds(controller.clock().now().since(began));
        let after = controller.flush_statistics(id).unwrap_or_default();
        let policy = controller.flush_policy(id);
        self.keep_promises(LINE)?;
        match policy {
            _ if after.spared > before.spared => {
                writeln!(self.out, "flush spared: namespace {id} is write-through, and nothing in it can be lost")
            }
            Ok(FlushPolicy::Deferred { max_delay }) if after.deferred > before.deferred => {
                writeln!(self.out, "flush deferred: the device is asked within {}", Span(max_delay))
            }
            _ => writeln!(self.out, "flushed in {took} us"),
        }
        .map_err(Reason::new)
    }

    pub(super) fn sync(&mut self) -> Result<(), Reason> {
        let id = self.selected.namespace;
        let controller = self.controller()?;
        let before = controller.flush_statistics(id).unwrap_or_default();
        let began = controller.clock().now();
        controller.sync(id).map_err(|error| Reason::new(format_args!("namespace {id}: {error}")))?;
        let took = microseconds(controller.clock().now().since(began));
        let spared = controller.flush_statistics(id).unwrap_or_default().spared > before.spared;
        if spared {
            writeln!(self.out, "sync spared: namespace {id} is write-through, and nothing in it can be lost")
        } else {
            writeln!(self.out, "synced in {took} us")
        }
        .map_err(Reason::new)
    }

    pub(super) fn cache(&mut self, wish: Cache) -> Result<(), Reason> {
        let (at, armed) = (self.selected.controller, self.armed);
        let controller = self.controller()?;
        if let Cache::Set { on, save } = wish {
            // What is absent needs no arming to be told of.
            if controller.write_cache().present {
                match armed {
                    Some(Armed { disk, .. }) if disk.controller == at => {}
                    _ => {
                        return Err(Reason::new(format_args!(
                            "nothing of controller {at} is armed, and this changes the drive: --rw arms its disk"
                        )));
                    }
                }
            }
            controller.set_write_cache(on, save).map_err(Reason::new)?;
        }
        let Self { storage, selected, out, .. } = self;
        let controller = super::controller(*storage, *selected)?;
        writeln!(out, "write cache: {}", Cached(controller.write_cache())).map_err(Reason::new)?;
        for namespace in controller.namespaces().iter().filter(|_| controller.write_cache().present) {
            let mode = controller.cache_mode(namespace.id).map_err(Reason::new)?;
            writeln!(out, "namespace {}: {mode}", namespace.id).map_err(Reason::new)?;
        }
        Ok(())
    }

    pub(super) fn policy(&mut self, wish: Policy) -> Result<(), Reason> {
        let (selected, armed) = (self.selected, self.deferral);
        let id = selected.namespace;
        let controller = self.controller()?;
        if controller.namespace(id).is_none() {
            return Err(missing(controller, id));
        }
        match wish {
            Policy::Status => {}
            Policy::Strict => controller.set_flush_policy(id, FlushPolicy::Strict).map_err(Reason::new)?,
            Policy::Coalesce => controller.set_flush_policy(id, FlushPolicy::Coalesce).map_err(Reason::new)?,
            Policy::Deferred(delay) => match armed {
                Some(disk) if disk == selected => {
                    controller.defer_flushes(id, delay, Accept::LossOfFlushedDataOnPowerCut).map_err(Reason::new)?;
                }
                Some(disk) => {
                    return Err(Reason::new(format_args!(
                        "deferring flushes is armed for namespace {} of controller {} alone",
                        disk.namespace, disk.controller
                    )));
                }
                None => {
                    return Err(Reason::new(format_args!(
                        "deferring flushes is not armed: --defer MILLISECONDS arms it for the disk, and then {RISK}"
                    )));
                }
            },
        }
        let policy = controller.flush_policy(id).map_err(Reason::new)?;
        let mode = controller.cache_mode(id).map_err(Reason::new)?;
        writeln!(self.out, "namespace {id}: {policy}, the cache is {mode}").map_err(Reason::new)
    }

    pub(super) fn stats(&mut self) -> Result<(), Reason> {
        let Self { storage, selected, out, .. } = self;
        let controller = controller(*storage, *selected)?;
        let Counters { reads, writes, others, flushes, flush_time, longest_flush, .. } = *controller.counters();
        writeln!(out, "commands   {reads} reads, {writes} writes, {others} others, {flushes} flushes")
            .map_err(Reason::new)?;
        let mean = microseconds(flush_time) / flushes.max(1);
        writeln!(out, "flush time {mean} us in the mean, {} us the longest", microseconds(longest_flush))
            .map_err(Reason::new)?;
        let DoorbellState { counters, .. } = controller.doorbells();
        writeln!(
            out,
            "doorbells  {} tails, {} heads, {} spared, {} rung again",
            counters.tail_writes, counters.head_writes, counters.spared, counters.rung_again
        )
        .map_err(Reason::new)?;
        let Counters { time_outs, aborts, events, unknown_completions, late_completions, .. } = *controller.counters();
        writeln!(
            out,
            "trouble    {time_outs} time-outs, {aborts} aborts, {events} events, {late_completions} late and \
             {unknown_completions} unknown completions"
        )
        .map_err(Reason::new)?;
        for namespace in controller.namespaces() {
            let id = namespace.id;
            let policy = controller.flush_policy(id).map_err(Reason::new)?;
            let FlushStatistics { asked, spared, shared, deferred, sent, failed, late } =
                controller.flush_statistics(id).map_err(Reason::new)?;
            writeln!(
                out,
                "namespace {id}: {policy}; flushes asked {asked}, spared {spared}, shared {shared}, deferred {deferred}, \
                 sent {sent}, failed {failed}, late {late}"
            )
            .map_err(Reason::new)?;
        }
        Ok(())
    }
}

/// A write cache in words.
pub(super) struct Cached(pub(super) WriteCache);

impl fmt::Display for Cached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            WriteCache { present: false, .. } => "no volatile write cache",
            WriteCache { enabled: Some(true), .. } => "volatile write cache, on",
            WriteCache { enabled: Some(false), .. } => "volatile write cache, off",
            WriteCache { enabled: None, .. } => "volatile write cache, taken for on since it cannot be read",
        })
    }
}
