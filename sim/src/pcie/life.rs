//! The controller's life: enabling, reset and shutdown, and what each may find.

use super::queue::{Completions, Submissions};
use super::registers::place;
use super::{Device, Due, Fault, Loss};
use crate::context::Context;
use crate::facts::controller::{self as facts, CC, IOCQES, IOSQES};
use crate::nvme::bits;
pub(super) use crate::nvme::controller::{Phase, Shutdown};

/// The page of CC.MPS = 0 in bytes.
const LEAST_PAGE: u64 = 4096;

#[derive(Debug, Default)]
pub(super) struct Registers {
    pub(super) cc: u32,
    pub(super) aqa: u32,
    pub(super) asq: u64,
    pub(super) acq: u64,
    pub(super) mask: u32,
    pub(super) phase: Phase,
    pub(super) shutdown: Shutdown,
    /// IO queues were made since the last shutdown: leaving it so is an unclean stop.
    pub(super) unclean: bool,
    /// The register that was written last.
    pub(super) written: Option<u64>,
}

impl Registers {
    pub(super) fn enabled(&self) -> bool {
        facts::CC_EN.of32(self.cc) == 1
    }

    pub(super) fn page(&self) -> u64 {
        LEAST_PAGE << facts::CC_MPS.of32(self.cc)
    }

    fn entry_sizes(&self) -> (u32, u32) {
        (facts::CC_IOSQES.of32(self.cc), facts::CC_IOCQES.of32(self.cc))
    }

    /// Both have to be right by the first Create command only.
    pub(super) fn entry_sizes_fit(&self) -> bool {
        self.entry_sizes() == (IOSQES, IOCQES)
    }
}

impl Device {
    pub(super) fn capabilities(&self) -> u64 {
        let capabilities = &self.config.capabilities;
        facts::CAP_MQES.put(capabilities.queue_entries.into())
            | facts::CAP_CQR.put(1)
            | facts::CAP_TO.put(capabilities.timeout.into())
            | facts::CAP_DSTRD.put(capabilities.doorbell_stride.into())
            | facts::CAP_CSS.put(capabilities.command_sets.into())
            | facts::CAP_MPSMIN.put(capabilities.page_min.into())
            | facts::CAP_MPSMAX.put(capabilities.page_max.into())
    }

    pub(super) fn status_register(&self) -> u32 {
        let state = match self.registers.phase {
            Phase::Ready | Phase::Stopping => facts::CSTS_RDY.mask32(),
            Phase::Failed => facts::CSTS_CFS.mask32(),
            Phase::Off | Phase::Starting => 0,
        };
        let shutdown = match self.registers.shutdown {
            Shutdown::None => facts::SHST_NONE,
            Shutdown::InProgress => facts::SHST_IN_PROGRESS,
            Shutdown::Complete => facts::SHST_COMPLETE,
        };
        state | facts::CSTS_SHST.put32(shutdown)
    }

    pub(super) fn write_configuration(&mut self, ctx: &mut Context<'_>, value: u32) {
        let old = std::mem::replace(&mut self.registers.cc, value);
        let fixed = facts::CC_CSS.mask32() | facts::CC_MPS.mask32() | facts::CC_AMS.mask32();
        let (was, is) = (facts::CC_EN.of32(old) == 1, facts::CC_EN.of32(value) == 1);
        if was && is && (old ^ value) & fixed != 0 {
            ctx.violation("configuration-while-enabled", place(CC), format!("{old:#x} changed to {value:#x}"));
        }
        if was && !is {
            self.disable(ctx);
        }
        let (old_notice, notice) = (facts::CC_SHN.of32(old), facts::CC_SHN.of32(value));
        if !was && is {
            self.enable(ctx);
        }
        if notice != facts::SHN_NONE && notice != old_notice {
            if is {
                self.start_shutdown(ctx, notice == facts::SHN_NORMAL);
            } else {
                let detail = format!("SHN {notice} with EN clear: nothing is there to shut down");
                ctx.note("shutdown-while-disabled", place(CC), detail);
            }
        }
    }

    /// Why enabling fails.
    fn enable_problem(&self) -> Option<String> {
        let (registers, capabilities) = (&self.registers, &self.config.capabilities);
        let (submission, completion) = (facts::AQA_ASQS.of32(registers.aqa), facts::AQA_ACQS.of32(registers.aqa));
        let (submission_entry, completion_entry) = registers.entry_sizes();
        let (page, aligned) = (facts::CC_MPS.of32(registers.cc), |base: u64| base.is_multiple_of(registers.page()));
        let pages = u32::from(capabilities.page_min)..=u32::from(capabilities.page_max);
        let cc = registers.cc;
        if !pages.contains(&page) {
            Some(format!("CC {cc:#x}: page size {page} is not one of {pages:?}"))
        } else if facts::CC_CSS.of32(cc) != 0 || capabilities.command_sets & 1 == 0 {
            Some(format!("CC {cc:#x}: a command set that CAP.CSS {:#x} does not have", capabilities.command_sets))
        } else if facts::CC_AMS.of32(cc) != 0 {
            Some(format!("CC {cc:#x}: an arbitration that CAP.AMS does not have"))
        } else if submission == 0 || completion == 0 {
            Some(format!("AQA {:#x}: a queue of less than two entries", registers.aqa))
        } else if registers.asq == 0 || registers.acq == 0 || !aligned(registers.asq) || !aligned(registers.acq) {
            Some(format!("ASQ {:#x}, ACQ {:#x}: zero, or not on a page", registers.asq, registers.acq))
        } else if !matches!(submission_entry, 0 | IOSQES) || !matches!(completion_entry, 0 | IOCQES) {
            Some(format!("CC {cc:#x}: entries of other sizes than 64 and 16 bytes"))
        } else {
            None
        }
    }

    fn enable(&mut self, ctx: &mut Context<'_>) {
        if self.registers.phase == Phase::Stopping {
            ctx.violation("enable-before-stopped", place(CC), "EN set again while RDY was still 1");
        }
        self.registers.shutdown = Shutdown::None;
        if let Some(detail) = self.enable_problem() {
            ctx.violation("enable-invalid", place(CC), detail);
            self.registers.phase = Phase::Failed;
            return;
        }
        if self.has(&Fault::Fatal(0)) {
            self.registers.phase = Phase::Failed;
            return;
        }
        let registers = &self.registers;
        let entries = |field: u32| bits::low16(field.into()).saturating_add(1);
        let (submission, completion) = (facts::AQA_ASQS.of32(registers.aqa), facts::AQA_ACQS.of32(registers.aqa));
        self.submissions.insert(0, Submissions::new(registers.asq, entries(submission), 0));
        self.completions.insert(0, Completions::new(registers.acq, entries(completion), true, 0));
        self.registers.phase = Phase::Starting;
        if !self.has(&Fault::NeverReady) {
            self.schedule(ctx, self.config.timings.ready, Due::Ready);
        }
    }

    /// EN went from 1 to 0: the pages of Doorbell Buffer Config are forgotten before anything else.
    fn disable(&mut self, ctx: &mut Context<'_>) {
        let held: Vec<u64> = self.held_pages().into_iter().map(|(page, _, _)| page).collect();
        self.pages = None;
        self.lingering = held.into_iter().collect();
        if self.registers.phase == Phase::Starting {
            ctx.note("disable-while-starting", place(CC), "EN cleared before RDY was set");
        }
        if self.registers.phase == Phase::Failed {
            // Nobody can shut that down.
            self.registers.unclean = false;
        }
        let was_ready = matches!(self.registers.phase, Phase::Ready | Phase::Stopping);
        self.forget(ctx);
        self.reset_features(ctx);
        self.registers.phase = if was_ready { Phase::Stopping } else { Phase::Off };
        if !was_ready {
            self.stopped();
        } else if !self.has(&Fault::NeverDisabled) {
            self.schedule(ctx, self.config.timings.ready, Due::Stopped);
        }
    }

    /// The reset is confirmed by RDY = 0.
    pub(super) fn stopped(&mut self) {
        self.registers.phase = Phase::Off;
        self.lingering.clear();
    }

    fn start_shutdown(&mut self, ctx: &mut Context<'_>, normal: bool) {
        self.registers.shutdown = Shutdown::InProgress;
        if self.has(&Fault::ShutdownNever) {
            // The driver did its part.
            self.registers.unclean = false;
        } else {
            self.schedule(ctx, self.config.timings.shutdown, Due::ShutDown { normal });
        }
    }

    pub(super) fn finish_shutdown(&mut self, ctx: &mut Context<'_>, normal: bool) {
        if normal {
            self.write_back_all(ctx);
        }
        self.registers.shutdown = Shutdown::Complete;
        self.registers.unclean = false;
    }

    /// Queues, commands and events are gone; admin registers and the write cache stay.
    fn forget(&mut self, ctx: &mut Context<'_>) {
        self.pages = None;
        self.complained.clear();
        if !self.commands.is_empty() {
            let detail = format!("{} commands in flight are dropped", self.commands.len());
            ctx.note("commands-dropped", place(CC), detail);
        }
        self.commands.clear();
        self.flushing_until = 0;
        self.due.clear();
        self.submissions.clear();
        self.completions.clear();
        self.queues_made = false;
        self.events.clear();
        self.registers.shutdown = Shutdown::None;
    }

    /// The power fails, and stays off: registers as after power-on, and what the write cache holds is lost, or part of it; the
    /// number of blocks that were.
    pub(super) fn cut_power(&mut self, ctx: &mut Context<'_>) -> usize {
        let safe = self.registers.shutdown == Shutdown::Complete || !self.registers.unclean;
        self.unsafe_shutdowns += u64::from(!safe);
        self.power_cycles += 1;
        let mut torn = self.writes_under_way();
        self.forget(ctx);
        self.features.reset();
        self.powered = false;
        self.registers = Registers::default();
        self.lingering.clear();
        let (loss, atomic) = (self.config.write_cache.loss, usize::from(self.config.awupf) + 1);
        let mut lost = 0;
        for (id, namespace) in &mut self.namespaces {
            let (of_it, others): (Vec<_>, Vec<_>) = torn.into_iter().partition(|(namespace, _)| namespace == id);
            torn = others;
            lost += match loss {
                Loss::All => namespace.cache.lose(),
                Loss::Subset => {
                    let of_it = of_it.into_iter().map(|(_, torn)| torn).collect();
                    namespace.cache.lose_some(ctx.random, atomic, of_it).unwrap_or_else(|error| {
                        ctx.note("store-failed", format!("namespace {id}"), error.to_string());
                        0
                    })
                }
            };
        }
        lost
    }

    /// The end of the run: is the controller as the next user expects it?
    pub(super) fn finish(&mut self, ctx: &mut Context<'_>) {
        for (id, completions) in &self.completions {
            if !completions.held.is_empty() {
                let detail = format!("{} completions found no room until the end", completions.held.len());
                ctx.violation("completion-queue-stalled", format!("completion queue {id}"), detail);
            }
        }
        if self.registers.enabled() {
            ctx.violation("controller-left-enabled", place(CC), "CC.EN is still set at the end of the run");
        } else if self.registers.unclean {
            ctx.violation("shutdown-skipped", place(CC), "IO queues were used, and CC.SHN was not before the end");
        }
    }
}
