//! What the image does once the machine is set up: find partitions, run commands, show blocks.
//!
//! This library is portable and holds no `unsafe` code; its tests run on a host. The machine under it (entry, translation
//! tables, exceptions, console, power) is the binary `anvil` of this package.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod command;
pub mod dump;
pub mod gpt;
pub mod load;
pub mod monitor;
pub mod quote;
mod random;
pub mod reason;
pub mod step;
mod stream;
pub mod syndrome;
pub mod tail;
