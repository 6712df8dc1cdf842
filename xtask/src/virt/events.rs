//! What QEMU itself counted: its trace events, read from its log.
//!
//! This is an account of the image's doorbell writes by a program that nobody here wrote. The console's bytes are among the
//! events, in order, so that the `mark:` lines of the image part the account exactly.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde_json::{Map, Value, json};

/// The events that are switched on, as patterns. `pci_nvme_ub_*` tells of what the specification leaves undefined or
/// forbids: a driver must cause none.
pub(super) const EVENTS: &[&str] = &[
    "pci_nvme_mmio_read",
    "pci_nvme_mmio_write",
    "pci_nvme_mmio_doorbell_*",
    "pci_nvme_shadow_doorbell_*",
    "pci_nvme_eventidx_*",
    "pci_nvme_io_cmd",
    "pci_nvme_admin_cmd",
    "pci_nvme_read",
    "pci_nvme_write",
    "pci_nvme_ub_*",
    "pl011_write",
];

/// The first doorbell. QEMU's controller has a doorbell stride of 4 bytes.
const DOORBELLS: u64 = 0x1000;

/// Registers by offset, named as the specification does (NVMe base specification, "Controller Registers").
const REGISTERS: &[(u64, &str)] = &[
    (0x00, "CAP"),
    (0x04, "CAP (high half)"),
    (0x08, "VS"),
    (0x0c, "INTMS"),
    (0x10, "INTMC"),
    (0x14, "CC"),
    (0x1c, "CSTS"),
    (0x20, "NSSR"),
    (0x24, "AQA"),
    (0x28, "ASQ"),
    (0x2c, "ASQ (high half)"),
    (0x30, "ACQ"),
    (0x34, "ACQ (high half)"),
    (0x38, "CMBLOC"),
    (0x3c, "CMBSZ"),
    (0x68, "CRTO"),
];

/// Doorbell writes, or events about shadow doorbells, of one queue pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pair {
    /// Submission queue tails.
    pub(crate) submission: u64,
    /// Completion queue heads.
    pub(crate) completion: u64,
}

/// The account, up to some moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Register accesses by name: reads, writes.
    registers: BTreeMap<String, (u64, u64)>,
    /// Doorbell writes by queue; 0 is the admin queue.
    doorbells: BTreeMap<u64, Pair>,
    /// How often the device read a shadow doorbell.
    shadow: BTreeMap<u64, Pair>,
    /// How often the device wrote an event index.
    event_index: BTreeMap<u64, Pair>,
    commands: BTreeMap<String, u64>,
    read: u64,
    written: u64,
}

/// The account of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Events {
    /// All of it.
    pub(crate) total: Counts,
    /// The counts so far at each `mark:` line of the image.
    pub(crate) marks: Vec<(String, Counts)>,
    /// What QEMU calls undefined behaviour of the driver.
    pub(crate) violations: Vec<String>,
}

impl Events {
    /// Reads a log.
    pub(super) fn read(log: impl BufRead) -> std::io::Result<Self> {
        let mut events = Self::default();
        let mut console = Vec::new();
        // Guests make QEMU log other lines too, and not all of them text.
        for line in log.split(b'\n') {
            let line = line?;
            events.line(&String::from_utf8_lossy(&line), &mut console);
        }
        Ok(events)
    }

    fn line(&mut self, line: &str, console: &mut Vec<u8>) {
        // A time stamp may stand before the event.
        let event = line.find("pci_nvme_").or_else(|| line.find("pl011_write"));
        let Some((name, rest)) = event.and_then(|at| line.get(at..)).and_then(|event| event.split_once(' ')) else {
            return;
        };
        let field = |name: &str| field(rest, name);
        let counts = &mut self.total;
        match name {
            "pl011_write" => {
                // Offset 0 is the data register.
                if let (Some(0), Some(byte)) =
                    (field("addr"), field("value").and_then(|value| u8::try_from(value).ok()))
                {
                    self.console(byte, console);
                }
            }
            "pci_nvme_mmio_read" => counts.registers.entry(register(field("addr"))).or_default().0 += 1,
            "pci_nvme_mmio_write" => counts.registers.entry(register(field("addr"))).or_default().1 += 1,
            "pci_nvme_mmio_doorbell_sq" => pair(&mut counts.doorbells, field("sqid")).submission += 1,
            "pci_nvme_mmio_doorbell_cq" => pair(&mut counts.doorbells, field("cqid")).completion += 1,
            "pci_nvme_shadow_doorbell_sq" => pair(&mut counts.shadow, field("sqid")).submission += 1,
            "pci_nvme_shadow_doorbell_cq" => pair(&mut counts.shadow, field("cqid")).completion += 1,
            "pci_nvme_eventidx_sq" => pair(&mut counts.event_index, field("sqid")).submission += 1,
            "pci_nvme_eventidx_cq" => pair(&mut counts.event_index, field("cqid")).completion += 1,
            "pci_nvme_io_cmd" | "pci_nvme_admin_cmd" => *counts.commands.entry(command(rest)).or_default() += 1,
            "pci_nvme_read" => counts.read += field("count").unwrap_or(0),
            "pci_nvme_write" => counts.written += field("count").unwrap_or(0),
            _ if name.starts_with("pci_nvme_ub_") => self.violations.push(format!("{name} {rest}")),
            _ => {}
        }
    }

    /// A byte on the console. Zero bytes part log frames from lines.
    fn console(&mut self, byte: u8, line: &mut Vec<u8>) {
        if !matches!(byte, b'\n' | 0) {
            line.push(byte);
            return;
        }
        let text = String::from_utf8_lossy(line);
        // Behind a time stamp, or at the start.
        if let Some((_, name)) = text.trim_end().rsplit_once("mark: ") {
            self.marks.push((name.to_owned(), self.total.clone()));
        }
        line.clear();
    }
}

impl Counts {
    /// Doorbell writes of all IO queues.
    pub(crate) fn io_doorbells(&self) -> u64 {
        self.doorbells.iter().filter(|(queue, _)| **queue != 0).map(|(_, pair)| pair.submission + pair.completion).sum()
    }

    /// The keys of a report.
    pub(super) fn json(&self) -> Map<String, Value> {
        let both = |(reads, writes): (u64, u64)| json!({"reads": reads, "writes": writes});
        let sum = self.registers.values().fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
        let registers: Map<String, Value> =
            self.registers.iter().map(|(name, counts)| (name.clone(), both(*counts))).collect();
        let queues = |pairs: &BTreeMap<u64, Pair>| {
            let one = |(queue, pair): (&u64, &Pair)| {
                (queue.to_string(), json!({"sq": pair.submission, "cq": pair.completion}))
            };
            Value::Object(pairs.iter().map(one).collect())
        };
        let mut all = Map::new();
        all.insert("mmio".into(), json!({"reads": sum.0, "writes": sum.1, "by_register": registers}));
        all.insert("commands".into(), self.commands.iter().map(|(name, count)| (name.clone(), json!(count))).collect());
        all.insert("bytes".into(), json!({"read": self.read, "written": self.written}));
        let admin = self.doorbells.get(&0).copied().unwrap_or_default();
        all.insert(
            "doorbells".into(),
            json!({
                "admin": admin.submission + admin.completion,
                "io": self.io_doorbells(),
                "by_queue": queues(&self.doorbells),
                "shadow_reads_by_queue": queues(&self.shadow),
                "event_index_writes_by_queue": queues(&self.event_index),
            }),
        );
        all
    }
}

/// The number behind a field's name: decimal, or hexadecimal behind `0x`.
fn field(text: &str, name: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    words.find(|word| *word == name)?;
    let value = words.next()?;
    match value.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => value.parse().ok(),
    }
}

fn pair(pairs: &mut BTreeMap<u64, Pair>, queue: Option<u64>) -> &mut Pair {
    pairs.entry(queue.unwrap_or(u64::MAX)).or_default()
}

fn register(offset: Option<u64>) -> String {
    let Some(offset) = offset else { return "unknown".into() };
    if let Some(word) = offset.checked_sub(DOORBELLS).map(|offset| offset / 4) {
        let queue = word / 2;
        return if word % 2 == 0 { format!("SQ{queue}TDBL") } else { format!("CQ{queue}HDBL") };
    }
    let known = REGISTERS.iter().find(|(register, _)| *register == offset);
    known.map_or_else(|| format!("{offset:#x}"), |(_, name)| (*name).to_owned())
}

/// A command's name, in the form that the models' report has: QEMU says `NVME_NVM_CMD_WRITE_ZEROES` or
/// `NVME_ADM_CMD_IDENTIFY`.
fn command(text: &str) -> String {
    let name = text.split('\'').nth(1).unwrap_or("unknown");
    let name = name.strip_prefix("NVME_NVM_CMD_").or_else(|| name.strip_prefix("NVME_ADM_CMD_")).unwrap_or(name);
    match name {
        "DSM" => "dataset-management".into(),
        "DELETE_SQ" => "delete-submission-queue".into(),
        "CREATE_SQ" => "create-submission-queue".into(),
        "DELETE_CQ" => "delete-completion-queue".into(),
        "CREATE_CQ" => "create-completion-queue".into(),
        "GET_LOG_PAGE" => "get-log-page".into(),
        "ASYNC_EV_REQ" => "asynchronous-event-request".into(),
        "DBBUF_CONFIG" => "doorbell-buffer-config".into(),
        other => other.to_ascii_lowercase().replace('_', "-"),
    }
}

#[cfg(test)]
mod tests;
