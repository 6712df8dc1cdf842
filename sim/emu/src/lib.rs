//! Runs the true aarch64 image on the device models, at a T8103's addresses.
//!
//! The CPU is unicorn's; everything around it is `sim`'s. Time is virtual: it moves with the instructions done, the
//! register accesses made and the sleeping, and with nothing else, so that two runs with one seed are the same to the bit.
//!
//! This crate alone is GPL-2.0-only, because unicorn is. Nothing that is shipped depends on it.

#![forbid(unsafe_code)]

pub mod boot_args;
pub mod image;
pub mod keyboard;
pub mod memory;
pub mod options;
pub mod tree;

mod board;
mod clock;
mod console;
mod cpu;
mod prepare;
mod report;
mod run;
mod timer;
mod trace;

pub use board::Over;
pub use console::Verdict;
pub use image::{Image, ImageError};
pub use prepare::prepare;
pub use report::Stage;
pub use run::{Ended, IMAGE_ADDRESS, Run, Setup, TREE_ADDRESS, TREE_SPACE, run};
