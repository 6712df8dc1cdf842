//! The coprocessor's CPU control: the one bit that tells whether it runs.
//!
//! RUN is the hand-over flag between boot stages: set means that firmware is alive (perhaps idle), clear that the core is
//! stopped. Clearing it on a live core hangs some coprocessors for good (m1n1 history), so [`CpuControl::stop`] belongs
//! after RTKit's sleep was acknowledged.

use hal::Mmio;
use tock_registers::interfaces::{ReadWriteable, Readable};

use crate::spec;

/// CPU control over the coprocessor's block (the "ans" region of the device tree).
#[derive(Debug)]
pub struct CpuControl<'w, W: Mmio>(&'w W);

impl<'w, W: Mmio> CpuControl<'w, W> {
    /// CPU control in the block behind `window`.
    pub const fn new(window: &'w W) -> Self {
        Self(window)
    }

    /// Whether RUN is set.
    pub fn runs(&self) -> bool {
        spec::CPU_CONTROL.of(self.0).is_set(spec::CpuControl::RUN)
    }

    /// Sets RUN: firmware starts, and says HELLO by itself.
    pub fn start(&self) {
        spec::CPU_CONTROL.of(self.0).modify(spec::CpuControl::RUN::SET);
    }

    /// Clears RUN.
    pub fn stop(&self) {
        spec::CPU_CONTROL.of(self.0).modify(spec::CpuControl::RUN::CLEAR);
    }
}
