//! Which stage runs, and since when.

use hal::log::Shown;
use hal::time::Span;
use hal::{Clock, Instant};

use crate::stage::{Observer, Stage};

/// Times the stages, one after the other.
pub(crate) struct Progress<'o, C: Clock, O: Observer> {
    clock: C,
    observer: &'o mut O,
    current: Option<(Stage, Instant)>,
}

impl<'o, C: Clock, O: Observer> Progress<'o, C, O> {
    pub(crate) const fn new(clock: C, observer: &'o mut O) -> Self {
        Self { clock, observer, current: None }
    }

    /// A stage begins, and the one before is thereby passed.
    pub(crate) fn enter(&mut self, stage: Stage) {
        self.passed();
        self.current = Some((stage, self.clock.now()));
    }

    /// The present stage is passed and none follows.
    pub(crate) fn passed(&mut self) {
        if let Some((stage, began)) = self.current.take() {
            let took = self.clock.now().since(began);
            hal::debug!("{}: {}", Shown(&stage), Shown(&Span(took)));
            self.observer.passed(stage, took);
        }
    }

    /// The present stage failed; gives its name.
    pub(crate) fn failed(&mut self) -> Option<Stage> {
        self.current.take().map(|(stage, _)| stage)
    }
}
