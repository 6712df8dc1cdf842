//! The coprocessor: CPU control, its mailbox and DMA filter, and the RTKit firmware that runs on it.
//!
//! The firmware is a set of steps in time (its agenda) and a phase. What it does on which event follows the device-model
//! notes of the RTKit reference; where drivers that run on real machines differ, it accepts them all.

mod buffers;
mod cpu;
mod crash;
mod management;
mod syslog;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::config::{AnsState, MachineConfig, Timings};
use crate::context::{Context, Event};
use crate::facts::rtkit::{
    EP_CRASHLOG as CRASHLOG, EP_DEBUG as DEBUG, EP_IOREPORT as IOREPORT, EP_MANAGEMENT as MANAGEMENT,
    EP_OSLOG as OSLOG, EP_SYSLOG as SYSLOG, PWR_IDLE, PWR_OFF, PWR_SLEEP, TYPE,
};
use crate::fault::{CrashStage, Fault};
use crate::mailbox::{Mailbox, Message};
use crate::sart::Sart;

use buffers::Buffer;
use cpu::RUN;
use syslog::Syslog;

/// A message that was read so long ago without its answer counts as unanswered at a sleep request or at the end.
const UNANSWERED_NS: u64 = 100_000_000;

/// How far the firmware is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Power-on state, CPU stopped.
    Off,
    /// CPU started or woken, HELLO on its way.
    Booting,
    /// HELLO sent, its reply awaited.
    Hello,
    /// Endpoint-map page of that number sent, its reply awaited.
    Map(u8),
    /// The map is done: endpoints start and get their buffers.
    Endpoints,
    /// The power acknowledgement is on its way or was given.
    On,
    /// Put to sleep (or left by iBoot) in that IOP power state: only a wake or a reset helps.
    Idle(u16),
    /// Crashed by itself: silent until the machine restarts.
    Crashed,
    /// Stopped or reset while alive: silent until the machine restarts.
    Broken,
}

/// Something that the firmware does at its time.
#[derive(Clone, Debug)]
enum Step {
    SayHello,
    TakeMessage,
    Send(Message),
    /// The NVMe side is up.
    Ready,
    /// A sleep request was acknowledged: that state holds now.
    Sleep(u16),
    Report,
    Crash(String),
    LookForAnswers,
}

/// A message that needs an answer.
#[derive(Clone, Copy, Debug)]
struct Expected {
    message: Message,
    rule: &'static str,
    /// When the AP read it.
    read_at: Option<u64>,
}

/// The coprocessor.
#[derive(Debug)]
pub(crate) struct Coprocessor {
    pub(crate) mailbox: Mailbox,
    pub(crate) sart: Sart,
    timings: Timings,
    faults: Vec<Fault>,
    found: AnsState,
    control: u32,
    others: BTreeMap<u64, u32>,
    held_in_reset: bool,
    phase: Phase,
    agenda: BTreeMap<(u64, u64), Step>,
    sequence: u64,
    blocked: VecDeque<Message>,
    expected: Vec<Expected>,
    history: VecDeque<(u64, Message)>,
    started: BTreeSet<u8>,
    buffers: BTreeMap<u8, Buffer>,
    syslog: Syslog,
    acknowledged: bool,
    ap_state: Option<u16>,
    hung: bool,
    start_time: u64,
}

/// The payload of a message of that type over these bits.
const fn message(kind: u64, bits: u64) -> u64 {
    TYPE.put(kind) | bits
}

impl Coprocessor {
    pub(crate) fn new(config: &MachineConfig) -> Self {
        let running = config.ans == AnsState::Running;
        Self {
            mailbox: Mailbox::default(),
            sart: Sart::new(config),
            timings: config.timings.clone(),
            faults: config.faults.clone(),
            found: config.ans,
            control: if running { RUN } else { 0 },
            others: BTreeMap::new(),
            held_in_reset: false,
            phase: if running { Phase::Idle(PWR_IDLE) } else { Phase::Off },
            agenda: BTreeMap::new(),
            sequence: 0,
            blocked: VecDeque::new(),
            expected: Vec::new(),
            history: VecDeque::new(),
            started: BTreeSet::new(),
            buffers: BTreeMap::new(),
            syslog: Syslog::default(),
            acknowledged: false,
            ap_state: None,
            hung: false,
            start_time: 0,
        }
    }

    fn fault<T>(&self, pick: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        self.faults.iter().find_map(pick)
    }

    fn has(&self, fault: &Fault) -> bool {
        self.faults.contains(fault)
    }

    fn crashes_at(&self, stage: CrashStage) -> bool {
        self.has(&Fault::Crash(stage))
    }

    /// Firmware executes and would be hurt by a stop or a reset.
    fn is_alive(&self) -> bool {
        match self.phase {
            // A core that is late or silent on purpose counts as dead, so that a driver which gives up may clean up.
            Phase::Booting => !self.has(&Fault::NoHello) && self.fault(hello_delay).is_none(),
            Phase::Hello | Phase::Map(_) | Phase::Endpoints | Phase::On => true,
            Phase::Idle(state) => state != PWR_SLEEP && state != PWR_OFF,
            Phase::Off | Phase::Crashed | Phase::Broken => false,
        }
    }

    fn later(&mut self, ctx: &mut Context<'_>, delay: u64, step: Step) {
        self.sequence += 1;
        self.agenda.insert((ctx.now + delay, self.sequence), step);
        ctx.events.at(ctx.now + delay, Event::Firmware);
    }

    fn answer(&mut self, ctx: &mut Context<'_>, endpoint: u8, payload: u64) {
        self.later(ctx, self.timings.firmware_answer, Step::Send(Message { endpoint, payload }));
    }

    /// Sends a message that firmware cannot go on without an answer to.
    fn ask(&mut self, ctx: &mut Context<'_>, endpoint: u8, payload: u64, rule: &'static str) {
        self.expected.push(Expected { message: Message { endpoint, payload }, rule, read_at: None });
        self.answer(ctx, endpoint, payload);
    }

    /// Takes the expectation that `wanted` describes; whether there was one.
    fn answered(&mut self, wanted: impl Fn(&Expected) -> bool) -> Option<Expected> {
        let index = self.expected.iter().position(wanted)?;
        Some(self.expected.remove(index))
    }

    /// The due steps.
    pub(crate) fn event(&mut self, ctx: &mut Context<'_>) {
        while let Some(key) = self.agenda.keys().next().copied().filter(|key| key.0 <= ctx.now) {
            if let Some(step) = self.agenda.remove(&key) {
                self.step(ctx, step);
            }
        }
    }

    fn step(&mut self, ctx: &mut Context<'_>, step: Step) {
        match step {
            Step::SayHello => self.say_hello(ctx),
            Step::TakeMessage => self.take_message(ctx),
            Step::Send(message) => {
                if !self.blocked.is_empty() || !self.mailbox.send(message) {
                    self.blocked.push_back(message);
                }
            }
            Step::Ready => self.ready(ctx),
            Step::Sleep(state) => self.fall_asleep(ctx, state),
            Step::Report => self.report(ctx),
            Step::Crash(reason) => self.crash(ctx, &reason),
            Step::LookForAnswers => self.look_for_answers(ctx, self.timings.patience),
        }
    }

    /// The AP read from the mailbox: there may be room again, and answers fall due.
    pub(crate) fn after_read(&mut self, ctx: &mut Context<'_>) {
        for message in self.mailbox.delivered() {
            let first = self.expected.iter_mut().find(|one| one.message == message && one.read_at.is_none());
            if let Some(expected) = first {
                expected.read_at = Some(ctx.now);
                self.later(ctx, self.timings.patience, Step::LookForAnswers);
            }
        }
        while let Some(message) = self.blocked.pop_front() {
            if !self.mailbox.send(message) {
                self.blocked.push_front(message);
                break;
            }
        }
    }

    /// The AP put a message in.
    pub(crate) fn after_write(&mut self, ctx: &mut Context<'_>, message: Message) {
        if self.control & RUN == 0 {
            ctx.violation(
                "message-to-stopped-coprocessor",
                "mailbox+0x808",
                format!("{:#018x} was sent while RUN is clear", message.payload),
            );
        }
        // What the filter allows counts from the moment at which the firmware is told, not from when it looks.
        self.check_granted(ctx, message);
        self.later(ctx, self.timings.firmware_take, Step::TakeMessage);
    }

    fn take_message(&mut self, ctx: &mut Context<'_>) {
        let busy_until = self.fault(|fault| match fault {
            Fault::MailboxFull => Some(u64::MAX),
            Fault::MailboxFullFor(time) => Some(self.start_time + time),
            _ => None,
        });
        if let Some(until) = busy_until.filter(|until| ctx.now < *until) {
            if until != u64::MAX {
                self.later(ctx, until - ctx.now, Step::TakeMessage);
            }
            return;
        }
        if self.control & RUN == 0 || self.hung || matches!(self.phase, Phase::Crashed | Phase::Broken | Phase::Off) {
            return;
        }
        if !self.mailbox.has_inbox() {
            return;
        }
        let Some(message) = self.mailbox.take() else { return };
        self.history.push_back((ctx.now, message));
        if self.history.len() > 8 {
            self.history.pop_front();
        }
        self.receive(ctx, message);
    }

    fn receive(&mut self, ctx: &mut Context<'_>, message: Message) {
        let Message { endpoint, payload } = message;
        if endpoint == MANAGEMENT {
            self.management(ctx, payload);
        } else if matches!(self.phase, Phase::Idle(_)) {
            // The echo of a line which was on its way when the sleep was acknowledged.
            ctx.note("message-while-asleep", "mailbox+0x808", format!("endpoint {endpoint:#x}: {payload:#018x}"));
        } else if matches!(self.phase, Phase::Booting | Phase::Hello | Phase::Map(_)) {
            self.complain(ctx, "message-too-early", message, "endpoints speak once the map is done");
        } else if !self.started.contains(&endpoint) {
            self.complain(ctx, "message-to-unstarted-endpoint", message, "the endpoint was not started");
        } else {
            match endpoint {
                CRASHLOG | SYSLOG | IOREPORT | OSLOG => self.system(ctx, message),
                DEBUG => {}
                _ => ctx.note("application-message", "mailbox", format!("endpoint {endpoint:#x}: {payload:#018x}")),
            }
        }
    }

    fn complain(&self, ctx: &mut Context<'_>, rule: &'static str, message: Message, why: &str) {
        let detail = format!("endpoint {:#x}, message {:#018x}: {why}", message.endpoint, message.payload);
        ctx.violation(rule, "mailbox+0x808", detail);
    }

    fn look_for_answers(&mut self, ctx: &mut Context<'_>, age: u64) {
        let now = ctx.now;
        let late = |one: &Expected| one.read_at.is_some_and(|at| now >= at + age);
        while let Some(expected) = self.answered(late) {
            let Message { endpoint, payload } = expected.message;
            let detail = format!("endpoint {endpoint:#x}: {payload:#018x} was read and needs an answer");
            if self.faults.iter().any(Fault::stops_the_session) {
                ctx.note(expected.rule, "mailbox", detail);
            } else {
                ctx.violation(expected.rule, "mailbox", detail);
            }
            if endpoint == IOREPORT && self.acknowledged {
                self.hung = true;
                self.agenda.clear();
                ctx.wires.firmware_ready = false;
            }
        }
    }

    /// What the NVMe block asked of its firmware.
    pub(crate) fn serve_wires(&mut self, ctx: &mut Context<'_>) {
        for line in std::mem::take(&mut ctx.wires.syslog) {
            self.log(ctx, "nvme", line);
        }
        if let Some(reason) = ctx.wires.crash.take() {
            self.later(ctx, self.timings.firmware_answer, Step::Crash(reason));
        }
    }

    /// The checks at the end of a run.
    pub(crate) fn finish(&mut self, ctx: &mut Context<'_>) {
        self.look_for_answers(ctx, UNANSWERED_NS);
        let excused = self.excused();
        let awake = self.is_alive() && !matches!(self.phase, Phase::Idle(_));
        let found_running = self.found == AnsState::Running;
        let detail = format!("firmware is {:?}, RUN is {}", self.phase, u8::from(self.control & RUN != 0));
        if awake && excused {
            ctx.note("rtkit-left-running", "asc+0x044", detail);
        } else if awake {
            ctx.violation("rtkit-left-running", "asc+0x044", detail);
        } else if self.control & RUN != 0
            && !found_running
            && !excused
            && !matches!(self.phase, Phase::Crashed | Phase::Broken)
        {
            ctx.violation("cpu-left-running", "asc+0x044", detail);
        }
        self.sart.finish(ctx, excused);
    }

    /// A fault keeps the driver from cleaning up: what it leaves is no fault of its own.
    pub(crate) fn excused(&self) -> bool {
        self.has(&Fault::NoSleepAck) || self.has(&Fault::MailboxFull) || matches!(self.phase, Phase::Crashed)
    }
}

fn hello_delay(fault: &Fault) -> Option<u64> {
    if let Fault::HelloDelay(delay) = fault { Some(*delay) } else { None }
}
