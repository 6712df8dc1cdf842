//! What firmware does when it dies: a record in the crashlog buffer, one message, silence.

use super::{CRASHLOG, Coprocessor, Phase};
use crate::context::Context;
use crate::facts::crash::{self as facts, HEADER, MAILBOX, REGISTERS, STRING, TIME, VERSION};
use crate::facts::rtkit::{BUFFER, BUFFER_ADDRESS, BUFFER_PAGE, BUFFER_SIZE};
use crate::mailbox::Message;

impl Coprocessor {
    /// The firmware crashes, now.
    pub(super) fn crash(&mut self, ctx: &mut Context<'_>, reason: &str) {
        if matches!(self.phase, Phase::Crashed | Phase::Broken | Phase::Off) {
            return;
        }
        let record = self.record(ctx.now, reason);
        let log = self.buffer(CRASHLOG);
        let started = self.started.contains(&CRASHLOG);
        self.phase = Phase::Crashed;
        self.agenda.clear();
        self.expected.clear();
        ctx.wires.firmware_ready = false;
        ctx.note("coprocessor-crash", "asc", reason);
        if let Some((address, size)) = log.filter(|_| started) {
            let fits = record.len() as u64 <= size;
            if fits && self.sart.store(ctx, address, &record).is_ok() {
                let payload = super::message(BUFFER, BUFFER_SIZE.put(size / BUFFER_PAGE) | BUFFER_ADDRESS.put(address));
                self.blocked.push_back(Message { endpoint: CRASHLOG, payload });
                self.after_read(ctx);
            }
        }
    }

    fn record(&self, now: u64, reason: &str) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(HEADER.to_le_bytes());
        record.resize(facts::HEADER_BYTES, 0);
        put(&mut record, facts::HEADER_VERSION, 0x103);
        let mut version = b"anvil-model-uuid".to_vec();
        version.resize(facts::VERSION_TEXT, 0);
        version.extend(*b"RTKit-model 1.0\0");
        section(&mut record, VERSION, &version);
        let mut text = 1_u32.to_le_bytes().to_vec();
        text.resize(facts::STRING_TEXT, 0);
        text.extend(reason.bytes());
        text.push(0);
        section(&mut record, STRING, &text);
        section(&mut record, TIME, &(now / 1000 * 24).to_le_bytes());
        section(&mut record, MAILBOX, &self.mailbox_history());
        section(&mut record, REGISTERS, &registers());
        // A second header word ends the list.
        section(&mut record, HEADER, &[]);
        let total = record.len() as u64;
        put(&mut record, facts::HEADER_TOTAL, total);
        record
    }

    /// Each entry is endpoint, message and time, as m1n1's crash.py has it.
    fn mailbox_history(&self) -> Vec<u8> {
        let mut bytes = vec![0; facts::MAILBOX_ENTRIES];
        put(&mut bytes, facts::MAILBOX_TYPE, 1);
        for (time, message) in &self.history {
            let entry = bytes.len();
            bytes.extend(u64::from(message.endpoint).to_le_bytes());
            bytes.extend(message.payload.to_le_bytes());
            bytes.resize(entry + facts::MAILBOX_ENTRY_BYTES, 0);
            put(&mut bytes, entry + facts::MAILBOX_ENTRY_TIME, time / 1000);
        }
        bytes
    }
}

/// x0 to x30, sp, pc, psr and so on, with values that a decoder can be checked against.
fn registers() -> Vec<u8> {
    let mut bytes = vec![0; facts::REGISTER_X0];
    bytes.extend((0..facts::REGISTER_GENERAL as u64).flat_map(|number| (0x1000 + number).to_le_bytes()));
    for word in [0x2000_u64, 0x0000_0000_0180_1234, 0x6000_03c4] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.resize(facts::REGISTER_BYTES, 0);
    put(&mut bytes, facts::REGISTER_FAR, 0xfa0);
    put(&mut bytes, facts::REGISTER_ESR, 0x9600_0005);
    bytes
}

/// The low 32 bits as they lie in memory.
pub(super) fn word(value: u64) -> [u8; 4] {
    ((value & 0xffff_ffff) as u32).to_le_bytes()
}

/// Puts the low 32 bits of `value` at `offset`, which `bytes` reach.
fn put(bytes: &mut Vec<u8>, offset: usize, value: u64) {
    bytes.splice(offset..offset + 4, word(value));
}

/// A section: tag, padding, flags, length with this header, payload.
fn section(record: &mut Vec<u8>, tag: u32, payload: &[u8]) {
    let start = record.len();
    record.extend(tag.to_le_bytes());
    record.resize(start + facts::SECTION_BYTES, 0);
    put(record, start + facts::SECTION_LENGTH, (facts::SECTION_BYTES + payload.len()) as u64);
    record.extend(payload);
}
