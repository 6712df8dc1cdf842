//! The traits of `hal` on models: drivers run unchanged on the host, in virtual time.
//!
//! A [`Board`] is a [`Machine`] with memory at T8103's address; `sim::pcie` has one around a standard controller. Windows, pool
//! and clock are handles on it, so that one test can hold them all. Its memory checks what real memory does not tell: a device
//! that looks at bytes which were not published, a driver that reads what a device wrote without observing it, a device that
//! reaches freed memory, an event index that is read before its doorbell is stored for sure.

pub mod plain;

mod board;
mod intervals;
mod model;
mod ram;

use hal::Platform;

use crate::config::MachineConfig;
use crate::machine::{Machine, Report};
use crate::memory::PhysicalMemory;
use crate::record::Record;

pub use board::{Access, BoardOf, ClockOf, PoolOf, WindowOf};
pub use model::{Block, Model, SharedPages};
pub use ram::{POOL_BASE, POOL_SIZE, RAM_BASE, RAM_SIZE};

/// A machine with its memory. Cheap to clone: clones are the same board.
pub type Board = BoardOf<Machine>;
/// One window of registers of a [`Board`].
pub type Window = WindowOf<Machine>;
/// The DMA memory of a [`Board`].
pub type Pool = PoolOf<Machine>;
/// The time of a [`Board`].
pub type VirtualClock = ClockOf<Machine>;

impl Model for Machine {
    type Config = MachineConfig;

    fn new(config: MachineConfig) -> Self {
        Self::new(config)
    }

    fn now(&self) -> u64 {
        self.now()
    }

    fn next_event(&self) -> Option<u64> {
        self.next_event()
    }

    fn advance_to(&mut self, memory: &mut dyn PhysicalMemory, time_ns: u64) {
        self.advance_to(memory, time_ns);
    }

    fn read(&mut self, memory: &mut dyn PhysicalMemory, address: u64, size: u8) -> Result<u64, String> {
        self.read(memory, address, size).map_err(|fault| fault.to_string())
    }

    fn write(&mut self, memory: &mut dyn PhysicalMemory, address: u64, size: u8, value: u64) -> Result<(), String> {
        self.write(memory, address, size, value).map_err(|fault| fault.to_string())
    }

    fn finish(&mut self, memory: &mut dyn PhysicalMemory) {
        self.finish(memory);
    }

    fn block(&self, address: u64) -> Option<Block> {
        Self::windows().find(|(_, base, bytes)| address.wrapping_sub(*base) < *bytes)
    }

    fn named(&self, name: &str) -> Option<Block> {
        Self::windows().find(|(block, _, _)| *block == name)
    }

    fn held(&self) -> Vec<(u64, &'static str, String)> {
        let pages = self.in_flight_pages().into_iter();
        let why = |tag: u16| format!("the command of tag {tag} is still in flight");
        pages.map(|(page, tag)| (page, "memory-freed-in-flight", why(tag))).collect()
    }

    fn shared_pages(&self) -> Option<SharedPages> {
        None
    }

    fn record(&self) -> &Record {
        self.kept()
    }

    fn record_mut(&mut self) -> &mut Record {
        self.record()
    }
}

impl Board {
    /// What happened so far.
    pub fn report(&self) -> Report {
        self.0.borrow().model.report()
    }

    /// Types bytes in at the console.
    pub fn type_in(&self, bytes: &[u8]) {
        self.0.borrow_mut().model.type_in(bytes);
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
