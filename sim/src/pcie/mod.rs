//! A standard NVMe controller on PCIe, as the reference's `nvme-standard.md` has it, and the board for it.
//!
//! In the order in which a controller sees a command: `registers` takes the access, `doorbell` decides what a doorbell says and
//! fetches entries, `command` plans and later runs them through `admin` or `io`, and `completion` posts what came of it. `life`
//! is enabling, reset and shutdown. [`shadow`] is the device's half of shadow doorbells, as functions that a proof can run.
//!
//! # Rules
//!
//! A broken rule is recorded as a violation of that name, with its place and what was seen:
//!
//! * registers: `register-width` (64-bit access), `register-halves` (high before low), `write-only-register`, `unknown-register`,
//!   `admin-registers-while-enabled`, `configuration-while-enabled`, `external-abort`, `outside-window`;
//! * life: `enable-invalid` (and CSTS.CFS), `enable-before-stopped`, `controller-left-enabled` and `shutdown-skipped` at the end;
//! * doorbells: `doorbell-before-ready`, `doorbell-after-shutdown`, `doorbell-register` (no such queue), `doorbell-value`;
//!   the last two, and `shadow-doorbell-value`, are asynchronous events as well;
//! * commands: `cid-in-use`, `prp-offset`, `prp-missing`, `prp2-reserved`, `prp-list-changed-in-flight`, `buffer-in-flight`,
//!   `buffer-over-queue`, `buffer-changed-in-flight`, `dma-fault`, `completion-queue-stalled` at the end;
//! * memory: `memory-not-published`, `memory-not-observed`, `memory-not-owned`, `memory-freed-twice`, `memory-freed-in-use`,
//!   `memory-freed-in-flight` (data or rings), `memory-freed-before-reset` (EN is clear and RDY still set);
//! * shadow doorbells: `stale-shadow` (pages not cleared before they are bound), `shadow-entry-stale` (a queue made with entries
//!   that are not zero), `shadow-unordered` (event index read without a full barrier behind the doorbell's store),
//!   `shadow-before-entries` (tail stored before its entries are published), `event-index-written` (by the host, of a queue
//!   that exists), `shadow-doorbell-value`, `shadow-freed-while-bound`.
//!
//! # Use
//!
//! ```
//! use hal::Mmio;
//! use sim::pcie::{Board, ControllerConfig};
//!
//! let board = Board::new(ControllerConfig::new());
//! let bar = board.bar();
//! assert_eq!(bar.read32(0x08), 0x0001_0400);
//! assert!(board.violations().is_empty());
//! ```

pub mod config;
pub mod fault;
pub mod shadow;

mod admin;
mod board;
mod command;
mod completion;
mod controller;
mod doorbell;
mod events;
mod features;
mod identify;
mod io;
mod life;
mod log;
mod queue;
mod queues;
mod registers;

use std::collections::{BTreeMap, BTreeSet};

use crate::context::{Context, Event};
use crate::nvme::cache::Cache;
use command::Command;
use events::Events;
use features::Features;
use life::{Phase, Registers};
use log::Errors;
use queue::{Completions, Submissions};

pub use board::{BAR0, Board, Clock, HostPlatform, Pool, Window};
pub use config::{Capabilities, ControllerConfig, Doorbells, Loss, NamespaceConfig, Optional, Timings, WriteCache};
pub use controller::{Controller, Cut};
pub use fault::Fault;

/// What the controller is woken for.
#[derive(Clone, Copy, Debug)]
enum Due {
    Ready,
    Stopped,
    ShutDown {
        normal: bool,
    },
    /// A command is done: it is kept under the event's number.
    Command,
    /// A submission queue is to be looked at.
    Wake(u16),
    /// A submission queue that was emptied gets its event index.
    Settle(u16),
    /// The second look at it.
    LookAgain(u16),
    /// A device that polls looks at every shadow doorbell.
    Poll,
}

/// What a run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Commands run, by kind.
    pub commands: BTreeMap<&'static str, u64>,
    /// Bytes that read commands returned.
    pub bytes_read: u64,
    /// Bytes that write commands brought.
    pub bytes_written: u64,
    /// The most commands that were in flight at once.
    pub deepest: u64,
    /// MMIO writes to doorbells of the admin queues.
    pub admin_doorbells: u64,
    /// MMIO writes to tail doorbells of IO submission queues.
    pub submission_doorbells: u64,
    /// MMIO writes to head doorbells of IO completion queues.
    pub completion_doorbells: u64,
    /// Doorbell Buffer Config commands that bound pages.
    pub shadow_binds: u64,
    /// Loads of shadow doorbells.
    pub shadow_loads: u64,
    /// How often a completion found its queue full.
    pub queue_full: u64,
}

/// One namespace with its medium and its share of the write cache.
#[derive(Debug)]
struct Namespace {
    id: u32,
    block_size: u32,
    blocks: u64,
    read_only: bool,
    zoned: bool,
    deallocated_zeroes: bool,
    no_cache: bool,
    cache: Cache,
}

impl Namespace {
    fn new(config: NamespaceConfig, loss: Loss) -> Self {
        let NamespaceConfig { id, block_size, store, read_only, zoned, deallocated_zeroes, no_cache } = config;
        let block_size = block_size.max(512);
        let (blocks, read_only) = (store.size() / u64::from(block_size), read_only || store.read_only());
        let cache = Cache::new(store, block_size).keeping_every_version(loss == Loss::Subset);
        Self { id, block_size, blocks, read_only, zoned, deallocated_zeroes, no_cache, cache }
    }
}

/// The pages of Doorbell Buffer Config.
#[derive(Clone, Copy, Debug)]
struct Pages {
    shadow: u64,
    events: u64,
    size: u64,
}

/// The controller behind its registers.
#[derive(Debug)]
struct Device {
    config: ControllerConfig,
    namespaces: BTreeMap<u32, Namespace>,
    registers: Registers,
    submissions: BTreeMap<u16, Submissions>,
    completions: BTreeMap<u16, Completions>,
    /// Commands in flight, by the number of the event that ends them.
    commands: BTreeMap<u64, Command>,
    due: BTreeMap<u64, Due>,
    sequence: u64,
    pages: Option<Pages>,
    /// Shadow entries that hold something invalid, by offset, each told once.
    complained: BTreeMap<u64, u32>,
    /// Memory that the host has to leave alone until a reset is confirmed.
    lingering: BTreeSet<u64>,
    features: Features,
    /// IO queues were made since the last reset.
    queues_made: bool,
    events: Events,
    errors: Errors,
    changed_namespaces: BTreeSet<u32>,
    temperature: u16,
    unsafe_shutdowns: u64,
    power_cycles: u64,
    /// The power is on.
    powered: bool,
    /// IO commands fetched, for planned faults.
    io_commands: u64,
    /// Flushes fetched, for the same.
    flushes: u64,
    doorbells_lost: u64,
    /// When the last flush ends, where they take turns.
    flushing_until: u64,
    counters: Counters,
}

impl Device {
    fn new(mut config: ControllerConfig) -> Self {
        config.queue_pairs = config.queue_pairs.clamp(1, 64);
        let namespaces = std::mem::take(&mut config.namespaces);
        let features = Features::new(&config);
        Self {
            namespaces: namespaces
                .into_iter()
                .map(|one| (one.id, Namespace::new(one, config.write_cache.loss)))
                .collect(),
            registers: Registers::default(),
            submissions: BTreeMap::new(),
            completions: BTreeMap::new(),
            commands: BTreeMap::new(),
            due: BTreeMap::new(),
            sequence: 0,
            pages: None,
            complained: BTreeMap::new(),
            lingering: BTreeSet::new(),
            features,
            queues_made: false,
            events: Events::default(),
            errors: Errors::default(),
            changed_namespaces: BTreeSet::new(),
            temperature: 310,
            unsafe_shutdowns: 0,
            power_cycles: 1,
            powered: true,
            io_commands: 0,
            flushes: 0,
            doorbells_lost: 0,
            flushing_until: 0,
            counters: Counters::default(),
            config,
        }
    }

    /// Something that the controller asked for is due.
    fn event(&mut self, ctx: &mut Context<'_>, number: u64) {
        let Some(due) = self.due.remove(&number) else { return };
        match due {
            Due::Ready => self.registers.phase = Phase::Ready,
            Due::Stopped => self.stopped(),
            Due::ShutDown { normal } => self.finish_shutdown(ctx, normal),
            _ if self.registers.phase == Phase::Failed || self.is_gone() => {}
            Due::Command => {
                if let Some(command) = self.commands.remove(&number) {
                    self.finish_command(ctx, number, command);
                }
            }
            Due::Wake(queue) => self.serve(ctx, queue),
            Due::Settle(queue) => self.settle(ctx, queue),
            Due::LookAgain(queue) => self.look_again(ctx, queue),
            Due::Poll => self.poll(ctx),
        }
    }

    /// Asks to be woken `delay` nanoseconds from now for `due`; the number under which that is kept.
    fn schedule(&mut self, ctx: &mut Context<'_>, delay: u64, due: Due) -> u64 {
        self.sequence += 1;
        self.due.insert(self.sequence, due);
        ctx.events.at(ctx.now.saturating_add(delay), Event::Nvme(self.sequence));
        self.sequence
    }

    fn has(&self, fault: &Fault) -> bool {
        self.config.faults.contains(fault)
    }

    /// It does not answer on the bus.
    fn is_gone(&self) -> bool {
        !self.powered || self.has(&Fault::Gone)
    }

    /// Bytes of a page by CC.MPS.
    fn page(&self) -> u64 {
        self.registers.page()
    }
}
