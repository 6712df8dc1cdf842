//! Models of the device side of a T8103 machine, strict and independent.
//!
//! This crate is the second reading of the reference: it shares no constant with the drivers, so that a wrong offset in
//! one of the two shows. Every rule of the reference that a driver can break is checked, and a broken one is recorded as
//! a violation with what, where and when.

#![forbid(unsafe_code)]

pub mod memory;
pub mod record;

mod context;
