//! The driver on a standard controller of `sim`: what it does for its callers, what it leaves behind, and what it makes
//! of a device that fails, lies or sleeps. Each test asserts that the model saw no rule broken.

#![expect(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "these lints know test functions but not their helpers; here a panic is a failed test"
)]

mod rig;

mod aborts;
mod blocking;
mod bring_up;
mod commands;
mod event;
mod geometry;
mod hostile;
mod life;
mod logs;
mod namespaces;
mod pairs;
mod queues;
mod shadow;
mod sleepers;
mod time_out;
