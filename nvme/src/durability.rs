//! What a completed write is worth: the volatile write cache, and when flushes reach it.
//!
//! This is the one place that knows whether a namespace's data can be lost with power, and what the owner chose to do about it.
//! It holds no register and sends no command; [`crate::Controller`] does, as this says.

use core::fmt;
use core::time::Duration;

use hal::time::Span;

use crate::error::CommandError;
use crate::transport::MOST_PAIRS;

/// Whether completed writes can be lost with power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheMode {
    /// They can, until a flush: flushes go to the device.
    WriteBack,
    /// They cannot: a flush has nothing to do, and none is sent.
    WriteThrough,
}

impl fmt::Display for CacheMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::WriteBack => "write-back",
            Self::WriteThrough => "write-through",
        })
    }
}

/// A controller's volatile write cache, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteCache {
    /// There is one (VWC bit 0 of Identify Controller).
    pub present: bool,
    /// It is in use (feature 06h bit 0). None: never read, the read failed, or what was read makes no sense.
    pub enabled: Option<bool>,
}

impl WriteCache {
    /// What to treat the cache as: enabled until the controller says that it is not.
    ///
    /// | present | enabled | mode |
    /// |---|---|---|
    /// | no | any | write-through |
    /// | yes | unknown | write-back |
    /// | yes | no | write-through |
    /// | yes | yes | write-back |
    ///
    /// (Linux' patch of 2026 that honours the enable bit.)
    pub const fn mode(self) -> CacheMode {
        match self {
            Self { present: false, .. } | Self { enabled: Some(false), .. } => CacheMode::WriteThrough,
            Self { enabled: None | Some(true), .. } => CacheMode::WriteBack,
        }
    }

    /// What a value of feature 06h says. Bits 31:1 are reserved, so a value with one of them says nothing.
    pub(crate) const fn read(value: u32) -> Option<bool> {
        match value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// Which Flush reaches every namespace at once (VWC bits 2:1 of Identify Controller).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushAll {
    /// Not told: before NVMe 1.4.
    #[default]
    NotIndicated,
    /// A Flush of namespace 0xffffffff is refused.
    NotSupported,
    /// A Flush of namespace 0xffffffff flushes all of them.
    Supported,
}

/// When a flush that is asked for reaches the device. It matters only where the cache is write-back.
///
/// On M1 a flush takes 17 to 18 ms, whatever was written, so the policy is worth a factor of hundreds; and each policy promises
/// something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlushPolicy {
    /// One flush asked for, one device flush, answered after it. The promise: what was written and completed before a flush was
    /// asked for is durable when the flush has ended.
    #[default]
    Strict,
    /// Flushes that wait share one device flush, which is sent after the last of them was asked for. The promise is that of
    /// strict. While other commands are in flight, whose owners may ask for a flush next, it is held back by up to a sixteenth
    /// of the time that a flush takes in the mean: without that, writers fall into two groups which take turns, and half of
    /// the gain is lost.
    Coalesce,
    /// A flush is answered at once and sent later. The promise: what was written and completed before a flush was asked for is
    /// durable `max_delay` and one device flush after that. **A power cut loses up to that much of what was flushed.**
    Deferred {
        /// The longest time between a flush that is answered and the device flush that makes it true.
        max_delay: Duration,
    },
}

impl FlushPolicy {
    /// The shortest delay that makes sense: shorter than a device flush gains nothing.
    pub const SHORTEST: Duration = Duration::from_millis(1);
    /// The longest delay that is taken. A minute of lost data is more than any file system writes back by itself.
    pub const LONGEST: Duration = Duration::from_secs(60);
    /// The delay to start from.
    pub const USUAL: Duration = Duration::from_secs(1);
}

impl fmt::Display for FlushPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strict => f.write_str("strict"),
            Self::Coalesce => f.write_str("coalesce"),
            Self::Deferred { max_delay } => write!(f, "deferred({})", Span(*max_delay)),
        }
    }
}

/// The one way to say that losing flushed data is accepted; see [`crate::Controller::defer_flushes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accept {
    /// A power cut, or a machine that stops polling, may lose what was flushed within the delay. File systems and databases rely
    /// on flushes; what they lose is consistent only if they can stand losing the last moments as a whole.
    LossOfFlushedDataOnPowerCut,
}

/// What went wrong with flushes that had been answered already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeferredError {
    /// The device flush failed: what was flushed may not be durable, now or ever.
    Failed(CommandError),
    /// Nobody polled in time, and the device flush was sent later than promised.
    Late {
        /// By how much.
        by: Duration,
    },
}

impl fmt::Display for DeferredError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error) => write!(f, "a flush that had been answered failed: {error}"),
            Self::Late { by } => {
                write!(f, "a flush that had been answered was sent {} too late: nobody polled in time", Span(*by))
            }
        }
    }
}

/// What became of a namespace's flushes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlushStatistics {
    /// Flushes asked for.
    pub asked: u64,
    /// Of these, answered without the device, since there is nothing that could be lost.
    pub spared: u64,
    /// Of these, answered by the device flush of another.
    pub shared: u64,
    /// Of these, answered before their device flush.
    pub deferred: u64,
    /// Device flushes.
    pub sent: u64,
    /// Device flushes that failed.
    pub failed: u64,
    /// Device flushes that were sent later than promised.
    pub late: u64,
}

/// How long after a device flush that failed the next one is tried, in nanoseconds.
const RETRY: u64 = 100_000_000;

/// One map of tags for each queue pair.
pub(crate) type Tags = [u64; MOST_PAIRS as usize];

/// A device flush on its way, for all that was asked before it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    pub(crate) pair: u16,
    pub(crate) tag: u32,
    /// Nobody waits for it: its end is not told.
    pub(crate) own: bool,
    /// When the deferred flushes that it makes true were due.
    pub(crate) due: Option<u64>,
}

/// A namespace's flushes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flushes {
    pub(crate) namespace: u32,
    pub(crate) policy: FlushPolicy,
    /// Asked for and not sent.
    pub(crate) waiting: Tags,
    /// Since when these could have been sent, in nanoseconds of the clock.
    pub(crate) ready: u64,
    /// Asked for, and answered with the leader.
    pub(crate) riding: Tags,
    /// Device flushes that carry nobody else.
    pub(crate) alone: Tags,
    pub(crate) leader: Option<Leader>,
    /// Answered and not sent: it has to be by then, in nanoseconds of the clock.
    pub(crate) due: Option<u64>,
    /// What the owner has not heard of.
    pub(crate) trouble: Option<DeferredError>,
    pub(crate) statistics: FlushStatistics,
}

impl Flushes {
    pub(crate) const fn new(namespace: u32) -> Self {
        Self {
            namespace,
            policy: FlushPolicy::Strict,
            waiting: [0; MOST_PAIRS as usize],
            ready: 0,
            riding: [0; MOST_PAIRS as usize],
            alone: [0; MOST_PAIRS as usize],
            leader: None,
            due: None,
            trouble: None,
            statistics: FlushStatistics { asked: 0, spared: 0, shared: 0, deferred: 0, sent: 0, failed: 0, late: 0 },
        }
    }

    /// The controller was reset: it has no device flush any more, and nothing waits. What was answered stays to be done.
    pub(crate) fn forget_commands(&mut self) {
        if let Some(leader) = self.leader.take() {
            self.due = self.due.or(leader.due);
        }
        if !self.defers() {
            // What failed before may succeed now.
            self.due = self.due.map(|_| 0);
        }
        (self.waiting, self.riding, self.alone) = (Tags::default(), Tags::default(), Tags::default());
    }

    const fn defers(&self) -> bool {
        matches!(self.policy, FlushPolicy::Deferred { .. })
    }

    /// Whether something was asked for that the device has not been told of or has not answered.
    pub(crate) fn unsettled(&self) -> bool {
        self.leader.is_some() || self.due.is_some() || self.any_waiting()
    }

    fn any_waiting(&self) -> bool {
        self.waiting.iter().any(|tags| *tags != 0)
    }

    /// A flush that is asked for now waits, for the device flush under way or for others to join it.
    pub(crate) fn wait(&mut self, pair: u16, tag: u32, now: u64) {
        if !self.any_waiting() {
            self.ready = now;
        }
        if let Some(waiting) = self.waiting.get_mut(usize::from(pair)) {
            *waiting |= 1 << (tag & 63);
        }
    }

    /// Whether a device flush has to be sent now. Deferred ones go early by an eighth of their delay, so that a caller who polls
    /// that often keeps the promise. Those that share one wait for up to `gather` nanoseconds, if there is somebody to wait for.
    pub(crate) fn is_due(&self, now: u64, gather: Option<u64>) -> bool {
        let margin = match self.policy {
            FlushPolicy::Deferred { max_delay } => u64::try_from(max_delay.as_nanos()).unwrap_or(u64::MAX) / 8,
            // Only what failed is still due then.
            FlushPolicy::Strict | FlushPolicy::Coalesce => 0,
        };
        let due = self.due.is_some_and(|due| now.saturating_add(margin) >= due);
        let gathered = self.policy != FlushPolicy::Coalesce
            || gather.is_none_or(|gather| now >= self.ready.saturating_add(gather));
        self.leader.is_none() && (due || gathered && self.any_waiting())
    }

    /// Defers a flush that is asked for now.
    pub(crate) fn defer(&mut self, now: u64, max_delay: Duration) {
        let due = now.saturating_add(u64::try_from(max_delay.as_nanos()).unwrap_or(u64::MAX));
        self.due = Some(self.due.map_or(due, |earlier| earlier.min(due)));
        self.statistics.deferred += 1;
    }

    /// A device flush is sent under that tag: everything asked for by now rides on it.
    pub(crate) fn send(&mut self, pair: u16, tag: u32, own: bool, now: u64) {
        if let Some(due) = self.due
            && self.defers()
            && now > due
        {
            self.statistics.late += 1;
            self.trouble = self.trouble.or(Some(DeferredError::Late { by: Duration::from_nanos(now - due) }));
        }
        self.leader = Some(Leader { pair, tag, own, due: self.due.take() });
        self.riding = core::mem::take(&mut self.waiting);
        if let Some(riding) = self.riding.get_mut(usize::from(pair)) {
            *riding &= !(1 << (tag & 63));
        }
        self.statistics.sent += 1;
    }

    /// The device flush has ended. What it should have made true and did not stays due, and is tried again soon; no more is
    /// deferred until the owner arms that anew. Nothing that was answered is forgotten.
    pub(crate) fn ended(&mut self, leader: Leader, result: Result<(), CommandError>, now: u64) -> Tags {
        (self.leader, self.ready) = (None, now);
        if let Err(error) = result {
            self.statistics.failed += 1;
            if leader.due.is_some() {
                // Soon, and not with every look at a device that is broken.
                self.due = Some(now.saturating_add(RETRY));
                self.policy = FlushPolicy::Strict;
                if leader.own {
                    // Whoever waits for it hears of it anyway.
                    self.trouble = Some(DeferredError::Failed(error));
                }
            }
        }
        let riders = core::mem::take(&mut self.riding);
        self.statistics.shared += riders.iter().map(|tags| u64::from(tags.count_ones())).sum::<u64>();
        riders
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_write_back_until_the_controller_says_otherwise() {
        use CacheMode::{WriteBack, WriteThrough};
        for (present, enabled, mode) in [
            (false, None, WriteThrough),
            (false, Some(false), WriteThrough),
            (false, Some(true), WriteThrough),
            (true, None, WriteBack),
            (true, Some(false), WriteThrough),
            (true, Some(true), WriteBack),
        ] {
            assert_eq!(WriteCache { present, enabled }.mode(), mode, "{present} {enabled:?}");
        }
    }

    #[test]
    fn a_value_with_reserved_bits_says_nothing() {
        let read = [0, 1, 2, 3, 0x8000_0000, u32::MAX].map(WriteCache::read);
        assert_eq!(read, [Some(false), Some(true), None, None, None, None]);
    }

    #[test]
    fn deferred_flushes_are_due_by_the_first_of_them() {
        let mut flushes = Flushes::new(1);
        flushes.policy = FlushPolicy::Deferred { max_delay: Duration::from_nanos(800) };
        flushes.defer(1000, Duration::from_nanos(800));
        flushes.defer(1700, Duration::from_nanos(800));
        assert!(!flushes.is_due(1699, None));
        assert!(flushes.is_due(1700, None), "an eighth early");
        flushes.send(0, 5, true, 1700);
        assert_eq!((flushes.statistics.late, flushes.due), (0, None));
        assert!(!flushes.is_due(9000, None), "one at a time, and nothing is left");
    }

    #[test]
    fn flushes_that_share_wait_for_each_other_and_not_for_long() {
        let mut flushes = Flushes::new(1);
        flushes.policy = FlushPolicy::Coalesce;
        flushes.wait(0, 5, 1000);
        flushes.wait(1, 6, 1050);
        assert!(flushes.is_due(1000, None), "nobody can join");
        assert!(!flushes.is_due(1099, Some(100)));
        assert!(flushes.is_due(1100, Some(100)), "counted from the first of them");
        flushes.send(0, 5, false, 1100);
        flushes.wait(0, 7, 1200);
        assert!(!flushes.is_due(5000, None), "one at a time");
        let leader = flushes.leader.unwrap_or_else(|| panic!("sent"));
        assert_eq!(flushes.ended(leader, Ok(()), 5000), [0, 1 << 6, 0, 0]);
        assert!(!flushes.is_due(5099, Some(100)), "those that were answered just now may join");
        assert!(flushes.is_due(5100, Some(100)));
        flushes.policy = FlushPolicy::Strict;
        assert!(flushes.is_due(5000, Some(100)), "nothing else gathers");
    }

    #[test]
    fn a_late_or_failed_deferred_flush_is_trouble() {
        let mut flushes = Flushes::new(1);
        flushes.policy = FlushPolicy::Deferred { max_delay: Duration::from_nanos(800) };
        flushes.defer(0, Duration::from_nanos(800));
        flushes.send(0, 5, true, 900);
        assert_eq!(flushes.trouble, Some(DeferredError::Late { by: Duration::from_nanos(100) }));
        let leader = flushes.leader.unwrap_or_else(|| panic!("sent"));
        let riders = flushes.ended(leader, Err(CommandError::Reset), 900);
        assert_eq!(riders, [0; 4]);
        assert_eq!(flushes.trouble, Some(DeferredError::Failed(CommandError::Reset)));
        assert_eq!(
            (flushes.due, flushes.policy),
            (Some(900 + RETRY), FlushPolicy::Strict),
            "tried again soon, and strict from now on"
        );
    }
}
