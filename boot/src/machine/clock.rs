//! The machine's clock, and its event stream.

use core::num::NonZeroU32;
use core::time::Duration;

use aarch64_cpu::registers::{CNTFRQ_EL0, CNTKCTL_EL1, ReadWriteable, Readable};
use hal::time::{GenericTimer, Relax, TickScale};
use hal::{Clock, Instant};
use spin::Mutex;

/// The clock, and the moment of entry.
static CLOCK: Mutex<(GenericTimer, Instant)> = Mutex::new((BEFORE, Instant::from_nanos(0)));

/// The frequency of Apple Silicon's timer, where firmware left none in `CNTFRQ_EL0`.
const APPLE: NonZeroU32 = NonZeroU32::new(24_000_000).unwrap();

/// What tells the time before [`start`]: there is no event stream yet, so it does not wait for one.
const BEFORE: GenericTimer = GenericTimer::with_frequency(APPLE, Relax::Yield);

/// Reads the frequency, lets the timer send an event about every microsecond, and notes the counter's value at entry.
pub(crate) fn start(arrived: u64) {
    let hertz = match u32::try_from(CNTFRQ_EL0.get()).ok().and_then(NonZeroU32::new) {
        Some(hertz) => hertz,
        None => APPLE,
    };
    stream_events(u64::from(hertz.get()));
    let timer = GenericTimer::with_frequency(hertz, Relax::WaitForEvent);
    *CLOCK.lock() = (timer, Instant::from_nanos(TickScale::of(hertz).nanoseconds(arrived)));
}

/// Turns the event stream on: one event each time a bit of the counter rises, the one that does so about every 1.3 us
/// (bit 4 at 24 MHz). At EL2 with E2H the register is CNTHCTL_EL2, in the same layout.
fn stream_events(hertz: u64) {
    let ticks = (hertz * 14 / 10_000_000).max(2);
    let bit = u64::from(ticks.ilog2()) - 1;
    CNTKCTL_EL1.modify(CNTKCTL_EL1::EVNTI.val(bit.min(15)) + CNTKCTL_EL1::EVNTDIR::CLEAR + CNTKCTL_EL1::EVNTEN::SET);
}

/// The machine's clock.
pub(crate) fn get() -> GenericTimer {
    CLOCK.lock().0
}

/// The time since entry.
pub(crate) fn since_entry() -> Duration {
    let (timer, entry) = *CLOCK.lock();
    timer.now().since(entry)
}
