//! What a board needs of a model.

use std::fmt;

use crate::memory::PhysicalMemory;
use crate::record::Record;

/// Where a block of registers is: its name, base address and size in bytes.
pub type Block = (&'static str, u64, u64);

/// The pages of Doorbell Buffer Config that a model has bound, as far as its memory has to know them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedPages {
    /// The host's page: tails of submission queues and heads of completion queues.
    pub shadow: u64,
    /// The device's page: event indices.
    pub events: u64,
    /// Bytes of either.
    pub size: u64,
    /// The submission rings whose entries lie in the page: offset of the entry, base of the ring, bytes of it.
    pub rings: Vec<(u64, u64, u64)>,
    /// Offsets of the entries of queues that exist: the host has to leave their event indices alone.
    pub live: Vec<u64>,
}

/// What can stand on a board: registers behind addresses, in model time.
pub trait Model: fmt::Debug {
    /// What it is made from.
    type Config;

    /// The model in the state in which the configuration wants it found, at time 0.
    fn new(config: Self::Config) -> Self;
    /// Model time, in nanoseconds.
    fn now(&self) -> u64;
    /// When the next event is due.
    fn next_event(&self) -> Option<u64>;
    /// Lets time pass up to `time_ns` and runs what falls due on the way.
    fn advance_to(&mut self, memory: &mut dyn PhysicalMemory, time_ns: u64);
    /// The CPU reads `size` bytes at `address`.
    ///
    /// # Errors
    /// Why the CPU takes an external abort.
    fn read(&mut self, memory: &mut dyn PhysicalMemory, address: u64, size: u8) -> Result<u64, String>;
    /// The CPU writes `size` bytes at `address`.
    ///
    /// # Errors
    /// Why the CPU takes an external abort.
    fn write(&mut self, memory: &mut dyn PhysicalMemory, address: u64, size: u8, value: u64) -> Result<(), String>;
    /// The checks at the end of a run.
    fn finish(&mut self, memory: &mut dyn PhysicalMemory);
    /// The block at that address.
    fn block(&self, address: u64) -> Option<Block>;
    /// The block of that name.
    fn named(&self, name: &str) -> Option<Block>;
    /// The pages that the device may still reach, each with the rule that freeing it breaks and why.
    fn held(&self) -> Vec<(u64, &'static str, String)>;
    /// The pages of shadow doorbells, while there are any.
    fn shared_pages(&self) -> Option<SharedPages>;
    /// Broken rules and notes.
    fn record(&self) -> &Record;
    /// The same, to be added to.
    fn record_mut(&mut self) -> &mut Record;
}
