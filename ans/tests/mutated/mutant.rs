//! A board between which and the driver one thing goes wrong: the driver above is the true one, and what reaches the models
//! is what a driver with that one mistake would do.

use std::cell::RefCell;
use std::rc::Rc;

use hal::{DmaError, DmaPool, Mmio, Platform};
use sim::facts::{apple, asc, sart};
use sim::host::{self, Board};

/// The one mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutation {
    /// No mistake.
    None,
    /// The doorbell of the second IO command is rung late: after the first one's invalidation, before the CQ head.
    DoorbellBeforeHead,
    /// CPU_CONTROL.RUN is not looked at: the coprocessor is taken for stopped.
    ResetWithoutLooking,
    /// The blocks of IO commands are not written.
    NoControlBlock,
    /// Both direction bits in the blocks of IO commands stand for the other.
    DirectionSwapped,
    /// The first window of the SART is not opened.
    WindowNotOpened,
    /// IO commands are not invalidated.
    NotInvalidated,
}

/// What the mistakes need to know of the accesses so far.
#[derive(Debug)]
struct State {
    mutation: Mutation,
    /// The IO queue's array of control blocks.
    blocks: u64,
    /// IO doorbells so far.
    rung: u32,
    /// The tag whose doorbell is held back.
    held: Option<u32>,
    /// Windows of the SART that were to be opened so far.
    opened: u32,
}

/// The board as the mutant's platform shows it.
#[derive(Clone)]
pub(crate) struct Mutant {
    board: Board,
    state: Rc<RefCell<State>>,
}

impl Mutant {
    pub(crate) fn new(board: &Board, mutation: Mutation) -> Self {
        let state = State { mutation, blocks: 0, rung: 0, held: None, opened: 0 };
        Self { board: board.clone(), state: Rc::new(RefCell::new(state)) }
    }

    pub(crate) fn window(&self, block: &'static str) -> Window {
        Window { inner: self.board.window(block), block, state: self.state.clone() }
    }

    pub(crate) fn pool(&self) -> Pool {
        Pool { inner: self.board.pool(), state: self.state.clone() }
    }
}

/// One window, with the mistake.
#[derive(Clone)]
pub(crate) struct Window {
    inner: host::Window,
    block: &'static str,
    state: Rc<RefCell<State>>,
}

impl Window {
    /// Follows a write to the controller; whether it is to be done at all.
    fn controller(&self, offset: u64, value: u32) -> bool {
        let state = &mut *self.state.borrow_mut();
        match offset {
            apple::NVMMU_IOSQ_TCB_BASE => state.blocks = u64::from(value),
            _ if offset == apple::NVMMU_IOSQ_TCB_BASE + 4 => state.blocks |= u64::from(value) << 32,
            apple::LINEAR_IOSQ_DB => {
                state.rung += 1;
                if state.mutation == Mutation::DoorbellBeforeHead && state.rung == 2 {
                    state.held = Some(value);
                    return false;
                }
            }
            apple::NVMMU_TCB_INVAL => {
                // The admin queue's two entries have the first tags.
                return state.mutation != Mutation::NotInvalidated || value < u32::from(apple::ADMIN_ENTRIES);
            }
            _ => {}
        }
        true
    }

    /// Follows a write to a CONFIG word of the SART; whether it is to be done.
    fn window_of_sart(&self, value: u32) -> bool {
        let state = &mut *self.state.borrow_mut();
        if sart::V2_FLAGS.of32(value) == 0 {
            return true;
        }
        state.opened += 1;
        state.mutation != Mutation::WindowNotOpened || state.opened != 1
    }
}

impl Mmio for Window {
    fn read32(&self, offset: usize) -> u32 {
        let value = self.inner.read32(offset);
        let blind = self.state.borrow().mutation == Mutation::ResetWithoutLooking;
        match (self.block, offset as u64) {
            ("asc", asc::CPU_CONTROL) if blind => value & !asc::RUN.mask32(),
            _ => value,
        }
    }

    fn write32(&self, offset: usize, value: u32) {
        let at = offset as u64;
        let done = match self.block {
            "nvme" => self.controller(at, value),
            "sart" if at < sart::PADDR => self.window_of_sart(value),
            _ => true,
        };
        if done {
            self.inner.write32(offset, value);
        }
        if (self.block, at) == ("nvme", apple::NVMMU_TCB_INVAL) {
            let held = self.state.borrow_mut().held.take();
            // The doorbell lies in the same window.
            let doorbell = usize::try_from(apple::LINEAR_IOSQ_DB).unwrap();
            held.into_iter().for_each(|tag| self.inner.write32(doorbell, tag));
        }
    }

    fn read64(&self, offset: usize) -> u64 {
        self.inner.read64(offset)
    }

    fn write64(&self, offset: usize, value: u64) {
        self.inner.write64(offset, value);
    }
}

/// The pool, with the mistake.
#[derive(Clone)]
pub(crate) struct Pool {
    inner: host::Pool,
    state: Rc<RefCell<State>>,
}

impl DmaPool for Pool {
    fn reserve(&self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        self.inner.reserve(size, alignment)
    }

    fn release(&self, address: u64, size: usize) {
        self.inner.release(address, size);
    }

    fn quarantine(&self, address: u64, size: usize) {
        self.inner.quarantine(address, size);
    }

    fn reclaim(&self) {
        self.inner.reclaim();
    }

    fn read(&self, address: u64, bytes: &mut [u8]) {
        self.inner.read(address, bytes);
    }

    fn write(&self, address: u64, bytes: &[u8]) {
        let (mutation, blocks) = (self.state.borrow().mutation, self.state.borrow().blocks);
        let array = apple::TCB_BYTES as u64 * u64::from(apple::TAGS);
        if !(blocks..blocks + array).contains(&address) {
            return self.inner.write(address, bytes);
        }
        match mutation {
            Mutation::NoControlBlock => {}
            Mutation::DirectionSwapped => {
                let mut block = bytes.to_vec();
                if let Some(flags) = block.get_mut(apple::TCB_FLAGS) {
                    *flags ^= apple::DMA_FROM_DEVICE | apple::DMA_TO_DEVICE;
                }
                self.inner.write(address, &block);
            }
            _ => self.inner.write(address, bytes),
        }
    }

    fn read_word(&self, address: u64) -> u32 {
        self.inner.read_word(address)
    }

    fn publish(&self) {
        self.inner.publish();
    }

    fn observe(&self) {
        self.inner.observe();
    }
}

/// The platform of a [`Mutant`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct MutantPlatform;

impl Platform for MutantPlatform {
    type Window = Window;
    type Pool = Pool;
    type Clock = host::VirtualClock;
}
