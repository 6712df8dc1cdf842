//! Submission and completion entries, and the opcodes in them.

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Bytes of a submission entry.
pub const SUBMISSION_ENTRY: usize = 64;
/// Bytes of a completion entry.
pub const COMPLETION_ENTRY: usize = 16;
/// The namespace identifier that means every namespace.
pub const EVERY_NAMESPACE: u32 = 0xffff_ffff;

/// Admin opcodes.
pub mod admin {
    /// Delete IO submission queue.
    pub const DELETE_SUBMISSION_QUEUE: u8 = 0x00;
    /// Create IO submission queue.
    pub const CREATE_SUBMISSION_QUEUE: u8 = 0x01;
    /// Get log page.
    pub const GET_LOG_PAGE: u8 = 0x02;
    /// Delete IO completion queue.
    pub const DELETE_COMPLETION_QUEUE: u8 = 0x04;
    /// Create IO completion queue.
    pub const CREATE_COMPLETION_QUEUE: u8 = 0x05;
    /// Identify.
    pub const IDENTIFY: u8 = 0x06;
    /// Abort.
    pub const ABORT: u8 = 0x08;
    /// Set features.
    pub const SET_FEATURES: u8 = 0x09;
    /// Get features.
    pub const GET_FEATURES: u8 = 0x0a;
    /// Asynchronous event request.
    pub const ASYNCHRONOUS_EVENT_REQUEST: u8 = 0x0c;
    /// Doorbell buffer config (NVMe 1.3).
    pub const DOORBELL_BUFFER_CONFIG: u8 = 0x7c;
}

/// Opcodes of the NVM command set.
pub mod nvm {
    /// Flush.
    pub const FLUSH: u8 = 0x00;
    /// Write.
    pub const WRITE: u8 = 0x01;
    /// Read.
    pub const READ: u8 = 0x02;
    /// Compare.
    pub const COMPARE: u8 = 0x05;
    /// Write zeroes.
    pub const WRITE_ZEROES: u8 = 0x08;
    /// Dataset management.
    pub const DATASET_MANAGEMENT: u8 = 0x09;
}

/// Feature identifiers.
pub mod feature {
    /// Volatile write cache: bit 0 of the value is its use.
    pub const WRITE_CACHE: u8 = 0x06;
    /// Number of queues.
    pub const QUEUES: u8 = 0x07;
    /// Asynchronous event configuration.
    pub const EVENTS: u8 = 0x0b;
}

/// Set Features, CDW10 bit 31: the value is kept over resets.
pub const SAVE: u32 = 1 << 31;

/// CDW12 bit 30 of reads and writes: force unit access.
pub const FORCE_UNIT_ACCESS: u32 = 1 << 30;
/// CDW11 bit 2 of Dataset Management: deallocate.
pub const DEALLOCATE: u32 = 1 << 2;
/// Bytes of one range of Dataset Management: attributes (4), blocks (4), first block (8).
pub const RANGE: usize = 16;
/// Abort, bit 0 of the result: the command was not aborted.
pub const NOT_ABORTED: u32 = 1;

/// The data direction that an opcode's low bits tell (01 to the device, 10 from it).
pub const OPCODE_TO_DEVICE: u8 = 0b01;

/// Create queue, CDW11 bit 0: the queue is physically contiguous.
pub const QUEUE_CONTIGUOUS: u32 = 1;

/// A submission entry with PRPs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct SubmissionEntry {
    /// What to do.
    pub opcode: u8,
    /// FUSE and PSDT; 0 is a command of its own, with PRPs.
    pub flags: u8,
    /// Command identifier, unique among the outstanding commands of a queue.
    pub identifier: u16,
    /// Namespace identifier.
    pub namespace: u32,
    /// CDW2 and CDW3.
    pub reserved: [u32; 2],
    /// Metadata pointer.
    pub metadata: u64,
    /// First physical region page entry.
    pub prp1: u64,
    /// Second physical region page entry, or the pointer to a list.
    pub prp2: u64,
    /// CDW10 to CDW15.
    pub dwords: [u32; 6],
}

/// A completion entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct CompletionEntry {
    /// Result, as the command defines it.
    pub result: u32,
    /// Reserved, or the result's high half.
    pub result_high: u32,
    /// Submission queue head; ANS fills in nothing of use (Linux apple.c, m1n1).
    pub queue_head: u16,
    /// Submission queue identifier; ANS fills in nothing of use.
    pub queue: u16,
    /// Command identifier.
    pub identifier: u16,
    /// Phase in bit 0, status in bits 15:1.
    pub status: u16,
}

/// Offset of the word that holds identifier, phase and status of a completion entry.
///
/// All three arrive in one aligned 32-bit word, so one single access reads an entry that can be neither torn nor stale.
pub const COMPLETION_STATUS_WORD: usize = 12;

const _: () = assert!(size_of::<SubmissionEntry>() == SUBMISSION_ENTRY);
const _: () = assert!(size_of::<CompletionEntry>() == COMPLETION_ENTRY);

impl SubmissionEntry {
    /// Identify of a controller (`structure` 1) or of a namespace (0), into the page at `page`.
    pub fn identify(structure: u32, namespace: u32, page: u64) -> Self {
        Self { opcode: admin::IDENTIFY, namespace, prp1: page, dwords: [structure, 0, 0, 0, 0, 0], ..Self::default() }
    }

    /// Creation of a completion queue, polled: without an interrupt, as m1n1 does it.
    pub fn create_completion_queue(identifier: u16, entries: u16, base: u64) -> Self {
        let size = u32::from(entries.saturating_sub(1));
        Self {
            opcode: admin::CREATE_COMPLETION_QUEUE,
            prp1: base,
            dwords: [size << 16 | u32::from(identifier), QUEUE_CONTIGUOUS, 0, 0, 0, 0],
            ..Self::default()
        }
    }

    /// Creation of a submission queue, which answers in the completion queue of the same identifier.
    pub fn create_submission_queue(identifier: u16, entries: u16, base: u64) -> Self {
        let size = u32::from(entries.saturating_sub(1));
        let completion = u32::from(identifier) << 16;
        Self {
            opcode: admin::CREATE_SUBMISSION_QUEUE,
            prp1: base,
            dwords: [size << 16 | u32::from(identifier), completion | QUEUE_CONTIGUOUS, 0, 0, 0, 0],
            ..Self::default()
        }
    }

    /// Deletion of an IO queue: `opcode` says which of the pair.
    pub fn delete_queue(opcode: u8, identifier: u16) -> Self {
        Self { opcode, dwords: [u32::from(identifier), 0, 0, 0, 0, 0], ..Self::default() }
    }

    /// The wish for so many IO queue pairs, at least one; both counts are zero-based.
    pub fn queue_pairs(pairs: u16) -> Self {
        let last = u32::from(pairs.saturating_sub(1));
        Self::set_feature(feature::QUEUES, last << 16 | last, false)
    }

    /// Set Features; with `save` the value is kept over resets.
    pub fn set_feature(feature: u8, value: u32, save: bool) -> Self {
        let tenth = u32::from(feature) | if save { SAVE } else { 0 };
        Self { opcode: admin::SET_FEATURES, dwords: [tenth, value, 0, 0, 0, 0], ..Self::default() }
    }

    /// Get Log Page: `bytes` (a multiple of 4, at least 4) of page `log` into `page`. With `retain` an asynchronous event of
    /// the page stays masked.
    pub fn log_page(log: u8, namespace: u32, bytes: usize, retain: bool, page: u64) -> Self {
        let dwords = (bytes / 4).saturating_sub(1) as u64;
        let tenth = ((dwords & 0xffff) as u32) << 16 | u32::from(retain) << 15 | u32::from(log);
        let eleventh = (dwords >> 16 & 0xffff) as u32;
        Self {
            opcode: admin::GET_LOG_PAGE,
            namespace,
            prp1: page,
            dwords: [tenth, eleventh, 0, 0, 0, 0],
            ..Self::default()
        }
    }

    /// Get Features: value `select` (0 current, 1 default, 2 saved, 3 capabilities) of a feature.
    pub fn get_feature(feature: u8, select: u32, page: u64) -> Self {
        let tenth = (select & 0b111) << 8 | u32::from(feature);
        Self { opcode: admin::GET_FEATURES, prp1: page, dwords: [tenth, 0, 0, 0, 0, 0], ..Self::default() }
    }

    /// Abort of the command `identifier` of submission queue `queue`.
    pub fn abort(queue: u16, identifier: u16) -> Self {
        let tenth = u32::from(identifier) << 16 | u32::from(queue);
        Self { opcode: admin::ABORT, dwords: [tenth, 0, 0, 0, 0, 0], ..Self::default() }
    }

    /// Doorbell Buffer Config: the page of shadow doorbells and the page of event indices, both page-aligned.
    pub fn doorbell_buffers(shadow: u64, event_index: u64) -> Self {
        Self { opcode: admin::DOORBELL_BUFFER_CONFIG, prp1: shadow, prp2: event_index, ..Self::default() }
    }
}
