//! The NVMe block: ANS' register file with its NVMMU, and the controller behind it.
//!
//! In the order in which hardware sees a command: `registers` takes the access, `doorbell` fetches and checks the
//! entry and its translation, `command` plans and later runs it through `admin` or `io`, and `queue` posts what came of
//! it. `controller` is the life around that; [`store`] is the flash.

pub mod store;

mod admin;
pub(crate) mod bits;
pub(crate) mod cache;
pub(crate) mod command;
pub(crate) mod controller;
mod doorbell;
pub(crate) mod entry;
pub(crate) mod identify;
mod io;
pub(crate) mod prp;
mod queue;
mod registers;
mod settings;
pub(crate) mod status;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub(crate) use registers::register_name;

use crate::config::MachineConfig;
use crate::context::Context;
use command::Command;
use controller::{Controller, Phase};
use prp::PAGE;
use queue::{CompletionQueue, QueueName, SubmissionQueue, Tags};
use registers::AppleRegisters;
use settings::{Namespace, Settings};

/// What the block is woken for.
#[derive(Clone, Copy, Debug)]
enum Due {
    Ready,
    Stopped,
    ShutDown {
        normal: bool,
    },
    /// A command is done: it is kept under the event's number.
    Command,
    /// Time to look whether a full completion queue still is.
    Stall(QueueName),
}

/// What a run did, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NvmeCounters {
    /// Commands run, by kind.
    pub commands: BTreeMap<&'static str, u64>,
    /// Bytes that read commands returned.
    pub bytes_read: u64,
    /// Bytes that write commands brought.
    pub bytes_written: u64,
    /// The most commands that were in flight at once.
    pub deepest: u64,
}

/// The NVMe register block of ANS and everything behind it.
#[derive(Debug)]
pub(crate) struct NvmeBlock {
    settings: Settings,
    namespaces: BTreeMap<u32, Namespace>,
    apple: AppleRegisters,
    controller: Controller,
    admin_submissions: Option<SubmissionQueue>,
    admin_completions: Option<CompletionQueue>,
    io_submissions: Option<SubmissionQueue>,
    io_completions: Option<CompletionQueue>,
    tags: Tags,
    /// Commands in flight, by the number of the event that ends them.
    commands: BTreeMap<u64, Command>,
    due: BTreeMap<u64, Due>,
    sequence: u64,
    /// IO commands accepted since the machine was made, for planned faults.
    io_commands: u64,
    write_cache_enabled: bool,
    /// The driver has read BOOT_STATUS and found it right since the firmware came up.
    boot_status_seen: bool,
    firmware_was_ready: bool,
    /// The firmware went down under an enabled controller, which is a crash: a driver may touch the registers until it
    /// has heard of that.
    crashed: bool,
    unsafe_shutdowns: u64,
    counters: NvmeCounters,
}

impl NvmeBlock {
    pub(crate) fn new(config: &MachineConfig) -> Self {
        Self {
            settings: Settings::new(config),
            namespaces: settings::namespaces(config).into_iter().map(|namespace| (namespace.id, namespace)).collect(),
            apple: AppleRegisters::default(),
            controller: Controller::default(),
            admin_submissions: None,
            admin_completions: None,
            io_submissions: None,
            io_completions: None,
            tags: Tags::default(),
            commands: BTreeMap::new(),
            due: BTreeMap::new(),
            sequence: 0,
            io_commands: 0,
            write_cache_enabled: true,
            boot_status_seen: false,
            firmware_was_ready: false,
            crashed: false,
            unsafe_shutdowns: 0,
            counters: NvmeCounters::default(),
        }
    }

    /// Something that the block asked for is due.
    pub(crate) fn event(&mut self, ctx: &mut Context<'_>, number: u64) {
        self.follow_firmware(ctx);
        let Some(due) = self.due.remove(&number) else { return };
        match due {
            Due::Ready => self.controller.phase = Phase::Ready,
            Due::Stopped => self.controller.phase = Phase::Off,
            Due::ShutDown { normal } => self.finish_shutdown(ctx, normal),
            Due::Command => {
                if let Some(command) = self.commands.remove(&number) {
                    self.finish_command(ctx, number, command);
                }
            }
            Due::Stall(queue) => self.check_stall(ctx, queue),
        }
    }

    /// The block loses everything but the media and what is in the write cache: a reset pulse of its power domain.
    pub(crate) fn reset(&mut self, ctx: &mut Context<'_>) {
        if ctx.wires.firmware_ready && self.controller.enabled() {
            ctx.violation("reset-while-enabled", "nvme", "reset with CC.EN set and the firmware up");
        }
        self.forget(ctx);
        self.firmware_was_ready = ctx.wires.firmware_ready;
        self.crashed = false;
    }

    /// The end of the run: is the controller as the next stage expects it?
    pub(crate) fn finish(&mut self, ctx: &mut Context<'_>) {
        for (queue, completions) in
            [(QueueName::Admin, self.admin_completions.as_ref()), (QueueName::Io, self.io_completions.as_ref())]
        {
            if let Some(completions) = completions
                && !completions.held.is_empty()
            {
                let detail = format!("{} completions found no room until the end", completions.held.len());
                ctx.violation("completion-queue-stalled", format!("nvme {} completion queue", queue.name()), detail);
            }
        }
        if self.controller.enabled() {
            ctx.violation("controller-left-enabled", "nvme+0x00014", "CC.EN is still set at the end of the run");
        } else if self.controller.unclean {
            ctx.violation("shutdown-skipped", "nvme+0x00014", "IO queues were used, and CC.SHN was not before the end");
        }
    }

    /// The power fails: what the write cache holds is lost; the number of blocks that were.
    pub(crate) fn cut_power(&mut self, ctx: &mut Context<'_>) -> usize {
        self.forget(ctx);
        self.controller = Controller::default();
        self.unsafe_shutdowns += 1;
        self.namespaces.values_mut().map(|namespace| namespace.cache.lose()).sum()
    }

    pub(crate) fn counters(&self) -> &NvmeCounters {
        &self.counters
    }

    /// The pages that commands in flight may still reach, each with the command's tag.
    pub(crate) fn in_flight_pages(&self) -> impl Iterator<Item = (u64, u16)> + '_ {
        self.commands.values().flat_map(|command| {
            command.segments.iter().flat_map(|segment| {
                let first = segment.address / PAGE;
                let last = segment.address.saturating_add(segment.length.saturating_sub(1)) / PAGE;
                (first..=last).map(|page| (page * PAGE, u16::from(command.tag)))
            })
        })
    }

    /// A firmware that goes down takes the controller's state with it; neither boot nor wake brings that back.
    fn follow_firmware(&mut self, ctx: &mut Context<'_>) {
        if self.firmware_was_ready && !ctx.wires.firmware_ready {
            self.crashed = self.controller.enabled();
            self.forget(ctx);
        }
        self.crashed &= !ctx.wires.firmware_ready;
        self.firmware_was_ready = ctx.wires.firmware_ready;
    }

    fn completions(&mut self, queue: QueueName) -> Option<&mut CompletionQueue> {
        match queue {
            QueueName::Admin => self.admin_completions.as_mut(),
            QueueName::Io => self.io_completions.as_mut(),
        }
    }

    fn submissions(&self, queue: QueueName) -> Option<SubmissionQueue> {
        match queue {
            QueueName::Admin => self.admin_submissions,
            QueueName::Io => self.io_submissions,
        }
    }
}
