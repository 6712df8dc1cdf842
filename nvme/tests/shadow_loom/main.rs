//! Shadow doorbells under a model checker: the host's `announce` beside the device's `wake` and `room`, the very functions that
//! the driver and the device model run, over loom's atomics instead of shared pages.
//!
//! loom runs a model once for every order of its steps and every value that a load may return under the memory model. What is
//! wanted of each execution: entries that the device takes are those that the host placed, and in the end no entry waits while
//! the device sleeps and no register was written. Then the same models with one thing taken out, each of which must be found
//! broken; and first, in [`litmus`], that the checker can see such a fault at all.
//!
//! Every exploration is exhaustive, without a bound on preemptions, except where a test names one. Barriers are C11 fences and
//! words are relaxed: what is not shown is what only the other direction of reordering could do, since loom never performs a
//! load after a store that follows it. A test of the image's instructions is the other half of the proof.

#![expect(
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a panic is a failed test here, or an execution that is wrong"
)]

mod completion;
mod litmus;
mod submission;
mod words;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What an exploration came to.
struct Explored {
    /// Executions up to the end, or up to the first wrong one.
    executions: usize,
    /// What the first wrong execution said.
    wrong: Option<String>,
}

/// Runs `model` in every order, with at most so many preemptions if there is a bound.
fn explore(bound: Option<usize>, model: impl Fn() + Send + Sync + 'static) -> Explored {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let mut builder = loom::model::Builder::new();
    // Not from the environment: what is explored is part of what is claimed.
    builder.preemption_bound = bound;
    builder.max_permutations = None;
    builder.max_duration = None;
    builder.checkpoint_file = None;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        builder.check(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            model();
        });
    }));
    let wrong = outcome.err().map(|payload| match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().map_or("a panic without text", |text| text).to_owned(),
    });
    Explored { executions: count.load(Ordering::Relaxed), wrong }
}

/// Wants every execution to be right, and more than one of them.
fn holds(name: &str, explored: Explored) {
    println!("{name}: holds in all of {} executions", explored.executions);
    assert_eq!(explored.wrong, None, "{name}: execution {}", explored.executions);
    assert!(explored.executions > 1, "{name}: nothing was explored");
}

/// Wants an execution to be wrong in the way that `how` says, and in no other.
fn is_broken(name: &str, how: &str, explored: Explored) {
    let wrong = explored.wrong.unwrap_or_else(|| panic!("{name}: right in all of {} executions", explored.executions));
    println!("{name}: execution {}: {wrong}", explored.executions);
    assert!(wrong.contains(how), "{name}: {wrong}");
}
