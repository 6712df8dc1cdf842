//! A model with its memory, and the handles on both that drivers take: windows, pool and clock.

use std::cell::RefCell;
use std::rc::Rc;

use hal::{Clock, DmaError, DmaPool, Instant, Mmio};

use super::model::Model;
use super::ram::Ram;
use crate::record::Violation;

/// What one register access of the CPU costs, in nanoseconds: about what a read over M1's fabric takes.
const ACCESS_NS: u64 = 100;
/// The longest time that one [`Clock::relax`] lets pass.
const LONGEST_RELAX_NS: u64 = 1_000_000;
/// The time that one [`Clock::relax`] lets pass when an event is due at once.
const RELAX_NS: u64 = 1_000;
/// The most accesses that the log keeps.
const LOG_KEPT: usize = 1 << 20;

/// One register access, for tests of exact sequences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Model time in nanoseconds.
    pub time_ns: u64,
    /// Whether the CPU wrote.
    pub write: bool,
    /// The block's name.
    pub block: &'static str,
    /// The offset in the block, in bytes.
    pub offset: u64,
    /// Bytes.
    pub size: u8,
    /// What was written, or what the read gave.
    pub value: u64,
}

#[derive(Debug)]
pub(crate) struct Inner<M> {
    pub(crate) model: M,
    pub(crate) ram: Ram,
    log: Vec<Access>,
}

impl<M: Model> Inner<M> {
    fn advance(&mut self, time_ns: u64) {
        self.model.advance_to(&mut self.ram, time_ns);
        self.collect();
    }

    fn access(&mut self, address: u64, size: u8, write: Option<u64>) -> u64 {
        self.advance(self.model.now() + ACCESS_NS);
        let result = match write {
            None => self.model.read(&mut self.ram, address, size),
            Some(value) => self.model.write(&mut self.ram, address, size, value).map(|()| value),
        };
        // The CPU would take an exception here; what a test sees is the violation, and the bus's idle level.
        let value = result.unwrap_or_else(|fault| {
            self.violation("external-abort", format!("{address:#x}"), fault);
            u64::MAX
        });
        if let Some((block, base, _)) = self.model.block(address).filter(|_| self.log.len() < LOG_KEPT) {
            let (time_ns, offset) = (self.model.now(), address - base);
            self.log.push(Access { time_ns, write: write.is_some(), block, offset, size, value });
        }
        self.collect();
        value
    }

    /// Moves what the memory saw into the model's record.
    pub(crate) fn collect(&mut self) {
        for (rule, place, detail) in self.ram.seen() {
            self.violation(rule, place, detail);
        }
    }

    fn violation(&mut self, rule: &'static str, place: String, detail: impl Into<String>) {
        let now = self.model.now();
        self.model.record_mut().violation(now, rule, place, detail);
    }

    /// The driver stores to a page of shadow doorbells, or elsewhere.
    fn driver_writes(&mut self, address: u64, bytes: &[u8]) {
        self.ram.driver_writes(address, bytes);
        if let Some(pages) = self.model.shared_pages() {
            let length = bytes.len() as u64;
            if address >= pages.shadow && address - pages.shadow < pages.size {
                let offset = address - pages.shadow;
                let ring = pages.rings.iter().find(|(entry, _, _)| *entry == offset);
                if let Some((_, base, size)) = ring {
                    self.ram.check_published(*base, base + size);
                }
                self.ram.shadow_written(address, address + length);
            }
            let written = address..address + length;
            if let Some(entry) = pages.live.iter().find(|entry| written.contains(&(pages.events + **entry))) {
                let detail = "the driver wrote to the event index of a queue that exists: that is the device's";
                self.violation("event-index-written", format!("{:#x}", pages.events + entry), detail);
            }
        }
    }

    /// The driver reads memory: an event index is to be read behind the barrier that follows the doorbell's store.
    fn check_order(&mut self, address: u64) {
        if let Some(pages) = self.model.shared_pages()
            && address >= pages.events
            && address - pages.events < pages.size
        {
            let doorbell = pages.shadow + (address - pages.events);
            if self.ram.is_unordered(doorbell) {
                let detail = "its event index is read with no full barrier behind the store of the doorbell";
                self.violation("shadow-unordered", format!("{doorbell:#x}"), detail);
            }
        }
    }
}

/// A model with its memory. Cheap to clone: clones are the same board.
#[derive(Debug)]
pub struct BoardOf<M>(pub(crate) Rc<RefCell<Inner<M>>>);

impl<M> Clone for BoardOf<M> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<M: Model> BoardOf<M> {
    /// A board around a model of that configuration, at time 0.
    pub fn new(config: M::Config) -> Self {
        Self(Rc::new(RefCell::new(Inner { model: M::new(config), ram: Ram::new(), log: Vec::new() })))
    }

    /// The window of the block of that name; one of no bytes for a name that no block has.
    pub fn window(&self, name: &str) -> WindowOf<M> {
        let block = self.0.borrow().model.named(name);
        let (_, base, size) = block.unwrap_or(("", 0, 0));
        self.window_at(base, size)
    }

    /// The window of `size` bytes at a physical address.
    pub fn window_at(&self, base: u64, size: u64) -> WindowOf<M> {
        WindowOf { board: self.clone(), base, size }
    }

    /// The pool of DMA memory, the upper half of the board's memory.
    pub fn pool(&self) -> PoolOf<M> {
        PoolOf { board: self.clone() }
    }

    /// The board's clock.
    pub fn clock(&self) -> ClockOf<M> {
        ClockOf { board: self.clone() }
    }

    /// The broken rules so far.
    pub fn violations(&self) -> Vec<Violation> {
        self.0.borrow().model.record().violations.clone()
    }

    /// Whether that rule was broken.
    pub fn broke(&self, rule: &str) -> bool {
        self.0.borrow().model.record().broke(rule)
    }

    /// Whether that note was taken.
    pub fn noted(&self, rule: &str) -> bool {
        self.0.borrow().model.record().notes.iter().any(|note| note.rule == rule)
    }

    /// The checks at the end of a run; call it once, when the driver is done.
    pub fn finish(&self) {
        let inner = &mut *self.0.borrow_mut();
        inner.model.finish(&mut inner.ram);
        inner.collect();
    }

    /// Lets that many nanoseconds pass.
    pub fn pass(&self, nanoseconds: u64) {
        let inner = &mut *self.0.borrow_mut();
        inner.advance(inner.model.now() + nanoseconds);
    }

    /// The register accesses so far.
    pub fn log(&self) -> Vec<Access> {
        self.0.borrow().log.clone()
    }

    /// Forgets the register accesses so far.
    pub fn clear_log(&self) {
        self.0.borrow_mut().log.clear();
    }

    /// Bytes of memory, as the CPU's debugger sees them: no check, no time.
    pub fn peek(&self, address: u64, length: usize) -> Vec<u8> {
        self.0.borrow().ram.peek(address, length)
    }

    /// Writes bytes to memory like [`BoardOf::peek`] reads them.
    pub fn poke(&self, address: u64, bytes: &[u8]) {
        self.0.borrow_mut().ram.poke(address, bytes);
    }

    /// Pages of the pool that are in use, and of these the quarantined ones.
    pub fn pool_pages(&self) -> (usize, usize) {
        self.0.borrow().ram.pages()
    }

    /// Reads a register at a physical address, 4 or 8 bytes, like a window does.
    pub fn read(&self, address: u64, size: u8) -> u64 {
        self.0.borrow_mut().access(address, size, None)
    }

    /// Writes a register at a physical address, 4 or 8 bytes, like a window does.
    pub fn write(&self, address: u64, size: u8, value: u64) {
        self.0.borrow_mut().access(address, size, Some(value));
    }
}

/// One window of registers of a board.
#[derive(Debug)]
pub struct WindowOf<M> {
    board: BoardOf<M>,
    base: u64,
    size: u64,
}

impl<M> Clone for WindowOf<M> {
    fn clone(&self) -> Self {
        Self { board: self.board.clone(), base: self.base, size: self.size }
    }
}

impl<M: Model> WindowOf<M> {
    fn at(&self, offset: usize, size: u8) -> u64 {
        let offset = offset as u64;
        if offset + u64::from(size) > self.size {
            let inner = &mut *self.board.0.borrow_mut();
            inner.violation("outside-window", format!("{:#x}+{offset:#x}", self.base), "no such register");
        }
        self.base + offset
    }
}

impl<M: Model> Mmio for WindowOf<M> {
    fn read32(&self, offset: usize) -> u32 {
        (self.board.read(self.at(offset, 4), 4) & 0xffff_ffff) as u32
    }

    fn write32(&self, offset: usize, value: u32) {
        self.board.write(self.at(offset, 4), 4, value.into());
    }

    fn read64(&self, offset: usize) -> u64 {
        self.board.read(self.at(offset, 8), 8)
    }

    fn write64(&self, offset: usize, value: u64) {
        self.board.write(self.at(offset, 8), 8, value);
    }
}

/// The DMA memory of a board.
#[derive(Debug)]
pub struct PoolOf<M> {
    board: BoardOf<M>,
}

impl<M> Clone for PoolOf<M> {
    fn clone(&self) -> Self {
        Self { board: self.board.clone() }
    }
}

impl<M: Model> PoolOf<M> {
    fn with<T>(&self, act: impl FnOnce(&mut Inner<M>) -> T) -> T {
        let inner = &mut *self.board.0.borrow_mut();
        let value = act(inner);
        inner.collect();
        value
    }
}

impl<M: Model> DmaPool for PoolOf<M> {
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        self.with(|inner| inner.ram.reserve(size, alignment))
    }

    fn release(&self, address: u64, size: usize) {
        let inside = |page: u64| page >= address && page - address < size as u64;
        self.with(|inner| {
            let held = inner.model.held();
            if let Some((page, rule, detail)) = held.into_iter().find(|(page, _, _)| inside(*page)) {
                inner.violation(rule, format!("{page:#x}"), detail);
            }
            inner.ram.release(address, size);
        });
    }

    fn quarantine(&self, address: u64, size: usize) {
        self.with(|inner| inner.ram.quarantine(address, size));
    }

    fn reclaim(&self) {
        self.with(|inner| inner.ram.reclaim());
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        self.with(|inner| {
            inner.check_order(address);
            inner.ram.driver_reads(address, bytes);
        });
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        self.with(|inner| inner.driver_writes(address, bytes));
    }

    fn read_word(&self, address: u64) -> u32 {
        let bytes = self.with(|inner| {
            inner.check_order(address);
            inner.ram.peek(address, 4)
        });
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    fn publish(&self) {
        self.with(|inner| inner.ram.publish());
    }

    fn observe(&self) {
        self.with(|inner| inner.ram.observe());
    }

    fn order(&self) {
        self.with(|inner| inner.ram.order());
    }
}

/// The time of a board: it passes with register accesses and with [`Clock::relax`].
#[derive(Debug)]
pub struct ClockOf<M> {
    board: BoardOf<M>,
}

impl<M> Clone for ClockOf<M> {
    fn clone(&self) -> Self {
        Self { board: self.board.clone() }
    }
}

impl<M: Model> Clock for ClockOf<M> {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.board.0.borrow().model.now())
    }

    /// Goes on to the next event, by at least 1 microsecond and at most 1 millisecond.
    fn relax(&self) {
        let inner = &mut *self.board.0.borrow_mut();
        let now = inner.model.now();
        let next = inner.model.next_event().unwrap_or(u64::MAX);
        inner.advance(next.clamp(now + RELAX_NS, now + LONGEST_RELAX_NS));
    }
}
