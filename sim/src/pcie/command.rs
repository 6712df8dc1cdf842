//! One command between its fetching and its completion.
//!
//! The host's data is moved when the command ends, as late as hardware may: a buffer that is used again or freed too early
//! shows.

use super::life::Phase;
use super::queue::Completion;
use super::{Device, Due, Fault, admin, io};
use crate::context::Context;
use crate::facts::command::{ASYNC_EVENT, FLUSH, READ, SQE_BYTES};
use crate::nvme::cache::FlushMark;
pub(super) use crate::nvme::command::Transfer;
use crate::nvme::entry::Submission;
use crate::nvme::prp::{self, Segment};
use crate::nvme::status::Status;

/// Commands take up to that much longer by chance, in percent, so that they complete out of order.
const JITTER_PERCENT: u64 = 50;
/// What timings count further steps in, in bytes.
const STEP: u64 = 4096;
/// No transfer is longer, whatever MDTS says, so that a hostile length costs no memory.
const LONGEST_TRANSFER: u64 = 64 << 20;
/// A command identifier that no host uses.
const UNKNOWN_ID: u16 = 0xfffe;

/// A command in flight.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) queue: u16,
    /// Its number among the IO commands.
    ordinal: u64,
    pub(super) submission: Submission,
    pub(super) from_device: bool,
    pub(super) segments: Vec<Segment>,
    /// What host-to-device memory held when the command was fetched.
    submitted: Vec<u8>,
    /// Why it fails without being run.
    refused: Option<Status>,
    /// What a flush covers, by namespace.
    pub(super) marks: Vec<(u32, FlushMark)>,
    /// Which flush it is, of those that were fetched.
    pub(super) flush: Option<u64>,
}

impl Command {
    pub(super) fn place(&self) -> String {
        format!("queue {} command {}", self.queue, self.submission.id)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.length).sum()
    }

    /// What the host's data was when the command was fetched.
    pub(super) fn submitted(&self) -> &[u8] {
        &self.submitted
    }

    /// It fails without being run.
    pub(super) fn is_refused(&self) -> bool {
        self.refused.is_some()
    }

    fn is_io(&self) -> bool {
        self.queue != 0
    }
}

impl Device {
    /// An entry was fetched.
    pub(super) fn begin(&mut self, ctx: &mut Context<'_>, id: u16, bytes: &[u8; SQE_BYTES]) {
        let submission = Submission::parse(bytes);
        let place = format!("queue {id} command {}", submission.id);
        self.count(id, submission.opcode);
        let conflict = self.in_flight(id, submission.id);
        if conflict {
            ctx.violation("cid-in-use", place.as_str(), "an outstanding command of this queue has that identifier");
        }
        if let Some(queue) = self.submissions.get_mut(&id) {
            queue.in_flight += 1;
        }
        let mut refused = conflict.then_some(Status::CID_CONFLICT);
        if id == 0 && submission.opcode == ASYNC_EVENT && !conflict && self.planned_admin_failure(ASYNC_EVENT).is_none()
        {
            if self.events.waiting() <= usize::from(self.config.event_limit) {
                return self.request_event(ctx, submission.id);
            }
            refused = Some(Status::EVENT_LIMIT);
        }
        let planned = match refused {
            Some(status) => Err(status),
            None => self.plan(ctx, id, &place, &submission),
        };
        let ordinal = self.io_commands;
        self.io_commands += u64::from(id != 0);
        let duration = self.duration(ctx, id, ordinal, &submission, planned.as_ref().ok());
        let delay = match id != 0 && submission.opcode == FLUSH && planned.is_ok() {
            true => self.flush_in_turn(ctx.now, duration),
            false => duration,
        };
        let flush = (id != 0 && submission.opcode == FLUSH).then_some(self.flushes);
        self.flushes += u64::from(flush.is_some());
        let delay = delay.saturating_add(self.planned_flush_delay(flush));
        let (refused, transfer) = match planned {
            Ok(transfer) => (None, transfer),
            Err(status) => (Some(status), Transfer::default()),
        };
        let Transfer { from_device, segments } = transfer;
        // A fault of memory shows at the end, where the data moves.
        let submitted = if from_device { Vec::new() } else { prp::gather(ctx.memory, &segments).unwrap_or_default() };
        let marks = Vec::new();
        let command =
            Command { queue: id, ordinal, submission, from_device, segments, submitted, refused, marks, flush };
        self.check_overlap(ctx, &place, &command);
        let command = self.start_effects(command);
        let swallowed = match id {
            0 => self.has(&Fault::AdminSwallowed(submission.opcode)),
            _ => self.has(&Fault::Swallowed(ordinal)) || flush.is_some_and(|flush| self.swallows_flush(flush)),
        };
        let number = match swallowed {
            // Known only as in flight: nothing is ever due.
            true => {
                self.sequence += 1;
                self.sequence
            }
            false => self.schedule(ctx, delay, Due::Command),
        };
        self.commands.insert(number, command);
        self.counters.deepest = self.counters.deepest.max(self.commands.len() as u64);
        if self
            .config
            .faults
            .iter()
            .any(|fault| matches!(fault, Fault::Fatal(after) if *after > 0 && *after <= self.io_commands))
        {
            self.registers.phase = Phase::Failed;
        }
    }

    /// Whether a command with that identifier is outstanding in that queue.
    fn in_flight(&self, queue: u16, id: u16) -> bool {
        let same = |command: &Command| command.queue == queue && command.submission.id == id;
        let held = self.completions.values().flat_map(|completions| completions.held.iter());
        self.commands.values().any(same)
            || (queue == 0 && self.events.has(id))
            || held.into_iter().any(|entry| entry.queue == queue && entry.id == id)
    }

    fn count(&mut self, queue: u16, opcode: u8) {
        let name = if queue == 0 { admin::name(opcode) } else { io::name(opcode) };
        *self.counters.commands.entry(name).or_default() += 1;
    }

    /// What the command will move, or why it fails.
    fn plan(&mut self, ctx: &mut Context<'_>, id: u16, place: &str, entry: &Submission) -> Result<Transfer, Status> {
        // Neither fused commands nor scatter-gather lists.
        if entry.flags != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let (bytes, from_device) = match id {
            0 => self.admin_length(ctx, place, entry)?,
            _ => self.io_length(entry)?,
        };
        let mdts = self.config.mdts;
        let least = STEP << self.config.capabilities.page_min;
        let limit = if mdts == 0 { LONGEST_TRANSFER } else { least << mdts.min(20) };
        if bytes > limit.min(LONGEST_TRANSFER) {
            return Err(Status::INVALID_FIELD);
        }
        let page = self.page();
        if bytes > 0 && entry.prp[0] % page + bytes <= page && entry.prp[1] != 0 {
            let detail = format!("PRP2 is {:#x} although the data ends in PRP1's page", entry.prp[1]);
            ctx.violation("prp2-reserved", place, detail);
        }
        let segments = prp::walk(ctx.memory, entry.prp, bytes, page).map_err(|problem| {
            ctx.violation(problem.rule, place, problem.detail);
            problem.status
        })?;
        Ok(Transfer { from_device, segments })
    }

    /// How long the command takes.
    fn duration(
        &self,
        ctx: &mut Context<'_>,
        id: u16,
        ordinal: u64,
        entry: &Submission,
        transfer: Option<&Transfer>,
    ) -> u64 {
        let timings = &self.config.timings;
        let base = match (id, transfer) {
            (0, _) | (_, None) => timings.admin,
            (_, Some(_)) if entry.opcode == FLUSH => timings.flush,
            (_, Some(transfer)) => {
                let first = if entry.opcode == READ { timings.read } else { timings.write };
                first.saturating_add(timings.per_page.saturating_mul((transfer.bytes() / STEP).saturating_sub(1)))
            }
        };
        let planned = self.config.faults.iter().find_map(|fault| match fault {
            Fault::Delayed { command, delay_ns } if id != 0 && *command == ordinal => Some(*delay_ns),
            _ => None,
        });
        base.saturating_add(ctx.random.below(base / 100 * JITTER_PERCENT)).saturating_add(planned.unwrap_or(0))
    }

    /// From now to the end of a flush that takes `duration` by itself.
    fn flush_in_turn(&mut self, now: u64, duration: u64) -> u64 {
        if self.config.timings.flushes_in_turn {
            self.flushing_until = self.flushing_until.max(now).saturating_add(duration);
            self.flushing_until - now
        } else {
            duration
        }
    }

    fn planned_flush_delay(&self, flush: Option<u64>) -> u64 {
        let planned = self.config.faults.iter().find_map(|fault| match fault {
            Fault::FlushDelayed { flush: planned, delay_ns } if flush == Some(*planned) => Some(*delay_ns),
            _ => None,
        });
        planned.unwrap_or(0)
    }

    fn swallows_flush(&self, flush: u64) -> bool {
        self.has(&Fault::FlushNever) || self.has(&Fault::FlushSwallowed(flush))
    }

    /// Memory that the device will write must be no other command's, and no queue.
    fn check_overlap(&self, ctx: &mut Context<'_>, place: &str, command: &Command) {
        let hits = |segments: &[Segment]| {
            segments.iter().find(|segment| command.segments.iter().any(|own| own.overlaps(segment))).copied()
        };
        for other in self.commands.values().filter(|other| other.from_device || command.from_device) {
            if let Some(segment) = hits(&other.segments) {
                let detail = format!("memory at {:#x} belongs to {}, in flight", segment.address, other.place());
                return ctx.violation("buffer-in-flight", place, detail);
            }
        }
        let rings: Vec<_> = self.completions.values().map(|queue| queue.segment()).collect();
        if let Some(segment) = hits(&rings).filter(|_| command.from_device) {
            let detail = format!("data is to go over the queue at {:#x}", segment.address);
            ctx.violation("buffer-over-queue", place, detail);
        }
    }

    /// The command's time is over: run it and say what came of it.
    pub(super) fn finish_command(&mut self, ctx: &mut Context<'_>, number: u64, command: Command) {
        if matches!(self.registers.phase, Phase::Failed) {
            self.commands.insert(number, command);
            return;
        }
        let place = command.place();
        let outcome = match (command.refused, command.queue) {
            (Some(status), _) => Err(status),
            (None, 0) => self.run_admin(ctx, &place, &command),
            (None, _) => self.check_list(ctx, &place, &command).and_then(|()| self.run_io(ctx, &place, &command)),
        };
        let (mut status, result) = match outcome {
            Ok(result) => (Status::SUCCESS, result),
            Err(status) => (status, 0),
        };
        let mut id = command.submission.id;
        for fault in self.config.faults.iter().filter(|_| command.is_io()) {
            match fault {
                Fault::Status { command: planned, half_word } if *planned == command.ordinal => {
                    status = Status::from_bits(*half_word);
                }
                Fault::CompletionUnknown(planned) if *planned == command.ordinal => id = UNKNOWN_ID,
                _ => {}
            }
        }
        if status != Status::SUCCESS {
            ctx.note("command-failed", place, format!("opcode {:#04x}: {status}", command.submission.opcode));
            self.errors.add_command(command.queue, &command.submission, status);
        }
        self.complete(ctx, Completion { queue: command.queue, id, status, result });
    }

    /// Pointers are read again where hardware reads them late; they should lead where they led.
    fn check_list(&self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<(), Status> {
        let walked = prp::walk(ctx.memory, command.submission.prp, command.bytes(), self.page());
        if walked.as_ref() != Ok(&command.segments) {
            ctx.violation("prp-list-changed-in-flight", place, "the PRP list changed after the command was fetched");
        }
        walked.map(|_| ()).map_err(|problem| problem.status)
    }

    /// The host's data of a command, read now; it should be what it was when the command was fetched.
    pub(super) fn take_data(&self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<Vec<u8>, Status> {
        let bytes = prp::gather(ctx.memory, &command.segments).map_err(|detail| {
            ctx.violation("dma-fault", place, detail);
            Status::DATA_TRANSFER_ERROR
        })?;
        if bytes != command.submitted {
            ctx.violation("buffer-changed-in-flight", place, "the host's data changed after the command was fetched");
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
