//! What the image does once the machine is set up: find partitions, run commands, show blocks.
//!
//! This library is portable and holds no `unsafe` code; its tests run on a host. The machine under it (entry, translation
//! tables, exceptions, console, power) is the binary `anvil` of this package.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod command;
pub mod dump;
pub mod gpt;
pub mod quote;
pub mod reason;
pub mod step;
pub mod syndrome;
