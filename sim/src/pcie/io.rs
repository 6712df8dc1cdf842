//! The NVM command set.

use super::command::Command;
use super::{Device, Fault, Namespace};
use crate::context::Context;
use crate::facts::command::{self as facts, COMPARE, DATASET_MANAGEMENT, FLUSH, READ, VERIFY, WRITE, WRITE_ZEROES};
use crate::facts::identify::BROADCAST_REFUSED;
use crate::nvme::bits;
use crate::nvme::cache::Torn;
use crate::nvme::entry::Submission;
use crate::nvme::status::Status;

/// The name under which a command is counted.
pub(super) fn name(opcode: u8) -> &'static str {
    match opcode {
        FLUSH => "flush",
        WRITE => "write",
        READ => "read",
        COMPARE => "compare",
        WRITE_ZEROES => "write-zeroes",
        DATASET_MANAGEMENT => "dataset-management",
        VERIFY => "verify",
        _ => "io-unknown",
    }
}

/// The blocks of `namespace` from `first` on, if they exist.
fn check_range(namespace: &Namespace, first: u64, count: u64) -> Result<(), Status> {
    match first.checked_add(count) {
        Some(end) if end <= namespace.blocks => Ok(()),
        _ => Err(Status::LBA_OUT_OF_RANGE),
    }
}

impl Device {
    pub(super) fn supports_io(&self, opcode: u8) -> bool {
        let optional = &self.config.optional;
        match opcode {
            FLUSH | WRITE | READ => true,
            COMPARE => optional.compare,
            WRITE_ZEROES => optional.write_zeroes,
            DATASET_MANAGEMENT => optional.dataset_management,
            VERIFY => optional.verify,
            _ => false,
        }
    }

    /// How many bytes the command moves, and whether to the host.
    pub(super) fn io_length(&self, entry: &Submission) -> Result<(u64, bool), Status> {
        if !self.supports_io(entry.opcode) {
            return Err(Status::INVALID_OPCODE);
        }
        if entry.opcode == FLUSH && entry.namespace == facts::BROADCAST {
            return match u32::from(self.config.write_cache.broadcast) {
                BROADCAST_REFUSED => Err(Status::INVALID_NAMESPACE),
                _ => Ok((0, false)),
            };
        }
        let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
        if namespace.zoned {
            // No command set that this controller was enabled with has commands for it.
            return Err(Status::INVALID_OPCODE);
        }
        if namespace.read_only && matches!(entry.opcode, WRITE | WRITE_ZEROES | DATASET_MANAGEMENT) {
            return Err(Status::WRITE_PROTECTED);
        }
        let bytes = entry.block_count() * u64::from(namespace.block_size);
        if !matches!(entry.opcode, FLUSH | DATASET_MANAGEMENT) {
            check_range(namespace, entry.first_block(), entry.block_count())?;
        }
        Ok(match entry.opcode {
            READ => (bytes, true),
            WRITE | COMPARE => (bytes, false),
            DATASET_MANAGEMENT => {
                let ranges = u64::from(facts::DSM_RANGES.of32(entry.dwords[0])) + 1;
                (ranges * facts::DSM_RANGE as u64, false)
            }
            _ => (0, false),
        })
    }

    /// The writes under way, by namespace: a power cut comes in the midst of each.
    pub(super) fn writes_under_way(&self) -> Vec<(u32, Torn)> {
        let torn = |command: &Command| {
            let entry = &command.submission;
            let block_size = self.namespaces.get(&entry.namespace)?.block_size;
            let bytes = match entry.opcode {
                _ if command.queue == 0 || command.is_refused() => return None,
                WRITE => command.submitted().to_vec(),
                WRITE_ZEROES => vec![0; bits::size(entry.block_count() * u64::from(block_size))],
                _ => return None,
            };
            Some((entry.namespace, (entry.first_block(), bytes)))
        };
        self.commands.values().filter_map(torn).collect()
    }

    /// What a command does when it is fetched: a flush covers the writes that have completed by then.
    pub(super) fn start_effects(&mut self, mut command: Command) -> Command {
        if command.queue != 0 && command.submission.opcode == FLUSH {
            let target = command.submission.namespace;
            for (id, namespace) in &mut self.namespaces {
                if target == facts::BROADCAST || target == *id {
                    command.marks.push((*id, namespace.cache.start_flush()));
                }
            }
        }
        command
    }

    fn planned_failure(&self, entry: &Submission) -> Option<Status> {
        let range = entry.first_block()..entry.first_block().saturating_add(entry.block_count());
        self.config.faults.iter().find_map(|fault| match (entry.opcode, fault) {
            (READ | COMPARE | VERIFY, Fault::ReadError(block)) if range.contains(block) => {
                Some(Status::UNRECOVERED_READ.retryable())
            }
            (WRITE | WRITE_ZEROES, Fault::WriteError(block)) if range.contains(block) => {
                Some(Status::WRITE_FAULT.retryable())
            }
            (FLUSH, Fault::FlushError) => Some(Status::WRITE_FAULT.retryable()),
            _ => None,
        })
    }

    fn planned_flush_failure(&self, command: &Command) -> Option<Status> {
        let planned = |flush| self.has(&Fault::FlushFails(flush));
        command.flush.is_some_and(planned).then(|| Status::WRITE_FAULT.retryable())
    }

    pub(super) fn run_io(&mut self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<u32, Status> {
        let entry = &command.submission;
        if let Some(status) = self.planned_failure(entry).or_else(|| self.planned_flush_failure(command)) {
            return Err(status);
        }
        let first = entry.first_block();
        match entry.opcode {
            FLUSH => self.end_flushes(command)?,
            READ => {
                let bytes = self.read_blocks(entry)?;
                self.give_data(ctx, place, command, &bytes)?;
                self.counters.bytes_read += bytes.len() as u64;
            }
            WRITE => {
                let bytes = self.take_data(ctx, place, command)?;
                self.counters.bytes_written += bytes.len() as u64;
                self.store_blocks(entry.namespace, first, &bytes, entry.forced())?;
            }
            COMPARE => {
                let bytes = self.take_data(ctx, place, command)?;
                if bytes != self.read_blocks(entry)? {
                    return Err(Status::COMPARE_FAILURE);
                }
            }
            VERIFY => drop(self.read_blocks(entry)?),
            WRITE_ZEROES => self.zero_blocks(entry.namespace, first, entry.block_count(), entry.forced())?,
            DATASET_MANAGEMENT => self.manage(ctx, place, command)?,
            _ => return Err(Status::INVALID_OPCODE),
        }
        Ok(0)
    }

    fn read_blocks(&self, entry: &Submission) -> Result<Vec<u8>, Status> {
        let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
        let mut bytes = vec![0; bits::size(entry.block_count() * u64::from(namespace.block_size))];
        namespace.cache.read(entry.first_block(), &mut bytes).map_err(|_| Status::UNRECOVERED_READ.retryable())?;
        Ok(bytes)
    }

    fn end_flushes(&mut self, command: &Command) -> Result<(), Status> {
        command.marks.iter().try_for_each(|(id, mark)| match self.namespaces.get_mut(id) {
            Some(namespace) => namespace.cache.end_flush(*mark).map_err(|_| Status::WRITE_FAULT),
            None => Ok(()),
        })
    }

    fn store_blocks(&mut self, id: u32, first: u64, bytes: &[u8], forced: bool) -> Result<(), Status> {
        let through = forced || !self.write_cache_enabled();
        let namespace = self.namespaces.get_mut(&id).ok_or(Status::INVALID_NAMESPACE)?;
        let written = match through || namespace.no_cache {
            true => namespace.cache.write_through(first, bytes),
            false => namespace.cache.write(first, bytes),
        };
        written.map_err(|_| Status::WRITE_FAULT)
    }

    /// Makes blocks zero, piece by piece, as their number is the host's.
    fn zero_blocks(&mut self, id: u32, first: u64, count: u64, forced: bool) -> Result<(), Status> {
        const PIECE: u64 = 256;
        let block_size = u64::from(self.namespaces.get(&id).map_or(0, |namespace| namespace.block_size));
        let zeros = vec![0; bits::size(PIECE.min(count) * block_size)];
        for start in (0..count).step_by(bits::size(PIECE)) {
            let length = bits::size((count - start).min(PIECE) * block_size);
            self.store_blocks(id, first + start, zeros.get(..length).unwrap_or(&zeros), forced)?;
        }
        Ok(())
    }

    /// Dataset Management: all ranges are checked before the first is deallocated.
    fn manage(&mut self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<(), Status> {
        let entry = &command.submission;
        let bytes = self.take_data(ctx, place, command)?;
        let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
        let ranges: Vec<(u64, u64)> = bytes
            .chunks_exact(facts::DSM_RANGE)
            .map(|range| (bits::double(range, facts::DSM_FIRST), bits::word(range, facts::DSM_LENGTH).into()))
            .collect();
        ranges.iter().try_for_each(|(first, count)| check_range(namespace, *first, *count))?;
        if facts::DSM_DEALLOCATE.of32(entry.dwords[1]) == 0 || !namespace.deallocated_zeroes {
            return Ok(());
        }
        ranges.iter().try_for_each(|(first, count)| self.zero_blocks(entry.namespace, *first, *count, false))
    }

    /// Makes every namespace's cache durable; whether that worked everywhere.
    pub(super) fn write_back_all(&mut self, ctx: &mut Context<'_>) -> bool {
        let mut fine = true;
        for (id, namespace) in &mut self.namespaces {
            if let Err(error) = namespace.cache.write_back() {
                ctx.note("store-failed", format!("namespace {id}"), error.to_string());
                fine = false;
            }
        }
        fine
    }
}
