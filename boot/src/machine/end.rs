//! The end of a run: the last line, and power off.

use core::fmt::{Display, Write};

use hal::{Mmio, physical::PhysicalWindow};
use spin::Mutex;

use super::console;

/// How the machine is turned off.
#[derive(Debug)]
pub(crate) enum Off {
    /// The watchdog resets the machine: T8103 has no way to turn itself off without its power controller.
    Watchdog(PhysicalWindow),
    /// A call to firmware.
    Psci(Conduit),
}

/// How firmware is called (`/psci`, `method`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conduit {
    Hypervisor,
    SecureMonitor,
}

/// PSCI SYSTEM_OFF (Arm DEN 0022).
const SYSTEM_OFF: u64 = 0x8400_0008;

// Watchdog unit 1 (Linux apple_wdt.c): current 0x10, bite 0x14, control 0x1c; control bit 2 = reset enable.
const WATCHDOG_CURRENT: usize = 0x10;
const WATCHDOG_BITE: usize = 0x14;
const WATCHDOG_CONTROL: usize = 0x1c;
const RESET_ENABLE: u32 = 1 << 2;

static OFF: Mutex<Option<Off>> = Mutex::new(None);

/// Notes how to turn the machine off. A watchdog that the boot loader left running is stopped: nobody would feed it.
pub(crate) fn install(off: Off) {
    if let Off::Watchdog(window) = &off {
        window.write32(WATCHDOG_CONTROL, 0);
    }
    *OFF.lock() = Some(off);
}

/// Whether there is a way to turn the machine off.
pub(crate) fn is_installed() -> bool {
    OFF.lock().is_some()
}

/// Ends the run well.
pub(crate) fn success() -> ! {
    console::end_line();
    let _ = writeln!(console::Output, "anvil: success");
    turn_off()
}

/// Ends the run with its reason.
pub(crate) fn failure(reason: &dyn Display) -> ! {
    console::end_line();
    let _ = writeln!(console::Output, "anvil: failure: {reason}");
    turn_off()
}

fn turn_off() -> ! {
    console::drain();
    // A report that interrupted `install` must not wait for its lock.
    if let Some(off) = OFF.try_lock().as_deref().and_then(Option::as_ref) {
        match off {
            Off::Watchdog(window) => {
                // In Linux's order: reset enable, bite, current; due at once. The reset takes up to 25 ms.
                window.write32(WATCHDOG_CONTROL, RESET_ENABLE);
                window.write32(WATCHDOG_BITE, 0);
                window.write32(WATCHDOG_CURRENT, 0);
            }
            Off::Psci(conduit) => call(*conduit, SYSTEM_OFF),
        }
    }
    loop {
        aarch64_cpu::asm::wfe();
    }
}

fn call(conduit: Conduit, function: u64) {
    use core::arch::asm;
    match conduit {
        // SAFETY: a call that the device tree says firmware answers (SMCCC: x0 to x17 may change, memory may not).
        Conduit::Hypervisor => unsafe {
            asm!("hvc #0", inout("x0") function => _, in("x1") 0, in("x2") 0, in("x3") 0, clobber_abi("C"))
        },
        // SAFETY: as above.
        Conduit::SecureMonitor => unsafe {
            asm!("smc #0", inout("x0") function => _, in("x1") 0, in("x2") 0, in("x3") 0, clobber_abi("C"))
        },
    }
}
