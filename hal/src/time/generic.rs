//! The Arm generic timer's virtual counter as a [`Clock`].

use core::num::{NonZeroU32, NonZeroU64};

#[cfg(target_arch = "aarch64")]
use super::{Clock, Instant};

const NANOSECONDS_PER_SECOND: u32 = 1_000_000_000;

/// Counter ticks to nanoseconds, exact: the ratio of 10⁹ and the frequency, reduced (125/3 for the 24 MHz of Apple Silicon).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TickScale {
    numerator: u32,
    /// Not zero, so that a division needs no check that could panic.
    denominator: NonZeroU32,
}

impl TickScale {
    /// The scale of a counter of `hertz`.
    pub const fn of(hertz: NonZeroU32) -> Self {
        let (mut divisor, mut rest) = (NANOSECONDS_PER_SECOND, hertz.get());
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        let denominator = match NonZeroU32::new(hertz.get() / divisor) {
            Some(denominator) => denominator,
            // A divisor is never greater than what it divides.
            None => hertz,
        };
        Self { numerator: NANOSECONDS_PER_SECOND / divisor, denominator }
    }

    /// The nanoseconds of `ticks`, rounded down; saturates after 584 years.
    #[inline]
    pub fn nanoseconds(self, ticks: u64) -> u64 {
        let (numerator, denominator) = (u64::from(self.numerator), NonZeroU64::from(self.denominator));
        let (whole, part) = (ticks / denominator, ticks % denominator);
        // `part` is below the denominator, which fits 32 bits, and the numerator fits 30: no overflow in the second term.
        whole.saturating_mul(numerator).saturating_add(part * numerator / denominator)
    }
}

/// What `GenericTimer` does to let a short time pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relax {
    /// `WFE`. The timer's event stream has to be enabled (`CNTKCTL_EL1.EVNTEN`, or `CNTHCTL_EL2.EVNTEN` at EL2), or this
    /// may wait for ever: each wait ends with the next event, about every 1.3 µs with `EVNTI` = 4 at 24 MHz.
    WaitForEvent,
    /// `YIELD`, a hint that does not wait: for where there is no event stream.
    Yield,
}

/// The virtual counter, `CNTVCT_EL0`. Its origin is the counter's zero: machine start, if `CNTVOFF_EL2` is zero.
#[cfg(target_arch = "aarch64")]
#[derive(Clone, Copy, Debug)]
pub struct GenericTimer {
    scale: TickScale,
    relax: Relax,
}

#[cfg(target_arch = "aarch64")]
impl GenericTimer {
    /// The timer with the frequency that firmware left in `CNTFRQ_EL0`; `None` if firmware left none.
    pub fn new(relax: Relax) -> Option<Self> {
        use aarch64_cpu::registers::{CNTFRQ_EL0, Readable};
        let hertz = u32::try_from(CNTFRQ_EL0.get()).ok().and_then(NonZeroU32::new)?;
        Some(Self::with_frequency(hertz, relax))
    }

    /// The timer with a frequency that is known from elsewhere, such as a device tree's `clock-frequency`.
    pub const fn with_frequency(hertz: NonZeroU32, relax: Relax) -> Self {
        Self { scale: TickScale::of(hertz), relax }
    }

    /// The counter itself.
    #[inline]
    pub fn ticks() -> u64 {
        use aarch64_cpu::registers::{CNTVCT_EL0, Readable};
        // Without it the counter may be read early, and two reads in either order (Arm ARM D11.2.1).
        crate::barrier::synchronize();
        CNTVCT_EL0.get()
    }
}

#[cfg(target_arch = "aarch64")]
impl Clock for GenericTimer {
    #[inline]
    fn now(&self) -> Instant {
        Instant::from_nanos(self.scale.nanoseconds(Self::ticks()))
    }

    #[inline]
    fn relax(&self) {
        match self.relax {
            Relax::WaitForEvent => aarch64_cpu::asm::wfe(),
            Relax::Yield => core::hint::spin_loop(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(hertz: u32) -> TickScale {
        TickScale::of(NonZeroU32::new(hertz).expect("not zero"))
    }

    #[test]
    fn the_scale_of_apple_silicon_is_125_to_3() {
        assert_eq!((scale(24_000_000).numerator, scale(24_000_000).denominator.get()), (125, 3));
        assert_eq!(scale(24_000_000).nanoseconds(24_000_000 * 3600), 3_600_000_000_000);
    }

    #[test]
    fn conversion_is_exact_for_every_frequency_and_saturates() {
        for hertz in [1, 3, 19_200_000, 24_000_000, 62_500_000, 999_999_937, 1_000_000_000, u32::MAX] {
            for ticks in [0, 1, 2, 3, 1_000_003, u64::from(u32::MAX), u64::MAX / 1000, u64::MAX] {
                let exact = u128::from(ticks) * 1_000_000_000 / u128::from(hertz);
                let expected = u64::try_from(exact).unwrap_or(u64::MAX);
                assert_eq!(scale(hertz).nanoseconds(ticks), expected, "{ticks} ticks at {hertz} Hz");
            }
        }
    }
}
