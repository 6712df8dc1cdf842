//! What of a machine's configuration concerns the controller, in the form in which its parts ask for it.

use super::cache::Cache;
use super::status::Status;
use crate::config::{Identity, MachineConfig, Timings};
use crate::fault::Fault;

/// One namespace with its medium and its share of the write cache.
#[derive(Debug)]
pub(crate) struct Namespace {
    pub(crate) id: u32,
    pub(crate) kind: u32,
    pub(crate) block_size: u32,
    pub(crate) blocks: u64,
    pub(crate) cache: Cache,
}

/// The controller's share of the configuration.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) identity: Identity,
    pub(crate) timings: Timings,
    pub(crate) faults: Vec<Fault>,
}

/// Commands take up to that much longer by chance, in percent, so that they complete out of order.
const JITTER_PERCENT: u64 = 50;

impl Settings {
    pub(crate) fn new(config: &MachineConfig) -> Self {
        Self { identity: config.identity.clone(), timings: config.timings.clone(), faults: config.faults.clone() }
    }

    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.faults.contains(fault)
    }

    /// CAP.TO, in units of 500 ms.
    pub(crate) fn timeout(&self) -> u8 {
        let planned = self.faults.iter().find_map(|fault| match fault {
            Fault::CapTimeout(units) => Some(*units),
            _ => None,
        });
        planned.unwrap_or(self.identity.timeout)
    }

    /// The longest time by which chance may lengthen something that takes `base` nanoseconds.
    pub(crate) fn jitter(base: u64) -> u64 {
        base / 100 * JITTER_PERCENT
    }

    pub(crate) fn flush(&self) -> u64 {
        let planned = self.faults.iter().find_map(|fault| match fault {
            Fault::FlushDelay(delay) => Some(*delay),
            _ => None,
        });
        planned.unwrap_or(self.timings.flush_command)
    }

    /// After how many IO commands the controller breaks; 0 is at enabling.
    pub(crate) fn fatal_after(&self) -> Option<u64> {
        self.faults.iter().find_map(|fault| match fault {
            Fault::ControllerFatal(commands) => Some(*commands),
            _ => None,
        })
    }

    /// The planned failure of an admin command.
    pub(crate) fn admin_error(&self, opcode: u8) -> Option<Status> {
        self.has(&Fault::AdminError(opcode)).then_some(Status::INTERNAL_ERROR)
    }

    /// Whether an access to these blocks of namespace 1 is to fail.
    pub(crate) fn io_error(&self, first: u64, count: u64) -> bool {
        self.faults.iter().any(|fault| match fault {
            Fault::IoError(block) => (first..first.saturating_add(count)).contains(block),
            _ => false,
        })
    }
}

/// The namespaces of a configuration: number 1 on the machine's store, the others in memory.
pub(crate) fn namespaces(config: &MachineConfig) -> Vec<Namespace> {
    let namespace = |settings: &crate::config::NamespaceConfig| {
        let block_size = settings.block_size.max(512);
        let store: Box<dyn super::store::Store> = match settings.id {
            1 => config.store.share(),
            _ => Box::new(super::store::MemoryStore::new(settings.blocks.saturating_mul(block_size.into()))),
        };
        let held = store.size() / u64::from(block_size);
        let blocks = if settings.blocks == 0 { held } else { settings.blocks.min(held) };
        Namespace { id: settings.id, kind: settings.kind, block_size, blocks, cache: Cache::new(store, block_size) }
    };
    config.namespaces.iter().map(namespace).collect()
}
