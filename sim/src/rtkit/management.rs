//! Endpoint 0: versions, the endpoint map, starting endpoints, power states.

use super::{Coprocessor, IOREPORT, MANAGEMENT, Phase, Step, UNANSWERED_NS, message as payload};
use crate::context::Context;
use crate::facts::rtkit::{
    self as facts, EPMAP_LAST, PWR_IDLE as IDLE, PWR_INIT as INIT, PWR_OFF as OFF, PWR_ON as ON,
    PWR_QUIESCED as QUIESCED, PWR_SLEEP as SLEEP,
};
use crate::fault::{CrashStage, Fault};
use crate::mailbox::Message;

/// Pages of the endpoint map: 0 to 4, 8 and 10 (tracekit), then the application endpoint 0x20.
const MAP: [u32; 2] = [0x51f, 0x1];
/// Endpoints without which the firmware does not finish its boot.
const REQUIRED: [u8; 2] = [super::CRASHLOG, IOREPORT];

/// The acknowledgement of that IOP power state.
const fn acknowledgement(state: u16) -> u64 {
    super::message(facts::SET_IOP_PWR_ACK, state as u64)
}

/// The power state that a message carries.
fn power_state(message: Message) -> u16 {
    (facts::PWR_STATE.of(message.payload) & 0xffff) as u16
}

impl Coprocessor {
    pub(super) fn say_hello(&mut self, ctx: &mut Context<'_>) {
        if self.phase != Phase::Booting {
            return;
        }
        self.end_session();
        ctx.wires.nvme_reset = true;
        self.phase = Phase::Hello;
        let (minimum, maximum) = self
            .fault(
                |fault| if let Fault::Versions(minimum, maximum) = fault { Some((*minimum, *maximum)) } else { None },
            )
            .unwrap_or(facts::VERSIONS.into());
        let range = facts::HELLO_MAX.put(maximum.into()) | facts::HELLO_MIN.put(minimum.into());
        let payload = payload(facts::HELLO, range);
        self.ask(ctx, MANAGEMENT, payload, "hello-unanswered");
    }

    pub(super) fn management(&mut self, ctx: &mut Context<'_>, payload: u64) {
        let message = Message { endpoint: MANAGEMENT, payload };
        match facts::TYPE.of(payload) {
            facts::HELLO_REPLY => self.hello_reply(ctx, message),
            facts::EPMAP => self.map_reply(ctx, message),
            facts::STARTEP => self.start_endpoint(ctx, message),
            facts::SET_IOP_PWR => self.iop_power(ctx, message),
            facts::SET_AP_PWR => self.ap_power(ctx, message),
            facts::PING => {
                self.answer(ctx, MANAGEMENT, payload & !facts::TYPE.mask() | facts::TYPE.put(facts::PONG));
            }
            _ => self.complain(ctx, "management-unknown", message, "no such management message"),
        }
    }

    fn hello_reply(&mut self, ctx: &mut Context<'_>, message: Message) {
        if self.phase != Phase::Hello || self.answered(|one| one.rule == "hello-unanswered").is_none() {
            return self.complain(ctx, "hello-reply-unasked", message, "no HELLO is open");
        }
        let (minimum, maximum) = (facts::HELLO_MIN.of(message.payload), facts::HELLO_MAX.of(message.payload));
        let offered =
            self.fault(|fault| {
                if let Fault::Versions(low, high) = fault { Some(u64::from(*low)..=u64::from(*high)) } else { None }
            })
            .unwrap_or(facts::VERSIONS[0].into()..=facts::VERSIONS[1].into());
        if minimum != maximum || !offered.contains(&minimum) {
            return self.complain(ctx, "hello-version", message, "both halves carry one version out of those offered");
        }
        if self.crashes_at(CrashStage::Hello) {
            return self.later(ctx, self.timings.firmware_answer, Step::Crash("fault: crash at hello".into()));
        }
        self.send_map(ctx, 0);
    }

    fn send_map(&mut self, ctx: &mut Context<'_>, page: u8) {
        self.phase = Phase::Map(page);
        let endless = self.has(&Fault::EndpointMapEndless);
        let bitmap = MAP.get(usize::from(page)).copied().unwrap_or(0);
        let last = if usize::from(page) + 1 == MAP.len() && !endless { EPMAP_LAST.mask() } else { 0 };
        let bits = facts::EPMAP_BASE.put(page.into()) | facts::EPMAP_BITMAP.put(bitmap.into());
        let payload = payload(facts::EPMAP, last | bits);
        self.ask(ctx, MANAGEMENT, payload, "endpoint-map-unanswered");
    }

    fn map_reply(&mut self, ctx: &mut Context<'_>, message: Message) {
        let Phase::Map(page) = self.phase else {
            return self.complain(ctx, "endpoint-map-unasked", message, "no endpoint map page is open");
        };
        let Some(asked) = self.answered(|one| one.rule == "endpoint-map-unanswered") else {
            return self.complain(ctx, "endpoint-map-unasked", message, "no endpoint map page is open");
        };
        let last = asked.message.payload & EPMAP_LAST.mask();
        let end = if last == 0 { facts::EPMAP_MORE.mask() } else { last };
        let wanted = payload(facts::EPMAP, facts::EPMAP_BASE.put(page.into()) | end);
        if message.payload != wanted {
            return self.complain(ctx, "endpoint-map-reply", message, &format!("wanted is {wanted:#018x}"));
        }
        if last == 0 {
            self.send_map(ctx, page.wrapping_add(1));
        } else {
            self.phase = Phase::Endpoints;
            // Not a message: the drivers start endpoints unasked, at once.
            let expected = super::Expected {
                message: Message { endpoint: MANAGEMENT, payload: 0 },
                rule: "endpoints-not-started",
                read_at: Some(ctx.now),
            };
            self.expected.push(expected);
            self.later(ctx, self.timings.patience, Step::LookForAnswers);
            if self.has(&Fault::UnknownMessages) {
                for (endpoint, payload) in
                    [(0, payload(0xf, 0)), (3, 0xff << 48), (10, 0x1234), (0, payload(facts::PONG, 0))]
                {
                    self.answer(ctx, endpoint, payload);
                }
            }
        }
    }

    fn start_endpoint(&mut self, ctx: &mut Context<'_>, message: Message) {
        let endpoint = (facts::STARTEP_EP.of(message.payload) & 0xff) as u8;
        if !matches!(self.phase, Phase::Endpoints | Phase::On) {
            return self.complain(ctx, "endpoint-started-early", message, "endpoints start after the last map page");
        }
        let listed = MAP.get(usize::from(endpoint / 32)).is_some_and(|page| page >> (endpoint % 32) & 1 != 0);
        if !listed {
            return self.complain(ctx, "endpoint-not-in-map", message, "the map does not have it");
        }
        if facts::STARTEP_FLAG.of(message.payload) != facts::STARTEP_START {
            return self.complain(ctx, "endpoint-start-flag", message, "flag 2 starts an endpoint");
        }
        if endpoint == MANAGEMENT || !self.started.insert(endpoint) {
            return self.complain(ctx, "endpoint-started-twice", message, "it is started already");
        }
        if REQUIRED.iter().all(|required| self.started.contains(required)) {
            self.answered(|one| one.rule == "endpoints-not-started");
        }
        self.ask_for_buffer(ctx, endpoint);
    }

    /// Acknowledges the power-on once everything that the boot needs is there.
    pub(super) fn finish_boot(&mut self, ctx: &mut Context<'_>) {
        let ready = self.phase == Phase::Endpoints
            && REQUIRED.iter().all(|required| self.started.contains(required) && self.has_buffer(*required))
            && self
                .expected
                .iter()
                .all(|one| !matches!(one.message.endpoint, super::CRASHLOG | super::SYSLOG | IOREPORT));
        if !ready {
            return;
        }
        self.phase = Phase::On;
        if self.crashes_at(CrashStage::Power) {
            return self.later(ctx, self.timings.firmware_answer, Step::Crash("fault: crash at power".into()));
        }
        if self.has(&Fault::NoPowerAck) {
            return;
        }
        let delay = self.timings.firmware_answer
            + self
                .fault(|fault| if let Fault::PowerAckDelay(delay) = fault { Some(*delay) } else { None })
                .unwrap_or(0);
        self.acknowledged = true;
        self.later(ctx, delay, Step::Send(Message { endpoint: MANAGEMENT, payload: acknowledgement(ON) }));
        self.later(ctx, delay + self.timings.boot_status, Step::Ready);
        if self.crashes_at(CrashStage::Running) {
            self.later(ctx, delay + 10_000_000, Step::Crash("fault: crash while running".into()));
        }
        if self.timings.ioreport_period != 0 {
            self.later(ctx, delay + self.timings.ioreport_period, Step::Report);
        }
    }

    pub(super) fn ready(&mut self, ctx: &mut Context<'_>) {
        if self.phase != Phase::On {
            return;
        }
        if !ctx.wires.storage_port_on {
            ctx.violation(
                "storage-port-off",
                "pmgr+0x418",
                "apcie_st has to be on for the firmware to reach its flash",
            );
            return self.crash(ctx, "no storage port");
        }
        if !self.has(&Fault::BootStatusNever) {
            ctx.wires.firmware_ready = true;
        }
    }

    fn iop_power(&mut self, ctx: &mut Context<'_>, message: Message) {
        let state = power_state(message);
        match (state, self.phase) {
            (ON, Phase::Idle(_)) if self.has(&Fault::WakeNeedsInit) => {}
            // State kept by the same session: no HELLO, just the acknowledgement.
            (ON | INIT, Phase::Idle(IDLE)) if self.acknowledged => {
                self.phase = Phase::On;
                self.answer(ctx, MANAGEMENT, acknowledgement(ON));
                self.later(ctx, self.timings.boot_status, Step::Ready);
            }
            (ON | INIT, Phase::Idle(OFF)) => {
                self.complain(ctx, "iop-is-off", message, "an IOP that was sent to OFF does not wake")
            }
            (ON | INIT, Phase::Idle(_)) => {
                self.phase = Phase::Booting;
                self.start_time = ctx.now;
                if !self.has(&Fault::NoHello) {
                    let delay = self.timings.firmware_wake + self.fault(super::hello_delay).unwrap_or(0);
                    self.later(ctx, delay, Step::SayHello);
                }
            }
            (ON | INIT, Phase::On) if self.acknowledged => self.answer(ctx, MANAGEMENT, acknowledgement(ON)),
            // During a boot: the drivers which send it blindly get the one HELLO that is on its way.
            (ON | INIT, _) => {}
            (SLEEP | QUIESCED | IDLE | OFF, Phase::Idle(_)) => {
                ctx.note(
                    "sleep-while-asleep",
                    "mailbox+0x808",
                    format!("SET_IOP {state:#x} to an idle coprocessor: no answer"),
                );
            }
            (SLEEP | QUIESCED | IDLE | OFF, _) => self.go_to_sleep(ctx, state, message),
            _ => self.complain(ctx, "iop-power-state", message, "no such power state"),
        }
    }

    fn go_to_sleep(&mut self, ctx: &mut Context<'_>, state: u16, message: Message) {
        self.look_for_answers(ctx, UNANSWERED_NS);
        if ctx.wires.controller_enabled {
            self.complain(ctx, "slept-with-controller-enabled", message, "CC.EN is still set");
        }
        if state == OFF {
            self.complain(ctx, "iop-power-off", message, "an IOP that was sent to OFF never starts again");
        }
        match self.ap_state {
            None => ctx.note("ap-never-raised", "mailbox", "sleep without any SET_AP before"),
            Some(QUIESCED | IDLE | OFF) => {}
            Some(ap) => ctx.note("ap-not-quiesced", "mailbox", format!("sleep while the AP is in {ap:#x}")),
        }
        if self.crashes_at(CrashStage::Sleep) {
            return self.later(ctx, self.timings.firmware_answer, Step::Crash("fault: crash at sleep".into()));
        }
        if !self.buffers_reachable(ctx) || self.has(&Fault::NoSleepAck) {
            return;
        }
        self.answer(ctx, MANAGEMENT, acknowledgement(state));
        self.later(ctx, self.timings.firmware_answer, Step::Sleep(state));
    }

    pub(super) fn fall_asleep(&mut self, ctx: &mut Context<'_>, state: u16) {
        self.phase = Phase::Idle(state);
        ctx.wires.firmware_ready = false;
        // Reports and lines that were still to come stay unsaid.
        self.agenda.retain(|_, step| matches!(step, Step::Send(_) | Step::TakeMessage));
        self.expected.clear();
        if state != IDLE {
            self.end_session();
            ctx.wires.nvme_reset = true;
        }
    }

    fn ap_power(&mut self, ctx: &mut Context<'_>, message: Message) {
        let state = power_state(message);
        if !matches!(state, OFF | SLEEP | QUIESCED | ON | IDLE | INIT) {
            return self.complain(ctx, "ap-power-state", message, "no such power state");
        }
        if !matches!(self.phase, Phase::Endpoints | Phase::On) {
            return self.complain(ctx, "message-too-early", message, "the AP's state is told once endpoints run");
        }
        self.ap_state = Some(state);
        if !self.has(&Fault::NoApAck) {
            self.answer(ctx, MANAGEMENT, payload(facts::SET_AP_PWR, state.into()));
        }
        if state == ON {
            self.talk(ctx);
        }
    }
}
