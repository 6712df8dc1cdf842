//! The log as defmt frames, between the console's lines: each is 0x00, the frame in rzCOBS (which has no 0x00), 0x00. Plain
//! text on the console never has a 0x00, so a reader can take the two apart.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering};

use defmt::Encoder;

use super::{clock, console};

#[defmt::global_logger]
struct Frames;

struct State {
    encoder: UnsafeCell<Encoder>,
    restore: UnsafeCell<critical_section::RestoreState>,
    taken: AtomicBool,
}

// SAFETY: the cells are used between `acquire` and `release` only, inside a critical section, on the one processor.
unsafe impl Sync for State {}

static STATE: State = State {
    encoder: UnsafeCell::new(Encoder::new()),
    restore: UnsafeCell::new(critical_section::RestoreState::invalid()),
    taken: AtomicBool::new(false),
};

// SAFETY: `acquire` masks everything that could log in between (see `critical`), and a second `acquire` before `release`,
// which only a logging `Format` implementation could make, writes nothing more.
unsafe impl defmt::Logger for Frames {
    fn acquire() {
        // SAFETY: released in `release`, in this order.
        let restore = unsafe { critical_section::acquire() };
        if STATE.taken.swap(true, Ordering::Relaxed) {
            super::end::failure(&"a log message was formatted inside another");
        }
        // SAFETY: inside the critical section, `taken` by this call.
        unsafe { *STATE.restore.get() = restore };
        console::raw(&[0]);
        // SAFETY: as above.
        let encoder = unsafe { &mut *STATE.encoder.get() };
        encoder.start_frame(console::raw);
    }

    unsafe fn flush() {
        console::drain();
    }

    unsafe fn release() {
        // SAFETY: between `acquire` and here, as defmt calls it.
        let encoder = unsafe { &mut *STATE.encoder.get() };
        encoder.end_frame(console::raw);
        // SAFETY: as above.
        let restore = unsafe { *STATE.restore.get() };
        STATE.taken.store(false, Ordering::Relaxed);
        // SAFETY: the state that `acquire` got.
        unsafe { critical_section::release(restore) };
    }

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: between `acquire` and `release`, as defmt calls it.
        let encoder = unsafe { &mut *STATE.encoder.get() };
        encoder.write(bytes, console::raw);
    }
}

defmt::timestamp!("{=u64:us}", boot::microseconds(clock::since_entry()));
