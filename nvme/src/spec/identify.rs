//! The data of Identify: the fields that are used, at the offsets of the specification (chapter 5).

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Identify structure (CNS) of one namespace; all zero for an inactive one.
pub const NAMESPACE: u32 = 0x00;
/// Identify structure (CNS) of the controller.
pub const CONTROLLER: u32 = 0x01;
/// Identify structure (CNS): up to 1024 identifiers of active namespaces above the given one, ascending, ended by a zero. Since
/// NVMe 1.1.
pub const ACTIVE_NAMESPACES: u32 = 0x02;
/// Identify structure (CNS): descriptors that tell a namespace apart, its command set among them. Since NVMe 1.3.
pub const DESCRIPTORS: u32 = 0x03;
/// Identify structure (CNS): what a namespace is whatever its command set. Since NVMe 2.0.
pub const INDEPENDENT_NAMESPACE: u32 = 0x08;
/// Offset in it of the features (NSFEAT); bit 5 tells that the namespace has no volatile write cache (Linux
/// `NVME_NS_VWC_NOT_PRESENT`).
pub const INDEPENDENT_FEATURES: usize = 0;
/// That bit.
pub const NO_VOLATILE_CACHE: u8 = 1 << 5;
/// Descriptor type: the command set, one byte. Without it, it is the NVM command set, 0.
pub const COMMAND_SET: u8 = 4;
/// Bytes of either structure.
pub const SIZE: usize = 4096;
/// Offset of the formats in the namespace structure: sixteen entries of four bytes.
pub const FORMATS: usize = 128;
/// Offset of the vendor's part of the namespace structure. ANS stores its namespace type there, as 32 bits
/// (qemu-t8030, macOS log strings).
pub const NAMESPACE_VENDOR: usize = 384;

/// Bytes 0 to 95 of the controller structure.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ControllerHead {
    /// PCI vendor.
    pub vendor: u16,
    /// PCI subsystem vendor.
    pub subsystem_vendor: u16,
    /// Serial number, ASCII padded with spaces.
    pub serial: [u8; 20],
    /// Model number, ASCII padded with spaces.
    pub model: [u8; 40],
    /// Firmware revision, ASCII padded with spaces.
    pub firmware: [u8; 8],
    /// Recommended arbitration burst.
    pub arbitration_burst: u8,
    /// IEEE OUI.
    pub oui: [u8; 3],
    /// Multi-path capabilities.
    pub multi_path: u8,
    /// Largest transfer: 2^n smallest pages; 0 is no limit.
    pub mdts: u8,
    /// Controller identifier.
    pub controller: u16,
    /// Version, as the register has it; 0 before 1.2.
    pub version: u32,
    /// Resume latency from RTD3, in microseconds.
    pub rtd3_resume: u32,
    /// Entry latency to RTD3, in microseconds: how long a shutdown may take.
    pub rtd3_entry: u32,
    /// Optional asynchronous events.
    pub optional_events: u32,
}

/// Bytes 256 to 263 of the controller structure.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ControllerAdmin {
    /// Optional admin commands (OACS).
    pub optional_commands: u16,
    /// Most Abort commands at once, zero-based (ACL).
    pub abort_limit: u8,
    /// Most Asynchronous Event Requests at once, zero-based (AERL).
    pub event_limit: u8,
    /// Firmware updates.
    pub firmware: u8,
    /// Log page attributes (LPA).
    pub log_pages: u8,
    /// Entries of the error log, zero-based (ELPE).
    pub error_entries: u8,
    /// Power states, zero-based.
    pub power_states: u8,
}

/// Offset of [`ControllerAdmin`] in the controller structure.
pub const CONTROLLER_ADMIN: usize = 256;

/// Optional admin commands, bit 8: Doorbell Buffer Config.
pub const DOORBELL_BUFFERS: u16 = 1 << 8;

/// Optional NVM commands (ONCS): Compare.
pub const COMPARE: u16 = 1 << 0;
/// Optional NVM commands (ONCS): Dataset Management.
pub const DATASET_MANAGEMENT: u16 = 1 << 2;
/// Optional NVM commands (ONCS): Write Zeroes.
pub const WRITE_ZEROES: u16 = 1 << 3;
/// Optional NVM commands (ONCS): Save and Select fields of features.
pub const SAVE_AND_SELECT: u16 = 1 << 4;

/// Bytes 512 to 527 of the controller structure.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ControllerQueues {
    /// Submission entry sizes, log2: smallest 3:0, largest 7:4.
    pub submission_entry: u8,
    /// Completion entry sizes, log2: smallest 3:0, largest 7:4.
    pub completion_entry: u8,
    /// Most outstanding commands.
    pub most_commands: u16,
    /// Number of namespaces: the largest namespace identifier.
    pub namespaces: u32,
    /// Optional NVM commands.
    pub optional_commands: u16,
    /// Fused operations.
    pub fused: u16,
    /// Format attributes.
    pub format_attributes: u8,
    /// Volatile write cache: bit 0 present.
    pub volatile_cache: u8,
    /// Atomic write unit.
    pub atomic_write: u16,
}

/// Offset in the namespace structure of the deallocation features (DLFEAT): bits 2:0 tell what deallocated blocks read as, 0
/// not reported, 1 zeroes, 2 bytes of 0xff.
pub const DEALLOCATION: usize = 33;
/// Offset in the namespace structure of its attributes (NSATTR): bit 0 tells that it is write protected.
pub const NAMESPACE_ATTRIBUTES: usize = 99;

/// Offset of [`ControllerQueues`] in the controller structure.
pub const CONTROLLER_QUEUES: usize = 512;

/// Bytes 0 to 31 of the namespace structure.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct NamespaceHead {
    /// Size in blocks: what can be addressed.
    pub size: u64,
    /// Capacity in blocks: what can be allocated.
    pub capacity: u64,
    /// Blocks in use.
    pub used: u64,
    /// Features.
    pub features: u8,
    /// Number of formats, zero-based.
    pub formats: u8,
    /// The format in use: index in bits 3:0; bit 4 tells that metadata follows each block.
    pub format: u8,
    /// Metadata capabilities.
    pub metadata: u8,
    /// Protection capabilities.
    pub protection: u8,
    /// Protection in use.
    pub protection_used: u8,
    /// Sharing.
    pub sharing: u8,
    /// Reservations.
    pub reservations: u8,
}

/// One format of a namespace.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Format {
    /// Metadata bytes of each block.
    pub metadata: u16,
    /// Block size, log2 of bytes; at least 9.
    pub block_shift: u8,
    /// Relative performance.
    pub performance: u8,
}

const _: () = assert!(size_of::<ControllerHead>() == 96);
const _: () = assert!(size_of::<ControllerAdmin>() == 8);
const _: () = assert!(size_of::<ControllerQueues>() == 16);
const _: () = assert!(size_of::<NamespaceHead>() == 32);
const _: () = assert!(size_of::<Format>() == 4);
