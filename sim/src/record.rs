//! What a run leaves behind: violations and notes, in the order in which they happened.

use std::fmt;

/// A rule of the hardware that the driver broke, or (as a note) an oddity that hardware lets pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When, in nanoseconds of model time.
    pub time_ns: u64,
    /// The rule's name, in kebab case.
    pub rule: &'static str,
    /// Where: the block and the offset in it, or the queue and the tag.
    pub place: String,
    /// What was seen, and what the rule wants.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ns: {} at {}: {}", self.time_ns, self.rule, self.place, self.detail)
    }
}

/// The most violations and notes that are kept each; later ones are only counted.
pub const KEPT: usize = 1000;

/// The record of one run.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Broken rules: a run with any of them has failed.
    pub violations: Vec<Violation>,
    /// Oddities that working drivers are known to do.
    pub notes: Vec<Violation>,
    /// Violations beyond [`KEPT`].
    pub violations_dropped: u64,
}

impl Record {
    /// Records a broken rule.
    pub fn violation(&mut self, time_ns: u64, rule: &'static str, place: impl Into<String>, detail: impl Into<String>) {
        if self.violations.len() < KEPT {
            self.violations.push(Violation { time_ns, rule, place: place.into(), detail: detail.into() });
        } else {
            self.violations_dropped += 1;
        }
    }

    /// Records an oddity that is no failure.
    pub fn note(&mut self, time_ns: u64, rule: &'static str, place: impl Into<String>, detail: impl Into<String>) {
        if self.notes.len() < KEPT {
            self.notes.push(Violation { time_ns, rule, place: place.into(), detail: detail.into() });
        }
    }

    /// Whether the rule was broken at least once.
    pub fn broke(&self, rule: &str) -> bool {
        self.violations.iter().any(|violation| violation.rule == rule)
    }
}
