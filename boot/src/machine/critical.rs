//! Critical sections: interrupts and SError masked. One processor runs this image, so that is enough.

use critical_section::{Impl, RawRestoreState, set_impl};

struct Masked;
set_impl!(Masked);

/// PSTATE.A, the SError mask, in `DAIF`: the only one of the four that this image ever clears.
const SERROR: u64 = 1 << 8;

// SAFETY: with SError masked (IRQ, FIQ and debug always are) nothing runs between `acquire` and `release` but the caller:
// the image uses one processor. Synchronous exceptions do not return.
unsafe impl Impl for Masked {
    unsafe fn acquire() -> RawRestoreState {
        let masked: u64;
        // SAFETY: reading and setting a mask has no effect on memory; without `nomem` the compiler keeps accesses inside.
        unsafe {
            core::arch::asm!("mrs {}, daif", "msr daifset, #4", out(reg) masked, options(nostack, preserves_flags))
        };
        masked & SERROR != 0
    }

    unsafe fn release(was_masked: RawRestoreState) {
        if !was_masked {
            // SAFETY: puts back the state that `acquire` found.
            unsafe { core::arch::asm!("msr daifclr, #4", options(nostack, preserves_flags)) };
        }
    }
}

/// Lets an SError through from now on: it can be reported.
pub(crate) fn unmask_system_errors() {
    // SAFETY: the vectors are in place.
    unsafe { core::arch::asm!("msr daifclr, #4", options(nostack, preserves_flags)) };
}
