//! The standard controller with a scripted driver: every rule accepted where it is kept, and caught where it is broken.

#![expect(
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics has failed, and says where"
)]

mod admin;
mod fuzz;
mod host;
mod io;
mod life;
mod pages;
mod power;
mod queues;
mod shadow;
