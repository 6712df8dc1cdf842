//! What a completed write is worth, proved by cutting the power.
//!
//! `promises` runs random histories over a model whose power fails at a random event, and `checker` reads back what survived:
//! every block has to hold a version that the promises of the flush policies allow. `seeded` gives the same checker drivers
//! with a bug, made by wrapping the transport or the clock of the driver that ships, which knows nothing of this. The other
//! files are histories of one thing each.

#![expect(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "these lints know test functions but not their helpers; here a panic is a failed test"
)]

mod bad_input;
mod cache;
mod changes;
mod checker;
mod deferred;
mod flush;
mod history;
mod meddler;
mod promises;
mod random;
mod rig;
mod seeded;
mod traffic;
