//! The core's generic timers: a compare value each against the one counter.

/// Control register: enable, mask, condition met.
const ENABLE: u64 = 1 << 0;
const MASK: u64 = 1 << 1;
const STATUS: u64 = 1 << 2;
/// The registers of a timer by op2 of their names.
const TIMER_VALUE: u32 = 0;
const CONTROL: u32 = 1;

/// One timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timer {
    control: u64,
    compare: u64,
}

impl Timer {
    /// What MRS gives with the counter at `now`.
    pub(crate) fn read(&self, register: u32, now: u64) -> u64 {
        match register {
            TIMER_VALUE => self.compare.wrapping_sub(now) & 0xffff_ffff,
            CONTROL if self.control & ENABLE != 0 && now >= self.compare => self.control | STATUS,
            CONTROL => self.control,
            _ => self.compare,
        }
    }

    /// What MSR does with the counter at `now`.
    pub(crate) fn write(&mut self, register: u32, value: u64, now: u64) {
        match register {
            // A signed 32-bit distance from now.
            TIMER_VALUE => self.compare = now.wrapping_add_signed((value << 32).cast_signed() >> 32),
            CONTROL => self.control = value & (ENABLE | MASK),
            _ => self.compare = value,
        }
    }

    /// The counter value from which on it asks for an interrupt; `None` when it does not.
    pub(crate) fn due(&self) -> Option<u64> {
        (self.control & (ENABLE | MASK) == ENABLE).then_some(self.compare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distance_may_lie_ahead_or_behind() {
        let mut timer = Timer::default();
        timer.write(CONTROL, ENABLE, 0);
        timer.write(TIMER_VALUE, 100, 1000);
        assert_eq!((timer.due(), timer.read(TIMER_VALUE, 1040)), (Some(1100), 60));
        assert_eq!((timer.read(CONTROL, 1099), timer.read(CONTROL, 1100)), (ENABLE, ENABLE | STATUS));
        timer.write(TIMER_VALUE, 0xffff_ffff, 1000);
        assert_eq!(timer.due(), Some(999));
        timer.write(CONTROL, ENABLE | MASK, 0);
        assert_eq!(timer.due(), None);
    }
}
