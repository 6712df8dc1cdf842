//! Random histories of each policy: no promise is broken.
//!
//! The histories of a policy are split into parts, so that the test runner's threads share them. `DURABILITY_HISTORIES` sets
//! how many there are for each policy; `DURABILITY_SEED` runs one, with its trace.

use crate::history::{Kind, run};

/// Histories for each policy.
const HISTORIES: u64 = 20_000;
pub(crate) const PARTS: u64 = 4;

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    let digits = text.strip_prefix("0x");
    Some(digits.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16)).expect("a number"))
}

/// Where the seeds of a part begin.
pub(crate) fn start(kind: Kind, part: u64) -> u64 {
    (kind as u64) << 40 | part << 32
}

fn keeps_its_promise(kind: Kind, part: u64) {
    if let Some(seed) = number("DURABILITY_SEED") {
        // Those of drivers with a bug too, without the bug.
        if seed >> 40 == kind as u64 && (seed >> 32) % PARTS == part {
            run(seed, kind, None).unwrap_or_else(|broken| panic!("{broken}"));
        }
        return;
    }
    let (mut operations, mut lost) = (0, 0);
    for seed in 0..number("DURABILITY_HISTORIES").unwrap_or(HISTORIES) / PARTS {
        let outcome = run(start(kind, part) + seed, kind, None);
        let outcome = outcome.unwrap_or_else(|broken| panic!("{broken}run it again with DURABILITY_SEED"));
        operations += outcome.operations;
        lost += u64::from(outcome.lost > 0);
    }
    println!("{kind:?}, part {part}: {operations} operations, {lost} cuts with something to lose");
    assert!(lost > 0, "cuts that lose nothing prove nothing");
}

macro_rules! parts {
    ($($name:ident: $kind:ident $part:literal,)*) => {$(
        #[test]
        fn $name() {
            keeps_its_promise(Kind::$kind, $part);
        }
    )*};
}

parts! {
    no_history_breaks_the_promise_of_strict_first_part: Strict 0,
    no_history_breaks_the_promise_of_strict_second_part: Strict 1,
    no_history_breaks_the_promise_of_strict_third_part: Strict 2,
    no_history_breaks_the_promise_of_strict_fourth_part: Strict 3,
    no_history_breaks_the_promise_of_coalesce_first_part: Coalesce 0,
    no_history_breaks_the_promise_of_coalesce_second_part: Coalesce 1,
    no_history_breaks_the_promise_of_coalesce_third_part: Coalesce 2,
    no_history_breaks_the_promise_of_coalesce_fourth_part: Coalesce 3,
    no_history_breaks_the_promise_of_deferred_first_part: Deferred 0,
    no_history_breaks_the_promise_of_deferred_second_part: Deferred 1,
    no_history_breaks_the_promise_of_deferred_third_part: Deferred 2,
    no_history_breaks_the_promise_of_deferred_fourth_part: Deferred 3,
}
