//! The machine: blocks at T8103's addresses, power gating, the order of events, and the report of a run.

use std::collections::BTreeMap;

use crate::aic::{self, Aic};
use crate::bus::{BLOCKS, Block};
use crate::config::MachineConfig;
use crate::context::{Context, Event, EventQueue, Random, Wires};
use crate::memory::PhysicalMemory;
use crate::names;
use crate::nvme::NvmeBlock;
use crate::pmgr::{Change, Pmgr};
use crate::record::{Record, Violation};
use crate::rtkit::Coprocessor;
use crate::uart::Uart;
use crate::watchdog::Watchdog;

const ANS_DOMAIN: &str = "ans2";
const STORAGE_PORT_DOMAIN: &str = "apcie_st";

pub use crate::bus::{BusFault, BusFaultReason};

/// Reads and writes of one register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    /// How often it was read.
    pub reads: u64,
    /// How often it was written.
    pub writes: u64,
}

/// What a run did, for tests and for the figures of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Broken rules.
    pub violations: Vec<Violation>,
    /// Broken rules that are not kept, because there were too many.
    pub violations_dropped: u64,
    /// Oddities that are no failure.
    pub notes: Vec<Violation>,
    /// Accesses by register name, or by block and offset where a register has none.
    pub mmio: BTreeMap<String, Counter>,
    /// Commands that the controller ran, by kind.
    pub commands: BTreeMap<String, u64>,
    /// Bytes that read commands gave.
    pub bytes_read: u64,
    /// Bytes that write commands took.
    pub bytes_written: u64,
    /// What the image wrote to the console.
    pub console: Vec<u8>,
    /// The watchdog unit that reset the machine, and when, in nanoseconds.
    pub watchdog: Option<(u8, u64)>,
    /// Model time, in nanoseconds.
    pub time_ns: u64,
}

/// A T8103 around ANS: everything that the driver reaches but the CPU and the memory.
#[derive(Debug)]
pub struct Machine {
    now: u64,
    events: EventQueue,
    random: Random,
    record: Record,
    wires: Wires,
    counters: BTreeMap<(&'static str, u64), Counter>,
    pmgr: Pmgr,
    pmgr_mini: Pmgr,
    coprocessor: Coprocessor,
    nvme: NvmeBlock,
    uart: Uart,
    watchdog: Watchdog,
    aic: Aic,
}

impl Machine {
    /// A machine in the state in which the configuration wants it found, at time 0.
    pub fn new(config: MachineConfig) -> Self {
        Self {
            now: 0,
            events: EventQueue::default(),
            random: Random::new(config.seed),
            record: Record::default(),
            wires: Wires::default(),
            counters: BTreeMap::new(),
            pmgr: Pmgr::new(&config),
            pmgr_mini: Pmgr::unmodelled(),
            coprocessor: Coprocessor::new(&config),
            nvme: NvmeBlock::new(&config),
            uart: Uart::new(),
            watchdog: Watchdog::default(),
            aic: Aic::new(),
        }
    }

    /// Name, base address and size in bytes of each block.
    pub fn windows() -> impl Iterator<Item = (&'static str, u64, u64)> {
        BLOCKS.iter().map(|(_, name, base, size)| (*name, *base, *size))
    }

    /// Model time, in nanoseconds.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// When the next event is due, in nanoseconds of model time.
    pub fn next_event(&self) -> Option<u64> {
        self.events.next()
    }

    /// Lets time pass up to `time_ns` and runs what falls due on the way. Time never goes back.
    pub fn advance_to(&mut self, memory: &mut dyn PhysicalMemory, time_ns: u64) {
        while let Some((due, event)) = self.events.due(time_ns) {
            self.now = self.now.max(due);
            self.dispatch(memory, event);
        }
        self.now = self.now.max(time_ns);
    }

    /// The CPU reads `size` bytes (1, 2, 4 or 8) at `address`.
    ///
    /// # Errors
    /// [`BusFault`]: the CPU takes an external abort.
    pub fn read(&mut self, memory: &mut dyn PhysicalMemory, address: u64, size: u8) -> Result<u64, BusFault> {
        let (block, name, offset) = self.route(address, size)?;
        self.count(name, offset).reads += 1;
        let value = self.with(memory, |machine, ctx| match block {
            Block::Uart => machine.uart.read(offset).into(),
            Block::Aic => machine.aic.read(offset).into(),
            Block::Pmgr => machine.pmgr.read(ctx, offset).into(),
            Block::PmgrMini => machine.pmgr_mini.read(ctx, offset).into(),
            Block::Watchdog => machine.watchdog.read(ctx.now, offset).into(),
            Block::Asc => machine.coprocessor.read(offset).into(),
            Block::Sart => machine.coprocessor.sart.read(offset).into(),
            Block::Mailbox => {
                let value = machine.coprocessor.mailbox.read(ctx, offset, size);
                machine.coprocessor.after_read(ctx);
                value
            }
            Block::Nvme => machine.nvme.read(ctx, offset, size),
        });
        Ok(if size < 8 { value & ((1 << (size * 8)) - 1) } else { value })
    }

    /// The CPU writes `size` bytes (1, 2, 4 or 8) at `address`.
    ///
    /// # Errors
    /// [`BusFault`]: the CPU takes an external abort.
    pub fn write(
        &mut self,
        memory: &mut dyn PhysicalMemory,
        address: u64,
        size: u8,
        value: u64,
    ) -> Result<(), BusFault> {
        let (block, name, offset) = self.route(address, size)?;
        self.count(name, offset).writes += 1;
        let word = (value & 0xffff_ffff) as u32;
        self.with(memory, |machine, ctx| match block {
            Block::Uart => machine.uart.write(offset, word),
            Block::Aic => machine.aic.write(offset, word),
            Block::Pmgr => {
                let change = machine.pmgr.write(ctx, offset, word);
                machine.power_changed(ctx, change);
            }
            Block::PmgrMini => _ = machine.pmgr_mini.write(ctx, offset, word),
            Block::Watchdog => machine.watchdog.write(ctx, offset, word),
            Block::Asc => machine.coprocessor.write(ctx, offset, word),
            Block::Sart => machine.coprocessor.sart.write(ctx, offset, word),
            Block::Mailbox => {
                if let Some(message) = machine.coprocessor.mailbox.write(ctx, offset, size, value) {
                    machine.coprocessor.after_write(ctx, message);
                }
            }
            Block::Nvme => machine.nvme.write(ctx, offset, size, value),
        });
        Ok(())
    }

    /// The checks at the end of a run: everything is to be as it was found. Call it once.
    pub fn finish(&mut self, memory: &mut dyn PhysicalMemory) {
        self.with(memory, |machine, ctx| {
            machine.nvme.finish(ctx);
            machine.coprocessor.finish(ctx);
            machine.pmgr.finish(ctx, machine.coprocessor.excused());
        });
    }

    /// The power fails: what the controller's write cache holds is lost; gives the number of such blocks.
    pub fn cut_power(&mut self, memory: &mut dyn PhysicalMemory) -> usize {
        self.with(memory, |machine, ctx| machine.nvme.cut_power(ctx))
    }

    /// The pages that commands in flight may still reach, each with its command's tag.
    pub fn in_flight_pages(&self) -> Vec<(u64, u16)> {
        self.nvme.in_flight_pages().collect()
    }

    /// Adds violations that somebody else saw, such as the owner of the memory.
    pub(crate) fn record(&mut self) -> &mut Record {
        &mut self.record
    }

    /// Broken rules and notes so far.
    pub(crate) fn kept(&self) -> &Record {
        &self.record
    }

    /// What happened so far.
    pub fn report(&self) -> Report {
        let mut mmio: BTreeMap<String, Counter> = BTreeMap::new();
        for ((block, offset), counter) in &self.counters {
            let domain = if *block == "pmgr" { self.pmgr.register_name(*offset) } else { None };
            let name = domain.or_else(|| names::register(block, *offset));
            let total = mmio.entry(name.unwrap_or_else(|| format!("{block}+{offset:#x}"))).or_default();
            total.reads += counter.reads;
            total.writes += counter.writes;
        }
        let counters = self.nvme.counters();
        Report {
            violations: self.record.violations.clone(),
            violations_dropped: self.record.violations_dropped,
            notes: self.record.notes.clone(),
            mmio,
            commands: counters.commands.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
            bytes_read: counters.bytes_read,
            bytes_written: counters.bytes_written,
            console: self.uart.output().to_vec(),
            watchdog: self.watchdog.fired(),
            time_ns: self.now,
        }
    }

    /// What the image has written to the console so far.
    pub fn console(&self) -> &[u8] {
        self.uart.output()
    }

    /// The watchdog unit that reset the machine, and when, in nanoseconds: what the report says, without the rest of it.
    pub fn watchdog(&self) -> Option<(u8, u64)> {
        self.watchdog.fired()
    }

    /// Types bytes in at the console.
    pub fn type_in(&mut self, bytes: &[u8]) {
        self.uart.type_in(bytes);
    }

    /// Whether the interrupt controller asserts the CPU's IRQ input.
    pub fn interrupt(&self) -> bool {
        self.aic.pending()
    }

    fn route(&mut self, address: u64, size: u8) -> Result<(Block, &'static str, u64), BusFault> {
        let fault = |reason| BusFault { address, reason };
        let inside = |base: u64, bytes: u64| address >= base && address - base < bytes;
        let (block, name, base, _) = BLOCKS
            .iter()
            .copied()
            .find(|(_, _, base, bytes)| inside(*base, *bytes))
            .ok_or(fault(BusFaultReason::Hole))?;
        let offset = address - base;
        let place = || format!("{name}+{offset:#x}");
        let behind_ans = matches!(block, Block::Asc | Block::Mailbox | Block::Sart | Block::Nvme);
        if behind_ans && !self.pmgr.is_on(ANS_DOMAIN) {
            self.record.violation(self.now, "access-while-gated", place(), format!("{ANS_DOMAIN} is off"));
            return Err(fault(BusFaultReason::Gated));
        }
        if behind_ans {
            self.pmgr.used(ANS_DOMAIN, self.now);
        }
        let fits = match block {
            Block::Uart => matches!(size, 1 | 2 | 4),
            Block::Mailbox | Block::Nvme => matches!(size, 4 | 8),
            _ => size == 4,
        };
        if !fits || !offset.is_multiple_of(size.into()) {
            self.record.violation(self.now, "access-size", place(), format!("{size} bytes"));
            return Err(fault(BusFaultReason::Size));
        }
        Ok((block, name, offset))
    }

    fn count(&mut self, block: &'static str, offset: u64) -> &mut Counter {
        self.counters.entry((block, offset)).or_default()
    }

    fn dispatch(&mut self, memory: &mut dyn PhysicalMemory, event: Event) {
        self.with(memory, |machine, ctx| match event {
            Event::Power(offset) => {
                let change = machine.pmgr.event(ctx, offset);
                machine.power_changed(ctx, change);
            }
            Event::Firmware => machine.coprocessor.event(ctx),
            Event::Nvme(number) => machine.nvme.event(ctx, number),
            Event::Watchdog(number) => machine.watchdog.event(ctx, number),
        });
    }

    /// Runs `act` on the blocks with a context of all that is not a block, then settles the wires between the blocks.
    fn with<T>(
        &mut self,
        memory: &mut dyn PhysicalMemory,
        act: impl FnOnce(&mut Blocks<'_>, &mut Context<'_>) -> T,
    ) -> T {
        let mut ctx = Context {
            now: self.now,
            memory,
            record: &mut self.record,
            events: &mut self.events,
            random: &mut self.random,
            wires: &mut self.wires,
        };
        let mut blocks = Blocks {
            pmgr: &mut self.pmgr,
            pmgr_mini: &mut self.pmgr_mini,
            coprocessor: &mut self.coprocessor,
            nvme: &mut self.nvme,
            uart: &mut self.uart,
            watchdog: &mut self.watchdog,
            aic: &mut self.aic,
        };
        ctx.wires.storage_port_on = blocks.pmgr.is_on(STORAGE_PORT_DOMAIN);
        let value = act(&mut blocks, &mut ctx);
        blocks.settle(&mut ctx);
        value
    }
}

/// The blocks, apart from what a context borrows.
struct Blocks<'a> {
    pmgr: &'a mut Pmgr,
    pmgr_mini: &'a mut Pmgr,
    coprocessor: &'a mut Coprocessor,
    nvme: &'a mut NvmeBlock,
    uart: &'a mut Uart,
    watchdog: &'a mut Watchdog,
    aic: &'a mut Aic,
}

impl Blocks<'_> {
    fn power_changed(&mut self, ctx: &mut Context<'_>, change: Option<Change>) {
        match change {
            Some(Change::Reset(ANS_DOMAIN)) => self.coprocessor.reset(ctx),
            Some(Change::PoweredOff(ANS_DOMAIN)) => self.coprocessor.power_off(ctx),
            _ => {}
        }
        self.coprocessor.set_reset(self.pmgr.in_reset(ANS_DOMAIN));
    }

    fn settle(&mut self, ctx: &mut Context<'_>) {
        self.coprocessor.serve_wires(ctx);
        if std::mem::take(&mut ctx.wires.nvme_reset) {
            self.nvme.reset(ctx);
        }
        let mailbox = &self.coprocessor.mailbox;
        let (inbox, outbox) = (mailbox.has_inbox(), mailbox.has_outbox());
        for (line, level) in aic::MAILBOX_LINES.into_iter().zip([!inbox, inbox, !outbox, outbox]) {
            self.aic.line(line, level);
        }
        self.aic.line(aic::NVME_LINE, ctx.wires.nvme_interrupt);
    }
}
