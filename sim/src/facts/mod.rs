//! The reference as the models read it: offsets, bits, values and layouts, by area.
//!
//! The models take their numbers from here, so each stands here once. None comes from a driver: a test compares these with
//! the drivers' own, name by name, and so finds what one of the two has read wrong. The plain driver of the models' own
//! tests is written in bare numbers, and so checks these as well.

mod bits;

pub mod apple;
pub mod asc;
pub mod command;
pub mod controller;
pub mod crash;
pub mod identify;
pub mod mailbox;
pub mod pmgr;
pub mod rtkit;
pub mod sart;
pub mod status;
pub mod tree;

pub use bits::Bits;
