//! The checker finds drivers with a bug. Each bug is sown by [`crate::meddler`], behind the back of the driver that ships; the
//! histories and the checker are those of [`crate::promises`], and know nothing of it.

use crate::history::{Kind, run};
use crate::meddler::Bug;
use crate::promises::{PARTS, start};

/// In how many histories each bug has to be found.
const HISTORIES: u64 = 2_000;

fn is_found(kind: Kind, bug: Bug) {
    let first = start(kind, PARTS);
    let broken = (first..first + HISTORIES).find_map(|seed| run(seed, kind, Some(bug)).err());
    let broken = broken.unwrap_or_else(|| panic!("{bug:?} is not found in {HISTORIES} histories"));
    assert!(broken.promise, "{bug:?} shows as something else than a broken promise: {broken}");
    println!("{bug:?}: found by history {}: {}", broken.seed - first + 1, broken.what);
    run(broken.seed, kind, None).unwrap_or_else(|broken| panic!("it is not the bug that was found: {broken}"));
}

#[test]
fn a_flush_answered_early_under_strict_is_found() {
    is_found(Kind::Strict, Bug::FlushAnsweredEarly);
}

#[test]
fn a_flush_deferred_beyond_its_delay_is_found() {
    is_found(Kind::Deferred, Bug::DeferredTooLong);
}

#[test]
fn a_pending_flush_lost_at_suspend_is_found() {
    is_found(Kind::Deferred, Bug::LostAtSuspend);
}

#[test]
fn state_shared_between_namespaces_is_found() {
    for kind in [Kind::Strict, Kind::Coalesce, Kind::Deferred] {
        is_found(kind, Bug::SharedState);
    }
}

#[test]
fn a_cache_turned_on_with_the_old_mode_for_one_write_is_found() {
    is_found(Kind::Strict, Bug::OldModeForOneWrite);
}

#[test]
fn a_raced_raw_set_features_is_found() {
    is_found(Kind::Strict, Bug::RacedSetFeatures);
}

#[test]
fn a_durable_write_without_force_unit_access_is_found() {
    is_found(Kind::Strict, Bug::NoForcedAccess);
}
