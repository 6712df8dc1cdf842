//! What a device model is given at each access and event: time, memory, the record, and the lines to its neighbours.

use std::collections::BTreeMap;

use crate::memory::PhysicalMemory;
use crate::record::Record;

/// Something that a device has asked to be woken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The power controller: a state change of the domain at this register offset is due.
    Power(u64),
    /// The coprocessor's firmware: its next step is due.
    Firmware,
    /// The NVMe block: something due there; the number is the block's own.
    Nvme(u64),
    /// The watchdog of that number may have reached its bite.
    Watchdog(u8),
}

/// Events in time order; those of the same time in the order in which they were asked for.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    waiting: BTreeMap<(u64, u64), Event>,
    sequence: u64,
}

impl EventQueue {
    /// Asks for `event` at `time_ns`.
    pub(crate) fn at(&mut self, time_ns: u64, event: Event) {
        self.sequence += 1;
        self.waiting.insert((time_ns, self.sequence), event);
    }

    /// When the next event is due.
    pub(crate) fn next(&self) -> Option<u64> {
        self.waiting.keys().next().map(|key| key.0)
    }

    /// Takes the first event that is due at `time_ns`, with its time.
    pub(crate) fn due(&mut self, time_ns: u64) -> Option<(u64, Event)> {
        let key = *self.waiting.keys().next().filter(|key| key.0 <= time_ns)?;
        self.waiting.remove(&key).map(|event| (key.0, event))
    }

    /// Forgets every event for which `stale` says so.
    pub(crate) fn forget(&mut self, stale: impl Fn(&Event) -> bool) {
        self.waiting.retain(|_, event| !stale(event));
    }
}

/// A small seeded generator (SplitMix64): the models' only source of chance, so that a seed repeats a run.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// A number below `limit`; 0 if the limit is 0.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next().checked_rem(limit).unwrap_or(0)
    }
}

/// The wires between the coprocessor's firmware and the NVMe block that it stands behind.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    /// The firmware runs and answers: the NVMe block's registers work. Set by the firmware model.
    pub(crate) firmware_ready: bool,
    /// Lines that the NVMe block wants the firmware to write to its syslog (drained by the firmware model).
    pub(crate) syslog: Vec<String>,
    /// A reason for the firmware to crash, set by the NVMe block (taken by the firmware model).
    pub(crate) crash: Option<String>,
    /// CC.EN as the NVMe block has it (read by the firmware model when it is put to sleep).
    pub(crate) controller_enabled: bool,
    /// The level of the NVMe interrupt line.
    pub(crate) nvme_interrupt: bool,
    /// The NVMe block's state is gone: firmware starts or was reset. Set by the firmware model, taken by the machine.
    pub(crate) nvme_reset: bool,
    /// The storage port's domain is on, so that firmware can reach its flash. Set by the machine.
    pub(crate) storage_port_on: bool,
}

/// What a model may reach while it handles one access or event.
pub(crate) struct Context<'a> {
    /// Model time, in nanoseconds.
    pub(crate) now: u64,
    pub(crate) memory: &'a mut dyn PhysicalMemory,
    pub(crate) record: &'a mut Record,
    pub(crate) events: &'a mut EventQueue,
    pub(crate) random: &'a mut Random,
    pub(crate) wires: &'a mut Wires,
}

impl Context<'_> {
    /// Records a broken rule, now.
    pub(crate) fn violation(&mut self, rule: &'static str, place: impl Into<String>, detail: impl Into<String>) {
        self.record.violation(self.now, rule, place, detail);
    }

    /// Records an oddity, now.
    pub(crate) fn note(&mut self, rule: &'static str, place: impl Into<String>, detail: impl Into<String>) {
        self.record.note(self.now, rule, place, detail);
    }
}
