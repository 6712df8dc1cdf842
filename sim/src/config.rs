//! How a machine is to be: its state when the driver meets it, its disk, its speed, and what is to go wrong.

use crate::fault::Fault;
use crate::nvme::store::{MemoryStore, Store};

/// What the driver finds the coprocessor doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnsState {
    /// Shut down by the stage before: CPU_CONTROL.RUN clear, the controller disabled, the domains gated.
    Stopped,
    /// Left idle by iBoot with a session of its own: RUN set, domains on, SART entries of the boot chain in use.
    Running,
}

/// How long things take, in nanoseconds of model time.
#[derive(Clone, Debug)]
pub struct Timings {
    /// A power domain: from the new target to the new actual state.
    pub power_change: u64,
    /// Firmware: from RUN to HELLO.
    pub firmware_boot: u64,
    /// Firmware: from a wake message to HELLO.
    pub firmware_wake: u64,
    /// Firmware: from a message to its answer.
    pub firmware_answer: u64,
    /// Firmware: from a message's arrival in the FIFO to its being taken out.
    pub firmware_take: u64,
    /// Firmware: from the power acknowledgement to the right BOOT_STATUS.
    pub boot_status: u64,
    /// Firmware: between two ioreport messages while it runs; 0 = none after boot.
    pub ioreport_period: u64,
    /// How long a driver may leave a message that it has read without the answer which firmware needs.
    pub patience: u64,
    /// Controller: from CC.EN = 1 to CSTS.RDY = 1, and back.
    pub controller_ready: u64,
    /// Controller: from CC.SHN to CSTS.SHST = 2.
    pub controller_shutdown: u64,
    /// An admin command.
    pub admin_command: u64,
    /// A read command, first block.
    pub read_command: u64,
    /// A write command, first block.
    pub write_command: u64,
    /// Every further block of a read or write.
    pub per_block: u64,
    /// A flush.
    pub flush_command: u64,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            power_change: 5_000,
            firmware_boot: 8_000_000,
            firmware_wake: 2_000_000,
            firmware_answer: 100_000,
            firmware_take: 2_000,
            boot_status: 1_000_000,
            ioreport_period: 2_000_000_000,
            patience: 1_000_000_000,
            controller_ready: 2_000_000,
            controller_shutdown: 10_000_000,
            admin_command: 50_000,
            read_command: 80_000,
            write_command: 40_000,
            per_block: 1_500,
            // 55 to 60 flushes a second were measured on M1 (public mail thread on apple-nvme).
            flush_command: 17_000_000,
        }
    }
}

/// What Identify Controller says.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Model number, at most 40 ASCII characters.
    pub model: String,
    /// Serial number, at most 20 ASCII characters.
    pub serial: String,
    /// Firmware revision, at most 8 ASCII characters.
    pub firmware: String,
    /// The VS register.
    pub version: u32,
    /// Largest transfer as a power of two of 4096-byte pages; 0 = no limit.
    pub mdts: u8,
    /// CAP.MQES: entries of a queue, zero-based.
    pub queue_entries: u16,
    /// CAP.TO in units of 500 ms.
    pub timeout: u8,
}

impl Default for Identity {
    fn default() -> Self {
        Self {
            model: "APPLE SSD AP0512Q".into(),
            serial: "0ba01234567890ab".into(),
            firmware: "387.100.".into(),
            version: 0x0001_0100,
            mdts: 8,
            queue_entries: 63,
            timeout: 20,
        }
    }
}

/// One namespace. Number 1 is backed by [`MachineConfig::store`]; the others keep what is written in memory.
#[derive(Clone, Debug)]
pub struct NamespaceConfig {
    /// Namespace identifier, 1 or more.
    pub id: u32,
    /// Apple's vendor type, at byte 384 of Identify Namespace: 1 = data.
    pub kind: u32,
    /// Bytes of a block: 512 or 4096.
    pub block_size: u32,
    /// Blocks; for namespace 1, 0 = as many as the store has.
    pub blocks: u64,
}

/// One power domain of the PMGR.
#[derive(Clone, Debug)]
pub struct DomainConfig {
    /// Its label in the device tree.
    pub name: &'static str,
    /// Its register's offset in the PMGR block.
    pub offset: u64,
    /// The names of its parents.
    pub parents: Vec<&'static str>,
    /// Whether the driver finds it on.
    pub on: bool,
}

/// One SART entry of the boot chain, from index 0 on.
#[derive(Clone, Copy, Debug)]
pub struct SartEntry {
    /// First address, a multiple of 4096.
    pub address: u64,
    /// Bytes, a multiple of 4096.
    pub size: u64,
}

/// The machine to build.
#[derive(Debug)]
pub struct MachineConfig {
    /// The start of every chance that the models take.
    pub seed: u64,
    /// What the driver finds the coprocessor doing.
    pub ans: AnsState,
    /// The blocks of namespace 1.
    pub store: Box<dyn Store>,
    /// Identify Controller and CAP.
    pub identity: Identity,
    /// The namespaces, in any order.
    pub namespaces: Vec<NamespaceConfig>,
    /// The power domains that matter; all other words of the PMGR act as domains that are on.
    pub domains: Vec<DomainConfig>,
    /// SART register layout: 2 or 3.
    pub sart_version: u8,
    /// SART entries which the boot chain made: never to be written.
    pub sart_boot_entries: Vec<SartEntry>,
    /// Speed.
    pub timings: Timings,
    /// What is to go wrong.
    pub faults: Vec<Fault>,
}

impl Default for MachineConfig {
    fn default() -> Self {
        Self::new(AnsState::Stopped)
    }
}

impl MachineConfig {
    /// A T8103 without faults whose disk is 16 MiB of zeros in memory.
    pub fn new(ans: AnsState) -> Self {
        let on = ans == AnsState::Running;
        let domain =
            |name, offset, parents: &[&'static str], on| DomainConfig { name, offset, parents: parents.to_vec(), on };
        Self {
            seed: 1,
            ans,
            store: Box::new(MemoryStore::new(16 << 20)),
            identity: Identity::default(),
            namespaces: vec![
                NamespaceConfig { id: 1, kind: 1, block_size: 4096, blocks: 0 },
                NamespaceConfig { id: 2, kind: 2, block_size: 4096, blocks: 2048 },
                NamespaceConfig { id: 3, kind: 3, block_size: 4096, blocks: 32 },
            ],
            // Labels, offsets and parents: Linux t8103-pmgr.dtsi.
            domains: vec![
                domain("aic", 0x108, &[], true),
                domain("apcie", 0x348, &[], true),
                domain("apcie_gp", 0x3e8, &["apcie"], true),
                domain("ans2", 0x3f0, &[], on),
                domain("apcie_st", 0x418, &["apcie", "ans2"], on),
            ],
            sart_version: 2,
            sart_boot_entries: vec![
                SartEntry { address: 0x9_f000_0000, size: 0x10_0000 },
                SartEntry { address: 0x9_f010_0000, size: 0x4000 },
            ],
            timings: Timings::default(),
            faults: Vec::new(),
        }
    }

    /// The first value that `pick` finds among the faults.
    pub(crate) fn fault<T>(&self, pick: impl Fn(&Fault) -> Option<T>) -> Option<T> {
        self.faults.iter().find_map(pick)
    }

    /// Whether that fault is to happen.
    pub(crate) fn has(&self, fault: &Fault) -> bool {
        self.faults.contains(fault)
    }
}
