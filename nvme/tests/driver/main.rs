//! The driver against a small controller of its own, with hostile memory: what is asserted here is the order of accesses,
//! the account of tags and memory, and what comes of every failure. The machine of `sim` is the other, larger test.

#![expect(
    clippy::cast_possible_truncation,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "these lints know test functions but not their helpers; here a panic is a failed test"
)]

mod enable;
mod fake;
mod hostile;
mod limits;
mod pass_through;
mod regions;
mod shutdown;
mod time_out;
mod traffic;
