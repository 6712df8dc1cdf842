//! What the host rings: a command to start, a tag to invalidate, entries that it has read.

use super::command::{Command, Transfer};
use super::controller::{Phase, Shutdown};
use super::entry::{ControlBlock, Submission};
use super::queue::{Completion, HeadProblem, QueueName, TagState};
use super::registers::place;
use super::status::Status;
use super::{Due, NvmeBlock, bits};
use crate::context::Context;
use crate::facts::apple::{LINEAR_SQ_EN, PRP_NULL_CHECK, TAGS, TCB_BYTES};
use crate::facts::command::SQE_BYTES;
use crate::fault::Fault;

/// How long a full completion queue may hold back a completion before that counts as a stall.
const STALL_NS: u64 = 100_000_000;

impl NvmeBlock {
    /// A linear doorbell: the command in slot `value` of that queue is to be run.
    pub(super) fn ring(&mut self, ctx: &mut Context<'_>, queue: QueueName, offset: u64, value: u32) {
        let Some(tag) = self.accept_doorbell(ctx, queue, offset, value) else { return };
        let entries = self.fetch(ctx, queue, offset, tag);
        let Some((submission, block)) = entries else { return };
        let usable = self.check_tag(ctx, queue, offset, tag);
        if !usable {
            return;
        }
        self.tags.set(tag, TagState::InFlight(queue));
        self.start_command(ctx, queue, offset, tag, submission, block);
    }

    /// The tag that a doorbell names, if hardware would take it at all.
    fn accept_doorbell(&mut self, ctx: &mut Context<'_>, queue: QueueName, offset: u64, value: u32) -> Option<u8> {
        let lost = |ctx: &mut Context<'_>, rule, detail: String| {
            ctx.violation(rule, place(offset), detail);
            None
        };
        if value >> 16 != 0 {
            ctx.note("doorbell-upper-half", place(offset), format!("{value:#x}: bits 31:16 are ignored"));
        }
        let tag = bits::low16(value.into());
        if self.controller.phase == Phase::Failed {
            ctx.note("doorbell-after-failure", place(offset), format!("tag {tag} rung, and CSTS.CFS is set"));
            return None;
        }
        if self.controller.phase != Phase::Ready {
            return lost(ctx, "doorbell-while-disabled", format!("tag {tag} rung while the controller is not ready"));
        }
        if LINEAR_SQ_EN.of32(self.apple.linear) == 0 {
            return lost(ctx, "linear-submission-disabled", format!("tag {tag} rung while LINEAR_SQ_CTRL.EN is 0"));
        }
        let Some(submissions) = self.submissions(queue) else {
            return lost(
                ctx,
                "doorbell-without-queue",
                format!("tag {tag} rung, and there is no {} queue", queue.name()),
            );
        };
        if tag >= TAGS {
            return lost(ctx, "tag-beyond-hardware", format!("tag {tag}: there are {TAGS}"));
        }
        if tag >= submissions.size {
            return lost(ctx, "tag-beyond-queue", format!("tag {tag} in a queue of {}", submissions.size));
        }
        if u32::from(tag) > self.apple.control_blocks {
            let detail = format!("tag {tag}, and NVMMU_NUM_TCBS (count minus one) is {}", self.apple.control_blocks);
            return lost(ctx, "tag-beyond-control-blocks", detail);
        }
        if self.controller.shutdown != Shutdown::None {
            ctx.note("command-after-shutdown", place(offset), format!("tag {tag} rung after CC.SHN was set"));
        }
        let retiring = [self.admin_completions.as_ref(), self.io_completions.as_ref()];
        if retiring.into_iter().flatten().any(|completions| completions.retiring) {
            let detail = format!("tag {tag} rung between an invalidation and the write of that queue's CQ head");
            ctx.violation("doorbell-before-head", place(offset), detail);
        }
        Some(bits::low8(tag.into()))
    }

    /// Reads the slot of both arrays.
    fn fetch(
        &self,
        ctx: &mut Context<'_>,
        queue: QueueName,
        offset: u64,
        tag: u8,
    ) -> Option<(Submission, ControlBlock)> {
        let submissions = self.submissions(queue)?;
        let base = match queue {
            QueueName::Admin => self.apple.bases[0],
            QueueName::Io => self.apple.bases[1],
        };
        if base == 0 {
            let detail = format!("tag {tag} rung, and the {} queue has no TCB base", queue.name());
            ctx.violation("tcb-base-missing", place(offset), detail);
            return None;
        }
        let (mut entry, mut block) = ([0; SQE_BYTES], [0; TCB_BYTES]);
        // Both products fit: a tag is below 64.
        let slot = |base: u64, pitch: usize| base.wrapping_add(u64::from(tag) * pitch as u64);
        let fetched = ctx.memory.read(slot(submissions.base, SQE_BYTES), &mut entry);
        let fetched = fetched.and_then(|()| ctx.memory.read(slot(base, TCB_BYTES), &mut block));
        if let Err(fault) = fetched {
            ctx.violation("dma-fault", place(offset), format!("entry or TCB of tag {tag}: {fault}"));
            return None;
        }
        Some((Submission::parse(&entry), ControlBlock::parse(&block)))
    }

    /// Whether the tag is free to be used on that queue.
    fn check_tag(&self, ctx: &mut Context<'_>, queue: QueueName, offset: u64, tag: u8) -> bool {
        let (rule, what) = match self.tags.get(tag) {
            TagState::Free | TagState::Orphaned => return true,
            TagState::InFlight(owner) if owner == queue => ("tag-in-flight", "is in flight"),
            TagState::InFlight(_) => ("tag-on-both-queues", "is in flight on the other queue"),
            TagState::Completed(_) => ("tag-not-invalidated", "has completed and was not invalidated"),
        };
        ctx.violation(rule, place(offset), format!("tag {tag} rung on the {} queue although it {what}", queue.name()));
        false
    }

    /// Checks entry against translation, plans the command, and sets it going (or its failure).
    fn start_command(
        &mut self,
        ctx: &mut Context<'_>,
        queue: QueueName,
        offset: u64,
        tag: u8,
        submission: Submission,
        block: ControlBlock,
    ) {
        let where_ = format!("{} tag {tag}", place(offset));
        let counts = queue == QueueName::Io && super::io::counts_blocks(submission.opcode);
        let broken = match block.mismatch(&submission, tag, counts) {
            None if PRP_NULL_CHECK.of32(self.apple.control) != 0 && block.prp.contains(&0) => {
                ctx.wires.syslog.push(format!("nvme: NULL_PRP_PTR_ERR tag {tag}"));
                Some(("prp-null-check", "a PRP is 0 while UNKNOWN_CTRL bit 11 is set".into()))
            }
            broken => broken,
        };
        if self.commands.values().any(|other| other.queue == queue && other.submission.id == submission.id) {
            let detail = format!("command id {:#x} is in flight already", submission.id);
            ctx.violation("command-id-in-flight", where_.as_str(), detail);
        }
        let planned = match broken {
            Some((rule, detail)) => {
                ctx.violation(rule, where_.as_str(), detail);
                ctx.wires.syslog.push(format!("nvme: BAD_CMD opcode {:#04x} tag {tag}", submission.opcode));
                Err(Status::INVALID_FIELD)
            }
            None => self.plan(ctx, queue, &where_, &submission),
        };
        let ordinal = self.io_commands;
        if queue == QueueName::Io {
            self.io_commands += 1;
        }
        if queue == QueueName::Io && self.settings.fatal_after().is_some_and(|after| ordinal + 1 >= after) {
            self.controller.phase = Phase::Failed;
        }
        let delay = self.duration(ctx, queue, &submission, planned.as_ref().ok());
        let (transfer, refused) = match planned {
            Ok(transfer) => (transfer, None),
            Err(status) => (Transfer::default(), Some(status)),
        };
        let command = Command::new(ctx, queue, tag, ordinal, submission, transfer, refused);
        self.check_overlap(ctx, &where_, &command);
        self.count(&command);
        let command = self.start_effects(command);
        let number = self.schedule(ctx, delay, Due::Command);
        self.commands.insert(number, command);
        self.counters.deepest = self.counters.deepest.max(u64::try_from(self.commands.len()).unwrap_or(u64::MAX));
    }

    /// The completion of a command: into its queue, or held while that is full.
    pub(super) fn complete(&mut self, ctx: &mut Context<'_>, queue: QueueName, completion: Completion) {
        let now = ctx.now;
        let Some(completions) = self.completions(queue) else { return };
        completions.held.push_back(completion);
        let full = completions.is_full();
        if full && completions.held_since.is_none() {
            completions.held_since = Some(now);
            self.schedule(ctx, STALL_NS, Due::Stall(queue));
            let detail = format!("no room for the completion of tag {}", completion.tag);
            ctx.note("completion-queue-full", format!("nvme {} completion queue", queue.name()), detail);
        }
        self.post_held(ctx, queue);
    }

    fn post_held(&mut self, ctx: &mut Context<'_>, queue: QueueName) {
        let mut posted = Vec::new();
        let mut fault = None;
        if let Some(completions) = self.completions(queue) {
            while !completions.is_full()
                && fault.is_none()
                && let Some(completion) = completions.held.pop_front()
            {
                fault = completions.post(ctx.memory, &completion, ctx.random.next()).err();
                posted.push(completion.tag);
            }
            if completions.held.is_empty() {
                completions.held_since = None;
            }
        }
        for tag in posted {
            if self.tags.get(tag) == TagState::InFlight(queue) {
                self.tags.set(tag, TagState::Completed(queue));
            }
        }
        if let Some(fault) = fault {
            ctx.violation("dma-fault", format!("nvme {} completion queue", queue.name()), fault.to_string());
            self.controller.phase = Phase::Failed;
        }
        self.update_interrupt(ctx);
    }

    pub(super) fn check_stall(&mut self, ctx: &mut Context<'_>, queue: QueueName) {
        let now = ctx.now;
        let Some(completions) = self.completions(queue) else { return };
        let Some(since) = completions.held_since else { return };
        let waited = now.saturating_sub(since);
        if waited >= STALL_NS {
            let detail = format!("{} completions found no room for {waited} ns", completions.held.len());
            ctx.violation("completion-queue-stalled", format!("nvme {} completion queue", queue.name()), detail);
        } else {
            self.schedule(ctx, STALL_NS - waited, Due::Stall(queue));
        }
    }

    /// NVMMU_TCB_INVAL: the host has done with the tag.
    pub(super) fn invalidate(&mut self, ctx: &mut Context<'_>, offset: u64, value: u32) {
        let tag = u8::try_from(value).ok().filter(|tag| u16::from(*tag) < TAGS);
        let state = tag.map(|tag| (tag, self.tags.get(tag)));
        self.apple.invalidation = 1;
        match state {
            Some((tag, TagState::Completed(queue))) => {
                self.tags.set(tag, TagState::Free);
                self.apple.invalidation = self.settings.has(&Fault::InvalStatus(tag.into())).into();
                if let Some(completions) = self.completions(queue) {
                    completions.retiring = true;
                }
            }
            Some((tag, TagState::Orphaned)) => {
                self.tags.set(tag, TagState::Free);
                self.apple.invalidation = 0;
            }
            Some((tag, TagState::InFlight(_))) => {
                let detail = format!("tag {tag} invalidated before its completion was posted");
                ctx.violation("invalidate-before-completion", place(offset), detail);
            }
            Some((_, TagState::Free)) | None => {
                let detail = format!("tag {value:#x} invalidated, and it is not in flight");
                ctx.violation("invalidate-not-in-flight", place(offset), detail);
            }
        }
    }

    /// A completion queue head doorbell: the host has read up to there.
    pub(super) fn consume(&mut self, ctx: &mut Context<'_>, queue: QueueName, offset: u64, value: u32) {
        if value >> 16 != 0 {
            ctx.note("doorbell-upper-half", place(offset), format!("{value:#x}: bits 31:16 are ignored"));
        }
        let head = bits::low16(value.into());
        if !self.controller.enabled() {
            ctx.note("head-while-disabled", place(offset), format!("head {head} while the controller is not enabled"));
            return;
        }
        let Some(completions) = self.completions(queue) else {
            let detail = format!("head {head}, and there is no {} queue", queue.name());
            return ctx.violation("head-without-queue", place(offset), detail);
        };
        match completions.consume(head) {
            Ok(moved) => {
                completions.retiring = false;
                if !moved {
                    ctx.note("head-unchanged", place(offset), format!("head {head} written again"));
                }
                self.post_held(ctx, queue);
            }
            Err(HeadProblem::BeyondQueue) => {
                ctx.violation("head-beyond-queue", place(offset), format!("head {head}: the queue has fewer entries"));
            }
            Err(HeadProblem::BeyondTail) => {
                let detail = format!("head {head} lies beyond what was posted");
                ctx.violation("head-beyond-tail", place(offset), detail);
            }
        }
    }
}
