//! A plain driver: the shortest sequence of register accesses by number that brings ANS up, reads, and puts it down again.
//!
//! It is the baseline of the model's own tests: a test changes one thing in its [`Plan`] or leaves one step out, and the
//! model has to accept or to catch that. It shares nothing with the real drivers and wants nothing from them.

mod queues;

use std::collections::BTreeMap;

use hal::{Clock, DmaPool};

use super::{Board, POOL_BASE, Pool};

pub use queues::{ADMIN, Completion, IO, Queue, entry, tcb};

/// Block addresses of T8103.
pub const PMGR: u64 = 0x2_3b70_0000;
/// The coprocessor's CPU control.
pub const ASC: u64 = 0x2_7740_0000;
/// The mailbox.
pub const MAILBOX: u64 = 0x2_7740_8000;
/// The DMA filter.
pub const SART: u64 = 0x2_7bc5_0000;
/// The NVMe block.
pub const NVME: u64 = 0x2_7bcc_0000;
/// Offset of ans2's power word.
pub const ANS2: u64 = 0x3f0;
/// Offset of apcie_st's power word.
pub const APCIE_ST: u64 = 0x418;

/// When a buffer is opened in the SART.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// Before the reply that names it, as it must be.
    Before,
    /// After it.
    After,
    /// Not at all.
    Never,
}

/// What the driver does where drivers differ, and where a broken one goes wrong.
#[derive(Clone, Debug)]
pub struct Plan {
    /// SET_IOP value sent right after RUN, or to wake; none to wait for HELLO silently.
    pub wake: Option<u64>,
    /// Endpoints to start, in order.
    pub endpoints: Vec<u8>,
    /// Whether buffer requests are answered.
    pub answer_buffers: bool,
    /// When the buffers are opened.
    pub open: Open,
    /// Pages by which the SART entry is smaller than the buffer.
    pub short_pages: u64,
    /// The address of every buffer, in place of pool memory.
    pub buffer_address: Option<u64>,
    /// First SART entry to use.
    pub first_entry: u64,
    /// The SART's version, 2 or 3.
    pub sart_version: u8,
    /// Whether syslog lines are echoed.
    pub echo_syslog: bool,
    /// Whether ioreport messages are echoed.
    pub echo_ioreport: bool,
    /// The answer to oslog's request: its type, 3 or 1; none for silence.
    pub oslog: Option<u64>,
    /// Whether the AP's power state is raised after the boot.
    pub raise_ap: bool,
    /// Whether it is quiesced before the sleep.
    pub quiesce_ap: bool,
    /// How long each step is waited for, in nanoseconds.
    pub patience: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            wake: None,
            endpoints: vec![1, 2, 3, 4, 8],
            answer_buffers: true,
            open: Open::Before,
            short_pages: 0,
            buffer_address: None,
            first_entry: 2,
            sart_version: 2,
            echo_syslog: true,
            echo_ioreport: true,
            oslog: None,
            raise_ap: true,
            quiesce_ap: true,
            patience: 3_000_000_000,
        }
    }
}

/// The driver's step that did not come to its end, with what it saw.
pub type Failure = String;

/// The driver on its board.
#[derive(Debug)]
pub struct Plain {
    /// The board.
    pub board: Board,
    /// What it does.
    pub plan: Plan,
    /// Memory for queues and data.
    pub pool: Pool,
    entries: BTreeMap<u64, (u64, u64)>,
    /// Messages seen, endpoint and payload.
    pub seen: Vec<(u64, u64)>,
    pub(super) queues: Vec<Queue>,
}

impl Plain {
    /// A driver for that board.
    pub fn new(board: &Board, plan: Plan) -> Self {
        let (board, pool) = (board.clone(), board.pool());
        Self { board, plan, pool, entries: BTreeMap::new(), seen: Vec::new(), queues: Vec::new() }
    }

    /// Reads a 32-bit register.
    pub fn read(&self, block: u64, offset: u64) -> u64 {
        self.board.read(block + offset, 4)
    }

    /// Writes a 32-bit register.
    pub fn write(&self, block: u64, offset: u64, value: u64) {
        self.board.write(block + offset, 4, value);
    }

    /// Waits until `done`, for as long as the plan allows.
    ///
    /// # Errors
    /// The name of what did not come.
    pub fn wait<T>(&mut self, what: &str, mut done: impl FnMut(&mut Self) -> Option<T>) -> Result<T, Failure> {
        let clock = self.board.clock();
        let end = clock.now().as_nanos() + self.plan.patience;
        loop {
            if let Some(value) = done(self) {
                return Ok(value);
            }
            if clock.now().as_nanos() > end {
                return Err(format!("{what} did not come"));
            }
            clock.relax();
        }
    }

    /// Sets a power domain's target and waits for it.
    ///
    /// # Errors
    /// The domain did not follow.
    pub fn power(&mut self, domain: u64, target: u64) -> Result<(), Failure> {
        let word = self.read(PMGR, domain);
        self.write(PMGR, domain, word & !0x1000_030f | target);
        self.wait("power state", |this| (this.read(PMGR, domain) >> 4 & 0xf == target).then_some(()))
    }

    /// Pulses the reset of ans2.
    pub fn reset(&self) {
        let word = self.read(PMGR, ANS2) & !0x300;
        for bits in [1 << 10, 1 << 31 | 1 << 10, 1 << 10, 0] {
            self.write(PMGR, ANS2, word | bits);
            self.board.pass(2_000);
        }
    }

    /// Sets or clears RUN.
    pub fn run(&self, run: bool) {
        self.write(ASC, 0x44, if run { 0x10 } else { 0 });
    }

    /// Sends a mailbox message.
    ///
    /// # Errors
    /// The mailbox stayed full.
    pub fn send(&mut self, endpoint: u64, payload: u64) -> Result<(), Failure> {
        self.wait("room in the mailbox", |this| (this.read(MAILBOX, 0x110) >> 16 & 1 == 0).then_some(()))?;
        self.pool.publish();
        self.board.write(MAILBOX + 0x800, 8, payload);
        self.board.write(MAILBOX + 0x808, 8, endpoint);
        Ok(())
    }

    /// Takes a mailbox message, if there is one.
    pub fn receive(&mut self) -> Option<(u64, u64)> {
        if self.read(MAILBOX, 0x114) >> 17 & 1 != 0 {
            return None;
        }
        let payload = self.board.read(MAILBOX + 0x830, 8);
        let endpoint = self.board.read(MAILBOX + 0x838, 8) & 0xff;
        self.pool.observe();
        self.seen.push((endpoint, payload));
        Some((endpoint, payload))
    }

    /// Domains on, reset, RUN: a cold start.
    ///
    /// # Errors
    /// A domain did not follow.
    pub fn start(&mut self) -> Result<(), Failure> {
        self.power(ANS2, 0xf)?;
        self.power(APCIE_ST, 0xf)?;
        self.reset();
        self.run(true);
        Ok(())
    }

    /// From RUN (or a wake) to the AP's power acknowledgement and the right BOOT_STATUS.
    ///
    /// # Errors
    /// The step that did not come to its end.
    pub fn boot(&mut self) -> Result<(), Failure> {
        if let Some(value) = self.plan.wake {
            self.send(0, 0x6 << 52 | value)?;
        }
        self.until("power acknowledgement", |message| message == (0, 0x7 << 52 | 0x20))?;
        if self.plan.raise_ap {
            self.send(0, 0xb << 52 | 0x20)?;
            self.until("AP acknowledgement", |message| message == (0, 0xb << 52 | 0x20))?;
        }
        self.wait("BOOT_STATUS", |this| (this.read(NVME, 0x1300) == 0xde71_ce55).then_some(()))
    }

    /// Serves messages until one is as wanted.
    ///
    /// # Errors
    /// It did not come, or the firmware crashed.
    pub fn until(&mut self, what: &str, wanted: impl Fn((u64, u64)) -> bool) -> Result<(), Failure> {
        let end = self.board.clock().now().as_nanos() + self.plan.patience;
        while self.board.clock().now().as_nanos() < end {
            let message = self.wait(what, Self::receive)?;
            if wanted(message) {
                return Ok(());
            }
            self.serve(message)?;
        }
        Err(format!("{what} did not come among other messages"))
    }

    /// Serves what waits.
    ///
    /// # Errors
    /// As [`Plain::until`].
    pub fn poll(&mut self) -> Result<(), Failure> {
        while let Some(message) = self.receive() {
            self.serve(message)?;
        }
        Ok(())
    }

    fn serve(&mut self, (endpoint, payload): (u64, u64)) -> Result<(), Failure> {
        match (endpoint, payload >> 52 & 0xff) {
            (0, 0x1) => self.send(0, 0x2 << 52 | 12 << 16 | 12),
            (0, 0x8) => self.map(payload),
            (8, _) => self.oslog(payload),
            (1 | 2 | 4, 0x1) if payload & ((1 << 44) - 1) == 0 && !self.granted(endpoint) => {
                self.grant(endpoint, payload)
            }
            (1, 0x1) => Err("the coprocessor crashed".into()),
            (2, 0x5) if self.plan.echo_syslog => self.send(endpoint, payload),
            (4, 0x8 | 0xc) if self.plan.echo_ioreport => self.send(endpoint, payload),
            _ => Ok(()),
        }
    }

    fn map(&mut self, page: u64) -> Result<(), Failure> {
        let last = page & 1 << 51;
        self.send(0, 0x8 << 52 | page & 7 << 32 | last | u64::from(last == 0))?;
        if last != 0 {
            for endpoint in self.plan.endpoints.clone() {
                self.send(0, 0x5 << 52 | u64::from(endpoint) << 32 | 2)?;
            }
        }
        Ok(())
    }

    fn granted(&self, endpoint: u64) -> bool {
        self.entries.contains_key(&endpoint)
    }

    fn grant(&mut self, endpoint: u64, request: u64) -> Result<(), Failure> {
        if !self.plan.answer_buffers {
            return Ok(());
        }
        let pages = request >> 44 & 0xff;
        let address = match self.plan.buffer_address {
            Some(address) => address,
            None => self.memory(pages * 4096)?,
        };
        let open = self.plan.open;
        if open == Open::Before {
            self.open(endpoint, address, pages);
        }
        self.send(endpoint, request & !((1 << 44) - 1) | address)?;
        if open == Open::After {
            self.open(endpoint, address, pages);
        }
        Ok(())
    }

    fn oslog(&mut self, request: u64) -> Result<(), Failure> {
        match self.plan.oslog {
            Some(1) => {
                let address = self.memory(0x4000)?;
                self.open(8, address, 4);
                self.send(8, request & !0xf_ffff_ffff | address >> 12)
            }
            Some(kind) => self.send(8, kind << 56),
            None => Ok(()),
        }
    }

    fn open(&mut self, endpoint: u64, address: u64, pages: u64) {
        let index = self.plan.first_entry + self.entries.len() as u64;
        let pages = pages.saturating_sub(self.plan.short_pages);
        self.write(SART, 0x40 + index * 4, address >> 12);
        if self.plan.sart_version == 2 {
            self.write(SART, index * 4, 0xff << 24 | pages);
        } else {
            self.write(SART, 0x80 + index * 4, pages);
            self.write(SART, index * 4, 0xff);
        }
        self.entries.insert(endpoint, (index, address));
    }

    /// Zeroed memory out of the pool, which stays taken.
    ///
    /// # Errors
    /// The pool is empty.
    pub fn memory(&self, bytes: u64) -> Result<u64, Failure> {
        let size = usize::try_from(bytes).unwrap_or(usize::MAX);
        let address = self.pool.reserve(size, 4096).map_err(|error| error.to_string())?;
        Ok(address.max(POOL_BASE))
    }

    /// The sleep handshake, then RUN clear.
    ///
    /// # Errors
    /// An acknowledgement did not come.
    pub fn sleep(&mut self) -> Result<(), Failure> {
        if self.plan.quiesce_ap {
            self.send(0, 0xb << 52 | 0x10)?;
            self.until("AP acknowledgement", |message| message == (0, 0xb << 52 | 0x10))?;
        }
        self.send(0, 0x6 << 52 | 0x1)?;
        self.until("sleep acknowledgement", |message| message == (0, 0x7 << 52 | 0x1))?;
        self.run(false);
        Ok(())
    }

    /// Removes the SART entries.
    pub fn close(&mut self) {
        for (index, _) in std::mem::take(&mut self.entries).into_values() {
            self.write(SART, 0x40 + index * 4, 0);
            if self.plan.sart_version != 2 {
                self.write(SART, 0x80 + index * 4, 0);
            }
            self.write(SART, index * 4, 0);
        }
    }

    /// Everything after the controller: sleep, SART, domains, and the model's checks at the end.
    ///
    /// # Errors
    /// A step did not come to its end.
    pub fn put_down(&mut self) -> Result<(), Failure> {
        self.sleep()?;
        self.close();
        self.power(APCIE_ST, 0)?;
        self.power(ANS2, 0)?;
        self.board.finish();
        Ok(())
    }

    /// The whole way up: start, boot, controller with its IO queue.
    ///
    /// # Errors
    /// The step that did not come to its end.
    pub fn up(&mut self) -> Result<(), Failure> {
        self.start()?;
        self.boot()?;
        self.enable(64, 64)
    }

    /// The whole way down, with the model's checks at the end.
    ///
    /// # Errors
    /// The step that did not come to its end.
    pub fn down(&mut self) -> Result<(), Failure> {
        self.disable()?;
        self.put_down()
    }
}
