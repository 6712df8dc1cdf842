//! A mailbox window, memory and a clock for tests, with a small firmware behind them that a test can bend.

mod client;
mod firmware;

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use hal::dma::pages::PageMap;
use hal::{Clock, DmaError, DmaPool, Instant, Mmio, Platform};
use rtkit::{Config, Coprocessor, Message};

pub(crate) use client::Owner;
pub(crate) use firmware::Firmware;

/// Where the board's memory starts unless a test moves it.
pub(crate) const MEMORY: u64 = 0x8_0000_0000;
const MEMORY_PAGES: usize = 512;

/// One look at a condition takes this long.
const RELAX: Duration = Duration::from_micros(200);

/// Names the board's parts for the driver.
pub(crate) enum OnBoard {}

impl Platform for OnBoard {
    type Window = Board;
    type Pool = Board;
    type Clock = Board;
}

/// The whole board; a handle that is cheap to clone and plays every part.
#[derive(Clone)]
pub(crate) struct Board(Rc<RefCell<State>>);

pub(crate) struct State {
    now: Duration,
    latched: Option<u64>,
    waiting: VecDeque<(Duration, Message)>,
    word_1: Option<u64>,
    full_until: Duration,
    base: u64,
    pages: PageMap<8>,
    memory: Vec<u8>,
    published: bool,
    observed: bool,
    pub(crate) firmware: Firmware,
    pub(crate) sent: Vec<Message>,
    pub(crate) accesses: usize,
}

impl Board {
    /// A board with that firmware. A cold one has said HELLO already.
    pub(crate) fn new(firmware: Firmware) -> Self {
        Self::with_memory_at(MEMORY, firmware)
    }

    /// A board whose memory lies elsewhere.
    pub(crate) fn with_memory_at(base: u64, firmware: Firmware) -> Self {
        let board = Self(Rc::new(RefCell::new(State {
            now: Duration::ZERO,
            latched: None,
            waiting: VecDeque::new(),
            word_1: None,
            full_until: Duration::ZERO,
            base,
            pages: PageMap::new(MEMORY_PAGES),
            memory: vec![0; MEMORY_PAGES * hal::DEVICE_PAGE],
            published: false,
            observed: true,
            firmware,
            sent: Vec::new(),
            accesses: 0,
        })));
        let hello = board.state().firmware.cold_start();
        board.say(hello);
        board
    }

    pub(crate) fn state(&self) -> std::cell::RefMut<'_, State> {
        self.0.borrow_mut()
    }

    /// A driver on this board.
    pub(crate) fn coprocessor(&self, config: Config) -> Coprocessor<OnBoard> {
        Coprocessor::new(self.clone(), self.clone(), config)
    }

    /// Lets the firmware say something, each message after its delay and behind those that wait.
    pub(crate) fn say(&self, messages: impl IntoIterator<Item = (Duration, Message)>) {
        let mut state = self.state();
        let now = state.now;
        state.waiting.extend(messages.into_iter().map(|(delay, message)| (now + delay, message)));
    }

    /// Keeps the FIFO to the coprocessor full for that long from now on.
    pub(crate) fn fill_for(&self, span: Duration) {
        let mut state = self.state();
        state.full_until = state.now + span;
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.state().now
    }

    pub(crate) fn sent(&self) -> Vec<Message> {
        self.state().sent.clone()
    }

    /// Pages that are neither free nor quarantined, and those that are quarantined.
    pub(crate) fn pages_in_use(&self) -> (usize, usize) {
        let state = self.state();
        let quarantined = state.pages.quarantined();
        (state.pages.used() - quarantined, quarantined)
    }

    /// The firmware's write into memory.
    pub(crate) fn poke(&self, address: u64, bytes: &[u8]) {
        let mut state = self.state();
        let start = (address - state.base) as usize;
        state.memory[start..start + bytes.len()].copy_from_slice(bytes);
    }
}

impl Mmio for Board {
    fn read32(&self, offset: usize) -> u32 {
        let mut state = self.state();
        state.accesses += 1;
        match offset {
            0x110 if state.now < state.full_until => 1 << 16,
            0x110 => 1 << 17,
            // Pointers and count are set as on hardware, so that only the flag may be looked at.
            0x114 => match state.waiting.front() {
                Some((due, _)) if *due <= state.now => 0x0010_0201,
                _ => 1 << 17,
            },
            _ => panic!("32-bit read at {offset:#x}"),
        }
    }

    fn read64(&self, offset: usize) -> u64 {
        let mut state = self.state();
        state.accesses += 1;
        match offset {
            0x830 => {
                let (_, message) = state.waiting.pop_front().expect("a read of an empty FIFO");
                // The counters that hardware puts above the endpoint.
                let word_1 = 0x0021_3100_0000_0000 | state.firmware.endpoint_word(message);
                let stale = state.word_1.replace(word_1);
                assert_eq!(stale, None, "word 0 read twice");
                state.observed = false;
                message.payload
            }
            0x838 => state.word_1.take().expect("word 1 read before word 0"),
            _ => panic!("64-bit read at {offset:#x}"),
        }
    }

    fn write32(&self, offset: usize, _: u32) {
        panic!("32-bit write at {offset:#x}");
    }

    fn write64(&self, offset: usize, value: u64) {
        let mut state = self.state();
        state.accesses += 1;
        match offset {
            0x800 => state.latched = Some(value),
            0x808 => {
                assert!(state.now >= state.full_until, "a message into a full FIFO");
                assert!(state.published, "a message before memory was published");
                let payload = state.latched.take().expect("word 1 written before word 0");
                let message = Message { endpoint: u8::try_from(value).unwrap(), payload };
                state.sent.push(message);
                state.published = false;
                let answers = state.firmware.hear(message);
                drop(state);
                self.say(answers);
            }
            _ => panic!("64-bit write at {offset:#x}"),
        }
    }
}

impl Clock for Board {
    fn now(&self) -> Instant {
        Instant::from_nanos(self.elapsed().as_nanos() as u64)
    }

    fn relax(&self) {
        self.state().now += RELAX;
    }
}

impl DmaPool for Board {
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        let mut state = self.state();
        let base = state.base;
        let offset = state.pages.take(base, size, alignment)?;
        state.memory[offset..offset + size].fill(0);
        Ok(base + offset as u64)
    }

    fn release(&self, address: u64, size: usize) {
        let mut state = self.state();
        let offset = (address - state.base) as usize;
        state.pages.give(offset, size);
    }

    fn quarantine(&self, address: u64, size: usize) {
        let mut state = self.state();
        let offset = (address - state.base) as usize;
        state.pages.quarantine(offset, size);
    }

    fn reclaim(&self) {
        self.state().pages.reclaim();
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        let state = self.state();
        assert!(state.observed, "memory read before it was observed");
        let start = (address - state.base) as usize;
        bytes.copy_from_slice(&state.memory[start..start + bytes.len()]);
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        self.poke(address, bytes);
    }

    fn read_word(&self, address: u64) -> u32 {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes);
        u32::from_le_bytes(bytes)
    }

    fn publish(&self) {
        self.state().published = true;
    }

    fn observe(&self) {
        self.state().observed = true;
    }
}
