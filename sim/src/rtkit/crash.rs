//! What firmware does when it dies: a record in the crashlog buffer, one message, silence.

use super::{CRASHLOG, Coprocessor, Phase};
use crate::context::Context;
use crate::mailbox::Message;

/// Section tags; in memory their bytes lie least significant first.
const HEADER: u32 = 0x434c_4845;
const STRING: u32 = 0x4373_7472;
const VERSION: u32 = 0x4376_6572;
const TIME: u32 = 0x4374_696d;
const MAILBOX: u32 = 0x436d_6278;
const REGISTERS: u32 = 0x4372_6738;

const REGISTER_BYTES: usize = 0x350;
const TOTAL_AT: usize = 8;

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
                let payload = super::buffers::BUFFER << 52 | ((size / 4096) & 0xff) << 44 | address;
                self.blocked.push_back(Message { endpoint: CRASHLOG, payload });
                self.after_read(ctx);
            }
        }
    }

    fn record(&self, now: u64, reason: &str) -> Vec<u8> {
        let mut record = Vec::new();
        for word in [HEADER, 0x103, 0, 0, 0, 0, 0, 0_u32] {
            record.extend(word.to_le_bytes());
        }
        let mut version = b"anvil-model-uuid".to_vec();
        version.extend(*b"RTKit-model 1.0\0");
        section(&mut record, VERSION, &version);
        let mut text = 1_u32.to_le_bytes().to_vec();
        text.extend(reason.bytes());
        text.push(0);
        section(&mut record, STRING, &text);
        section(&mut record, TIME, &(now / 1000 * 24).to_le_bytes());
        section(&mut record, MAILBOX, &self.mailbox_history());
        section(&mut record, REGISTERS, &registers());
        // A second header word ends the list.
        section(&mut record, HEADER, &[]);
        let total = word(record.len() as u64);
        record.splice(TOTAL_AT..TOTAL_AT + 4, total);
        record
    }

    /// 16 bytes, type, unknown, index, then entries of 0x18 bytes: endpoint, message, time, padding (m1n1 crash.py).
    fn mailbox_history(&self) -> Vec<u8> {
        let mut bytes = vec![0; 16];
        for word in [1_u32, 0, 0] {
            bytes.extend(word.to_le_bytes());
        }
        for (time, message) in &self.history {
            bytes.extend(u64::from(message.endpoint).to_le_bytes());
            bytes.extend(message.payload.to_le_bytes());
            bytes.extend(word(time / 1000));
            bytes.extend([0; 4]);
        }
        bytes
    }
}

/// x0 to x30, sp, pc, psr and so on, with values that a decoder can be checked against.
fn registers() -> Vec<u8> {
    let mut bytes = vec![0; 8];
    bytes.extend((0..31_u64).flat_map(|number| (0x1000 + number).to_le_bytes()));
    for word in [0x2000_u64, 0x0000_0000_0180_1234, 0x6000_03c4] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.resize(REGISTER_BYTES, 0);
    bytes
}

/// The low 32 bits as they lie in memory.
pub(super) fn word(value: u64) -> [u8; 4] {
    ((value & 0xffff_ffff) as u32).to_le_bytes()
}

/// A section: tag, padding, flags, length with this header, payload.
fn section(record: &mut Vec<u8>, tag: u32, payload: &[u8]) {
    for part in [tag.into(), 0, 0, payload.len() as u64 + 0x10] {
        record.extend(word(part));
    }
    record.extend(payload);
}
