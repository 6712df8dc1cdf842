//! Models of the device side of a T8103 machine, and of a standard NVMe controller, strict and independent.
//!
//! This crate is the second reading of the reference: it shares no constant with the drivers ([`facts`] holds its own), so
//! that a wrong offset in one of the two shows. Every rule of the reference that a driver can break is checked, and a broken one is recorded as
//! a violation with what, where and when.
//!
//! [`Machine`] is the machine without its CPU and memory, [`pcie::Controller`] the standard controller; [`host`] puts the traits
//! of `hal` on them for tests on the host.

#![forbid(unsafe_code)]

pub mod config;
pub mod facts;
pub mod fault;
pub mod host;
pub mod machine;
pub mod memory;
pub mod nvme;
pub mod pcie;
pub mod record;

mod aic;
mod bus;
mod context;
mod mailbox;
mod names;
mod pmgr;
mod rtkit;
mod sart;
mod uart;
mod watchdog;

pub use config::{AnsState, MachineConfig};
pub use fault::Fault;
pub use machine::{BusFault, Counter, Machine, Report};
pub use memory::{MemoryFault, PhysicalMemory};
pub use record::Violation;
