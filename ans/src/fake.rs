//! A window of plain words that keeps a log of writes: for tests of one block alone.

use core::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use hal::{Clock, Instant, Mmio};

/// What a write leaves in the word: gets the offset, the old word and the written one.
pub(crate) type Behaviour = fn(usize, u32, u32) -> u32;

/// A window over shared words.
#[derive(Clone)]
pub(crate) struct Window {
    words: Rc<RefCell<BTreeMap<usize, u32>>>,
    writes: Rc<RefCell<Vec<(usize, u32)>>>,
    behaviour: Behaviour,
}

impl Window {
    pub(crate) fn new(words: &[(usize, u32)], behaviour: Behaviour) -> Self {
        let words = Rc::new(RefCell::new(words.iter().copied().collect()));
        Self { words, writes: Rc::default(), behaviour }
    }

    /// The writes since the last call.
    pub(crate) fn writes(&self) -> Vec<(usize, u32)> {
        self.writes.take()
    }

    pub(crate) fn word(&self, offset: usize) -> u32 {
        self.read32(offset)
    }
}

impl Mmio for Window {
    fn read32(&self, offset: usize) -> u32 {
        self.words.borrow().get(&offset).copied().unwrap_or(0)
    }
    fn write32(&self, offset: usize, value: u32) {
        self.writes.borrow_mut().push((offset, value));
        let left = (self.behaviour)(offset, self.read32(offset), value);
        self.words.borrow_mut().insert(offset, left);
    }
    fn read64(&self, offset: usize) -> u64 {
        self.read_halves(offset)
    }
    fn write64(&self, offset: usize, value: u64) {
        self.write_halves(offset, value);
    }
}

/// A clock that moves a microsecond for each look and each rest.
#[derive(Default)]
pub(crate) struct Ticks(Cell<u64>);

impl Clock for Ticks {
    fn now(&self) -> Instant {
        self.0.set(self.0.get() + 1000);
        Instant::from_nanos(self.0.get())
    }
    fn relax(&self) {
        let _ = self.now();
    }
}
