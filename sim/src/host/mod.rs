//! The traits of `hal` on a [`Machine`]: drivers run unchanged on the host, in virtual time.
//!
//! A [`Board`] is a machine with memory at T8103's address. Windows, pool and clock are handles on it, so that one test
//! can hold them all. Its memory checks what real memory does not tell: a device that looks at bytes which were not
//! published, a driver that reads what a device wrote without observing it, a device that reaches freed memory.

pub mod plain;

mod intervals;
mod ram;

use std::cell::RefCell;
use std::rc::Rc;

use hal::{Clock, DmaError, DmaPool, Instant, Mmio, Platform};

use crate::config::MachineConfig;
use crate::machine::{Machine, Report};
use crate::record::Violation;
use ram::Ram;

pub use ram::{POOL_BASE, POOL_SIZE, RAM_BASE, RAM_SIZE};

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
    /// The block's name, as in [`Machine::windows`].
    pub block: &'static str,
    /// The offset in the block, in bytes.
    pub offset: u64,
    /// Bytes.
    pub size: u8,
    /// What was written, or what the read gave.
    pub value: u64,
}

#[derive(Debug)]
struct Inner {
    machine: Machine,
    ram: Ram,
    log: Vec<Access>,
}

impl Inner {
    fn advance(&mut self, time_ns: u64) {
        self.machine.advance_to(&mut self.ram, time_ns);
        self.collect();
    }

    fn access(&mut self, address: u64, size: u8, write: Option<u64>) -> u64 {
        self.advance(self.machine.now() + ACCESS_NS);
        let result = match write {
            None => self.machine.read(&mut self.ram, address, size),
            Some(value) => self.machine.write(&mut self.ram, address, size, value).map(|()| value),
        };
        // The CPU would take an exception here; what a test sees is the violation, and the bus's idle level.
        let value = result.unwrap_or_else(|fault| {
            let now = self.machine.now();
            self.machine.record().violation(now, "external-abort", format!("{address:#x}"), fault.to_string());
            u64::MAX
        });
        let block = Machine::windows().find(|(_, base, bytes)| address.wrapping_sub(*base) < *bytes);
        if let Some((block, base, _)) = block.filter(|_| self.log.len() < LOG_KEPT) {
            let (time_ns, offset) = (self.machine.now(), address - base);
            self.log.push(Access { time_ns, write: write.is_some(), block, offset, size, value });
        }
        self.collect();
        value
    }

    /// Moves what the memory saw into the machine's record.
    fn collect(&mut self) {
        let now = self.machine.now();
        for (rule, place, detail) in self.ram.seen() {
            self.machine.record().violation(now, rule, place, detail);
        }
    }
}

/// A machine with its memory. Cheap to clone: clones are the same board.
#[derive(Clone, Debug)]
pub struct Board(Rc<RefCell<Inner>>);

impl Board {
    /// A board around a machine of that configuration, at time 0.
    pub fn new(config: MachineConfig) -> Self {
        Self(Rc::new(RefCell::new(Inner { machine: Machine::new(config), ram: Ram::new(), log: Vec::new() })))
    }

    /// The window of the block of that name (see [`Machine::windows`]); one of no bytes for a name that no block has.
    pub fn window(&self, name: &str) -> Window {
        let block = Machine::windows().find(|(block, _, _)| *block == name);
        let (_, base, size) = block.unwrap_or(("", 0, 0));
        self.window_at(base, size)
    }

    /// The window of `size` bytes at a physical address.
    pub fn window_at(&self, base: u64, size: u64) -> Window {
        Window { board: self.clone(), base, size }
    }

    /// The pool of DMA memory, the upper half of the board's memory.
    pub fn pool(&self) -> Pool {
        Pool { board: self.clone() }
    }

    /// The board's clock.
    pub fn clock(&self) -> VirtualClock {
        VirtualClock { board: self.clone() }
    }

    /// What happened so far.
    pub fn report(&self) -> Report {
        self.0.borrow().machine.report()
    }

    /// The broken rules so far.
    pub fn violations(&self) -> Vec<Violation> {
        self.report().violations
    }

    /// Whether that rule was broken.
    pub fn broke(&self, rule: &str) -> bool {
        self.violations().iter().any(|violation| violation.rule == rule)
    }

    /// Whether that note was taken.
    pub fn noted(&self, rule: &str) -> bool {
        self.report().notes.iter().any(|note| note.rule == rule)
    }

    /// The checks at the end of a run ([`Machine::finish`]); call it once, when the driver is done.
    pub fn finish(&self) {
        let inner = &mut *self.0.borrow_mut();
        inner.machine.finish(&mut inner.ram);
        inner.collect();
    }

    /// Lets that many nanoseconds pass.
    pub fn pass(&self, nanoseconds: u64) {
        let inner = &mut *self.0.borrow_mut();
        inner.advance(inner.machine.now() + nanoseconds);
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

    /// Writes bytes to memory like [`Board::peek`] reads them.
    pub fn poke(&self, address: u64, bytes: &[u8]) {
        self.0.borrow_mut().ram.poke(address, bytes);
    }

    /// Types bytes in at the console.
    pub fn type_in(&self, bytes: &[u8]) {
        self.0.borrow_mut().machine.type_in(bytes);
    }

    /// Pages of the pool that are in use, and of these the quarantined ones.
    pub fn pool_pages(&self) -> (usize, usize) {
        self.0.borrow().ram.pages()
    }

    /// Reads a register at a physical address, 4 or 8 bytes, like [`Window`] does.
    pub fn read(&self, address: u64, size: u8) -> u64 {
        self.0.borrow_mut().access(address, size, None)
    }

    /// Writes a register at a physical address, 4 or 8 bytes, like [`Window`] does.
    pub fn write(&self, address: u64, size: u8, value: u64) {
        self.0.borrow_mut().access(address, size, Some(value));
    }
}

/// One window of registers of a [`Board`].
#[derive(Clone, Debug)]
pub struct Window {
    board: Board,
    base: u64,
    size: u64,
}

impl Window {
    fn at(&self, offset: usize, size: u8) -> u64 {
        let offset = offset as u64;
        if offset + u64::from(size) > self.size {
            let inner = &mut *self.board.0.borrow_mut();
            let now = inner.machine.now();
            inner.machine.record().violation(
                now,
                "outside-window",
                format!("{:#x}+{offset:#x}", self.base),
                "no such register",
            );
        }
        self.base + offset
    }
}

impl Mmio for Window {
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

/// The DMA memory of a [`Board`].
#[derive(Clone, Debug)]
pub struct Pool {
    board: Board,
}

impl Pool {
    fn with<T>(&self, act: impl FnOnce(&mut Ram) -> T) -> T {
        let inner = &mut *self.board.0.borrow_mut();
        let value = act(&mut inner.ram);
        inner.collect();
        value
    }
}

impl DmaPool for Pool {
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        self.with(|ram| ram.reserve(size, alignment))
    }

    fn release(&self, address: u64, size: usize) {
        let held = self.board.0.borrow().machine.in_flight_pages();
        let inside = |page: u64| page >= address && page - address < size as u64;
        if let Some((page, tag)) = held.into_iter().find(|(page, _)| inside(*page)) {
            let inner = &mut *self.board.0.borrow_mut();
            let now = inner.machine.now();
            let detail = format!("the command of tag {tag} is still in flight");
            inner.machine.record().violation(now, "memory-freed-in-flight", format!("{page:#x}"), detail);
        }
        self.with(|ram| ram.release(address, size));
    }

    fn quarantine(&self, address: u64, size: usize) {
        self.with(|ram| ram.quarantine(address, size));
    }

    fn reclaim(&self) {
        self.with(Ram::reclaim);
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        self.with(|ram| ram.driver_reads(address, bytes));
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        self.with(|ram| ram.driver_writes(address, bytes));
    }

    fn read_word(&self, address: u64) -> u32 {
        let bytes = self.board.peek(address, 4);
        bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte))
    }

    fn publish(&self) {
        self.with(Ram::publish);
    }

    fn observe(&self) {
        self.with(Ram::observe);
    }
}

/// The time of a [`Board`]: it passes with register accesses and with [`Clock::relax`].
#[derive(Clone, Debug)]
pub struct VirtualClock {
    board: Board,
}

impl Clock for VirtualClock {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.board.0.borrow().machine.now())
    }

    /// Goes on to the next event, by at least 1 microsecond and at most 1 millisecond.
    fn relax(&self) {
        let inner = &mut *self.board.0.borrow_mut();
        let now = inner.machine.now();
        let next = inner.machine.next_event().unwrap_or(u64::MAX);
        inner.advance(next.clamp(now + RELAX_NS, now + LONGEST_RELAX_NS));
    }
}

/// The platform of a [`Board`].
#[derive(Clone, Copy, Debug)]
pub struct HostPlatform;

impl Platform for HostPlatform {
    type Window = Window;
    type Pool = Pool;
    type Clock = VirtualClock;
}
