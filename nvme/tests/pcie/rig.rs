//! The board with a driver on it, and a tap on its registers: which admin commands went by, and what their answers say.

use std::cell::RefCell;
use std::rc::Rc;

use hal::{Mmio, Platform};
use nvme::transport::pcie::{PcieConfig, PcieTransport};
use nvme::{
    Access, Buffer, Completion, Config, Controller, Failure, Operation, Request, ShadowDoorbells, Stage, Ticket,
};
use sim::pcie::{Board, Clock, ControllerConfig, Pool};

pub(crate) const ADMIN_TAIL: usize = 0x1000;
/// For a doorbell stride of 4 bytes.
pub(crate) const ADMIN_HEAD: usize = 0x1004;
pub(crate) const IO_HEAD: usize = 0x100c;

/// The platform: the model's, behind the tap.
pub(crate) struct Host;

impl Platform for Host {
    type Window = Tapped;
    type Pool = Pool;
    type Clock = Clock;
}

pub(crate) type Driver = Controller<Host, PcieTransport<Host>>;

/// An admin command as it was rung for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) opcode: u8,
    pub(crate) namespace: u32,
    pub(crate) prp1: u64,
    pub(crate) prp2: u64,
    pub(crate) tenth: u32,
}

type Meddle = Box<dyn FnMut(&Board, Seen)>;
type Rewrite = Box<dyn FnMut(&mut [u8])>;
type OnWrite = Box<dyn FnMut(&Board, usize, u32)>;

#[derive(Default)]
pub(crate) struct Tap {
    base: u64,
    tail: u16,
    entries: u16,
    /// Every admin command so far, without asynchronous event requests.
    pub(crate) commands: Vec<Seen>,
    answered: usize,
    /// Called for each entry of a command before the device sees it.
    pub(crate) rewrite: Option<Rewrite>,
    /// Called for each command once its answer has come and before the driver looks at its data.
    pub(crate) meddle: Option<Meddle>,
    /// Called after each write of a register.
    pub(crate) on_write: Option<OnWrite>,
}

/// Registers, with the tap on them.
#[derive(Clone)]
pub(crate) struct Tapped {
    inner: sim::pcie::Window,
    board: Board,
    tap: Rc<RefCell<Tap>>,
}

impl Tapped {
    fn note(&self, offset: usize, value: u32) {
        let tap = &mut *self.tap.borrow_mut();
        match offset {
            0x24 => tap.entries = (value & 0xfff) as u16 + 1,
            0x28 => (tap.base, tap.tail) = (tap.base & !0xffff_ffff | u64::from(value), 0),
            0x2c => tap.base = tap.base & 0xffff_ffff | u64::from(value) << 32,
            ADMIN_TAIL => {
                while u32::from(tap.tail) != value {
                    let place = tap.base + u64::from(tap.tail) * 64;
                    let mut entry = self.board.peek(place, 64);
                    if let Some(rewrite) = &mut tap.rewrite {
                        rewrite(&mut entry);
                        self.board.poke(place, &entry);
                    }
                    let word = |at: usize| u32::from_le_bytes(entry[at..at + 4].try_into().unwrap());
                    let double = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
                    if entry[0] != 0x0c {
                        tap.commands.push(Seen {
                            opcode: entry[0],
                            namespace: word(4),
                            prp1: double(24),
                            prp2: double(32),
                            tenth: word(40),
                        });
                    }
                    tap.tail = (tap.tail + 1) % tap.entries;
                }
            }
            ADMIN_HEAD => {
                if let Some(last) = tap.commands.last().copied()
                    && tap.answered < tap.commands.len()
                {
                    tap.answered = tap.commands.len();
                    if let Some(meddle) = &mut tap.meddle {
                        meddle(&self.board, last);
                    }
                }
            }
            _ => {}
        }
    }
}

impl Mmio for Tapped {
    fn read32(&self, offset: usize) -> u32 {
        self.inner.read32(offset)
    }

    fn write32(&self, offset: usize, value: u32) {
        self.note(offset, value);
        self.inner.write32(offset, value);
        let hook = self.tap.borrow_mut().on_write.take();
        if let Some(mut hook) = hook {
            hook(&self.board, offset, value);
            self.tap.borrow_mut().on_write.get_or_insert(hook);
        }
    }

    fn read64(&self, offset: usize) -> u64 {
        self.inner.read64(offset)
    }

    fn write64(&self, offset: usize, value: u64) {
        self.inner.write64(offset, value);
    }
}

pub(crate) struct Rig {
    pub(crate) board: Board,
    pub(crate) tap: Rc<RefCell<Tap>>,
}

impl Rig {
    pub(crate) fn new(config: ControllerConfig) -> Self {
        Self { board: Board::new(config), tap: Rc::default() }
    }

    pub(crate) fn window(&self) -> Tapped {
        Tapped { inner: self.board.bar(), board: self.board.clone(), tap: Rc::clone(&self.tap) }
    }

    pub(crate) fn try_enable(
        &self,
        config: Config,
        shadow: ShadowDoorbells,
        observe: &mut dyn FnMut(Stage),
    ) -> Result<Driver, Failure<Host>> {
        let (pool, clock) = (self.board.pool(), self.board.clock());
        Controller::enable(self.window(), pool, clock, config, PcieConfig::new(shadow), observe)
    }

    #[track_caller]
    pub(crate) fn enable(&self, config: Config, shadow: ShadowDoorbells) -> Driver {
        self.try_enable(config, shadow, &mut |_| ()).unwrap()
    }

    /// Shuts down, and asserts that nothing is left and no rule was broken.
    #[track_caller]
    pub(crate) fn down(&self, driver: Driver) {
        driver.shutdown().unwrap();
        self.nothing_left();
        self.board.finish();
        self.clean();
    }

    /// Asserts that all memory is back and the controller is disabled.
    #[track_caller]
    pub(crate) fn nothing_left(&self) {
        assert_eq!(self.board.pool_pages(), (0, 0));
        let bar = self.board.bar();
        assert_eq!((bar.read32(0x14) & 1, bar.read32(0x1c) & 1), (0, 0));
    }

    #[track_caller]
    pub(crate) fn clean(&self) {
        let violations = self.board.violations();
        assert!(violations.is_empty(), "{violations:#?}");
    }

    /// Commands of that name that the model ran.
    pub(crate) fn ran(&self, name: &str) -> u64 {
        self.board.counters().commands.get(name).copied().unwrap_or(0)
    }

    /// Every command that the model has seen.
    pub(crate) fn ran_all(&self) -> u64 {
        self.board.counters().commands.values().sum()
    }

    /// The last admin command of that opcode.
    pub(crate) fn last(&self, opcode: u8) -> Seen {
        *self.tap.borrow().commands.iter().rfind(|seen| seen.opcode == opcode).unwrap()
    }
}

/// A rig with a driver that is up by default settings, with that order of doorbell buffers.
pub(crate) fn up(config: ControllerConfig, shadow: ShadowDoorbells) -> (Rig, Driver) {
    let rig = Rig::new(config);
    let driver = rig.enable(Config::default(), shadow);
    (rig, driver)
}

/// The default settings, changed.
pub(crate) fn settings(change: impl FnOnce(&mut Config)) -> Config {
    let mut config = Config::default();
    change(&mut config);
    config
}

/// Settings with waits that are over soon.
pub(crate) fn impatient() -> Config {
    settings(|config| {
        config.io = std::time::Duration::from_millis(400);
        config.flush = std::time::Duration::from_millis(500);
        config.admin = std::time::Duration::from_millis(300);
        config.abort = std::time::Duration::from_millis(200);
        config.shutdown = std::time::Duration::from_millis(200);
    })
}

pub(crate) fn arm(driver: &mut Driver, namespace: u32) {
    let blocks = driver.namespace(namespace).unwrap().blocks;
    driver.set_access(namespace, Access::ReadWrite { first: 0, blocks }).unwrap();
}

/// Bytes that differ by place and seed.
pub(crate) fn pattern(seed: u64, length: usize) -> Vec<u8> {
    let mut random = Random(seed | 1);
    (0..length.div_ceil(8)).flat_map(|_| random.next().to_le_bytes()).take(length).collect()
}

pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }
}

pub(crate) fn buffer(driver: &Driver, bytes: usize) -> Buffer<Pool> {
    Buffer::new(driver.pool(), bytes).unwrap()
}

/// A read of one block of namespace 1 into a buffer of its own.
pub(crate) fn read_block(driver: &Driver, lba: u64) -> Request<Pool> {
    let bytes = driver.namespace(1).unwrap().block_size() as usize;
    Request { namespace: 1, operation: Operation::Read { lba, count: 1 }, buffer: Some(buffer(driver, bytes)) }
}

#[track_caller]
pub(crate) fn submit(driver: &mut Driver, lba: u64) -> Ticket {
    let request = read_block(driver, lba);
    driver.submit(request).unwrap()
}

/// Waits for the end of one command, by polling.
#[track_caller]
pub(crate) fn poll(driver: &mut Driver, board: &Board) -> Completion<Pool> {
    for _ in 0..2_000_000 {
        if let Some(completion) = driver.poll() {
            return completion;
        }
        board.pass(2_000);
    }
    panic!("no completion in four seconds of model time");
}

/// Reads `count` random blocks of pair `index` with `depth` commands in flight, and asserts that each ends well.
#[track_caller]
pub(crate) fn stream(driver: &mut Driver, index: u16, count: u32, depth: u32, seed: u64) {
    let mut random = Random(seed | 1);
    let (mut sent, mut ended) = (0, 0);
    while ended < count {
        while sent < count && sent - ended < depth {
            let request = read_block(driver, random.below(1000));
            driver.submit_on(index, request).unwrap();
            sent += 1;
        }
        let completion = driver.wait().unwrap();
        completion.result.unwrap();
        assert_eq!(completion.ticket.queue_pair(), index);
        ended += 1;
    }
}
