//! The simulated board as `Hardware`.

mod parts;

use ans::Hardware;
use sim::host::{Board, HostPlatform};

pub(crate) use parts::start;

pub(crate) type Bare = Hardware<HostPlatform>;

/// The board's own windows, pool and clock.
pub(crate) fn hardware(board: &Board) -> Bare {
    parts::hardware_of(|name| board.window(name), board.pool(), board.clock())
}

/// Asserts that nothing was broken and nothing was odd.
pub(crate) fn assert_clean(board: &Board) {
    let report = board.report();
    assert!(report.violations.is_empty(), "violations: {:#?}", report.violations);
    assert!(report.notes.is_empty(), "notes: {:#?}", report.notes);
}
