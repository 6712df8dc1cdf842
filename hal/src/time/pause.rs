//! Pauses that grow with the wait.

use super::Clock;

/// The part of the wait so far that a pause lasts.
const PART: u32 = 16;
/// The longest pause, in calls of [`Clock::relax`]: about a tenth of a second on hardware.
const LONGEST: u32 = 1 << 16;

/// The pauses between the looks of one wait: the first ones are one [`Clock::relax`] each, later ones last a sixteenth of
/// the wait so far, and one.
///
/// So what comes soon is seen at once, no more than a sixteenth of a wait is lost, and a wait of seconds takes some hundred
/// looks: it does not flood a bus on which a tracer makes each access take milliseconds. The wait is counted in calls of
/// `relax`, so that it costs no look at the clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pause {
    relaxed: u32,
}

impl Pause {
    /// Lets the next pause pass.
    #[inline]
    pub fn pass(&mut self, clock: &impl Clock) {
        self.pass_while(clock, || true);
    }

    /// Lets the next pause pass, as long as `more` holds; it is asked after each `relax`.
    #[inline]
    pub fn pass_while(&mut self, clock: &impl Clock, mut more: impl FnMut() -> bool) {
        let length = (self.relaxed / PART + 1).min(LONGEST);
        self.relaxed = self.relaxed.saturating_add(length);
        for _ in 0..length {
            clock.relax();
            if !more() {
                break;
            }
        }
    }

    /// Whether the wait has lasted so long that the next pause is more than one `relax`: then a look at the clock costs
    /// little beside it.
    #[inline]
    pub fn is_long(self) -> bool {
        self.relaxed >= PART
    }
}
