//! How a standard controller is to be: what it says of itself, its namespaces, its speed, and what is to go wrong.

use super::fault::Fault;
use super::shadow::EventIndex;
use crate::nvme::store::{MemoryStore, Store};

/// The CAP register's fields.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// CAP.MQES: the most entries of a queue, less one.
    pub queue_entries: u16,
    /// CAP.DSTRD: doorbells are 4 << n bytes apart.
    pub doorbell_stride: u8,
    /// CAP.TO, in units of 500 ms.
    pub timeout: u8,
    /// CAP.MPSMIN: the least page has 2^(12 + n) bytes.
    pub page_min: u8,
    /// CAP.MPSMAX: the largest one.
    pub page_max: u8,
    /// CAP.CSS: bit 0 is the NVM command set.
    pub command_sets: u8,
}

impl Default for Capabilities {
    fn default() -> Self {
        Self { queue_entries: 1023, doorbell_stride: 0, timeout: 20, page_min: 0, page_max: 2, command_sets: 1 }
    }
}

/// Which optional commands there are.
#[derive(Clone, Copy, Debug)]
pub struct Optional {
    /// Compare.
    pub compare: bool,
    /// Dataset Management.
    pub dataset_management: bool,
    /// Write Zeroes.
    pub write_zeroes: bool,
    /// Verify.
    pub verify: bool,
    /// SEL of Get Features and SV of Set Features.
    pub save_select: bool,
}

impl Default for Optional {
    fn default() -> Self {
        Self { compare: true, dataset_management: true, write_zeroes: true, verify: true, save_select: true }
    }
}

/// What a power cut does to what is not durable: completed writes in the cache, and writes under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// All of it is lost.
    #[default]
    All,
    /// Any subset survives, by chance, in any order: of each block, any version since the durable one. A write that AWUPF covers
    /// survives as a whole or not at all; a longer one in any of its blocks.
    Subset,
}

/// The volatile write cache.
#[derive(Clone, Copy, Debug)]
pub struct WriteCache {
    /// VWC bit 0.
    pub present: bool,
    /// Whether it is enabled after a reset, while no other value is saved.
    pub enabled: bool,
    /// VWC bits 2:1, what a flush of all namespaces does: 0 not said (it works), 2 refused, 3 works.
    pub broadcast: u8,
    /// What a power cut leaves.
    pub loss: Loss,
}

impl Default for WriteCache {
    fn default() -> Self {
        Self { present: true, enabled: true, broadcast: 3, loss: Loss::All }
    }
}

/// What the device does about doorbells once Doorbell Buffer Config has bound pages. Admin queues always go by MMIO; their event
/// indices are kept so that a host which follows them rings always.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doorbells {
    /// MMIO wakes it and its value is ignored; it takes the shadow's tail, works, sets the event index, looks again, and sleeps.
    Wakes {
        /// From the MMIO write to the first look, in nanoseconds.
        wake_ns: u64,
        /// From the work to the setting of the event index: until then the host has no reason to ring.
        settle_ns: u64,
        /// From the setting of the event index to the second look.
        look_again_ns: u64,
    },
    /// It looks at the shadow doorbells at that interval; MMIO wakes it as well.
    Polls {
        /// Nanoseconds between two looks.
        every_ns: u64,
        /// What becomes of event indices: all ones, or left behind ([`EventIndex::Never`]).
        event_index: EventIndex,
    },
    /// It sleeps and never touches an event index: hosts that believe in event indices hang unless they ring again by
    /// themselves.
    NeverUpdates,
    /// It needs MMIO: the value written there is what counts and shadow doorbells are never looked at, so that a host which
    /// gave it pages and then does not store to them works as well. It keeps event indices at the value that it was given last,
    /// so that a host which follows them rings always.
    NeedsMmio,
}

impl Default for Doorbells {
    fn default() -> Self {
        Self::Wakes { wake_ns: 0, settle_ns: 0, look_again_ns: 0 }
    }
}

/// How long things take, in nanoseconds of model time. Commands take up to half as long again by chance.
#[derive(Clone, Debug)]
pub struct Timings {
    /// From CC.EN = 1 to CSTS.RDY = 1, and back.
    pub ready: u64,
    /// From CC.SHN to CSTS.SHST = 2.
    pub shutdown: u64,
    /// An admin command.
    pub admin: u64,
    /// A read, its first 4096 bytes.
    pub read: u64,
    /// Any other command with data, its first 4096 bytes.
    pub write: u64,
    /// Every further 4096 bytes.
    pub per_page: u64,
    /// A flush.
    pub flush: u64,
    /// One flush at a time: it begins when the one before has ended, as where a flush writes back a whole cache. If not, flushes
    /// pass beside each other.
    pub flushes_in_turn: bool,
}

impl Default for Timings {
    fn default() -> Self {
        let (ready, shutdown, admin) = (1_000_000, 2_000_000, 20_000);
        let (read, write, per_page, flush) = (80_000, 30_000, 1_000, 1_000_000);
        Self { ready, shutdown, admin, read, write, per_page, flush, flushes_in_turn: false }
    }
}

/// One namespace.
#[derive(Debug)]
pub struct NamespaceConfig {
    /// Namespace identifier, 1 or more; those between that are missing are inactive.
    pub id: u32,
    /// Bytes of a block: a power of two, 512 to 65536.
    pub block_size: u32,
    /// Its blocks.
    pub store: Box<dyn Store>,
    /// Write protected: NSATTR bit 0. So is a namespace on a read-only store.
    pub read_only: bool,
    /// Belongs to the zoned command set: listed, described as such (CSI 2), and no command of the NVM set works on it.
    pub zoned: bool,
    /// Deallocated blocks read as zero (DLFEAT 1); if not, DLFEAT is 0 and deallocation is a hint without effect.
    pub deallocated_zeroes: bool,
    /// It has no volatile write cache, whatever the controller has; told from version 2.0 on (Identify with CNS 8, NSFEAT bit 5).
    pub no_cache: bool,
}

impl NamespaceConfig {
    /// A namespace of `bytes` zeros in memory.
    pub fn new(id: u32, block_size: u32, bytes: u64) -> Self {
        Self::on(id, block_size, Box::new(MemoryStore::new(bytes)))
    }

    /// A namespace on that store.
    pub fn on(id: u32, block_size: u32, store: Box<dyn Store>) -> Self {
        Self { id, block_size, store, read_only: false, zoned: false, deallocated_zeroes: true, no_cache: false }
    }
}

/// The controller to build.
#[derive(Debug)]
pub struct ControllerConfig {
    /// The start of every chance that the model takes.
    pub seed: u64,
    /// Model number, at most 40 ASCII characters.
    pub model: String,
    /// Serial number, at most 20.
    pub serial: String,
    /// Firmware revision, at most 8.
    pub firmware: String,
    /// The VS register: below 1.1 there is no Identify with CNS 2, below 1.3 none with CNS 3.
    pub version: u32,
    /// The CAP register.
    pub capabilities: Capabilities,
    /// The most IO queue pairs, 1 to 64.
    pub queue_pairs: u16,
    /// Largest transfer: 2^n least pages; 0 is no limit.
    pub mdts: u8,
    /// Identify with CNS 2 works, if the version has it.
    pub active_list: bool,
    /// Optional commands.
    pub optional: Optional,
    /// ACL: aborts at once, less one.
    pub abort_limit: u8,
    /// AERL: asynchronous event requests at once, less one.
    pub event_limit: u8,
    /// ELPE: entries of the error log, less one.
    pub error_entries: u8,
    /// LPA bit 1: there is a log of the effects of commands.
    pub effects_log: bool,
    /// LPA bit 2: logs can be read from an offset on.
    pub log_offsets: bool,
    /// Whether features can be saved.
    pub saveable: bool,
    /// The write cache.
    pub write_cache: WriteCache,
    /// AWUPF, and AWUN: a write of at most so many blocks and one is not torn by a power cut.
    pub awupf: u16,
    /// OACS bit 8; without it, Doorbell Buffer Config is an unknown command.
    pub shadow_doorbells: bool,
    /// What it does with them.
    pub doorbells: Doorbells,
    /// Stores the tail and head that it knows into the shadow page when that is bound, as some emulators do although the
    /// page is the host's.
    pub copies_on_bind: bool,
    /// Looks at the queues that exist when pages are bound, and sets their event indices. Without that the first doorbell behind
    /// a binding under way has to be rung in any case.
    pub arms_on_bind: bool,
    /// The most commands of one submission queue that are in flight at once; 0 is no limit. Entries beyond stay in the queue.
    pub request_slots: u16,
    /// The namespaces, in any order.
    pub namespaces: Vec<NamespaceConfig>,
    /// Speed.
    pub timings: Timings,
    /// What is to go wrong.
    pub faults: Vec<Fault>,
}

impl Default for ControllerConfig {
    fn default() -> Self {
        Self::new()
    }
}

impl ControllerConfig {
    /// A controller of version 1.4 with everything, one namespace of 16 MiB of zeros in blocks of 512 bytes, and no faults.
    pub fn new() -> Self {
        Self {
            seed: 1,
            model: "Model of a standard controller".into(),
            serial: "sim-pcie-1".into(),
            firmware: "1.0".into(),
            version: 0x0001_0400,
            capabilities: Capabilities::default(),
            queue_pairs: 64,
            mdts: 7,
            active_list: true,
            optional: Optional::default(),
            abort_limit: 3,
            event_limit: 3,
            error_entries: 15,
            effects_log: true,
            log_offsets: true,
            saveable: false,
            write_cache: WriteCache::default(),
            awupf: 0,
            shadow_doorbells: true,
            doorbells: Doorbells::default(),
            copies_on_bind: false,
            arms_on_bind: true,
            request_slots: 0,
            namespaces: vec![NamespaceConfig::new(1, 512, 16 << 20)],
            timings: Timings::default(),
            faults: Vec::new(),
        }
    }
}
