//! Log pages.

use std::collections::VecDeque;

use super::Device;
use crate::context::Context;
use crate::facts::command as facts;
use crate::nvme::bits;
use crate::nvme::entry::Submission;
use crate::nvme::identify::text;
use crate::nvme::status::Status;

/// Bytes of the log of changed namespaces and of that of effects.
const LONG_LOG: usize = 4096;
/// Bytes of the health log and of that of firmware slots.
const SHORT_LOG: usize = 512;
/// The most changed namespaces that are listed one by one.
const CHANGED_LISTED: usize = 1024;

/// One entry of the error log.
#[derive(Clone, Copy, Debug)]
struct Entry {
    number: u64,
    queue: u16,
    id: u16,
    status: u16,
    block: u64,
    namespace: u32,
}

/// The error log: the newest entry first.
#[derive(Debug, Default)]
pub(super) struct Errors {
    entries: VecDeque<Entry>,
    total: u64,
    media: u64,
}

impl Errors {
    /// The most entries that a log can have.
    const MOST: usize = 256;

    fn add(&mut self, entry: Entry) {
        self.total += 1;
        self.entries.push_front(Entry { number: self.total, ..entry });
        self.entries.truncate(Self::MOST);
    }

    /// A command failed.
    pub(super) fn add_command(&mut self, queue: u16, submission: &Submission, status: Status) {
        let (block, namespace) = if queue == 0 { (0, 0) } else { (submission.first_block(), submission.namespace) };
        // Media errors are status type 2.
        self.media += u64::from(status.kind() == 2);
        self.add(Entry { number: 0, queue, id: submission.id, status: status.bits(), block, namespace });
    }

    /// A doorbell was wrong: no command has to do with it.
    pub(super) fn add_doorbell(&mut self, queue: u16) {
        self.add(Entry { number: 0, queue, id: 0xffff, status: 0, block: 0, namespace: 0 });
    }
}

impl Device {
    /// The bytes that Get Log Page asks for.
    pub(super) fn log_length(entry: &Submission) -> u64 {
        let [first, second, ..] = entry.dwords;
        let dwords = u64::from(facts::LOG_NUMDL.of32(first)) | u64::from(facts::LOG_NUMDU.of32(second)) << 16;
        (dwords + 1) * 4
    }

    pub(super) fn log_page(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> Result<Vec<u8>, Status> {
        let [first, _, low, high, ..] = entry.dwords;
        let (bytes, offset) = (bits::size(Self::log_length(entry)), u64::from(low) | u64::from(high) << 32);
        let log = bits::low8(facts::LOG_ID.of32(first).into());
        let page = match log {
            facts::LOG_ERRORS => self.error_log(),
            facts::LOG_HEALTH => self.health(),
            facts::LOG_FIRMWARE => self.firmware_log(),
            facts::LOG_CHANGED_NAMESPACES => self.changed_log(),
            facts::LOG_EFFECTS if self.config.effects_log => self.effects(),
            _ => return Err(Status::INVALID_LOG_PAGE),
        };
        let past_end = !offset.is_multiple_of(4) || offset > page.len() as u64;
        if offset != 0 && (!self.config.log_offsets || past_end) {
            return Err(Status::INVALID_FIELD);
        }
        if facts::LOG_RETAIN.of32(first) == 0 {
            if log == facts::LOG_CHANGED_NAMESPACES {
                self.changed_namespaces.clear();
            }
            self.log_was_read(ctx, log);
        }
        let mut part = page.get(bits::size(offset)..).unwrap_or(&[]).to_vec();
        // Beyond a log's end the reading is undefined: junk, so that nobody relies on it.
        part.resize(bytes, 0xee);
        Ok(part)
    }

    fn error_log(&self) -> Vec<u8> {
        let slots = usize::from(self.config.error_entries) + 1;
        let mut page = vec![0; slots * facts::ERROR_ENTRY];
        for (slot, entry) in page.chunks_mut(facts::ERROR_ENTRY).zip(&self.errors.entries) {
            bits::put(slot, facts::ERROR_COUNT, &entry.number.to_le_bytes());
            bits::put(slot, facts::ERROR_SQID, &entry.queue.to_le_bytes());
            bits::put(slot, facts::ERROR_CID, &entry.id.to_le_bytes());
            bits::put(slot, facts::ERROR_STATUS, &entry.status.to_le_bytes());
            bits::put(slot, facts::ERROR_LBA, &entry.block.to_le_bytes());
            bits::put(slot, facts::ERROR_NSID, &entry.namespace.to_le_bytes());
        }
        page
    }

    fn health(&self) -> Vec<u8> {
        let mut page = vec![0; SHORT_LOG];
        let commands = |name: &str| self.counters.commands.get(name).copied().unwrap_or(0);
        let warning = if self.is_hot() { bits::low8(facts::WARNING_TEMPERATURE.mask()) } else { 0 };
        bits::put(&mut page, facts::HEALTH_WARNING, &[warning]);
        bits::put(&mut page, facts::HEALTH_TEMPERATURE, &self.temperature.to_le_bytes());
        bits::put(&mut page, facts::HEALTH_SPARE, &[100]);
        bits::put(&mut page, facts::HEALTH_SPARE_THRESHOLD, &[10]);
        let counters = [
            // Units of 1000 times 512 bytes, rounded up.
            (facts::HEALTH_UNITS_READ, self.counters.bytes_read.div_ceil(512_000)),
            (facts::HEALTH_UNITS_WRITTEN, self.counters.bytes_written.div_ceil(512_000)),
            (facts::HEALTH_READS, commands("read") + commands("compare")),
            (facts::HEALTH_WRITES, commands("write")),
            (facts::HEALTH_CYCLES, self.power_cycles),
            (facts::HEALTH_UNSAFE, self.unsafe_shutdowns),
            (facts::HEALTH_MEDIA_ERRORS, self.errors.media),
            (facts::HEALTH_ERRORS, self.errors.total),
        ];
        counters.iter().for_each(|(offset, value)| bits::put(&mut page, *offset, &value.to_le_bytes()));
        page
    }

    fn firmware_log(&self) -> Vec<u8> {
        let mut page = vec![0; SHORT_LOG];
        bits::put(&mut page, 0, &[1]);
        text(&mut page, 8, 8, &self.config.firmware);
        page
    }

    fn changed_log(&self) -> Vec<u8> {
        let mut page = vec![0; LONG_LOG];
        if self.changed_namespaces.len() > CHANGED_LISTED {
            bits::put(&mut page, 0, &facts::BROADCAST.to_le_bytes());
        } else {
            let slots = page.chunks_mut(4).zip(&self.changed_namespaces);
            slots.for_each(|(slot, id)| bits::put(slot, 0, &id.to_le_bytes()));
        }
        page
    }

    fn effects(&self) -> Vec<u8> {
        let mut page = vec![0; LONG_LOG];
        let supported = facts::EFFECT_SUPPORTED.mask32();
        for opcode in 0..=u8::MAX {
            let slot = usize::from(opcode) * 4;
            if self.supports_admin(opcode) {
                bits::put(&mut page, slot, &supported.to_le_bytes());
            }
            if self.supports_io(opcode) {
                let writes = matches!(opcode, facts::WRITE | facts::WRITE_ZEROES | facts::DATASET_MANAGEMENT);
                let effects = supported | if writes { facts::EFFECT_CONTENT.mask32() } else { 0 };
                bits::put(&mut page, facts::EFFECTS_IO + slot, &effects.to_le_bytes());
            }
        }
        page
    }
}
