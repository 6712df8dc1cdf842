//! Admin commands.

use super::command::Command;
use super::entry::Submission;
use super::prp::PAGE;
use super::queue::{Completion, CompletionQueue, QueueName, SubmissionQueue};
use super::status::Status;
use super::{NvmeBlock, bits, identify};
use crate::context::Context;
use crate::facts::apple::TAGS;
use crate::facts::command::{
    self as facts, ABORT, ASYNC_EVENT, CREATE_CQ as CREATE_COMPLETION_QUEUE, CREATE_SQ as CREATE_SUBMISSION_QUEUE,
    DELETE_CQ as DELETE_COMPLETION_QUEUE, DELETE_SQ as DELETE_SUBMISSION_QUEUE, FEATURE_QUEUES as NUMBER_OF_QUEUES,
    FEATURE_WRITE_CACHE as VOLATILE_WRITE_CACHE, GET_FEATURES, GET_LOG_PAGE, IDENTIFY, IO_QUEUE, LOG_ERRORS,
    LOG_FIRMWARE, LOG_HEALTH, SET_FEATURES,
};
use crate::facts::identify::{CNS_CONTROLLER, CNS_NAMESPACE};

/// The name under which a command is counted.
pub(super) fn name(opcode: u8) -> &'static str {
    match opcode {
        DELETE_SUBMISSION_QUEUE => "delete-submission-queue",
        CREATE_SUBMISSION_QUEUE => "create-submission-queue",
        GET_LOG_PAGE => "get-log-page",
        DELETE_COMPLETION_QUEUE => "delete-completion-queue",
        CREATE_COMPLETION_QUEUE => "create-completion-queue",
        IDENTIFY => "identify",
        ABORT => "abort",
        SET_FEATURES => "set-features",
        GET_FEATURES => "get-features",
        ASYNC_EVENT => "asynchronous-event-request",
        _ => "admin-unknown",
    }
}

/// Low and high half of command dword 10 or 11.
fn halves(dword: u32) -> (u16, u16) {
    (bits::low16(dword.into()), bits::low16(u64::from(dword >> 16)))
}

impl NvmeBlock {
    /// How many bytes the command moves, and whether to the host.
    pub(super) fn admin_length(
        &self,
        ctx: &mut Context<'_>,
        place: &str,
        entry: &Submission,
    ) -> Result<(u64, bool), Status> {
        if let Some(status) = self.settings.admin_error(entry.opcode) {
            return Err(status);
        }
        match entry.opcode {
            IDENTIFY => Ok((PAGE, true)),
            GET_LOG_PAGE => {
                let (_, low) = halves(entry.dwords[0]);
                let (high, _) = halves(entry.dwords[1]);
                Ok(((u64::from(low) | u64::from(high) << 16) * 4 + 4, true))
            }
            DELETE_SUBMISSION_QUEUE
            | CREATE_SUBMISSION_QUEUE
            | DELETE_COMPLETION_QUEUE
            | CREATE_COMPLETION_QUEUE
            | SET_FEATURES
            | GET_FEATURES => Ok((0, false)),
            unsupported => {
                // Abort and asynchronous events are the ones that this controller is known to lack (Linux apple.c).
                ctx.note("unsupported-command", place, format!("admin opcode {unsupported:#04x}"));
                Err(Status::INVALID_OPCODE)
            }
        }
    }

    /// Runs it; the value for the completion's dword 0.
    pub(super) fn run_admin(&mut self, ctx: &mut Context<'_>, place: &str, command: &Command) -> Result<u32, Status> {
        let entry = &command.submission;
        let outcome = match entry.opcode {
            DELETE_SUBMISSION_QUEUE => self.delete_submissions(ctx, entry),
            CREATE_SUBMISSION_QUEUE => self.create_submissions(entry),
            GET_LOG_PAGE => self.log_page(entry, bits::size(command_bytes(command))).and_then(|page| {
                self.give_data(ctx, place, command, &page)?;
                Ok(0)
            }),
            DELETE_COMPLETION_QUEUE => self.delete_completions(entry),
            CREATE_COMPLETION_QUEUE => self.create_completions(entry),
            IDENTIFY => self.identify(ctx, place, entry).and_then(|page| {
                self.give_data(ctx, place, command, &page)?;
                Ok(0)
            }),
            SET_FEATURES => self.set_features(ctx, entry),
            GET_FEATURES => self.get_features(entry),
            _ => Err(Status::INVALID_OPCODE),
        };
        if let Err(status) = outcome {
            ctx.note("command-failed", place, format!("admin opcode {:#04x}: {status}", entry.opcode));
        }
        outcome
    }

    fn identify(&self, ctx: &mut Context<'_>, place: &str, entry: &Submission) -> Result<Vec<u8>, Status> {
        match entry.dwords[0] & 0xff {
            CNS_NAMESPACE if (1..=self.last_namespace()).contains(&entry.namespace) => {
                Ok(identify::namespace(self.namespaces.get(&entry.namespace)))
            }
            CNS_NAMESPACE => Err(Status::INVALID_NAMESPACE),
            CNS_CONTROLLER => Ok(identify::controller(&self.settings, self.last_namespace())),
            // Apple's controllers fail on everything that is newer (Linux, quirk for VS < 1.2).
            newer => {
                ctx.note("identify-cns", place, format!("Identify with CNS {newer:#x}, which this controller lacks"));
                Err(Status::INVALID_FIELD)
            }
        }
    }

    /// NN.
    fn last_namespace(&self) -> u32 {
        self.namespaces.keys().next_back().copied().unwrap_or(0)
    }

    /// Queue id and entries of a Create command.
    fn new_queue(&self, entry: &Submission, exists: bool) -> Result<u16, Status> {
        let (id, size) = halves(entry.dwords[0]);
        if id != IO_QUEUE || exists {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        if size == 0 || size > self.settings.identity.queue_entries || !self.controller.entry_sizes_fit() {
            return Err(Status::INVALID_QUEUE_SIZE);
        }
        // PC: there is no list of a scattered queue.
        if facts::CREATE_PC.of32(entry.dwords[1]) == 0 || entry.prp[0] == 0 {
            return Err(Status::INVALID_FIELD);
        }
        if !entry.prp[0].is_multiple_of(PAGE) {
            return Err(Status::INVALID_PRP_OFFSET);
        }
        Ok((size + 1).min(TAGS))
    }

    fn create_completions(&mut self, entry: &Submission) -> Result<u32, Status> {
        let size = self.new_queue(entry, self.io_completions.is_some())?;
        let interrupt = facts::CREATE_IEN.of32(entry.dwords[1]) == 1;
        if interrupt && facts::CREATE_HIGH.of32(entry.dwords[1]) != 0 {
            return Err(Status::INVALID_VECTOR);
        }
        self.io_completions = Some(CompletionQueue::new(entry.prp[0], size, interrupt));
        Ok(0)
    }

    fn create_submissions(&mut self, entry: &Submission) -> Result<u32, Status> {
        let size = self.new_queue(entry, self.io_submissions.is_some())?;
        let (_, completions) = halves(entry.dwords[1]);
        if completions != IO_QUEUE || self.io_completions.is_none() {
            return Err(Status::COMPLETION_QUEUE_INVALID);
        }
        self.io_submissions = Some(SubmissionQueue { base: entry.prp[0], size });
        self.controller.unclean = true;
        Ok(0)
    }

    /// Deletes the IO submission queue; what is in flight there is aborted.
    fn delete_submissions(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> Result<u32, Status> {
        let (id, _) = halves(entry.dwords[0]);
        if id != IO_QUEUE || self.io_submissions.take().is_none() {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        let (aborted, kept) =
            std::mem::take(&mut self.commands).into_iter().partition(|(_, command)| command.queue == QueueName::Io);
        self.commands = kept;
        for (number, command) in aborted {
            self.due.remove(&number);
            let (id, status) = (command.submission.id, Status::QUEUE_DELETED);
            self.complete(ctx, QueueName::Io, Completion { tag: command.tag, id, status, result: 0 });
        }
        Ok(0)
    }

    fn delete_completions(&mut self, entry: &Submission) -> Result<u32, Status> {
        let (id, _) = halves(entry.dwords[0]);
        if id != IO_QUEUE || self.io_completions.is_none() {
            return Err(Status::INVALID_QUEUE_IDENTIFIER);
        }
        if self.io_submissions.is_some() {
            return Err(Status::INVALID_QUEUE_DELETION);
        }
        self.io_completions = None;
        self.tags.orphan(Some(QueueName::Io));
        Ok(0)
    }

    fn set_features(&mut self, ctx: &mut Context<'_>, entry: &Submission) -> Result<u32, Status> {
        if entry.dwords[0] >> 31 == 1 {
            return Err(Status::FEATURE_NOT_SAVEABLE);
        }
        match bits::low8(entry.dwords[0].into()) {
            VOLATILE_WRITE_CACHE => {
                let enable = entry.dwords[1] & 1 == 1;
                if !enable && !self.write_back_all(ctx) {
                    return Err(Status::WRITE_FAULT);
                }
                self.write_cache_enabled = enable;
                Ok(0)
            }
            NUMBER_OF_QUEUES => {
                let (submissions, completions) = halves(entry.dwords[1]);
                match submissions == 0xffff || completions == 0xffff {
                    true => Err(Status::INVALID_FIELD),
                    // One of each, counted from zero.
                    false => Ok(0),
                }
            }
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn get_features(&self, entry: &Submission) -> Result<u32, Status> {
        let select = entry.dwords[0] >> 8 & 7;
        match (bits::low8(entry.dwords[0].into()), select) {
            // Capabilities: changeable, neither saveable nor by namespace.
            (VOLATILE_WRITE_CACHE | NUMBER_OF_QUEUES, 3) => Ok(1 << 2),
            (VOLATILE_WRITE_CACHE, 0) => Ok(self.write_cache_enabled.into()),
            (VOLATILE_WRITE_CACHE, 1 | 2) => Ok(1),
            (NUMBER_OF_QUEUES, 0..=2) => Ok(0),
            _ => Err(Status::INVALID_FIELD),
        }
    }

    fn log_page(&self, entry: &Submission, bytes: usize) -> Result<Vec<u8>, Status> {
        // An offset into the log needs a capability that the controller does not report.
        if entry.dwords[2] != 0 || entry.dwords[3] != 0 {
            return Err(Status::INVALID_FIELD);
        }
        let mut page = vec![0; bytes];
        let counters = &self.counters;
        match bits::low8(entry.dwords[0].into()) {
            LOG_ERRORS => {}
            LOG_HEALTH => {
                identify::health(&mut page, counters, self.unsafe_shutdowns);
            }
            LOG_FIRMWARE => {
                bits::put(&mut page, 0, &[1]);
                identify::text(&mut page, 8, 8, &self.settings.identity.firmware);
            }
            _ => return Err(Status::INVALID_LOG_PAGE),
        }
        Ok(page)
    }
}

fn command_bytes(command: &Command) -> u64 {
    command.segments.iter().map(|segment| segment.length).sum()
}
