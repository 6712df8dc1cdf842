//! One command between its doorbell and its completion.
//!
//! The host's data is moved when the command ends, as late as hardware may: a buffer that is used again or freed too
//! early shows.

use super::cache::FlushMark;
use super::controller::Phase;
use super::entry::Submission;
use super::prp::{self, Segment};
use super::queue::{Completion, QueueName};
use super::settings::Settings;
use super::status::Status;
use super::{NvmeBlock, io};
use crate::context::Context;
use crate::facts::command::{FLUSH, READ};
use crate::fault::Fault;

/// Data that a command moves, as planned at its doorbell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Transfer {
    /// Whether the device writes host memory.
    pub(crate) from_device: bool,
    pub(crate) segments: Vec<Segment>,
}

impl Transfer {
    pub(crate) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }
}

/// A command in flight.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) queue: QueueName,
    pub(super) tag: u8,
    /// Its number among the IO commands.
    ordinal: u64,
    pub(super) submission: Submission,
    pub(super) from_device: bool,
    pub(super) segments: Vec<Segment>,
    /// What host-to-device memory held at the doorbell.
    submitted: Vec<u8>,
    /// Why it fails without being run.
    refused: Option<Status>,
    /// What a flush covers, by namespace.
    pub(super) marks: Vec<(u32, FlushMark)>,
}

impl Command {
    pub(super) fn new(
        ctx: &mut Context<'_>,
        queue: QueueName,
        tag: u8,
        ordinal: u64,
        submission: Submission,
        transfer: Transfer,
        refused: Option<Status>,
    ) -> Self {
        let Transfer { from_device, segments } = transfer;
        // A fault of memory shows at the end, where the data moves.
        let submitted = if from_device { Vec::new() } else { prp::gather(ctx.memory, &segments).unwrap_or_default() };
        Self { queue, tag, ordinal, submission, from_device, segments, submitted, refused, marks: Vec::new() }
    }

    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }
}

impl NvmeBlock {
    /// What the command will move, or why it fails.
    pub(super) fn plan(
        &mut self,
        ctx: &mut Context<'_>,
        queue: QueueName,
        place: &str,
        entry: &Submission,
    ) -> Result<Transfer, Status> {
        let planned = self.transfer_length(ctx, queue, place, entry).and_then(|(bytes, from_device)| {
            let mdts = self.settings.identity.mdts;
            // Without a limit of its own the model still has one, so that a hostile length costs no memory.
            let limit = prp::PAGE << if mdts == 0 { 14 } else { mdts.min(14) };
            if bytes > limit {
                return Err(Status::INVALID_FIELD);
            }
            if bytes > 0 && entry.prp[0] % prp::PAGE + bytes <= prp::PAGE && entry.prp[1] != 0 {
                let detail = format!("PRP2 is {:#x} although the data ends in PRP1's page", entry.prp[1]);
                ctx.violation("prp2-reserved", place, detail);
            }
            let segments = prp::walk(ctx.memory, entry.prp, bytes, prp::PAGE).map_err(|problem| {
                ctx.violation(problem.rule, place, problem.detail);
                problem.status
            })?;
            Ok(Transfer { from_device, segments })
        });
        if let Err(status) = planned {
            ctx.note("command-failed", place, format!("opcode {:#04x}: {status}", entry.opcode));
        }
        planned
    }

    fn transfer_length(
        &self,
        ctx: &mut Context<'_>,
        queue: QueueName,
        place: &str,
        entry: &Submission,
    ) -> Result<(u64, bool), Status> {
        // Neither fused commands nor scatter-gather lists.
        if entry.flags != 0 {
            return Err(Status::INVALID_FIELD);
        }
        match queue {
            QueueName::Admin => self.admin_length(ctx, place, entry),
            QueueName::Io => self.io_length(entry),
        }
    }

    /// How long the command takes.
    pub(super) fn duration(
        &self,
        ctx: &mut Context<'_>,
        queue: QueueName,
        entry: &Submission,
        transfer: Option<&Transfer>,
    ) -> u64 {
        let timings = &self.settings.timings;
        let base = match (queue, transfer) {
            (QueueName::Admin, _) | (_, None) => timings.admin_command,
            (QueueName::Io, Some(transfer)) => {
                let first = match entry.opcode {
                    FLUSH => return self.settings.flush(),
                    READ => timings.read_command,
                    _ => timings.write_command,
                };
                let further = (transfer.bytes() / prp::PAGE).saturating_sub(1);
                first.saturating_add(timings.per_block.saturating_mul(further))
            }
        };
        base.saturating_add(ctx.random.below(Settings::jitter(base)))
    }

    /// Memory that the device will write must be no other command's, and no queue.
    pub(super) fn check_overlap(&self, ctx: &mut Context<'_>, place: &str, command: &Command) {
        let hits = |segments: &[Segment]| {
            segments.iter().find(|segment| command.segments.iter().any(|own| own.overlaps(segment))).copied()
        };
        for other in self.commands.values().filter(|other| other.from_device || command.from_device) {
            if let Some(segment) = hits(&other.segments) {
                let detail = format!("memory at {:#x} belongs to tag {}, in flight", segment.address, other.tag);
                ctx.violation("buffer-in-flight", place, detail);
                return;
            }
        }
        let queues = [self.admin_completions.as_ref(), self.io_completions.as_ref()];
        let rings: Vec<_> = queues.into_iter().flatten().map(|queue| queue.segment()).collect();
        if command.from_device
            && let Some(segment) = hits(&rings)
        {
            ctx.violation(
                "buffer-over-queue",
                place,
                format!("data is to go over the queue at {:#x}", segment.address),
            );
        }
    }

    pub(super) fn count(&mut self, command: &Command) {
        let name = match command.queue {
            QueueName::Admin => super::admin::name(command.submission.opcode),
            QueueName::Io => io::name(command.submission.opcode),
        };
        *self.counters.commands.entry(name).or_default() += 1;
    }

    /// The command's time is over: run it and say what came of it.
    pub(super) fn finish_command(&mut self, ctx: &mut Context<'_>, number: u64, command: Command) {
        if self.controller.phase == Phase::Failed {
            self.commands.insert(number, command);
            return;
        }
        let outcome = match command.refused {
            Some(status) => Err(status),
            None => self.run(ctx, &command),
        };
        let (status, result) = match outcome {
            Ok(result) => (Status::SUCCESS, result),
            Err(status) => (status, 0),
        };
        let io = command.queue == QueueName::Io;
        if io && self.settings.has(&Fault::CompletionLost(command.ordinal)) {
            // To the driver it is still in flight, and so is its memory.
            self.commands.insert(number, command);
            return;
        }
        // No driver gives out that id: it has no tag.
        let unknown = io && self.settings.has(&Fault::CompletionUnknown(command.ordinal));
        let id = if unknown { 0xfffe } else { command.submission.id };
        self.complete(ctx, command.queue, Completion { tag: command.tag, id, status, result });
    }

    fn run(&mut self, ctx: &mut Context<'_>, command: &Command) -> Result<u32, Status> {
        let place = format!("nvme {} tag {}", command.queue.name(), command.tag);
        match command.queue {
            QueueName::Admin => self.run_admin(ctx, &place, command),
            QueueName::Io => self.run_io(ctx, &place, command).map(|()| 0),
        }
    }

    /// The host's data of a command, read now; it should be what it was at the doorbell.
    pub(super) fn take_data(&self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<Vec<u8>, Status> {
        let bytes = prp::gather(ctx.memory, &command.segments).map_err(|detail| {
            ctx.violation("dma-fault", place, detail);
            Status::DATA_TRANSFER_ERROR
        })?;
        if bytes != command.submitted {
            ctx.violation("buffer-changed-in-flight", place, "the data to be written changed after the doorbell");
        }
        Ok(bytes)
    }

    /// Gives the host the data of a command.
    pub(super) fn give_data(
        &self,
        ctx: &mut Context<'_>,
        place: &str,
        command: &Command,
        bytes: &[u8],
    ) -> Result<(), Status> {
        prp::scatter(ctx.memory, &command.segments, bytes).map_err(|detail| {
            ctx.violation("dma-fault", place, detail);
            Status::DATA_TRANSFER_ERROR
        })
    }
}
