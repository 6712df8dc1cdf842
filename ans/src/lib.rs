//! The ANS coprocessor: power, CPU control, SART, bring-up and shutdown.
//!
//! ANS is a coprocessor with an NVMe controller in front of it. Before that controller answers, its power domains have to
//! be on, the coprocessor has to be booted or woken ([`rtkit`]), and its memory requests have to be let through ([`sart`]).
//! [`Ans`] does all that in order, hands out the [`nvme::Controller`], and undoes it in reverse order.
//!
//! [`discovery`] finds the parts in a device tree; [`Hardware`] is the list of them.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

mod bringup;
mod config;
pub mod cpu;
pub mod discovery;
mod error;
mod grants;
mod hardware;
pub mod power;
mod progress;
pub mod sart;
mod session;
pub mod spec;
mod stage;

#[cfg(test)]
mod fake;

pub use bringup::Ans;
pub use config::Config;
pub use error::{Error, Failed, Failure};
pub use hardware::{ATTACHED, Hardware};
pub use stage::{Observer, Stage};
