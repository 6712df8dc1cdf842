//! The driver on a board that a test can bend: firmware that says what the test has it say.

#![allow(
    clippy::cast_possible_truncation,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, and says where; its numbers are small"
)]

mod board;
mod boot;
mod in_use;
