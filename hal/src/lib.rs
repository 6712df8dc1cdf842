//! The floor: register windows, DMA memory, time, log and device trees.
//!
//! Everything above this crate is written against the traits here, so that one driver runs unchanged on hardware, on the
//! simulated machine, under a tracer and in an emulator. With `boot` this is the only crate that holds `unsafe` code.
//!
//! * [`Mmio`] is one window of device registers; [`Register`] describes a register in it.
//! * [`DmaPool`] hands out memory that a device may read and write; [`DmaRegion`] is one owned piece of it.
//! * [`Clock`] tells the time; [`poll_until`] is the only way to wait.
//! * [`Platform`] names the three, so that a driver carries one type parameter.

#![cfg_attr(not(test), no_std)]

pub mod barrier;
pub mod dma;
pub mod fault;
pub mod fdt;
pub mod log;
pub mod mmio;
pub mod pci;
pub mod physical;
pub mod platform;
pub mod register;
#[cfg(test)]
mod testing;
pub mod time;
pub mod trace;

pub use dma::{DEVICE_PAGE, DmaError, DmaPool, DmaRegion};
pub use mmio::Mmio;
pub use platform::Platform;
pub use register::{Register, Register64, Word64};
pub use time::{Clock, Deadline, Instant, Pause, TimedOut, poll_until};
