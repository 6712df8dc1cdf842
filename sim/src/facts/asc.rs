//! The coprocessor's block (Linux apple.c, m1n1 asc.c, U-Boot; the status word from m1n1's hw/asc.py).

use super::Bits;

/// Control of the core.
pub const CPU_CONTROL: u64 = 0x44;
/// Its state.
pub const CPU_STATUS: u64 = 0x48;

/// CPU_CONTROL: the core runs.
pub const RUN: Bits = Bits::one(4);

/// CPU_STATUS: the core runs.
pub const STATUS_RUNNING: Bits = Bits::one(0);
/// CPU_STATUS: the core is stopped.
pub const STATUS_STOPPED: Bits = Bits::one(1);
/// CPU_STATUS: nothing waits for the host.
pub const STATUS_IDLE: Bits = Bits::one(5);
