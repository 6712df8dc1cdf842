//! A window of plain memory for the tests: it remembers what was done to it.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::Mmio;
use crate::trace::Direction::{self, Read, Write};

/// (direction, offset, width, value)
pub(crate) type Access = (Direction, usize, u8, u64);

#[derive(Debug, Default)]
pub(crate) struct FakeWindow {
    words: RefCell<BTreeMap<usize, u32>>,
    accesses: RefCell<Vec<Access>>,
}

impl FakeWindow {
    pub(crate) fn with(words: &[(usize, u32)]) -> Self {
        Self { words: RefCell::new(words.iter().copied().collect()), ..Self::default() }
    }

    pub(crate) fn accesses(&self) -> Vec<Access> {
        self.accesses.borrow().clone()
    }

    fn word(&self, offset: usize) -> u32 {
        self.words.borrow().get(&offset).copied().unwrap_or(0)
    }

    fn note(&self, direction: Direction, offset: usize, width: u8, value: u64) {
        self.accesses.borrow_mut().push((direction, offset, width, value));
    }
}

impl Mmio for FakeWindow {
    fn read32(&self, offset: usize) -> u32 {
        let value = self.word(offset);
        self.note(Read, offset, 4, value.into());
        value
    }

    fn write32(&self, offset: usize, value: u32) {
        self.note(Write, offset, 4, value.into());
        self.words.borrow_mut().insert(offset, value);
    }

    fn read64(&self, offset: usize) -> u64 {
        let value = u64::from(self.word(offset + 4)) << 32 | u64::from(self.word(offset));
        self.note(Read, offset, 8, value);
        value
    }

    fn write64(&self, offset: usize, value: u64) {
        self.note(Write, offset, 8, value);
        self.words.borrow_mut().extend([(offset, (value & 0xffff_ffff) as u32), (offset + 4, (value >> 32) as u32)]);
    }
}
