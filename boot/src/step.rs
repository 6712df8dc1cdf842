//! What the image is doing: the last words of a crash report.

use core::fmt;

use spin::Mutex;

/// A step, and the last stage of it that was passed.
static STEP: Mutex<Step> = Mutex::new(Step { name: "starting", passed: None });

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    name: &'static str,
    passed: Option<&'static str>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        match self.passed {
            Some(stage) => write!(f, " (after {stage})"),
            None => Ok(()),
        }
    }
}

/// Notes what is done from now on.
pub fn enter(name: &'static str) {
    *STEP.lock() = Step { name, passed: None };
}

/// Notes that a stage of the present step was passed.
pub fn passed(stage: &'static str) {
    STEP.lock().passed = Some(stage);
}

/// What is being done. Never waits: an exception handler asks.
pub fn current() -> Step {
    STEP.try_lock().map_or(Step { name: "noting the current step", passed: None }, |step| *step)
}
