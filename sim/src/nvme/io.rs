//! The NVM command set.

use super::command::Command;
use super::entry::Submission;
use super::settings::Namespace;
use super::status::Status;
use super::{NvmeBlock, bits};
use crate::context::Context;
use crate::facts::command::{BROADCAST, DATASET_MANAGEMENT, FLUSH, READ, WRITE, WRITE_ZEROES};

/// Bytes of one range of Dataset Management.
const RANGE_BYTES: u64 = 16;

/// Whether the command has first block and block count, and so a TCB length that means something.
pub(super) fn counts_blocks(opcode: u8) -> bool {
    matches!(opcode, READ | WRITE)
}

/// The name under which a command is counted.
pub(super) fn name(opcode: u8) -> &'static str {
    match opcode {
        FLUSH => "flush",
        WRITE => "write",
        READ => "read",
        WRITE_ZEROES => "write-zeroes",
        DATASET_MANAGEMENT => "dataset-management",
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

impl NvmeBlock {
    /// How many bytes the command moves, and whether to the host.
    pub(super) fn io_length(&self, entry: &Submission) -> Result<(u64, bool), Status> {
        if entry.opcode == FLUSH && entry.namespace == BROADCAST {
            return Ok((0, false));
        }
        if !matches!(entry.opcode, FLUSH | WRITE | READ | WRITE_ZEROES | DATASET_MANAGEMENT) {
            return Err(Status::INVALID_OPCODE);
        }
        let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
        let count = entry.block_count();
        match entry.opcode {
            READ | WRITE | WRITE_ZEROES => check_range(namespace, entry.first_block(), count)?,
            _ => {}
        }
        if entry.opcode != FLUSH && entry.opcode != READ && namespace.cache.read_only() {
            return Err(Status::WRITE_PROTECTED);
        }
        Ok(match entry.opcode {
            READ => (count * u64::from(namespace.block_size), true),
            WRITE => (count * u64::from(namespace.block_size), false),
            DATASET_MANAGEMENT => ((u64::from(entry.dwords[0] & 0xff) + 1) * RANGE_BYTES, false),
            _ => (0, false),
        })
    }

    /// What a command does at its doorbell already: a flush covers the writes that have completed by then.
    pub(super) fn start_effects(&mut self, mut command: Command) -> Command {
        let flush = command.queue == super::QueueName::Io && command.submission.opcode == FLUSH;
        if flush && !command.is_refused() {
            let target = command.submission.namespace;
            for (id, namespace) in &mut self.namespaces {
                if target == BROADCAST || target == *id {
                    command.marks.push((*id, namespace.cache.start_flush()));
                }
            }
        }
        command
    }

    pub(super) fn run_io(&mut self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<(), Status> {
        let entry = &command.submission;
        let (first, count) = (entry.first_block(), entry.block_count());
        let touches = matches!(entry.opcode, READ | WRITE | WRITE_ZEROES);
        if touches && entry.namespace == 1 && self.settings.io_error(first, count) {
            return Err(if entry.opcode == READ { Status::UNRECOVERED_READ } else { Status::WRITE_FAULT });
        }
        match entry.opcode {
            FLUSH => self.end_flushes(command),
            READ => {
                let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
                let mut bytes = vec![0; bits::size(count * u64::from(namespace.block_size))];
                namespace.cache.read(first, &mut bytes).map_err(|_| Status::UNRECOVERED_READ)?;
                self.give_data(ctx, place, command, &bytes)?;
                self.counters.bytes_read += count * u64::from(namespace.block_size);
                Ok(())
            }
            WRITE => {
                let bytes = self.take_data(ctx, place, command)?;
                self.counters.bytes_written += u64::try_from(bytes.len()).unwrap_or(0);
                self.store_blocks(entry, first, &bytes)
            }
            WRITE_ZEROES => {
                let block_size = self.namespaces.get(&entry.namespace).map_or(0, |namespace| namespace.block_size);
                self.store_blocks(entry, first, &vec![0; bits::size(count * u64::from(block_size))])
            }
            // Deallocation is a hint; the ranges are still checked.
            DATASET_MANAGEMENT => {
                let bytes = self.take_data(ctx, place, command)?;
                let namespace = self.namespaces.get(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
                bytes
                    .chunks_exact(bits::size(RANGE_BYTES))
                    .try_for_each(|range| check_range(namespace, bits::double(range, 8), bits::word(range, 4).into()))
            }
            _ => Err(Status::INVALID_OPCODE),
        }
    }

    fn end_flushes(&mut self, command: &Command) -> Result<(), Status> {
        command.marks.iter().try_for_each(|(id, mark)| match self.namespaces.get_mut(id) {
            Some(namespace) => namespace.cache.end_flush(*mark).map_err(|_| Status::WRITE_FAULT),
            None => Ok(()),
        })
    }

    fn store_blocks(&mut self, entry: &Submission, first: u64, bytes: &[u8]) -> Result<(), Status> {
        let through = entry.forced() || !self.write_cache_enabled;
        let namespace = self.namespaces.get_mut(&entry.namespace).ok_or(Status::INVALID_NAMESPACE)?;
        let written = match through {
            true => namespace.cache.write_through(first, bytes),
            false => namespace.cache.write(first, bytes),
        };
        written.map_err(|_| Status::WRITE_FAULT)
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
