//! What the image is doing: the last words of a crash report.

use spin::Mutex;

static STEP: Mutex<&str> = Mutex::new("starting");

/// Notes what is done from now on.
pub fn enter(step: &'static str) {
    *STEP.lock() = step;
}

/// What is being done. Never waits: an exception handler asks.
pub fn current() -> &'static str {
    STEP.try_lock().map_or("noting the current step", |step| *step)
}
