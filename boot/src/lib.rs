//! What the image does once the machine is set up: find partitions, run commands, show blocks.
//!
//! This library is portable and holds no `unsafe` code; its tests run on a host. The machine under it (entry, translation
//! tables, exceptions, console, power) is the binary `anvil` of this package.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod any;
pub mod bootargs;
pub mod command;
pub mod dump;
pub mod gpt;
pub mod load;
pub mod monitor;
pub mod operations;
pub mod quote;
mod random;
pub mod reason;
#[cfg(test)]
mod rig;
pub mod step;
pub mod storage;
mod stream;
pub mod syndrome;
pub mod tail;

/// A size in bytes or blocks as a length in memory: what does not fit is too large for any buffer.
fn length(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Whole microseconds; saturates after half a million years.
pub fn microseconds(span: core::time::Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}
