//! The controller's life: enabling, disabling, shutdown, and what each may find.

use super::prp::PAGE;
use super::queue::{CompletionQueue, SubmissionQueue};
use super::registers::place;
use super::{Due, NvmeBlock, bits};
use crate::context::Context;
use crate::facts::apple::{MAX_PEND_ADMIN, MAX_PEND_CMDS_CTRL, MAX_PEND_IO, TAGS};
use crate::facts::controller::{self as facts, CC, IOCQES, IOSQES};
use crate::fault::Fault;

const ENABLE: u32 = facts::CC_EN.mask32();
/// All 0 here, and fixed while enabled.
const FIXED_FIELDS: u32 = facts::CC_CSS.mask32() | facts::CC_MPS.mask32() | facts::CC_AMS.mask32();

/// CC as the boot loader left it: m1n1 sets EN in what it finds and keeps the entry sizes.
const INITIAL_CONFIGURATION: u32 = facts::CC_IOSQES.put32(IOSQES) | facts::CC_IOCQES.put32(IOCQES);

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Off,
    Starting,
    Ready,
    Failed,
    Stopping,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Shutdown {
    #[default]
    None,
    InProgress,
    Complete,
}

#[derive(Debug)]
pub(super) struct Controller {
    pub(super) cc: u32,
    pub(super) aqa: u32,
    pub(super) asq: u64,
    pub(super) acq: u64,
    pub(super) mask: u32,
    pub(super) phase: Phase,
    pub(super) shutdown: Shutdown,
    /// When it should be ready (model time).
    ready_at: u64,
    /// IO queues were made since the last shutdown: leaving it so is an unclean stop.
    pub(super) unclean: bool,
}

impl Default for Controller {
    fn default() -> Self {
        let (phase, shutdown) = (Phase::default(), Shutdown::default());
        let (aqa, asq, acq, mask, ready_at) = (0, 0, 0, 0, 0);
        Self { cc: INITIAL_CONFIGURATION, aqa, asq, acq, mask, phase, shutdown, ready_at, unclean: false }
    }
}

impl Controller {
    pub(super) fn enabled(&self) -> bool {
        self.cc & ENABLE != 0
    }

    /// IOSQES and IOCQES.
    fn entry_sizes(&self) -> (u32, u32) {
        (facts::CC_IOSQES.of32(self.cc), facts::CC_IOCQES.of32(self.cc))
    }

    /// Both have to be right by the first Create command only.
    pub(super) fn entry_sizes_fit(&self) -> bool {
        self.entry_sizes() == (IOSQES, IOCQES)
    }

    /// Why enabling fails.
    fn enable_problem(&self) -> Option<String> {
        let (submission, completion) = (facts::AQA_ASQS.of32(self.aqa), facts::AQA_ACQS.of32(self.aqa));
        let (submission_entry, completion_entry) = self.entry_sizes();
        if self.cc & FIXED_FIELDS != 0 {
            Some(format!("CC {:#x}: command set, page size and arbitration have to be 0", self.cc))
        } else if submission == 0 || completion == 0 {
            Some(format!("AQA {:#x}: a queue of less than two entries", self.aqa))
        } else if self.asq == 0 || self.acq == 0 || !self.asq.is_multiple_of(PAGE) || !self.acq.is_multiple_of(PAGE) {
            Some(format!("ASQ {:#x}, ACQ {:#x}: zero, or not on a page", self.asq, self.acq))
        } else if !matches!(submission_entry, 0 | IOSQES) || !matches!(completion_entry, 0 | IOCQES) {
            Some(format!("CC {:#x}: entries of other sizes than 64 and 16 bytes", self.cc))
        } else {
            None
        }
    }
}

impl NvmeBlock {
    pub(super) fn capabilities(&self) -> u64 {
        // Contiguous queues only, the NVM command set alone; pages of 4 KiB only, one doorbell a word.
        facts::CAP_MQES.put(self.settings.identity.queue_entries.into())
            | facts::CAP_CQR.put(1)
            | facts::CAP_TO.put(self.settings.timeout().into())
            | facts::CAP_CSS.put(1)
    }

    pub(super) fn status_register(&self) -> u32 {
        let state = match self.controller.phase {
            Phase::Ready | Phase::Stopping => facts::CSTS_RDY.mask32(),
            Phase::Failed => facts::CSTS_CFS.mask32(),
            Phase::Off | Phase::Starting => 0,
        };
        let shutdown = match self.controller.shutdown {
            Shutdown::None => facts::SHST_NONE,
            Shutdown::InProgress => facts::SHST_IN_PROGRESS,
            Shutdown::Complete => facts::SHST_COMPLETE,
        };
        state | facts::CSTS_SHST.put32(shutdown)
    }

    pub(super) fn write_configuration(&mut self, ctx: &mut Context<'_>, value: u32) {
        let old = std::mem::replace(&mut self.controller.cc, value);
        let (was, is) = (old & ENABLE != 0, value & ENABLE != 0);
        if was && is && (old ^ value) & FIXED_FIELDS != 0 {
            ctx.violation("configuration-while-enabled", place(CC), format!("{old:#x} changed to {value:#x}"));
        }
        ctx.wires.controller_enabled = is;
        let (old_notice, notice) = (facts::CC_SHN.of32(old), facts::CC_SHN.of32(value));
        if notice != facts::SHN_NONE && notice != old_notice {
            self.start_shutdown(ctx, notice == facts::SHN_NORMAL);
        }
        match (was, is) {
            (false, true) => self.enable(ctx),
            (true, false) => self.disable(ctx),
            _ => {}
        }
    }

    fn enable(&mut self, ctx: &mut Context<'_>) {
        if self.controller.phase == Phase::Stopping {
            ctx.violation("enable-before-stopped", place(CC), "EN set again while RDY was still 1");
        }
        self.controller.shutdown = Shutdown::None;
        self.tags.clear();
        let halves = [MAX_PEND_ADMIN, MAX_PEND_IO].map(|half| half.of32(self.apple.maximum_pending));
        if halves.iter().any(|half| *half == 0 || *half > u32::from(TAGS)) {
            let detail =
                format!("MAX_PEND_CMDS_CTRL {:#x}: each half is to be 1 to {TAGS}", self.apple.maximum_pending);
            ctx.violation("maximum-pending", place(MAX_PEND_CMDS_CTRL), detail);
        }
        if let Some(detail) = self.controller.enable_problem() {
            ctx.violation("enable-invalid", place(CC), detail);
            self.controller.phase = Phase::Failed;
            return;
        }
        if self.settings.fatal_after() == Some(0) {
            self.controller.phase = Phase::Failed;
            return;
        }
        // Entries are counted from zero by the standard and from one by Apple's own driver, and both work: the hardware's
        // limit cuts the difference off.
        let (submission, completion) =
            (facts::AQA_ASQS.of32(self.controller.aqa), facts::AQA_ACQS.of32(self.controller.aqa));
        let entries = |field: u32| bits::low16(field.into()).saturating_add(1).min(TAGS);
        self.admin_submissions = Some(SubmissionQueue { base: self.controller.asq, size: entries(submission) });
        self.admin_completions = Some(CompletionQueue::new(self.controller.acq, entries(completion), true));
        self.controller.phase = Phase::Starting;
        let delay = self.settings.timings.controller_ready;
        self.controller.ready_at = ctx.now.saturating_add(delay);
        if !self.settings.has(&Fault::ControllerNeverReady) {
            self.schedule(ctx, delay, Due::Ready);
        }
    }

    fn disable(&mut self, ctx: &mut Context<'_>) {
        if self.controller.phase == Phase::Starting && ctx.now < self.controller.ready_at {
            ctx.violation("disable-while-starting", place(CC), "EN cleared before RDY was set");
            ctx.wires.crash = Some("NVMe controller disabled while it was starting".into());
        }
        if self.controller.shutdown == Shutdown::InProgress && !self.settings.has(&Fault::ShutdownNever) {
            ctx.violation(
                "disable-during-shutdown",
                place(CC),
                "EN cleared before SHST said that the shutdown is complete",
            );
        }
        let queues = self.io_completions.is_some() || self.io_submissions.is_some();
        if queues && self.controller.shutdown != Shutdown::Complete && self.controller.phase != Phase::Failed {
            ctx.violation("disable-with-queues", place(CC), "EN cleared with IO queues alive and no shutdown");
            ctx.wires.syslog.push("nvme: controller disabled with I/O queues still present".into());
        }
        if self.controller.phase == Phase::Failed {
            // Nobody can shut that down.
            self.controller.unclean = false;
        }
        let stuck = self.settings.has(&Fault::ControllerNeverDisabled);
        self.drop_queues(ctx);
        self.tags.orphan(None);
        self.controller.shutdown = Shutdown::None;
        self.write_cache_enabled = true;
        self.controller.phase = match self.controller.phase {
            Phase::Ready | Phase::Stopping => Phase::Stopping,
            _ => Phase::Off,
        };
        if self.controller.phase == Phase::Stopping && !stuck {
            let delay = self.settings.timings.controller_ready;
            self.schedule(ctx, delay, Due::Stopped);
        }
    }

    fn start_shutdown(&mut self, ctx: &mut Context<'_>, normal: bool) {
        self.controller.shutdown = Shutdown::InProgress;
        if self.settings.has(&Fault::ShutdownNever) {
            // The driver did its part.
            self.controller.unclean = false;
        } else {
            let delay = self.settings.timings.controller_shutdown;
            self.schedule(ctx, delay, Due::ShutDown { normal });
        }
    }

    pub(super) fn finish_shutdown(&mut self, ctx: &mut Context<'_>, normal: bool) {
        if normal {
            self.write_back_all(ctx);
        }
        self.controller.shutdown = Shutdown::Complete;
        self.controller.unclean = false;
    }

    /// Everything that hangs on enabled queues is forgotten; the tags are the caller's business.
    fn drop_queues(&mut self, ctx: &mut Context<'_>) {
        if !self.commands.is_empty() {
            let detail = format!("{} commands in flight are dropped", self.commands.len());
            ctx.note("commands-dropped", place(CC), detail);
        }
        self.commands.clear();
        self.due.clear();
        self.admin_submissions = None;
        self.admin_completions = None;
        self.io_submissions = None;
        self.io_completions = None;
        self.update_interrupt(ctx);
    }

    /// Registers and queues as after power-on. What the write cache holds stays.
    pub(super) fn forget(&mut self, ctx: &mut Context<'_>) {
        let unclean = self.controller.unclean && !self.controller.enabled();
        self.drop_queues(ctx);
        self.tags.clear();
        self.apple = super::registers::AppleRegisters::default();
        self.controller = Controller { unclean, ..Controller::default() };
        self.boot_status_seen = false;
        self.write_cache_enabled = true;
        ctx.wires.controller_enabled = false;
    }
}
