//! Endpoint 2: lines that firmware writes into the granted buffer, one message for each.

use std::collections::VecDeque;

use super::{Coprocessor, Phase, SYSLOG, Step, message as payload};
use crate::context::Context;
use crate::facts::rtkit::{self as facts, SYSLOG_CONTEXT_BYTES as CONTEXT_BYTES};
use crate::fault::Fault;
use crate::mailbox::Message;
use crate::sart::Refused;

/// Entries of the buffer, and bytes of text in each.
const ENTRIES: u64 = 0x20;
const TEXT_BYTES: u8 = 0xc8;
/// Lines that wait for the endpoint at most; older ones are dropped, as from any ring of log lines.
const KEPT: usize = 64;

/// The endpoint's state.
#[derive(Debug, Default)]
pub(super) struct Syslog {
    next: u64,
    lines: VecDeque<(String, String)>,
    /// The AP is on: lines flow.
    flows: bool,
}

impl Coprocessor {
    /// The buffer is there: its geometry, and the first line.
    pub(super) fn open_syslog(&mut self, ctx: &mut Context<'_>) {
        let geometry = facts::SYSLOG_TEXT_BYTES.put(TEXT_BYTES.into()) | facts::SYSLOG_ENTRIES.put(ENTRIES);
        self.answer(ctx, SYSLOG, payload(facts::SYSLOG_INIT, geometry));
        self.syslog.lines.push_front(("rtkit".into(), "RTKit: syslog is up".into()));
        self.next_line(ctx);
    }

    /// The AP's power state went up: what was kept back comes out.
    pub(super) fn talk(&mut self, ctx: &mut Context<'_>) {
        self.syslog.flows = true;
        self.log(ctx, "rtkit", "AP power state is on".into());
        self.log(ctx, "ans2", "flash: one channel group, wear level 3".into());
        if self.has(&Fault::SyslogGarbage) {
            let odd: String = (1..200_u8).map(char::from).collect();
            self.log(ctx, "garbage context that is far too long for it", odd);
        }
    }

    /// Has a line written when its turn comes.
    pub(super) fn log(&mut self, ctx: &mut Context<'_>, context: &str, text: String) {
        if self.syslog.lines.len() < KEPT {
            self.syslog.lines.push_back((context.into(), text));
        }
        if self.syslog.flows {
            self.next_line(ctx);
        }
    }

    fn next_line(&mut self, ctx: &mut Context<'_>) {
        let busy = self.expected.iter().any(|one| one.rule == "syslog-not-echoed");
        let awake = matches!(self.phase, Phase::Endpoints | Phase::On);
        let Some((address, size)) = self.buffer(SYSLOG).filter(|_| awake && !busy) else { return };
        let Some((context, text)) = self.syslog.lines.pop_front() else { return };
        let stride = facts::SYSLOG_TEXT as u64 + u64::from(TEXT_BYTES);
        let index = self.syslog.next % ENTRIES;
        self.syslog.next += 1;
        if (index + 1) * stride > size {
            return;
        }
        let garbage = self.has(&Fault::SyslogGarbage);
        let entry = entry(&context, &text, self.syslog.next, garbage);
        let at = address + index * stride;
        match self.sart.store(ctx, at, &entry) {
            Ok(()) => {}
            Err(Refused::Window) => {
                ctx.violation("buffer-window-closed", "sart", format!("the syslog entry at {at:#x} is shut"));
                return self.later(ctx, self.timings.firmware_answer, Step::Crash("syslog DMA refused".into()));
            }
            Err(Refused::Memory(fault)) => {
                ctx.violation("buffer-outside-memory", "mailbox", fault.to_string());
                return self.later(ctx, self.timings.firmware_answer, Step::Crash("syslog DMA failed".into()));
            }
        }
        let told = if garbage && self.syslog.next.is_multiple_of(2) { 0xff } else { index };
        self.ask(ctx, SYSLOG, payload(facts::SYSLOG_LOG, facts::SYSLOG_INDEX.put(told)), "syslog-not-echoed");
    }

    pub(super) fn syslog_echo(&mut self, ctx: &mut Context<'_>, message: Message) {
        if self.answered(|one| one.message == message).is_none() {
            return self.complain(ctx, "syslog-echo-unasked", message, "no such line is open");
        }
        self.finish_boot(ctx);
        if self.syslog.flows {
            self.next_line(ctx);
        }
    }
}

/// One entry as it lies in memory. Behind the text's NUL stays what was there before, as drivers must expect.
fn entry(context: &str, text: &str, number: u64, garbage: bool) -> Vec<u8> {
    let mut bytes = vec![0; facts::SYSLOG_CONTEXT];
    bytes.splice(0..4, super::crash::word(number));
    let mut name: Vec<u8> = context.bytes().take(if garbage { CONTEXT_BYTES } else { CONTEXT_BYTES - 1 }).collect();
    name.resize(CONTEXT_BYTES, 0);
    bytes.extend(name);
    bytes.resize(facts::SYSLOG_TEXT, 0);
    if garbage {
        let mut odd: Vec<u8> = text.chars().map(|letter| (u32::from(letter) & 0xff) as u8).collect();
        odd.resize(TEXT_BYTES.into(), 0xff);
        bytes.extend(odd);
    } else {
        bytes.extend(text.bytes().take(usize::from(TEXT_BYTES) - 2));
        bytes.extend(*b"\n\0");
    }
    bytes
}
