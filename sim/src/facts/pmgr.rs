//! The power manager's word for one device (Linux pmgr-pwrstate.c, m1n1 pmgr.c, U-Boot apple-pmgr.c).

use super::Bits;

/// 1: the device is held in reset; needs power and clock to act.
pub const RESET: Bits = Bits::one(31);
/// 1: hardware gates by itself.
pub const AUTO_ENABLE: Bits = Bits::one(28);
/// 1: the parent is off.
pub const PARENT_OFF: Bits = Bits::one(11);
/// 1: the device's way to the bus is shut.
pub const DEV_DISABLE: Bits = Bits::one(10);
/// The clock was off at some time.
pub const WAS_CLKGATED: Bits = Bits::one(9);
/// The power was off at some time.
pub const WAS_PWRGATED: Bits = Bits::one(8);
/// The state that the device is in.
pub const PS_ACTUAL: Bits = Bits::at(7, 4);
/// The state that was asked for.
pub const PS_TARGET: Bits = Bits::at(3, 0);

/// State: powered and clocked.
pub const ACTIVE: u32 = 0xf;
/// State: powered, no clock.
pub const CLOCK_GATED: u32 = 0x4;
/// State: no power.
pub const POWER_GATED: u32 = 0x0;

/// How long m1n1 holds a reset, in nanoseconds; Linux holds it for 1000 to 2000. What hardware needs is not known.
pub const RESET_HELD_NS: u64 = 10_000;
