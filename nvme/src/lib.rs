//! NVMe host: commands, queues, PRP lists and the life of a controller.
//!
//! * [`Controller`] brings a controller up, moves blocks through it and takes it down again. Its core is the pair
//!   [`Controller::submit`] and [`Controller::poll`]; the blocking calls are built from the two.
//! * [`Transport`] is how one speaks to a controller: placing an entry, ringing, reaping. [`transport::apple`] is the one
//!   for Apple's ANS, with its linear submission queues and translation control blocks; [`transport::pcie`] is the standard's,
//!   with rings, doorbells and shadow doorbells.
//! * [`BlockDevice`] is what the layers above see of one namespace; it is read-only until its owner arms writes.
//! * [`spec`] holds facts only: registers, opcodes, layouts and status codes.
//!
//! Nothing here allocates from a heap, and nothing that a device says can make it panic: every index is checked, every
//! wait has a limit, and every refusal has a type.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

pub mod block;
pub mod buffer;
pub mod config;
pub mod controller;
pub mod durability;
pub mod error;
pub mod identity;
pub mod prp;
pub mod request;
mod slots;
pub mod spec;
pub mod transport;

pub use block::{BlockDevice, NamespaceHandle};
pub use buffer::Buffer;
pub use config::Config;
pub use controller::{Abort, Controller, Counters, DoorbellState, ErrorEntry, Event, Health, Parts, Select, Stage};
pub use durability::{Accept, CacheMode, DeferredError, FlushAll, FlushPolicy, FlushStatistics, WriteCache};
pub use error::{BlockError, CommandError, Error, Failure, Fault, PassThroughError, Step, SubmitError};
pub use identity::{Access, Deallocated, Identity, Namespace, Unusable, Version};
pub use request::{AdminCommand, Completion, Operation, Refused, Request, Ticket};
pub use spec::status::Status;
pub use transport::{ShadowDoorbells, Transport};

// Layouts in memory are written with the processor's own integers, and NVMe is little-endian.
const _: () = assert!(cfg!(target_endian = "little"), "NVMe structures are little-endian");
