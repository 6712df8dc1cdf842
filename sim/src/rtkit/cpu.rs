//! CPU control: starting and stopping the core, and what reset and power loss do to it.

use super::{Coprocessor, Phase, Step, hello_delay};
use crate::context::Context;
use crate::facts::asc::{self, CPU_CONTROL, CPU_STATUS};
use crate::fault::Fault;
use crate::rtkit::syslog::Syslog;

pub(super) const RUN: u32 = asc::RUN.mask32();

impl Coprocessor {
    pub(crate) fn read(&self, offset: u64) -> u32 {
        match offset {
            CPU_CONTROL => self.control,
            CPU_STATUS => {
                let running = if self.control & RUN != 0 { asc::STATUS_RUNNING } else { asc::STATUS_STOPPED };
                running.mask32() | if self.mailbox.has_outbox() { 0 } else { asc::STATUS_IDLE.mask32() }
            }
            _ => self.others.get(&offset).copied().unwrap_or(0),
        }
    }

    pub(crate) fn write(&mut self, ctx: &mut Context<'_>, offset: u64, value: u32) {
        if offset != CPU_CONTROL {
            ctx.note("asc-unknown-register", format!("asc+{offset:#05x}"), format!("write of {value:#x}"));
            self.others.insert(offset, value);
            return;
        }
        let (was, is) = (self.control & RUN != 0, value & RUN != 0);
        self.control = value;
        match (was, is) {
            (false, true) => self.start(ctx),
            (true, false) => self.stop(ctx),
            _ => {}
        }
    }

    fn start(&mut self, ctx: &mut Context<'_>) {
        if self.held_in_reset {
            ctx.violation("run-in-reset", "asc+0x044", "RUN was set while the device is held in reset");
            self.phase = Phase::Broken;
            return;
        }
        match self.phase {
            Phase::Off => self.boot(ctx),
            Phase::Idle(_) => {
                ctx.note("run-without-reset", "asc+0x044", "started again after a sleep without a reset between");
                self.boot(ctx);
            }
            _ => ctx.note("run-on-dead-coprocessor", "asc+0x044", "crashed or broken firmware does not start again"),
        }
    }

    fn boot(&mut self, ctx: &mut Context<'_>) {
        self.phase = Phase::Booting;
        self.start_time = ctx.now;
        if !self.has(&Fault::NoHello) {
            let delay = self.timings.firmware_boot + self.fault(hello_delay).unwrap_or(0);
            self.later(ctx, delay, Step::SayHello);
        }
    }

    fn stop(&mut self, ctx: &mut Context<'_>) {
        if self.is_alive() {
            ctx.violation("run-cleared-while-alive", "asc+0x044", format!("firmware is not asleep ({:?})", self.phase));
            self.die(ctx, Phase::Broken);
        } else if self.phase == Phase::Booting {
            self.die(ctx, Phase::Off);
        }
    }

    /// The reset of the domain is asserted.
    pub(crate) fn reset(&mut self, ctx: &mut Context<'_>) {
        self.held_in_reset = true;
        self.lose_state(ctx, "reset-while-running");
    }

    pub(crate) fn set_reset(&mut self, held: bool) {
        self.held_in_reset = held;
    }

    /// The domain lost its power.
    pub(crate) fn power_off(&mut self, ctx: &mut Context<'_>) {
        self.lose_state(ctx, "power-off-while-running");
        self.sart.power_loss();
    }

    /// Core and mailbox lose what they hold; firmware that was alive does not survive it, and `rule` was broken.
    fn lose_state(&mut self, ctx: &mut Context<'_>, rule: &'static str) {
        if self.control & RUN != 0 && self.is_alive() {
            ctx.violation(rule, "pmgr+0x3f0", format!("RUN is set and firmware is alive ({:?})", self.phase));
            self.die(ctx, Phase::Broken);
        } else if !matches!(self.phase, Phase::Crashed | Phase::Broken) {
            self.die(ctx, Phase::Off);
        }
        self.control = 0;
        self.mailbox.reset();
    }

    /// Everything that lives in the firmware is gone.
    fn die(&mut self, ctx: &mut Context<'_>, phase: Phase) {
        self.phase = phase;
        self.agenda.clear();
        self.end_session();
        ctx.wires.firmware_ready = false;
        ctx.wires.nvme_reset = true;
    }

    pub(super) fn end_session(&mut self) {
        self.blocked.clear();
        self.expected.clear();
        self.started.clear();
        self.buffers.clear();
        self.syslog = Syslog::default();
        self.acknowledged = false;
        self.ap_state = None;
        self.hung = false;
    }
}
