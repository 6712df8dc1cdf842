//! Time, and the one way to wait.

mod generic;
mod pause;
#[cfg(test)]
mod tests;

use core::fmt;
use core::time::Duration;

#[cfg(target_arch = "aarch64")]
pub use generic::GenericTimer;
pub use generic::{Relax, TickScale};
pub use pause::Pause;

/// A moment, in nanoseconds since an origin that the clock chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// The moment `nanoseconds` after the clock's origin.
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The moment `span` later; saturates at the end of time (584 years).
    pub const fn after(self, span: Duration) -> Self {
        let nanoseconds = span.as_secs().saturating_mul(1_000_000_000).saturating_add(span.subsec_nanos() as u64);
        Self(self.0.saturating_add(nanoseconds))
    }

    /// The time from `earlier` to this moment; zero if `earlier` is later.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// A span of time as messages show it: in whole milliseconds, or in microseconds below ten of them. (The formatters of the
/// standard library for durations and for 128-bit numbers would be a fiftieth of the image.)
#[derive(Clone, Copy, Debug)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match u64::try_from(self.0.as_micros()).unwrap_or(u64::MAX) {
            micros @ ..10_000 => write!(f, "{micros} us"),
            micros => write!(f, "{} ms", micros / 1000),
        }
    }
}

/// A monotonic clock, and a way to spend a little time.
pub trait Clock {
    /// The present moment. Never goes back.
    fn now(&self) -> Instant;

    /// Lets a short time pass (on hardware: about a microsecond, until the timer's event stream or another event).
    ///
    /// Called between two looks at a condition, so that polling neither floods a traced bus nor burns power.
    fn relax(&self);
}

impl<C: Clock + ?Sized> Clock for &C {
    fn now(&self) -> Instant {
        (**self).now()
    }
    fn relax(&self) {
        (**self).relax();
    }
}

/// The end of a wait.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    start: Instant,
    end: Instant,
}

impl Deadline {
    /// A deadline `limit` from now.
    pub fn after(clock: &impl Clock, limit: Duration) -> Self {
        let start = clock.now();
        Self { start, end: start.after(limit) }
    }

    /// Whether the deadline has passed.
    pub fn passed(&self, clock: &impl Clock) -> bool {
        clock.now() >= self.end
    }

    /// The time left; zero once it has passed.
    pub fn remaining(&self, clock: &impl Clock) -> Duration {
        self.end.since(clock.now())
    }

    /// How long the wait has lasted.
    pub fn waited(&self, clock: &impl Clock) -> Duration {
        clock.now().since(self.start)
    }
}

/// A wait reached its limit. The caller adds the step's name, what was awaited and what was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedOut {
    /// How long the wait lasted.
    pub waited: Duration,
}

/// Asks `condition` until it gives a value, at most for `limit`.
///
/// A condition that holds at once costs no look at the clock. Otherwise it is asked once more after the limit has passed,
/// so that a processor that was held up (by a tracer, say) does not report a time-out for something that did happen.
///
/// The pauses between two looks grow as [`Pause`] says; the last one ends with the limit.
///
/// # Errors
/// [`TimedOut`] when the limit passed and the condition still gave nothing.
pub fn poll_until<T>(
    clock: &impl Clock,
    limit: Duration,
    mut condition: impl FnMut() -> Option<T>,
) -> Result<T, TimedOut> {
    if let Some(value) = condition() {
        return Ok(value);
    }
    let deadline = Deadline::after(clock, limit);
    let mut pause = Pause::default();
    loop {
        // The deadline is looked at before the condition: a pass means one last look.
        let mut last = false;
        pause.pass_while(clock, || {
            last = deadline.passed(clock);
            !last
        });
        if let Some(value) = condition() {
            return Ok(value);
        }
        if last {
            return Err(TimedOut { waited: deadline.waited(clock) });
        }
    }
}
