//! A controller with Apple's linear queues, its memory and its clock.

mod device;
mod memory;

use core::fmt;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use hal::dma::pages::PageMap;
use hal::{Clock, Instant, Mmio, Platform};
use nvme::transport::apple::{AppleConfig, AppleTransport};
use nvme::{Config, Controller, Failure, Stage};

pub(crate) const RAM: u64 = 0x8_0000_0000;
pub(crate) const RAM_PAGES: usize = 16 << 8;

/// What the device does with a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// Does it.
    Do,
    /// Refuses it with the status half-word, phase bit 0.
    Status(u16),
    /// Never answers.
    Swallow,
    /// Does it after so many nanoseconds.
    After(u64),
    /// Does it, but names another command in the completion.
    Identifier(u16),
    /// Does it and tells of it twice.
    Twice,
    /// Does it, and fails the invalidation after it.
    KeepTranslation,
}

/// A command as it was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) io: bool,
    pub(crate) tag: u32,
    pub(crate) opcode: u8,
    pub(crate) identifier: u16,
    pub(crate) namespace: u32,
    pub(crate) prp1: u64,
    pub(crate) prp2: u64,
    pub(crate) dwords: [u32; 6],
}

pub(crate) struct NamespaceModel {
    pub(crate) block_size: usize,
    pub(crate) size: u64,
    pub(crate) capacity: u64,
    pub(crate) used: u64,
    pub(crate) metadata: u16,
    pub(crate) shift: Option<u8>,
    pub(crate) content: BTreeMap<u64, Vec<u8>>,
}

impl NamespaceModel {
    pub(crate) fn new(block_size: usize, size: u64) -> Self {
        Self { block_size, size, capacity: size, used: 0, metadata: 0, shift: None, content: BTreeMap::new() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read(usize, u32),
    Write(usize, u32),
}

pub(crate) struct Queue {
    pub(crate) submission: u64,
    pub(crate) completion: u64,
    pub(crate) entries: u16,
    pub(crate) tail: u16,
    pub(crate) phase: bool,
    pub(crate) host_head: u16,
}

pub(crate) struct Machine {
    // The memory.
    pub(crate) ram: Vec<u8>,
    pub(crate) pages: PageMap<64>,
    pub(crate) unpublished: bool,
    pub(crate) unobserved: bool,
    // The clock.
    pub(crate) now: u64,
    pub(crate) events: BTreeMap<(u64, u64), device::Event>,
    pub(crate) order: u64,
    // The record.
    pub(crate) log: Vec<Access>,
    pub(crate) violations: Vec<String>,
    pub(crate) commands: Vec<Fetched>,
    pub(crate) words_read: u64,
    // The registers.
    pub(crate) registers: BTreeMap<usize, u32>,
    pub(crate) status: u32,
    pub(crate) gone: bool,
    // What the device is.
    pub(crate) most_entries: u16,
    pub(crate) time_out: u8,
    pub(crate) mdts: u8,
    pub(crate) version: u32,
    pub(crate) reported_namespaces: Option<u32>,
    pub(crate) ready_after: Option<u64>,
    pub(crate) shutdown_after: Option<u64>,
    pub(crate) latency: u64,
    pub(crate) fatal_at_enable: bool,
    pub(crate) namespaces: BTreeMap<u32, NamespaceModel>,
    pub(crate) answer: Box<dyn FnMut(&Fetched) -> Answer>,
    // Its queues.
    pub(crate) admin: Option<Queue>,
    pub(crate) io_completion: Option<Queue>,
    pub(crate) io_submission: Option<u64>,
    pub(crate) armed: BTreeSet<u32>,
    pub(crate) keep: BTreeSet<u32>,
    pub(crate) open_batch: bool,
}

#[derive(Clone)]
pub(crate) struct Board(pub(crate) Rc<RefCell<Machine>>);

pub(crate) struct Fake;

impl Platform for Fake {
    type Window = Board;
    type Pool = Board;
    type Clock = Board;
}

pub(crate) type Nvme = Controller<Fake, AppleTransport<Fake>>;

impl Board {
    pub(crate) fn new() -> Self {
        Self(Rc::new(RefCell::new(Machine {
            ram: vec![0; RAM_PAGES * 4096],
            pages: PageMap::new(RAM_PAGES),
            unpublished: false,
            unobserved: false,
            now: 1_000,
            events: BTreeMap::new(),
            order: 0,
            log: Vec::new(),
            violations: Vec::new(),
            commands: Vec::new(),
            words_read: 0,
            registers: BTreeMap::from([(0x24008, 0x800), (0x28120, 0)]),
            status: 0,
            gone: false,
            most_entries: 63,
            time_out: 20,
            mdts: 8,
            version: 0x0001_0100,
            reported_namespaces: None,
            ready_after: Some(2_000_000),
            shutdown_after: Some(10_000_000),
            latency: 80_000,
            fatal_at_enable: false,
            namespaces: BTreeMap::from([(1, NamespaceModel::new(4096, 4096)), (3, NamespaceModel::new(512, 1000))]),
            answer: Box::new(|_| Answer::Do),
            admin: None,
            io_completion: None,
            io_submission: None,
            armed: BTreeSet::new(),
            keep: BTreeSet::new(),
            open_batch: false,
        })))
    }

    /// Changes the machine before or between the driver's steps.
    pub(crate) fn with<R>(&self, change: impl FnOnce(&mut Machine) -> R) -> R {
        change(&mut self.0.borrow_mut())
    }

    pub(crate) fn answer(&self, answer: impl FnMut(&Fetched) -> Answer + 'static) {
        self.with(|machine| machine.answer = Box::new(answer));
    }

    pub(crate) fn try_enable(&self, config: Config) -> Result<Nvme, Failure<Fake>> {
        self.observe_enable(config, &mut |_| ())
    }

    pub(crate) fn observe_enable(&self, config: Config, observe: &mut dyn FnMut(Stage)) -> Result<Nvme, Failure<Fake>> {
        Nvme::enable(self.clone(), self.clone(), self.clone(), config, AppleConfig::default(), observe)
    }

    pub(crate) fn enable(&self) -> Nvme {
        self.try_enable(Config::default()).unwrap()
    }

    pub(crate) fn used_pages(&self) -> usize {
        self.with(|machine| machine.pages.used())
    }

    pub(crate) fn take_log(&self) -> Vec<Access> {
        self.with(|machine| core::mem::take(&mut machine.log))
    }

    pub(crate) fn opcodes(&self) -> Vec<(bool, u8)> {
        self.with(|machine| machine.commands.iter().map(|command| (command.io, command.opcode)).collect())
    }

    /// The end of a good run: no rule broken.
    pub(crate) fn assert_clean(&self) {
        self.with(|machine| assert_eq!(machine.violations, Vec::<String>::new()));
    }

    /// The end of a run after which nothing is left: no rule broken, the controller disabled, all memory free.
    pub(crate) fn assert_as_found(&self) {
        self.assert_clean();
        self.with(|machine| {
            assert_eq!(machine.registers.get(&0x14).copied().unwrap_or(0) & 1, 0, "CC.EN is left set");
            assert_eq!((machine.pages.used(), machine.pages.quarantined()), (0, 0), "pages used and quarantined");
        });
    }
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Board")
    }
}

impl Mmio for Board {
    fn read32(&self, offset: usize) -> u32 {
        self.with(|machine| {
            let value = machine.read(offset);
            machine.log.push(Access::Read(offset, value));
            value
        })
    }

    fn write32(&self, offset: usize, value: u32) {
        self.with(|machine| {
            machine.log.push(Access::Write(offset, value));
            machine.write(offset, value);
        });
    }

    fn read64(&self, offset: usize) -> u64 {
        self.with(|machine| machine.violations.push(format!("64-bit read at {offset:#x}")));
        0
    }

    fn write64(&self, offset: usize, _: u64) {
        self.with(|machine| machine.violations.push(format!("64-bit write at {offset:#x}")));
    }
}

impl Clock for Board {
    fn now(&self) -> Instant {
        self.with(|machine| Instant::from_nanos(machine.now))
    }

    fn relax(&self) {
        self.with(|machine| {
            let next = machine.events.keys().next().map_or(u64::MAX, |key| key.0);
            let to = next.min(machine.now + 10_000_000).max(machine.now + 1);
            machine.advance(to);
        });
    }
}
