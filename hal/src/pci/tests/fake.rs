//! A host with functions: configuration space that is routed by the bridges' own registers, as the buses do it.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use crate::Mmio;

/// The words of a header.
const WORDS: usize = 16;
pub(super) const MEMORY: u32 = 1 << 1;
pub(super) const MASTER: u32 = 1 << 2;
const COMMAND: usize = 1;
const BUSES: usize = 6;

/// One function: its header, which bits of it can be written, and the bus behind it if it is a bridge.
#[derive(Debug)]
pub(super) struct FakeFunction {
    words: [Cell<u32>; WORDS],
    writable: [u32; WORDS],
    pub(super) behind: Option<FakeBus>,
}

/// Functions by their number: device times 8 plus function.
pub(super) type FakeBus = BTreeMap<u8, FakeFunction>;

/// A host bridge. Bus `first` is its own.
#[derive(Debug)]
pub(super) struct FakeHost {
    pub(super) first: u8,
    pub(super) bus: FakeBus,
    /// The functions that were written to, each by its place in configuration space: bus times 256 plus number.
    pub(super) written: RefCell<BTreeSet<usize>>,
}

impl FakeFunction {
    fn new(class: u32, device: u16, kind: u32) -> Self {
        let mut words: [Cell<u32>; WORDS] = Default::default();
        let mut writable = [0; WORDS];
        words[0].set(u32::from(device) << 16 | 0x1b36);
        words[2].set(class << 8 | 2);
        words[3].set(kind << 16);
        // Status: a capability list, and an error that is cleared by writing a one to it.
        words[COMMAND] = Cell::new(0x2010_0000);
        writable[COMMAND] = 0x407;
        Self { words, writable, behind: None }
    }

    pub(super) fn other(device: u16) -> Self {
        Self::new(0x02_00_00, device, 0).memory32(0, 0x1_0000)
    }

    /// An NVMe controller without a base address register.
    pub(super) fn bare(device: u16) -> Self {
        Self::new(0x01_08_02, device, 0)
    }

    /// As QEMU has it: 16 KiB with 64-bit addresses, not prefetchable.
    pub(super) fn nvme(device: u16) -> Self {
        Self::bare(device).memory64(0, 0x4000, false)
    }

    pub(super) fn bridge(device: u16, behind: FakeBus) -> Self {
        let mut bridge = Self::new(0x06_04_00, device, 1);
        bridge.writable[BUSES] = 0x00ff_ffff;
        bridge.writable[7] = 0x0000_f0f0;
        bridge.writable[8] = 0xfff0_fff0;
        bridge.writable[9] = 0xfff0_fff0;
        bridge.words[9].set(0x0001_0001);
        bridge.writable[10] = u32::MAX;
        bridge.writable[11] = u32::MAX;
        bridge.writable[12] = u32::MAX;
        bridge.behind = Some(behind);
        bridge
    }

    /// Without 64-bit addresses in the prefetchable window.
    pub(super) fn narrow(self) -> Self {
        self.word(9, 0, 0xfff0_fff0)
    }

    pub(super) fn several(self) -> Self {
        let header = self.words[3].get() | 1 << 23;
        self.word(3, header, 0)
    }

    pub(super) fn word(mut self, index: usize, value: u32, writable: u32) -> Self {
        self.words[index].set(value);
        self.writable[index] = writable;
        self
    }

    pub(super) fn memory32(self, index: usize, size: u32) -> Self {
        self.word(4 + index, 0, !(size - 1))
    }

    pub(super) fn memory64(self, index: usize, size: u64, prefetchable: bool) -> Self {
        let mask = !(size - 1);
        let flags = 0b100 | u32::from(prefetchable) << 3;
        self.word(4 + index, flags, (mask & 0xffff_ffff) as u32).word(5 + index, 0, (mask >> 32) as u32)
    }

    pub(super) fn get(&self, word: usize) -> u32 {
        self.words[word].get()
    }

    pub(super) fn command(&self) -> u32 {
        self.get(COMMAND) & 0xffff
    }

    fn write(&self, word: usize, value: u32) {
        if word >= WORDS {
            return;
        }
        let own = self.words[word].get();
        let is_bar = (4..10).contains(&word) && self.behind.is_none();
        let moves = is_bar && (own ^ value) & self.writable[word] != 0;
        assert!(!moves || self.command() & MEMORY == 0, "a base address register changes while it is decoded");
        let kept = own & !self.writable[word] | value & self.writable[word];
        // The upper half of the command register is status: ones clear.
        let cleared = if word == COMMAND { value & 0xffff_0000 } else { 0 };
        self.words[word].set(kept & !cleared);
    }

    fn numbers(&self) -> (u8, u8) {
        let [_, secondary, subordinate, _] = self.get(BUSES).to_le_bytes();
        (secondary, subordinate)
    }

    /// Whether an access to this memory address passes the bridge.
    fn passes(&self, address: u64) -> bool {
        let ends = |word: usize| (u64::from(self.get(word) & 0xfff0) << 16, u64::from(self.get(word) | 0xf_ffff));
        let (base, limit) = ends(8);
        let (low, high) = ends(9);
        let (low, high) = (u64::from(self.get(10)) << 32 | low, u64::from(self.get(11)) << 32 | high);
        self.command() & MEMORY != 0 && ((base..=limit).contains(&address) || (low..=high).contains(&address))
    }

    fn decodes(&self, address: u64) -> bool {
        let mut index = 4;
        let end = if self.behind.is_some() { 6 } else { 10 };
        while index < end {
            let wide = self.get(index) & 0b111 == 0b100;
            let high = |words: &dyn Fn(usize) -> u32| if wide { u64::from(words(index + 1)) << 32 } else { 0 };
            let mask = if wide { 0 } else { u64::MAX << 32 };
            let mask = mask | high(&|word| self.writable[word]) | u64::from(self.writable[index]);
            let base = high(&|word| self.get(word)) | u64::from(self.get(index) & !0xf);
            let exists = self.writable[index] != 0 || wide && self.writable[index + 1] != 0;
            if exists && address & mask == base {
                return self.command() & MEMORY != 0;
            }
            index += 1 + usize::from(wide);
        }
        false
    }
}

/// The devices of the functions on a bus, and behind its bridges, that answer at a memory address of the host's bus.
fn answering(bus: &FakeBus, address: u64) -> Vec<u16> {
    let mut all = Vec::new();
    for function in bus.values() {
        if function.decodes(address) {
            all.push((function.get(0) >> 16) as u16);
        }
        if let Some(behind) = function.behind.as_ref().filter(|_| function.passes(address)) {
            all.extend(answering(behind, address));
        }
    }
    all
}

/// The devices that can come to the host's memory.
fn masters(bus: &FakeBus) -> Vec<u16> {
    let mastering = bus.values().filter(|function| function.command() & MASTER != 0);
    mastering
        .flat_map(|function| match &function.behind {
            Some(behind) => masters(behind),
            None => vec![(function.get(0) >> 16) as u16],
        })
        .collect()
}

impl FakeHost {
    pub(super) fn new(bus: FakeBus) -> Self {
        Self { first: 0, bus, written: RefCell::default() }
    }

    pub(super) fn answering(&self, address: u64) -> Vec<u16> {
        answering(&self.bus, address)
    }

    pub(super) fn masters(&self) -> Vec<u16> {
        masters(&self.bus)
    }

    /// The function at an offset of configuration space, by way of the bridges.
    fn at(&self, offset: usize) -> Option<&FakeFunction> {
        let wanted = self.first.checked_add(u8::try_from(offset >> 20).expect("a bus number"))?;
        let number = u8::try_from(offset >> 12 & 0xff).expect("eight bits");
        let (mut bus, mut here) = (&self.bus, self.first);
        while here != wanted {
            let claims = |function: &&FakeFunction| {
                let (secondary, subordinate) = function.numbers();
                function.behind.is_some() && secondary != 0 && (secondary..=subordinate).contains(&wanted)
            };
            let mut way = bus.values().filter(claims);
            let bridge = way.next()?;
            assert!(way.next().is_none(), "two bridges claim bus {wanted}");
            here = bridge.numbers().0;
            bus = bridge.behind.as_ref()?;
        }
        bus.get(&number)
    }
}

impl Mmio for FakeHost {
    fn read32(&self, offset: usize) -> u32 {
        let word = offset % 0x1000 / 4;
        let read = |function: &FakeFunction| function.words.get(word).map_or(0, Cell::get);
        self.at(offset).map_or(u32::MAX, read)
    }

    fn write32(&self, offset: usize, value: u32) {
        self.written.borrow_mut().insert(offset >> 12);
        if let Some(function) = self.at(offset) {
            function.write(offset % 0x1000 / 4, value);
        }
    }

    fn read64(&self, _: usize) -> u64 {
        panic!("configuration space takes no more than 32 bits")
    }

    fn write64(&self, _: usize, _: u64) {
        panic!("configuration space takes no more than 32 bits")
    }
}
