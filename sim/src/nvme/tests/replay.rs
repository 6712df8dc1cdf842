//! The recorded traffic of two drivers that run on real M1: everything that they do has to pass.
//!
//! The records hold register accesses and queue entries, but no PRP lists: those are made up here.

use std::collections::BTreeMap;

use super::*;

const U_BOOT: &str = include_str!("../../../tests/traces/u-boot.txt");
const LINUX: &str = include_str!("../../../tests/traces/linux.txt");

/// Memory of 1 GiB from [`RAM`] on, by page.
#[derive(Default)]
struct Sparse(BTreeMap<u64, Vec<u8>>);

impl Sparse {
    fn bytes(&mut self, address: u64, length: usize) -> Result<impl Iterator<Item = &mut u8>, MemoryFault> {
        let end = address.checked_add(length as u64).filter(|end| *end <= RAM + (1 << 30));
        let end = end.filter(|_| address >= RAM).ok_or(MemoryFault { address, length })?;
        for page in address / 4096..=(end - 1) / 4096 {
            self.0.entry(page).or_insert_with(|| vec![0; 4096]);
        }
        let start = address / 4096;
        Ok(self.0.range_mut(start..).flat_map(|(_, page)| page).skip((address % 4096) as usize).take(length))
    }
}

impl PhysicalMemory for Sparse {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        let length = bytes.len();
        bytes.iter_mut().zip(self.bytes(address, length)?).for_each(|(byte, stored)| *byte = *stored);
        Ok(())
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        self.bytes(address, bytes.len())?.zip(bytes).for_each(|(stored, byte)| *stored = *byte);
        Ok(())
    }
}

struct Replay {
    block: NvmeBlock,
    memory: Sparse,
    record: Record,
    events: EventQueue,
    random: Random,
    wires: Wires,
    now: u64,
    /// What was written to each register, as 32-bit words.
    words: BTreeMap<u64, u32>,
    io_submissions: u64,
}

impl Replay {
    fn act<T>(&mut self, action: impl FnOnce(&mut NvmeBlock, &mut Context<'_>) -> T) -> T {
        let mut ctx = Context {
            now: self.now,
            memory: &mut self.memory,
            record: &mut self.record,
            events: &mut self.events,
            random: &mut self.random,
            wires: &mut self.wires,
        };
        action(&mut self.block, &mut ctx)
    }

    /// The recorded device was done at once; ours gets the time that it needs.
    fn settle(&mut self) {
        let until = self.now + 50_000_000;
        while let Some((time, event)) = self.events.due(until) {
            self.now = self.now.max(time);
            if let Event::Nvme(number) = event {
                self.act(|block, ctx| block.event(ctx, number));
            }
        }
        self.now = until;
    }

    fn double(&self, offset: u64) -> u64 {
        let word = |at| u64::from(self.words.get(&at).copied().unwrap_or(0));
        word(offset) | word(offset + 4) << 32
    }

    fn write(&mut self, offset: u64, size: u8, value: u64) {
        self.words.insert(offset, bits::low32(value));
        if size == 8 {
            self.words.insert(offset + 4, bits::low32(value >> 32));
        }
        self.act(|block, ctx| block.write(ctx, offset, size, value));
        if offset == 0x14 {
            self.settle();
        }
    }

    /// Places the recorded entry and control block, and a list if the command needs one; then rings.
    fn ring(&mut self, offset: u64, tag: u64, entry: &[u8], block: &[u8]) {
        let admin = offset == 0x2490c;
        let (slots, blocks) = match admin {
            true => (self.double(0x28), self.double(0x28108)),
            false => (self.io_submissions, self.double(0x28110)),
        };
        self.memory.write(slots + 64 * tag, entry).unwrap();
        self.memory.write(blocks + 128 * tag, block).unwrap();
        let field = |at: usize| u64::from_le_bytes(entry[at..at + 8].try_into().unwrap());
        if admin && entry[0] == 1 {
            self.io_submissions = field(24);
        }
        let pages = u64::from(u16::from_le_bytes([entry[48], entry[49]])) + 1;
        let spread = pages + u64::from(field(24) % 4096 != 0);
        if !admin && matches!(entry[0], 1 | 2) && spread > 2 {
            let mut at = field(32);
            for index in 1..spread {
                if at % 4096 == 4088 && index + 1 < spread {
                    let next = RAM + (1 << 29);
                    self.memory.write(at, &next.to_le_bytes()).unwrap();
                    at = next;
                }
                let page = RAM + (3 << 28) + (tag << 20) + index * 4096;
                self.memory.write(at, &page.to_le_bytes()).unwrap();
                at += 8;
            }
        }
        self.act(|device, ctx| device.write(ctx, offset, 4, tag));
        self.settle();
    }
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn replay(trace: &str) -> Replay {
    // The recorded model's disk is larger than any block that the drivers touch.
    let store = MemoryStore::new(1 << 40);
    let mut replay = Replay {
        block: NvmeBlock::new(&config(&store, &[])),
        memory: Sparse::default(),
        record: Record::default(),
        events: EventQueue::default(),
        random: Random::new(1),
        wires: Wires { firmware_ready: true, ..Wires::default() },
        now: 0,
        words: BTreeMap::new(),
        io_submissions: 0,
    };
    let mut doorbell = None;
    let mut entry = Vec::new();
    for line in trace.lines() {
        let fields: Vec<_> = line.split(' ').collect();
        match fields[..] {
            ["M", "sqe", bytes] => entry = hex(bytes),
            ["M", "tcb", bytes] => {
                let (offset, tag) = doorbell.take().unwrap();
                replay.ring(offset, tag, &entry, &hex(bytes));
            }
            [kind, place, value] if place.starts_with("nvme+") => {
                let offset = u64::from_str_radix(&place[5..], 16).unwrap();
                let value = u64::from_str_radix(value, 16).unwrap();
                let size = kind[1..].parse().unwrap();
                match (&kind[..1], offset) {
                    ("W", 0x2490c | 0x24910) => doorbell = Some((offset, value)),
                    ("W", _) => replay.write(offset, size, value),
                    _ => drop(replay.act(|block, ctx| block.read(ctx, offset, size))),
                }
            }
            _ => {}
        }
    }
    replay
}

#[test]
fn u_boots_recorded_driver_runs_to_the_end_without_a_violation() {
    let replay = replay(U_BOOT);
    assert!(replay.record.violations.is_empty(), "{:#?}", replay.record.violations);
    let counters = replay.block.counters();
    assert_eq!((counters.commands["read"], counters.commands["write"]), (5, 2));
    assert_eq!(counters.bytes_written, 64 * 4096);
    assert!(!replay.record.notes.iter().any(|note| note.rule == "command-failed"));
}

#[test]
fn linux_recorded_driver_runs_to_the_end_without_a_violation() {
    let mut replay = replay(LINUX);
    replay.act(|block, ctx| block.finish(ctx));
    assert!(replay.record.violations.is_empty(), "{:#?}", replay.record.violations);
    let counters = replay.block.counters();
    assert_eq!(counters.commands["write"], 4);
    assert!(counters.commands["read"] > 160 && counters.commands["flush"] > 0);
}
