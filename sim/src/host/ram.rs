//! The memory of a board, with a pool in its upper half, and the checks on who may see what when.

use hal::DmaError;
use hal::dma::pages::PageMap;

use super::intervals::Intervals;
use crate::memory::{MemoryFault, PhysicalMemory};

/// Where the board's memory starts.
pub const RAM_BASE: u64 = 0x8_0000_0000;
/// Its size in bytes.
pub const RAM_SIZE: usize = 128 << 20;
/// Where the pool starts.
pub const POOL_BASE: u64 = RAM_BASE + (RAM_SIZE - POOL_SIZE) as u64;
/// The pool's size in bytes.
pub const POOL_SIZE: usize = 64 << 20;

const POOL_WORDS: usize = POOL_SIZE / 4096 / 64;

/// A rule broken in memory: its name, the place, what was seen.
type Seen = (&'static str, String, String);

#[derive(Debug)]
pub(crate) struct Ram {
    bytes: Vec<u8>,
    pages: PageMap<POOL_WORDS>,
    /// Pool memory that is handed out.
    reserved: Intervals,
    free: Intervals,
    /// Written by the driver since it last published.
    unpublished: Intervals,
    /// Written by a device since the driver last observed.
    unobserved: Intervals,
    /// Shadow doorbells that the driver stored since its last full barrier.
    unordered: Intervals,
    seen: Vec<Seen>,
}

impl Ram {
    pub(crate) fn new() -> Self {
        let mut free = Intervals::default();
        free.insert(POOL_BASE, POOL_BASE + POOL_SIZE as u64);
        Self {
            bytes: vec![0; RAM_SIZE],
            pages: PageMap::new(POOL_SIZE / 4096),
            reserved: Intervals::default(),
            free,
            unpublished: Intervals::default(),
            unobserved: Intervals::default(),
            unordered: Intervals::default(),
            seen: Vec::new(),
        }
    }

    pub(crate) fn seen(&mut self) -> Vec<Seen> {
        std::mem::take(&mut self.seen)
    }

    pub(crate) fn pages(&self) -> (usize, usize) {
        (self.pages.used(), self.pages.quarantined())
    }

    fn range(&self, address: u64, length: usize) -> Option<std::ops::Range<usize>> {
        let start = usize::try_from(address.checked_sub(RAM_BASE)?).ok()?;
        let end = start.checked_add(length).filter(|end| *end <= self.bytes.len())?;
        Some(start..end)
    }

    pub(crate) fn peek(&self, address: u64, length: usize) -> Vec<u8> {
        let range = self.range(address, length);
        range.and_then(|range| self.bytes.get(range)).map_or_else(|| vec![0; length], <[u8]>::to_vec)
    }

    pub(crate) fn poke(&mut self, address: u64, bytes: &[u8]) {
        let range = self.range(address, bytes.len());
        if let Some(target) = range.and_then(|range| self.bytes.get_mut(range)) {
            target.copy_from_slice(bytes);
        }
    }

    pub(crate) fn reserve(&mut self, size: usize, alignment: usize) -> Result<u64, DmaError> {
        let offset = self.pages.take(POOL_BASE, size, alignment)?;
        let address = POOL_BASE + offset as u64;
        let end = address + size.next_multiple_of(4096) as u64;
        self.poke(address, &vec![0; size.next_multiple_of(4096)]);
        self.reserved.insert(address, end);
        self.free.remove(address, end);
        self.unobserved.remove(address, end);
        // The zeros are the driver's writes: they count until they are published.
        self.unpublished.insert(address, end);
        Ok(address)
    }

    pub(crate) fn release(&mut self, address: u64, size: usize) {
        let end = address + size.next_multiple_of(4096) as u64;
        if self.free.first_in(address, end).is_some() || !(POOL_BASE..POOL_BASE + POOL_SIZE as u64).contains(&address) {
            self.seen.push(("memory-freed-twice", format!("{address:#x}"), format!("{size} bytes are not all in use")));
            return;
        }
        self.pages.give(offset(address), size);
        self.reserved.remove(address, end);
        self.free.insert(address, end);
        self.unpublished.remove(address, end);
        self.unobserved.remove(address, end);
        self.unordered.remove(address, end);
    }

    pub(crate) fn quarantine(&mut self, address: u64, size: usize) {
        if address >= POOL_BASE {
            self.pages.quarantine(offset(address), size);
        }
    }

    pub(crate) fn reclaim(&mut self) {
        self.pages.reclaim();
        // Device access to what was quarantined stays allowed: nothing tells which pages these were.
    }

    pub(crate) fn publish(&mut self) {
        self.unpublished.clear();
    }

    pub(crate) fn observe(&mut self) {
        self.unobserved.clear();
    }

    /// A full barrier is each of the two, and more.
    pub(crate) fn order(&mut self) {
        self.publish();
        self.observe();
        self.unordered.clear();
    }

    /// A shadow doorbell was stored: a device may look at it from now on, before any barrier.
    pub(crate) fn shadow_written(&mut self, start: u64, end: u64) {
        self.unpublished.remove(start, end);
        self.unordered.insert(start, end);
    }

    /// Whether the word at `address` is a shadow doorbell stored since the last full barrier.
    pub(crate) fn is_unordered(&self, address: u64) -> bool {
        self.unordered.first_in(address, address + 4).is_some()
    }

    /// A shadow doorbell speaks of what is in `start..end`, which a device may look at from now on.
    pub(crate) fn check_published(&mut self, start: u64, end: u64) {
        if let Some(first) = self.unpublished.first_in(start, end) {
            let detail = "a shadow doorbell is stored before the entries that it speaks of are published";
            self.seen.push(("shadow-before-entries", format!("{first:#x}"), detail.into()));
        }
    }

    pub(crate) fn driver_reads(&mut self, address: u64, bytes: &mut [u8]) {
        let end = address + bytes.len() as u64;
        if let Some(first) = self.unobserved.first_in(address, end) {
            let detail = "the driver read what a device wrote without observing it first";
            self.seen.push(("memory-not-observed", format!("{first:#x}"), detail.into()));
        }
        bytes.copy_from_slice(&self.peek(address, bytes.len()));
    }

    pub(crate) fn driver_writes(&mut self, address: u64, bytes: &[u8]) {
        let end = address + bytes.len() as u64;
        if self.range(address, bytes.len()).is_none() || self.free.first_in(address, end).is_some() {
            let detail = format!("the driver wrote {} bytes to memory that it does not own", bytes.len());
            self.seen.push(("memory-not-owned", format!("{address:#x}"), detail));
            return;
        }
        self.unobserved.remove(address, end);
        self.unpublished.insert(address, end);
        self.poke(address, bytes);
    }

    fn device_check(&mut self, address: u64, length: usize, what: &str) -> Result<(), MemoryFault> {
        let end = address.saturating_add(length as u64);
        self.range(address, length).ok_or(MemoryFault { address, length })?;
        if let Some(first) = self.free.first_in(address, end) {
            let detail = format!("a device {what} {length} bytes at {address:#x} in memory that is free");
            self.seen.push(("memory-freed-in-use", format!("{first:#x}"), detail));
        }
        Ok(())
    }
}

/// Where an address of the pool lies in it.
fn offset(address: u64) -> usize {
    usize::try_from(address - POOL_BASE).unwrap_or(usize::MAX)
}

impl PhysicalMemory for Ram {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        self.device_check(address, bytes.len(), "reads")?;
        if let Some(first) = self.unpublished.first_in(address, address + bytes.len() as u64) {
            let detail = "a device looked at what the driver wrote before the driver published it";
            self.seen.push(("memory-not-published", format!("{first:#x}"), detail.into()));
        }
        bytes.copy_from_slice(&self.peek(address, bytes.len()));
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        self.device_check(address, bytes.len(), "writes")?;
        let end = address + bytes.len() as u64;
        self.unpublished.remove(address, end);
        self.unobserved.insert(address, end);
        self.poke(address, bytes);
        Ok(())
    }
}
