//! The ANS coprocessor: power, CPU control, SART, bring-up and shutdown.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod cpu;
pub mod power;
pub mod sart;
pub mod spec;

#[cfg(test)]
mod fake;
