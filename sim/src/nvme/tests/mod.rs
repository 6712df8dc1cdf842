//! The block with a scripted driver: a plain one that works, which each test changes in one way.
//!
//! What recorded drivers do is replayed against the whole machine, in `tests/traces.rs`.

mod accept;
mod catch;
mod durability;
mod fuzz;
mod life;
mod pages;
mod slice;

use std::collections::BTreeMap;

use super::queue::QueueName::{self, Admin, Io};
use super::{NvmeBlock, bits};
use crate::config::{AnsState, MachineConfig};
use crate::context::{Context, Event, EventQueue, Random, Wires};
use crate::fault::Fault;
use crate::memory::{MemoryFault, PhysicalMemory};
use crate::nvme::store::{MemoryStore, Store};
use crate::record::Record;

/// Where the test's memory is, and how much: as on T8103.
pub(super) const RAM: u64 = 0x8_0000_0000;
const RAM_BYTES: usize = 8 << 20;

// Where the scripted driver keeps its things.
pub(super) const ADMIN_SUBMISSIONS: u64 = RAM;
pub(super) const ADMIN_COMPLETIONS: u64 = RAM + 0x4000;
pub(super) const ADMIN_BLOCKS: u64 = RAM + 0x8000;
pub(super) const IO_SUBMISSIONS: u64 = RAM + 0xc000;
pub(super) const IO_COMPLETIONS: u64 = RAM + 0x1_0000;
pub(super) const IO_BLOCKS: u64 = RAM + 0x1_4000;
pub(super) const LISTS: u64 = RAM + 0x4_0000;
pub(super) const DATA: u64 = RAM + 0x10_0000;

pub(super) struct Ram(Vec<u8>);

impl Ram {
    fn range(&self, address: u64, length: usize) -> Result<std::ops::Range<usize>, MemoryFault> {
        let fault = MemoryFault { address, length };
        let start = usize::try_from(address.checked_sub(RAM).ok_or(fault)?).map_err(|_| fault)?;
        let end = start.checked_add(length).filter(|end| *end <= self.0.len()).ok_or(fault)?;
        Ok(start..end)
    }
}

impl PhysicalMemory for Ram {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        let range = self.range(address, bytes.len())?;
        bytes.copy_from_slice(&self.0[range]);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        let range = self.range(address, bytes.len())?;
        self.0[range].copy_from_slice(bytes);
        Ok(())
    }
}

/// A command as a driver builds it, before it is placed.
#[derive(Clone, Copy, Default)]
pub(super) struct Script {
    pub(super) opcode: u8,
    pub(super) namespace: u32,
    pub(super) prp: [u64; 2],
    pub(super) dwords: [u32; 6],
}

impl Script {
    pub(super) fn read(block: u64, count: u32, prp: [u64; 2]) -> Self {
        Self {
            opcode: 2,
            namespace: 1,
            prp,
            dwords: [bits::low32(block), bits::low32(block >> 32), count - 1, 0, 0, 0],
        }
    }

    pub(super) fn write(block: u64, count: u32, prp: [u64; 2]) -> Self {
        Self { opcode: 1, ..Self::read(block, count, prp) }
    }

    pub(super) fn flush() -> Self {
        Self { namespace: 1, ..Self::default() }
    }

    pub(super) fn identify(cns: u32, namespace: u32) -> Self {
        Self { opcode: 6, namespace, prp: [DATA, 0], dwords: [cns, 0, 0, 0, 0, 0] }
    }

    pub(super) fn create_completions(size: u32) -> Self {
        Self { opcode: 5, prp: [IO_COMPLETIONS, 0], dwords: [(size - 1) << 16 | 1, 3, 0, 0, 0, 0], ..Self::default() }
    }

    pub(super) fn create_submissions(size: u32) -> Self {
        let dwords = [(size - 1) << 16 | 1, 1 << 16 | 1, 0, 0, 0, 0];
        Self { opcode: 1, prp: [IO_SUBMISSIONS, 0], dwords, ..Self::default() }
    }

    pub(super) fn admin(opcode: u8, first: u32, second: u32) -> Self {
        Self { opcode, dwords: [first, second, 0, 0, 0, 0], ..Self::default() }
    }

    pub(super) fn entry(&self, id: u16) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[0] = self.opcode;
        bytes[2..4].copy_from_slice(&id.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.namespace.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.prp[0].to_le_bytes());
        bytes[32..40].copy_from_slice(&self.prp[1].to_le_bytes());
        for (slot, dword) in bytes[40..].chunks_mut(4).zip(self.dwords) {
            slot.copy_from_slice(&dword.to_le_bytes());
        }
        bytes
    }

    pub(super) fn block(&self, tag: u8) -> [u8; 128] {
        let mut bytes = [0; 128];
        bytes[0] = self.opcode;
        bytes[1] = if self.opcode & 1 == 1 { 2 } else { 1 };
        bytes[2] = tag;
        bytes[4..6].copy_from_slice(&bits::low16(self.dwords[2].into()).to_le_bytes());
        bytes[0x18..0x20].copy_from_slice(&self.prp[0].to_le_bytes());
        bytes[0x20..0x28].copy_from_slice(&self.prp[1].to_le_bytes());
        bytes
    }
}

/// A completion entry as a driver reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) result: u32,
    pub(super) id: u16,
    /// Type and code: (status >> 1) & 0x7ff.
    pub(super) status: u16,
}

pub(super) struct Bench {
    pub(super) block: NvmeBlock,
    pub(super) ram: Ram,
    pub(super) record: Record,
    pub(super) events: EventQueue,
    pub(super) random: Random,
    pub(super) wires: Wires,
    pub(super) now: u64,
    /// The driver's side: head and phase of each completion queue, and their sizes.
    pub(super) heads: BTreeMap<QueueName, (u16, bool, u16)>,
}

pub(super) fn config(store: &dyn Store, faults: &[Fault]) -> MachineConfig {
    MachineConfig { store: store.share(), faults: faults.to_vec(), ..MachineConfig::new(AnsState::Stopped) }
}

impl Bench {
    /// The firmware is up, and nothing is done yet.
    pub(super) fn new() -> Self {
        Self::with(&MemoryStore::patterned(64 << 20, 1), &[])
    }

    pub(super) fn with(store: &dyn Store, faults: &[Fault]) -> Self {
        Self::configured(&config(store, faults))
    }

    pub(super) fn configured(config: &MachineConfig) -> Self {
        Self {
            block: NvmeBlock::new(config),
            ram: Ram(vec![0; RAM_BYTES]),
            record: Record::default(),
            events: EventQueue::default(),
            random: Random::new(config.seed),
            wires: Wires { firmware_ready: true, ..Wires::default() },
            now: 0,
            heads: BTreeMap::new(),
        }
    }

    pub(super) fn act<T>(&mut self, action: impl FnOnce(&mut NvmeBlock, &mut Context<'_>) -> T) -> T {
        let mut ctx = Context {
            now: self.now,
            memory: &mut self.ram,
            record: &mut self.record,
            events: &mut self.events,
            random: &mut self.random,
            wires: &mut self.wires,
        };
        action(&mut self.block, &mut ctx)
    }

    pub(super) fn read(&mut self, offset: u64) -> u32 {
        bits::low32(self.act(|block, ctx| block.read(ctx, offset, 4)))
    }

    pub(super) fn write(&mut self, offset: u64, value: u32) {
        self.act(|block, ctx| block.write(ctx, offset, 4, value.into()));
    }

    pub(super) fn write_double(&mut self, offset: u64, value: u64) {
        self.act(|block, ctx| block.write(ctx, offset, 8, value));
    }

    /// Runs the model for that long.
    pub(super) fn pass(&mut self, nanoseconds: u64) {
        let until = self.now + nanoseconds;
        while let Some((time, event)) = self.events.due(until) {
            self.now = self.now.max(time);
            if let Event::Nvme(number) = event {
                self.act(|block, ctx| block.event(ctx, number));
            }
        }
        self.now = until;
    }

    /// The Apple registers, as Linux' driver sets them.
    pub(super) fn prepare(&mut self) {
        assert_eq!(self.read(0x1300), 0xde71_ce55);
        self.write(0x24908, 1);
        self.write(0x1210, 0x0040_0040);
        self.write(0x28100, 63);
        let control = self.read(0x24008);
        self.write(0x24008, control & !(1 << 11));
        self.write(0x24, 0x003f_003f);
        self.write_double(0x28, ADMIN_SUBMISSIONS);
        self.write_double(0x30, ADMIN_COMPLETIONS);
        self.write_double(0x28108, ADMIN_BLOCKS);
        self.write_double(0x28110, IO_BLOCKS);
    }

    /// Enables over cleared completion memory, and waits until the controller is ready.
    pub(super) fn enable(&mut self) {
        self.put(ADMIN_COMPLETIONS, &[0; 1024]);
        self.put(IO_COMPLETIONS, &[0; 1024]);
        self.write(0x14, 0x0046_0001);
        self.pass(10_000_000);
        let entries = bits::low16(u64::from(self.read(0x24) & 0xfff)) + 1;
        self.heads.insert(Admin, (0, true, entries.min(64)));
    }

    /// Ready, with an IO queue pair of `size` entries.
    pub(super) fn ready(&mut self, size: u16) {
        self.prepare();
        self.enable();
        assert_eq!(self.read(0x1c), 1);
        self.create(size);
    }

    pub(super) fn create(&mut self, size: u16) {
        for script in [Script::create_completions(size.into()), Script::create_submissions(size.into())] {
            assert_eq!(self.run(Admin, 0, script).status, 0);
        }
        self.heads.insert(Io, (0, true, size));
    }

    /// A bench that is ready, with IO queues of 64 entries.
    pub(super) fn up() -> Self {
        let mut bench = Self::new();
        bench.ready(64);
        bench
    }

    pub(super) fn put(&mut self, address: u64, bytes: &[u8]) {
        self.ram.write(address, bytes).unwrap();
    }

    pub(super) fn get(&mut self, address: u64, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.ram.read(address, &mut bytes).unwrap();
        bytes
    }

    pub(super) fn place(&mut self, queue: QueueName, tag: u8, entry: &[u8; 64], block: &[u8; 128]) {
        let (entries, blocks) = match queue {
            Admin => (ADMIN_SUBMISSIONS, ADMIN_BLOCKS),
            Io => (IO_SUBMISSIONS, IO_BLOCKS),
        };
        self.put(entries + 64 * u64::from(tag), entry);
        self.put(blocks + 128 * u64::from(tag), block);
    }

    pub(super) fn ring(&mut self, queue: QueueName, value: u32) {
        self.write(if queue == Admin { 0x2490c } else { 0x24910 }, value);
    }

    pub(super) fn submit(&mut self, queue: QueueName, tag: u8, script: Script) {
        self.place(queue, tag, &script.entry(tag.into()), &script.block(tag));
        self.ring(queue, tag.into());
    }

    /// The next entry of a completion queue, if its phase says that it is one.
    pub(super) fn peek(&mut self, queue: QueueName) -> Option<Entry> {
        let (head, phase, _) = self.heads[&queue];
        let base = if queue == Admin { ADMIN_COMPLETIONS } else { IO_COMPLETIONS };
        let bytes = self.get(base + 16 * u64::from(head), 16);
        let status = u16::from_le_bytes([bytes[14], bytes[15]]);
        (status & 1 == u16::from(phase)).then(|| Entry {
            result: u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            id: u16::from_le_bytes([bytes[12], bytes[13]]),
            status: status >> 1 & 0x7ff,
        })
    }

    /// Takes the entry without telling the device.
    pub(super) fn step(&mut self, queue: QueueName) {
        let (head, phase, size) = self.heads[&queue];
        let head = (head + 1) % size;
        self.heads.insert(queue, (head, phase ^ (head == 0), size));
    }

    pub(super) fn write_head(&mut self, queue: QueueName) {
        let (head, _, _) = self.heads[&queue];
        self.write(if queue == Admin { 0x1004 } else { 0x100c }, head.into());
    }

    pub(super) fn invalidate(&mut self, tag: u8) -> u32 {
        self.write(0x28118, tag.into());
        self.read(0x28120)
    }

    /// Waits up to a second of model time for the next entry.
    pub(super) fn wait(&mut self, queue: QueueName) -> Entry {
        for _ in 0..100_000 {
            if let Some(entry) = self.peek(queue) {
                return entry;
            }
            self.pass(10_000);
        }
        panic!("no completion on the {} queue; {:#?}", queue.name(), self.record);
    }

    /// Submits, waits, invalidates, moves the head: a whole command of a plain driver whose id is its tag.
    pub(super) fn run(&mut self, queue: QueueName, tag: u8, script: Script) -> Entry {
        self.submit(queue, tag, script);
        let entry = self.wait(queue);
        assert_eq!(entry.id, u16::from(tag));
        self.step(queue);
        assert_eq!(self.invalidate(tag), 0);
        self.write_head(queue);
        entry
    }

    pub(super) fn delete_queues(&mut self) {
        assert_eq!(self.run(Admin, 0, Script::admin(0, 1, 0)).status, 0);
        assert_eq!(self.run(Admin, 0, Script::admin(4, 1, 0)).status, 0);
    }

    pub(super) fn shut_down(&mut self) {
        self.write(0x14, 0x0046_4001);
        assert_eq!(self.read(0x1c) >> 2 & 3, 1);
        self.pass(100_000_000);
        assert_eq!(self.read(0x1c) >> 2 & 3, 2);
        self.write(0x14, 0x0046_0000);
        self.pass(10_000_000);
        assert_eq!(self.read(0x1c), 0);
    }

    /// Stops as a careful driver does, and has the end of the run checked.
    pub(super) fn finish(&mut self) {
        self.delete_queues();
        self.shut_down();
        self.act(|block, ctx| block.finish(ctx));
    }

    /// The rules broken so far, each once.
    pub(super) fn broken(&self) -> Vec<&'static str> {
        let mut rules: Vec<_> = self.record.violations.iter().map(|violation| violation.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }

    pub(super) fn noted(&self, rule: &str) -> bool {
        self.record.notes.iter().any(|note| note.rule == rule)
    }

    #[track_caller]
    pub(super) fn assert_clean(&self) {
        assert!(self.record.violations.is_empty(), "{:#?}", self.record.violations);
    }
}
