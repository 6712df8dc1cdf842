use core::cell::Cell;

use super::*;

/// Each `relax` takes exactly one microsecond; a look at the time takes none.
#[derive(Default)]
struct Stepped {
    now: Cell<u64>,
}

impl Clock for Stepped {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.now.get())
    }
    fn relax(&self) {
        self.now.set(self.now.get() + 1000);
    }
}

#[test]
fn a_condition_that_holds_at_once_takes_no_time() {
    let clock = Stepped::default();
    assert_eq!(poll_until(&clock, Duration::ZERO, || Some(7)), Ok(7));
    assert_eq!(clock.now.get(), 0);
}

#[test]
fn a_wait_ends_in_the_step_in_which_the_condition_holds() {
    let clock = Stepped::default();
    let answer = poll_until(&clock, Duration::from_micros(10), || (clock.now.get() >= 4000).then_some(clock.now.get()));
    assert_eq!(answer, Ok(4000));
}

#[test]
fn a_condition_that_holds_just_at_the_limit_is_no_time_out() {
    let clock = Stepped::default();
    assert_eq!(poll_until(&clock, Duration::from_micros(3), || (clock.now.get() >= 3000).then_some(())), Ok(()));
    let clock = Stepped::default();
    let late = poll_until(&clock, Duration::from_micros(3), || (clock.now.get() >= 3001).then_some(()));
    assert_eq!(late, Err(TimedOut { waited: Duration::from_micros(3) }));
}

#[test]
fn the_condition_is_asked_once_more_after_a_long_hold_up() {
    let clock = Stepped::default();
    let mut asked = 0;
    let answer = poll_until(&clock, Duration::from_micros(5), || {
        asked += 1;
        // The first look is held up far beyond the limit, and the device answers meanwhile.
        let before = clock.now.replace(1_000_000);
        (before != 0).then_some(asked)
    });
    assert_eq!(answer, Ok(2));
}

#[test]
fn a_wait_without_time_still_lets_one_step_pass() {
    let clock = Stepped::default();
    let mut asked = 0;
    let answer = poll_until(&clock, Duration::ZERO, || {
        asked += 1;
        None::<()>
    });
    assert_eq!((answer, asked), (Err(TimedOut { waited: Duration::from_micros(1) }), 2));
}

#[test]
fn a_deadline_tells_what_is_left_and_what_was_waited() {
    let clock = Stepped::default();
    clock.relax();
    let deadline = Deadline::after(&clock, Duration::from_micros(2));
    let state = || (deadline.passed(&clock), deadline.remaining(&clock), deadline.waited(&clock));
    let micros = Duration::from_micros;
    assert_eq!(state(), (false, micros(2), micros(0)));
    clock.relax();
    assert_eq!(state(), (false, micros(1), micros(1)));
    clock.relax();
    assert_eq!(state(), (true, micros(0), micros(2)));
    clock.relax();
    assert_eq!(state(), (true, micros(0), micros(3)));
}

#[test]
fn time_saturates_at_both_ends() {
    let late = Instant::from_nanos(u64::MAX - 1);
    assert_eq!(late.after(Duration::from_nanos(5)), Instant::from_nanos(u64::MAX));
    assert_eq!(late.after(Duration::MAX), Instant::from_nanos(u64::MAX));
    assert_eq!(Instant::from_nanos(5).since(late), Duration::ZERO);
}

#[test]
fn a_long_wait_looks_rarely_and_sees_what_comes_within_a_sixteenth_of_the_wait() {
    for ready in [5_000, 100_000, 9_999_000] {
        let clock = Stepped::default();
        let mut looks = 0;
        let seen = poll_until(&clock, Duration::from_millis(10), || {
            looks += 1;
            (clock.now.get() >= ready).then_some(clock.now.get())
        });
        let seen = seen.unwrap();
        assert!(seen - ready <= 1000 + ready / 16, "ready at {ready}, seen at {seen}");
        assert!(looks < 130, "{looks} looks for {ready} ns");
    }
}

#[test]
fn pauses_begin_with_one_relax_and_exceed_a_sixteenth_of_the_wait_by_no_more() {
    let clock = Stepped::default();
    let mut pause = Pause::default();
    let mut looks = 0;
    while clock.now.get() < 60_000_000_000 {
        let before = clock.now.get();
        assert_eq!(pause.is_long(), before >= 16_000);
        pause.pass(&clock);
        let length = clock.now.get() - before;
        assert!(length <= 1000 + before / 16, "{length} ns after {before} ns");
        looks += 1;
    }
    assert!((500..1500).contains(&looks), "{looks} looks in a minute");
}

#[test]
fn a_pause_ends_early_when_it_has_no_use_any_more() {
    let clock = Stepped::default();
    let mut pause = Pause::default();
    while clock.now.get() < 1_000_000 {
        pause.pass(&clock);
    }
    let before = clock.now.get();
    pause.pass_while(&clock, || clock.now.get() < before + 5000);
    assert_eq!(clock.now.get(), before + 5000);
}
