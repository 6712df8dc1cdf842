//! The recorded register traffic of U-Boot's and Linux's own drivers, replayed: what they wrote is written again, with
//! the same queue entries in memory, and the model's answers take the place of the recorded ones. Both drivers run on
//! real M1, so the model has to let them run to the end without a violation.

use std::collections::BTreeMap;

use sim::config::{NamespaceConfig, SartEntry};
use sim::nvme::store::MemoryStore;
use sim::{AnsState, Machine, MachineConfig, MemoryFault, PhysicalMemory};

/// Sparse memory from 0x8_0000_0000 on.
#[derive(Default)]
struct Memory(BTreeMap<u64, Box<[u8; 4096]>>);

#[cfg(test)]
impl Memory {
    const RANGE: std::ops::Range<u64> = 0x8_0000_0000..0x9_0000_0000;

    fn each(&mut self, address: u64, length: usize, mut act: impl FnMut(usize, &mut u8)) -> Result<(), MemoryFault> {
        for index in 0..length {
            let at = address + index as u64;
            if !Self::RANGE.contains(&at) {
                return Err(MemoryFault { address, length });
            }
            let page = self.0.entry(at / 4096).or_insert_with(|| Box::new([0; 4096]));
            act(index, &mut page[(at % 4096) as usize]);
        }
        Ok(())
    }
}

#[cfg(test)]
impl PhysicalMemory for Memory {
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryFault> {
        self.each(address, bytes.len(), |index, byte| bytes[index] = *byte)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryFault> {
        self.each(address, bytes.len(), |index, byte| *byte = bytes[index])
    }
}

struct Access {
    write: bool,
    size: u8,
    block: String,
    offset: u64,
    value: u64,
    /// Queue entries that the recording gives for the doorbell: submission entry and TCB.
    entries: BTreeMap<String, Vec<u8>>,
}

#[cfg(test)]
fn parse(text: &str) -> Vec<Access> {
    let mut accesses: Vec<Access> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.split_whitespace().collect();
        if parts[0] == "M" {
            let bytes = (0..parts[2].len()).step_by(2).map(|at| u8::from_str_radix(&parts[2][at..at + 2], 16).unwrap());
            accesses.last_mut().unwrap().entries.insert(parts[1].into(), bytes.collect());
            continue;
        }
        let (block, offset) = parts[1].split_once('+').unwrap();
        accesses.push(Access {
            write: parts[0].starts_with('W'),
            size: parts[0][1..].parse().unwrap(),
            block: block.into(),
            offset: u64::from_str_radix(offset, 16).unwrap(),
            value: u64::from_str_radix(parts[2], 16).unwrap(),
            entries: BTreeMap::new(),
        });
    }
    accesses
}

#[cfg(test)]
fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap())
}

struct Replay {
    machine: Machine,
    memory: Memory,
    /// 64-bit registers as written, by offset in the NVMe block.
    wide: BTreeMap<u64, u64>,
    io_submission: u64,
    /// Messages that were read before the recording came to them.
    early: Vec<(u64, u64)>,
    /// Recorded messages that never came.
    absent: Vec<(u64, u64)>,
    payload: u64,
}

#[cfg(test)]
impl Replay {
    fn new() -> Self {
        let mut config = MachineConfig::new(AnsState::Stopped);
        config.store = Box::new(MemoryStore::new(1 << 40));
        config.namespaces = vec![NamespaceConfig { id: 1, kind: 1, block_size: 4096, blocks: 0 }];
        // The recorded machine had no entry of the boot chain in the first slots, and its firmware sent no reports.
        config.sart_boot_entries = Vec::<SartEntry>::new();
        config.timings.ioreport_period = 0;
        Self {
            machine: Machine::new(config),
            memory: Memory::default(),
            wide: BTreeMap::new(),
            io_submission: 0,
            early: Vec::new(),
            absent: Vec::new(),
            payload: 0,
        }
    }

    fn address(block: &str, offset: u64) -> u64 {
        let name = if block == "mbox" { "mailbox" } else { block };
        Machine::windows().find(|(block, _, _)| *block == name).unwrap().1 + offset
    }

    fn pass(&mut self, nanoseconds: u64) {
        let until = self.machine.now() + nanoseconds;
        self.machine.advance_to(&mut self.memory, until);
    }

    fn read(&mut self, block: &str, offset: u64, size: u8) -> u64 {
        self.pass(1_000);
        self.machine.read(&mut self.memory, Self::address(block, offset), size).unwrap()
    }

    fn write(&mut self, block: &str, offset: u64, size: u8, value: u64) {
        self.pass(1_000);
        self.machine.write(&mut self.memory, Self::address(block, offset), size, value).unwrap();
    }

    /// Reads until the bits are as recorded: the driver waited for them.
    fn await_bits(&mut self, access: &Access, bits: u64) {
        for _ in 0..100_000 {
            if self.read(&access.block, access.offset, access.size) & bits == access.value & bits {
                return;
            }
            self.pass(10_000);
        }
        panic!("{}+{:#x} never gave {:#x}", access.block, access.offset, access.value);
    }

    /// Takes messages until the recorded one has come; the same endpoint and type is what counts.
    fn receive(&mut self, endpoint: u64) {
        let wanted = (endpoint & 0xff, self.payload >> 52);
        for _ in 0..5_000 {
            if let Some(at) = self.early.iter().position(|(from, payload)| (*from, payload >> 52) == wanted) {
                self.early.remove(at);
                return;
            }
            if self.read("mbox", 0x114, 4) >> 17 & 1 != 0 {
                self.pass(10_000);
                continue;
            }
            let payload = self.read("mbox", 0x830, 8);
            let from = self.read("mbox", 0x838, 8) & 0xff;
            self.early.push((from, payload));
            if (from, payload >> 52) != wanted && from == 2 && payload >> 52 == 0x5 {
                // A line more than in the recording: the driver echoes every one.
                self.write("mbox", 0x800, 8, payload);
                self.write("mbox", 0x808, 8, from);
                self.early.pop();
            }
        }
        self.absent.push(wanted);
    }

    fn ring(&mut self, access: &Access) {
        let admin = access.offset == 0x2490c;
        let (submission, tcbs) =
            if admin { (self.wide[&0x28], self.wide[&0x28108]) } else { (self.io_submission, self.wide[&0x28110]) };
        let entry = &access.entries["sqe"];
        self.memory.write(submission + access.value * 64, entry).unwrap();
        self.memory.write(tcbs + access.value * 128, &access.entries["tcb"]).unwrap();
        if admin && entry[0] == 0x01 {
            self.io_submission = word(entry, 24);
        }
        if !admin && entry[0] != 0 {
            self.list(entry);
        }
        self.write("nvme", access.offset, 4, access.value);
        // The recorded device completed a command inside the doorbell write; a flush and some chance fit in here.
        self.pass(60_000_000);
    }

    /// Makes up the PRP list of a long transfer, which the recording does not have.
    fn list(&mut self, entry: &[u8]) {
        let (first, second) = (word(entry, 24), word(entry, 32));
        let blocks = u64::from(u16::from_le_bytes([entry[48], entry[49]])) + 1;
        let pages = (first % 4096 + blocks * 4096).div_ceil(4096);
        if pages > 2 {
            for page in 1..pages {
                let address = 0x8_8000_0000 + page * 4096;
                self.memory.write(second + (page - 1) * 8, &address.to_le_bytes()).unwrap();
            }
        }
    }

    fn run(&mut self, text: &str) -> usize {
        let accesses = parse(text);
        for access in &accesses {
            match (access.write, access.block.as_str(), access.offset) {
                (true, "nvme", 0x2490c | 0x24910) => self.ring(access),
                (true, block, offset) => {
                    if block == "nvme" {
                        let low = offset & !4;
                        let old = self.wide.get(&low).copied().unwrap_or(0);
                        let new = match (access.size, offset & 4) {
                            (8, _) => access.value,
                            (_, 0) => old & !0xffff_ffff | access.value,
                            _ => old & 0xffff_ffff | access.value << 32,
                        };
                        self.wide.insert(low, new);
                    }
                    self.write(block, offset, access.size, access.value);
                }
                (false, "pmgr", _) => self.await_bits(access, 0xf0),
                (false, "nvme", 0x1300) => self.await_bits(access, u64::MAX),
                // What the driver waits for: RDY as recorded, or the end of the shutdown while RDY is set still.
                (false, "nvme", 0x1c) => self.await_bits(access, if access.value & 1 != 0 { 0xd } else { 0x1 }),
                (false, "nvme", 0x28120) => {
                    assert_eq!(self.read("nvme", 0x28120, 4), access.value);
                }
                (false, "mbox", 0x114) => {}
                (false, "mbox", 0x830) => self.payload = access.value,
                (false, "mbox", 0x838) => self.receive(access.value),
                (false, "mbox", 0x110) => self.await_bits(access, 1 << 16),
                (false, block, offset) => _ = self.read(block, offset, access.size),
            }
        }
        accesses.len()
    }
}

/// Replays to the end; whether that went without violation is checked here.
fn replay(text: &str) -> Replay {
    let mut replay = Replay::new();
    assert!(replay.run(text) > 150);
    let report = replay.machine.report();
    assert_eq!(report.violations, []);
    // The one message which the two models send at different times: the geometry of the syslog.
    assert!(replay.absent.iter().all(|absent| *absent == (2, 0x8)), "{:x?}", replay.absent);
    replay
}

#[test]
fn the_driver_of_u_boot_runs_to_the_end_without_a_violation() {
    let report = replay(include_str!("traces/u-boot.txt")).machine.report();
    assert_eq!((report.bytes_read, report.bytes_written), ((1 + 32 + 32 + 32 + 32) * 4096, 64 * 4096));
}

#[test]
fn the_driver_of_linux_runs_to_the_end_without_a_violation() {
    let report = replay(include_str!("traces/linux.txt")).machine.report();
    assert_eq!(report.bytes_written, 4 * 65536);
    assert!(report.bytes_read >= (164 * 4096) + (2 << 20), "{}", report.bytes_read);
    let recorded = parse(include_str!("traces/linux.txt"));
    let io = |opcode| {
        let rung = recorded.iter().filter(|access| access.write && access.block == "nvme" && access.offset == 0x24910);
        rung.filter(|access| access.entries["sqe"][0] == opcode).count() as u64
    };
    let ran = ["flush", "write", "read"].map(|kind| report.commands[kind]);
    assert_eq!(ran, [io(0), io(1), io(2)], "{:?}", report.commands);
}
