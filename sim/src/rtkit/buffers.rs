//! The buffers that the system endpoints ask for, and the ioreport traffic.

use super::{CRASHLOG, Coprocessor, IOREPORT, OSLOG, Phase, SYSLOG, Step, message as payload_of};
use crate::context::Context;
use crate::facts::rtkit::{
    self as facts, BUFFER, BUFFER_PAGE as PAGE, IOREPORT_REPORT as REPORT, IOREPORT_START as REPORT_START,
    OSLOG_BUFFER, SYSLOG_LOG,
};
use crate::fault::{CrashStage, Fault};
use crate::mailbox::Message;
use crate::sart::Refused;

/// Pages that the endpoints 1, 2 and 4 ask for: what the recorded drivers were asked for.
const PAGES: [(u8, u8); 3] = [(CRASHLOG, 4), (SYSLOG, 8), (IOREPORT, 4)];
/// Bytes of the oslog buffer.
const OSLOG_BYTES: u64 = 0x4000;

/// One buffer, asked for or granted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffer {
    pub(super) address: Option<u64>,
    pub(super) size: u64,
}

impl Coprocessor {
    pub(super) fn has_buffer(&self, endpoint: u8) -> bool {
        self.buffers.get(&endpoint).is_some_and(|buffer| buffer.address.is_some())
    }

    pub(super) fn buffer(&self, endpoint: u8) -> Option<(u64, u64)> {
        let buffer = self.buffers.get(&endpoint)?;
        buffer.address.map(|address| (address, buffer.size))
    }

    /// An endpoint was started: it asks for its memory.
    pub(super) fn ask_for_buffer(&mut self, ctx: &mut Context<'_>, endpoint: u8) {
        if endpoint == OSLOG {
            // No driver is bound to answer this one (m1n1 does not, Linux used to acknowledge only).
            self.buffers.insert(endpoint, Buffer { address: None, size: OSLOG_BYTES });
            return self.answer(
                ctx,
                endpoint,
                facts::OSLOG_TYPE.put(OSLOG_BUFFER) | facts::OSLOG_SIZE.put(OSLOG_BYTES),
            );
        }
        let Some((_, pages)) = PAGES.iter().copied().find(|(asks, _)| *asks == endpoint) else { return };
        let pages = self
            .fault(|fault| match fault {
                Fault::BufferPages(odd, pages) if *odd == endpoint => Some(*pages),
                _ => None,
            })
            .unwrap_or(pages);
        let preset = self.fault(|fault| match fault {
            Fault::BufferPreset(odd, address) if *odd == endpoint => Some(*address),
            _ => None,
        });
        let request = payload_of(BUFFER, facts::BUFFER_SIZE.put(pages.into()));
        if let Some(address) = preset {
            // A buffer of its own: announced, never answered.
            self.answer(ctx, endpoint, request | facts::BUFFER_ADDRESS.put(address));
            return self.granted(ctx, endpoint);
        }
        self.buffers.insert(endpoint, Buffer { address: None, size: u64::from(pages) * PAGE });
        self.ask(ctx, endpoint, request, "buffer-request-unanswered");
    }

    /// Checks a buffer reply at the moment at which it is sent: the filter has to be open before.
    pub(super) fn check_granted(&mut self, ctx: &mut Context<'_>, message: Message) {
        let Message { endpoint, payload } = message;
        let (address, size) = match endpoint {
            CRASHLOG | SYSLOG | IOREPORT if facts::TYPE.of(payload) == BUFFER => {
                (facts::BUFFER_ADDRESS.of(payload), facts::BUFFER_SIZE.of(payload) * PAGE)
            }
            OSLOG if facts::OSLOG_TYPE.of(payload) == OSLOG_BUFFER => {
                (facts::OSLOG_ADDRESS.of(payload) * PAGE, facts::OSLOG_SIZE.of(payload))
            }
            _ => return,
        };
        if address == 0 || size == 0 {
            return;
        }
        let (rule, why) = match self.sart.check(ctx, address, size) {
            Ok(()) => return,
            Err(Refused::Window) => ("buffer-not-in-sart", "no SART entry opens all of it".to_owned()),
            Err(Refused::Memory(fault)) => ("buffer-outside-memory", fault.to_string()),
        };
        ctx.violation(
            rule,
            "mailbox+0x808",
            format!("endpoint {endpoint:#x} got {address:#x}, {size:#x} bytes: {why}"),
        );
        self.later(ctx, self.timings.firmware_answer, Step::Crash(format!("DMA to {address:#x} refused")));
    }

    /// A message to one of the endpoints 1, 2, 4 and 8.
    pub(super) fn system(&mut self, ctx: &mut Context<'_>, message: Message) {
        let Message { endpoint, payload } = message;
        let kind = facts::TYPE.of(payload);
        match (endpoint, kind) {
            (OSLOG, _) => self.oslog(ctx, message),
            (_, BUFFER) => self.buffer_reply(ctx, message),
            (SYSLOG, SYSLOG_LOG) => self.syslog_echo(ctx, message),
            (IOREPORT, REPORT | REPORT_START) => {
                let same = |one: &super::Expected| one.message == message;
                let late = |one: &super::Expected| same(one) && one.read_at.is_some();
                if self.answered(late).or_else(|| self.answered(same)).is_none() {
                    return self.complain(ctx, "ioreport-echo-unasked", message, "no such report is open");
                }
                self.finish_boot(ctx);
            }
            _ => self.complain(ctx, "endpoint-message-unknown", message, "the endpoint knows no such message"),
        }
    }

    fn buffer_reply(&mut self, ctx: &mut Context<'_>, message: Message) {
        let Message { endpoint, payload } = message;
        let open = |one: &super::Expected| one.message.endpoint == endpoint && one.rule == "buffer-request-unanswered";
        if self.answered(open).is_none() {
            return self.complain(ctx, "buffer-reply-unasked", message, "no buffer request is open");
        }
        let (address, size) = (facts::BUFFER_ADDRESS.of(payload), facts::BUFFER_SIZE.of(payload) * PAGE);
        let asked = self.buffers.get(&endpoint).map_or(0, |buffer| buffer.size);
        if address == 0 || address % PAGE != 0 {
            return self.complain(ctx, "buffer-address", message, "an address that is a multiple of 4096 is wanted");
        }
        if size < asked {
            self.complain(ctx, "buffer-size", message, &format!("{asked:#x} bytes were asked for"));
            return self.later(ctx, self.timings.firmware_answer, Step::Crash("buffer too small".into()));
        }
        self.buffers.insert(endpoint, Buffer { address: Some(address), size });
        self.granted(ctx, endpoint);
    }

    fn granted(&mut self, ctx: &mut Context<'_>, endpoint: u8) {
        match endpoint {
            CRASHLOG if self.crashes_at(CrashStage::Buffers) => {
                self.later(ctx, self.timings.firmware_answer, Step::Crash("fault: crash at buffers".into()));
            }
            SYSLOG => self.open_syslog(ctx),
            IOREPORT => {
                self.ask(ctx, endpoint, payload_of(REPORT_START, 0), "ioreport-not-echoed");
                self.ask(ctx, endpoint, payload_of(REPORT, 0), "ioreport-not-echoed");
            }
            _ => {}
        }
        self.finish_boot(ctx);
    }

    fn oslog(&mut self, ctx: &mut Context<'_>, message: Message) {
        let payload = message.payload;
        match facts::OSLOG_TYPE.of(payload) {
            OSLOG_BUFFER => {
                let (address, size) = (facts::OSLOG_ADDRESS.of(payload) * PAGE, facts::OSLOG_SIZE.of(payload));
                if address == 0 || size < OSLOG_BYTES {
                    return self.complain(ctx, "buffer-size", message, "the oslog buffer is too small or at 0");
                }
                self.buffers.insert(OSLOG, Buffer { address: Some(address), size });
            }
            facts::OSLOG_ACK => {}
            _ => self.complain(ctx, "endpoint-message-unknown", message, "oslog knows types 1 and 3"),
        }
    }

    /// The periodic report of a running firmware; one at a time is open.
    pub(super) fn report(&mut self, ctx: &mut Context<'_>) {
        if self.phase != Phase::On {
            return;
        }
        if self.expected.iter().all(|one| one.message.endpoint != IOREPORT) {
            if let Some((address, _)) = self.buffer(IOREPORT) {
                let stamp = ctx.now.to_le_bytes();
                if self.sart.store(ctx, address, &stamp).is_err() {
                    ctx.violation(
                        "buffer-window-closed",
                        "sart",
                        format!("the ioreport buffer at {address:#x} is shut"),
                    );
                    return self.crash(ctx, "ioreport DMA refused");
                }
            }
            self.ask(ctx, IOREPORT, payload_of(REPORT, 0), "ioreport-not-echoed");
        }
        self.later(ctx, self.timings.ioreport_period, Step::Report);
    }

    /// At a sleep request firmware saves its logs: every buffer has to be reachable still.
    pub(super) fn buffers_reachable(&mut self, ctx: &mut Context<'_>) -> bool {
        let held: Vec<(u8, u64, u64)> = self
            .buffers
            .iter()
            .filter_map(|(endpoint, buffer)| buffer.address.map(|address| (*endpoint, address, buffer.size)))
            .collect();
        for (endpoint, address, size) in held {
            if self.sart.check(ctx, address, size).is_err() {
                let detail =
                    format!("endpoint {endpoint:#x}'s buffer at {address:#x} was shut before the coprocessor sleeps");
                ctx.violation("buffer-window-closed", "sart", detail);
                self.crash(ctx, "a buffer was taken away");
                return false;
            }
        }
        true
    }
}
