//! What a controller and its namespaces say of themselves.

use core::fmt;

use zerocopy::FromBytes;

use crate::durability::FlushAll;
use crate::spec::identify::{self, ControllerAdmin, ControllerHead, ControllerQueues, Format, NamespaceHead};
use crate::spec::status::Status;

/// A version of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0 >> 16, self.0 >> 8 & 0xff, self.0 & 0xff)
    }
}

/// Text of a fixed field: printable ASCII, everything else shown as `?`, without the padding.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    fn new(mut bytes: [u8; N]) -> Self {
        let length = bytes.iter().rposition(|byte| !matches!(byte, b' ' | 0)).map_or(0, |last| last + 1);
        for byte in &mut bytes {
            if !matches!(byte, b' '..=b'~') {
                *byte = b'?';
            }
        }
        Self { bytes, length }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self.bytes.get(..self.length).and_then(|bytes| core::str::from_utf8(bytes).ok()).unwrap_or("")
    }
}

impl<const N: usize> fmt::Display for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl<const N: usize> fmt::Debug for Text<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Model number.
    pub model: Text<40>,
    /// Serial number.
    pub serial: Text<20>,
    /// Firmware revision.
    pub firmware: Text<8>,
    /// Version of the specification, from the version register.
    pub version: Version,
    /// PCI vendor.
    pub vendor: u16,
    /// Largest transfer as reported: 2^n smallest pages, 0 is no limit.
    pub mdts: u8,
    /// Largest transfer of one command, in bytes: what MDTS and the configuration leave.
    pub transfer: usize,
    /// Number of namespaces as reported: the largest identifier.
    pub namespaces: u32,
    /// There is a volatile write cache.
    pub volatile_cache: bool,
    /// Whether one Flush can reach every namespace.
    pub flush_all: FlushAll,
    /// How long a shutdown may take, in microseconds; 0 is not reported.
    pub shutdown_microseconds: u32,
    /// Optional asynchronous events (OAES); bit 8 tells of a namespace that changed.
    pub optional_events: u32,
    /// It has Doorbell Buffer Config.
    pub doorbell_buffers: bool,
    /// It has Compare.
    pub compare: bool,
    /// It has Write Zeroes.
    pub write_zeroes: bool,
    /// It has Dataset Management, with which blocks are discarded.
    pub discard: bool,
    /// It has the Select field of Get Features: default, saved and supported values.
    pub select: bool,
    /// Abort commands that it takes at once, at least 1.
    pub aborts: u16,
    /// Asynchronous Event Requests that it takes at once, at least 1.
    pub event_requests: u16,
    /// Entries that its error log holds, at least 1.
    pub error_entries: u16,
}

impl Identity {
    /// Before the controller was asked.
    pub(crate) fn unknown() -> Self {
        Self {
            model: Text::new([0; 40]),
            serial: Text::new([0; 20]),
            firmware: Text::new([0; 8]),
            version: Version(0),
            vendor: 0,
            mdts: 0,
            transfer: identify::SIZE,
            namespaces: 0,
            volatile_cache: false,
            flush_all: FlushAll::NotIndicated,
            shutdown_microseconds: 0,
            optional_events: 0,
            doorbell_buffers: false,
            compare: false,
            write_zeroes: false,
            discard: false,
            select: false,
            aborts: 1,
            event_requests: 1,
            error_entries: 1,
        }
    }

    /// Reads the controller structure. `page` is the smallest page in bytes and `transfer` the configured limit in bytes.
    pub(crate) fn parse(data: &[u8; identify::SIZE], version: u32, page: usize, transfer: usize) -> Option<Self> {
        let (head, _) = ControllerHead::read_from_prefix(data).ok()?;
        let (admin, _) = ControllerAdmin::read_from_prefix(data.get(identify::CONTROLLER_ADMIN..)?).ok()?;
        let (queues, _) = ControllerQueues::read_from_prefix(data.get(identify::CONTROLLER_QUEUES..)?).ok()?;
        // MDTS is any byte of hostile size: a shift that overflows is no limit.
        let reported = match head.mdts {
            0 => usize::MAX,
            shift => page.checked_shl(u32::from(shift)).filter(|bytes| bytes >> shift == page).unwrap_or(usize::MAX),
        };
        Some(Self {
            model: Text::new(head.model),
            serial: Text::new(head.serial),
            firmware: Text::new(head.firmware),
            version: Version(version),
            vendor: head.vendor,
            mdts: head.mdts,
            transfer: transfer.min(reported),
            namespaces: queues.namespaces,
            volatile_cache: queues.volatile_cache & 1 != 0,
            flush_all: match queues.volatile_cache >> 1 & 0b11 {
                2 => FlushAll::NotSupported,
                3 => FlushAll::Supported,
                _ => FlushAll::NotIndicated,
            },
            shutdown_microseconds: head.rtd3_entry,
            optional_events: head.optional_events,
            doorbell_buffers: admin.optional_commands & identify::DOORBELL_BUFFERS != 0,
            compare: queues.optional_commands & identify::COMPARE != 0,
            write_zeroes: queues.optional_commands & identify::WRITE_ZEROES != 0,
            discard: queues.optional_commands & identify::DATASET_MANAGEMENT != 0,
            select: queues.optional_commands & identify::SAVE_AND_SELECT != 0,
            aborts: u16::from(admin.abort_limit) + 1,
            event_requests: u16::from(admin.event_limit) + 1,
            error_entries: u16::from(admin.error_entries) + 1,
        })
    }
}

/// Which blocks of a namespace may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// None: how every namespace starts.
    ReadOnly,
    /// Those of a range.
    ReadWrite {
        /// The first block.
        first: u64,
        /// How many blocks.
        blocks: u64,
    },
}

/// What blocks read as after they were deallocated (DLFEAT).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deallocated {
    /// Not told: old content, zeroes, anything.
    Unknown,
    /// Zeroes.
    Zeroes,
    /// Bytes of 0xff.
    Ones,
}

/// An active namespace in a format that this driver can use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Namespace {
    /// Its identifier.
    pub id: u32,
    /// log2 of the block size, 9..=16.
    pub block_shift: u8,
    /// Blocks that can be addressed (NSZE).
    pub blocks: u64,
    /// What the owner armed.
    pub access: Access,
    /// The controller takes no writes to it (NSATTR bit 0).
    pub write_protected: bool,
    /// What deallocated blocks read as.
    pub deallocated: Deallocated,
    /// It has no volatile write cache, whatever the controller has.
    pub no_volatile_cache: bool,
    /// The first 32 bits of the vendor's part. ANS stores its namespace type there, 1 for data.
    pub vendor_type: u32,
    /// Blocks that one command may move.
    pub(crate) most_blocks: u32,
}

/// Why an identifier is not a usable namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// Nothing is there.
    Inactive,
    /// Its format has metadata, which this driver does not move.
    Metadata {
        /// Bytes with each block.
        bytes: u16,
    },
    /// Its block size makes no sense, or one block is more than a command may move.
    BlockSize {
        /// log2 of it.
        shift: u8,
    },
    /// More bytes than 64 bits can count.
    TooLarge {
        /// Its blocks.
        blocks: u64,
    },
    /// It is not of the NVM command set: 1 is key value, 2 is zoned. Its blocks cannot be written like those of a disk.
    CommandSet {
        /// The command set's identifier.
        identifier: u8,
    },
    /// The controller does not tell of it.
    Status(Status),
}

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inactive => f.write_str("inactive"),
            Self::Metadata { bytes } => write!(f, "{bytes} bytes of metadata with each block"),
            Self::BlockSize { shift } => write!(f, "blocks of 2^{shift} bytes"),
            Self::TooLarge { blocks } => write!(f, "{blocks} blocks"),
            Self::CommandSet { identifier: 1 } => f.write_str("of the key value command set"),
            Self::CommandSet { identifier: 2 } => f.write_str("of the zoned command set"),
            Self::CommandSet { identifier } => write!(f, "of command set {identifier}"),
            Self::Status(status) => write!(f, "the controller answered: {status}"),
        }
    }
}

impl Namespace {
    /// The block size in bytes.
    pub const fn block_size(&self) -> u32 {
        1 << self.block_shift
    }

    /// Whole blocks in so many bytes, for counts of one command.
    pub(crate) fn blocks_in(&self, bytes: usize) -> u32 {
        u32::try_from(bytes >> self.block_shift).unwrap_or(u32::MAX)
    }

    /// Reads the namespace structure. `transfer` is the largest transfer in bytes.
    pub(crate) fn parse(data: &[u8; identify::SIZE], id: u32, transfer: usize) -> Result<Self, Unusable> {
        let (head, _) = NamespaceHead::read_from_prefix(data).map_err(|_| Unusable::Inactive)?;
        if head.size == 0 || head.capacity == 0 {
            return Err(Unusable::Inactive);
        }
        let at = identify::FORMATS + usize::from(head.format & 0xf) * size_of::<Format>();
        let format = data.get(at..).and_then(|rest| Format::read_from_prefix(rest).ok());
        let Some((format, _)) = format else { return Err(Unusable::Inactive) };
        if format.metadata != 0 {
            return Err(Unusable::Metadata { bytes: format.metadata });
        }
        let shift = format.block_shift;
        // Smaller than 512 bytes is not allowed; larger than 64 KiB is more likely rubbish than a disk.
        if !(9..=16).contains(&shift) || transfer >> shift == 0 {
            return Err(Unusable::BlockSize { shift });
        }
        if head.size > u64::MAX >> shift {
            return Err(Unusable::TooLarge { blocks: head.size });
        }
        let vendor = data.get(identify::NAMESPACE_VENDOR..).and_then(|rest| u32::read_from_prefix(rest).ok());
        // The count in a command has 16 bits and is zero-based.
        let most_blocks = u32::try_from(transfer >> shift).map_or(1 << 16, |blocks| blocks.min(1 << 16));
        Ok(Self {
            id,
            block_shift: shift,
            blocks: head.size,
            access: Access::ReadOnly,
            write_protected: data.get(identify::NAMESPACE_ATTRIBUTES).is_some_and(|attributes| attributes & 1 != 0),
            deallocated: match data.get(identify::DEALLOCATION).map_or(0, |features| features & 0b111) {
                1 => Deallocated::Zeroes,
                2 => Deallocated::Ones,
                _ => Deallocated::Unknown,
            },
            no_volatile_cache: false,
            vendor_type: vendor.map_or(0, |(kind, _)| kind),
            most_blocks,
        })
    }

    /// Whether the owner armed every one of these blocks.
    pub(crate) fn may_write(&self, lba: u64, count: u64) -> bool {
        match self.access {
            Access::ReadOnly => false,
            Access::ReadWrite { first, blocks } => lba >= first && count <= blocks && lba - first <= blocks - count,
        }
    }
}
