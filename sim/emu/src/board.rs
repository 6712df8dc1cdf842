//! The machine around the CPU: the device models, the clock, the console and the record of the run.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use sim::Machine;
use sim::PhysicalMemory;
use unicorn_engine::Context;

use crate::clock::{Clock, nanoseconds_of};
use crate::console::{Console, Remark, Verdict};
use crate::report::{Mark, Stage};
use crate::run::LIMIT_NS;
use crate::timer::Timer;
use crate::trace::{Access, Trace};

/// Why the CPU is held.
pub(crate) enum Pause {
    /// The instruction at `counter` touched `address` and the machine said no.
    Abort { kind: AbortKind, address: u64, counter: u64, before: Option<Context> },
    /// The CPU itself raised an exception of that QEMU number.
    Exception(u32),
    /// An interrupt is pending and not masked.
    Interrupt(Line),
    /// The run is over.
    Over(Over),
}

/// What kind of access an abort belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AbortKind {
    Read,
    Write,
    Fetch,
}

/// The two interrupt lines of an Arm core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// From the interrupt controller.
    Irq,
    /// From the timers: on this machine they go past the controller.
    Fiq,
}

/// How a run ended, without regard to what the image said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    /// The image had the watchdog reset the machine: its way to power off.
    Reset,
    /// The limit of emulated time or of instructions was reached.
    OutOfTime(String),
    /// The CPU cannot go on.
    Crashed(String),
}

/// A block of registers that has a model.
#[derive(Clone, Copy, Debug)]
struct Window {
    name: &'static str,
    base: u64,
    size: u64,
}

/// Accesses to one absent register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    pub(crate) reads: u64,
    pub(crate) writes: u64,
}

/// Someone at the keyboard.
struct Typed {
    bytes: Receiver<Vec<u8>>,
    began: Instant,
}

/// The most absent registers that are told apart.
const ABSENT: usize = 256;

/// Everything but the CPU.
pub(crate) struct Board {
    pub(crate) machine: Machine,
    pub(crate) clock: Clock,
    /// Bytes of RAM.
    pub(crate) ram: u64,
    /// The number of instructions at which the CPU is to look up from its work.
    pub(crate) check_at: u64,
    pub(crate) pause: Option<Pause>,
    /// Whether the block that was begun last ends in WFE.
    pub(crate) asleep: bool,
    /// The physical and the virtual timer.
    pub(crate) timers: [Timer; 2],
    /// What the last register read gave, for the call-backs that hand it over in pieces: address and value.
    pub(crate) given: (u64, u64),
    pub(crate) limit_ns: u64,
    pub(crate) limit_instructions: u64,
    typed: Option<Typed>,
    pub(crate) verdict: Option<Verdict>,
    pub(crate) stages: Vec<Stage>,
    pub(crate) marks: Vec<Mark>,
    pub(crate) absent: BTreeMap<u64, Touched>,
    console: Console,
    trace: Option<Trace>,
    /// Bytes of the machine's console output that were passed on.
    heard: usize,
    windows: Vec<Window>,
}

impl Board {
    pub(crate) fn new(machine: Machine, ram: u64, console: Console, trace: Option<Trace>) -> Self {
        let windows = Machine::windows().map(|(name, base, size)| Window { name, base, size }).collect();
        Self {
            machine,
            clock: Clock::default(),
            ram,
            check_at: 0,
            pause: None,
            asleep: false,
            timers: [Timer::default(); 2],
            given: (0, 0),
            limit_ns: u64::MAX,
            limit_instructions: u64::MAX,
            typed: None,
            verdict: None,
            stages: Vec::new(),
            marks: Vec::new(),
            absent: BTreeMap::new(),
            console,
            trace,
            heard: 0,
            windows,
        }
    }

    /// When a timer next asks for an interrupt, or since when, in nanoseconds.
    pub(crate) fn timer_due(&self) -> Option<u64> {
        self.timers.iter().filter_map(Timer::due).min().map(nanoseconds_of)
    }

    /// Brings the devices up to the present, with that many instructions done.
    pub(crate) fn catch_up(&mut self, memory: &mut dyn PhysicalMemory, instructions: u64) {
        let now = self.clock.nanoseconds(instructions);
        self.machine.advance_to(memory, now);
        if self.machine.watchdog().is_some() {
            self.pause.get_or_insert(Pause::Over(Over::Reset));
        }
    }

    /// From now on bytes typed come from there, and the machine keeps pace with the host's clock.
    pub(crate) fn listen_to(&mut self, typed: Option<Receiver<Vec<u8>>>) {
        self.typed = typed.map(|bytes| Typed { bytes, began: Instant::now() });
    }

    /// Takes what was typed. A machine that is ahead of the host's clock waits for it here.
    pub(crate) fn hear(&mut self, now_ns: u64) {
        let Some(typed) = &self.typed else { return };
        let ahead = Duration::from_nanos(now_ns).saturating_sub(typed.began.elapsed());
        // Short waits are left to add up: a host's sleep is not finer than this.
        let bytes = if ahead > Duration::from_millis(1) {
            typed.bytes.recv_timeout(ahead)
        } else {
            typed.bytes.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            })
        };
        match bytes {
            Ok(bytes) => self.machine.type_in(&bytes),
            Err(RecvTimeoutError::Timeout) => {}
            // The typist is gone; from here on the machine runs as fast as it can, and not for ever.
            Err(RecvTimeoutError::Disconnected) => {
                self.typed = None;
                self.limit_ns = self.limit_ns.min(now_ns.saturating_add(LIMIT_NS));
            }
        }
    }

    /// The CPU's read of `size` bytes at a physical address; `None` is an external abort.
    pub(crate) fn read(
        &mut self,
        memory: &mut dyn PhysicalMemory,
        done: u64,
        address: u64,
        size: usize,
    ) -> Option<u64> {
        self.arrive(memory, done);
        let Some(window) = self.window(address) else {
            self.absent_at(address).reads += 1;
            return Some(0);
        };
        let value = self.machine.read(memory, address, u8::try_from(size).ok()?).ok()?;
        self.given = (address, value);
        self.record(Access { write: false, size, block: window.name, offset: address - window.base, value });
        Some(value)
    }

    /// The CPU's write of `size` bytes at a physical address; `None` is an external abort.
    pub(crate) fn write(
        &mut self,
        memory: &mut dyn PhysicalMemory,
        done: u64,
        address: u64,
        size: usize,
        value: u64,
    ) -> Option<()> {
        self.arrive(memory, done);
        let Some(window) = self.window(address) else {
            self.absent_at(address).writes += 1;
            return Some(());
        };
        // Recorded first, as hardware's tracers do: what the write sets off comes after it.
        self.record(Access { write: true, size, block: window.name, offset: address - window.base, value });
        self.machine.write(memory, address, u8::try_from(size).ok()?, value).ok()?;
        self.listen(done);
        Some(())
    }

    /// An access takes its time, finds the devices as they are then, and may change what comes next.
    fn arrive(&mut self, memory: &mut dyn PhysicalMemory, done: u64) {
        self.clock.register_access();
        self.catch_up(memory, done);
        self.given = (u64::MAX, 0);
        self.check_at = 0;
    }

    fn window(&self, address: u64) -> Option<Window> {
        self.windows.iter().copied().find(|window| address.wrapping_sub(window.base) < window.size)
    }

    fn absent_at(&mut self, address: u64) -> &mut Touched {
        let known = self.absent.len() < ABSENT || self.absent.contains_key(&address);
        // Beyond the limit all others share one entry.
        self.absent.entry(if known { address } else { u64::MAX }).or_default()
    }

    fn record(&mut self, access: Access) {
        if let Some(trace) = &mut self.trace
            && let Err(error) = trace.record(access)
        {
            eprintln!("emu: the trace ends here: {error}");
            self.trace = None;
        }
    }

    /// Takes what the UART has sent.
    fn listen(&mut self, done: u64) {
        let sent = self.machine.console().get(self.heard..).unwrap_or_default().to_vec();
        if sent.is_empty() {
            return;
        }
        self.heard += sent.len();
        let mut remarks = Vec::new();
        if let Err(error) = self.console.print(&sent, |remark| remarks.push(remark)) {
            self.pause = Some(Pause::Over(Over::Crashed(format!("the console's reader is gone: {error}"))));
        }
        let emulated_ns = self.clock.nanoseconds(done);
        for remark in remarks {
            match remark {
                // The first verdict counts: a panic on the way out must not turn a failure into a success.
                Remark::Verdict(verdict) => drop(self.verdict.get_or_insert(verdict)),
                Remark::Stage(name) => self.stages.push(Stage { name, emulated_ns }),
                Remark::Mark(name) => {
                    let report = self.machine.report();
                    self.marks.push(Mark { name, instructions: done, emulated_ns, report });
                }
            }
        }
    }

    /// Writes out what is still buffered.
    pub(crate) fn flush(&mut self) {
        if let Some(trace) = &mut self.trace
            && let Err(error) = trace.finish()
        {
            eprintln!("emu: the trace is incomplete: {error}");
        }
        if let Err(error) = self.console.flush() {
            eprintln!("emu: the console is incomplete: {error}");
        }
    }
}
