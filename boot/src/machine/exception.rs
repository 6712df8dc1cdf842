//! What an exception leaves on the console.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicU32, Ordering};

use aarch64_cpu::registers::{ELR_EL1, ESR_EL1, FAR_EL1, Readable, SPSR_EL1};
use boot::step;
use boot::syndrome::Syndrome;

use super::{console, end};

/// Nonzero while an exception may be reported. The vectors look at it before they touch anything else.
#[unsafe(no_mangle)]
static REPORTABLE: AtomicU32 = AtomicU32::new(0);

/// The registers at the exception, as `vectors.s` stores them.
#[repr(C)]
struct Frame {
    general: [u64; 31],
    stack_pointer: u64,
    vector: u64,
    /// Keeps the stack pointer at a multiple of 16.
    padding: u64,
}

const _: () = assert!(size_of::<Frame>() == 272, "vectors.s reserves this many bytes");

/// From now on exceptions are reported: the console is there, and constants and statics are in place.
pub(crate) fn report_from_now_on() {
    REPORTABLE.store(1, Ordering::Relaxed);
}

/// The one-line reason, which also ends the report.
struct Reason<'a>(&'a Frame, Syndrome, u64);

impl fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(frame, syndrome, address) = self;
        let kind = match frame.vector % 4 {
            0 => "exception",
            1 => "unexpected IRQ",
            2 => "unexpected FIQ",
            _ => "SError",
        };
        write!(f, "{kind}: {syndrome}")?;
        if syndrome.has_address() {
            write!(f, " at address {address:#x}")?;
        }
        write!(f, ", while {}", step::current())
    }
}

/// Called by the vectors, on the exception stack, once: a second exception finds `REPORTABLE` cleared and parks.
#[unsafe(no_mangle)]
extern "C" fn report_exception(frame: &Frame) -> ! {
    REPORTABLE.store(0, Ordering::Relaxed);
    let syndrome = Syndrome::new(ESR_EL1.get());
    let (returns_to, fault_address, state) = (ELR_EL1.get(), FAR_EL1.get(), SPSR_EL1.get());
    let reason = Reason(frame, syndrome, fault_address);
    let mut out = console::forced();
    // The image is linked at 0: this is the address to look up in the ELF file.
    let linked = returns_to.wrapping_sub(super::image::start() as u64);
    let _ = writeln!(out, "\n{reason}\n  ELR {returns_to:#018x} (image + {linked:#x})  SPSR {state:#x}");
    let _ = writeln!(out, "  ESR {:#x}  FAR {fault_address:#018x}  vector {}", syndrome.raw(), frame.vector);
    for (index, value) in frame.general.iter().enumerate() {
        let separator = if index % 4 == 3 { '\n' } else { ' ' };
        let _ = write!(out, "  x{index:<2} {value:016x}{separator}");
    }
    let _ = writeln!(out, "  sp  {:016x}", frame.stack_pointer);
    end::failure(&reason)
}
