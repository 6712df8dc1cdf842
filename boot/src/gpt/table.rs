//! Which of the two tables is to be believed (UEFI specification 2.10, section 5.3).

use core::fmt::{self, Debug, Display};

use gpt_disk_io::gpt_disk_types::{GptHeader, GptPartitionEntryArray, GptPartitionEntryArrayLayout, Guid, Lba};
use gpt_disk_io::{BlockIo, Disk, DiskError};

/// The only header size in use: the fields up to the entries' checksum.
const HEADER_SIZE: u32 = 92;
/// The primary header's place.
const PRIMARY: u64 = 1;

/// A table whose header and entries have passed every check. Its entries are at the front of the buffer.
#[derive(Debug)]
pub struct Table<E> {
    /// What is wrong with the primary table, if this is the backup.
    pub primary_fault: Option<Fault<E>>,
    /// The block of the header that was taken.
    pub header_block: u64,
    /// Blocks of the disk.
    pub blocks: u64,
    /// First and last block that partitions may use.
    pub usable: (u64, u64),
    /// The disk's GUID.
    pub disk: Guid,
    /// Place, number and size of the entries.
    pub layout: GptPartitionEntryArrayLayout,
}

/// What is wrong with one of the tables.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault<E> {
    /// The header does not begin with `EFI PART`.
    Signature,
    /// A header size that is not 92.
    HeaderSize(u32),
    /// The header's checksum does not match.
    HeaderChecksum {
        /// What the header says.
        stored: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// The header says that it lies elsewhere.
    Place {
        /// The block that it names.
        says: u64,
        /// The block that it was read from.
        found: u64,
    },
    /// Entries that are no power of two of at least 128 bytes.
    EntrySize(u32),
    /// Entries beyond the disk, or more than are read.
    Entries {
        /// Their first block.
        first: u64,
        /// Their number.
        count: u32,
        /// The size of each in bytes.
        size: u32,
    },
    /// The entries' checksum does not match.
    EntriesChecksum {
        /// What the header says.
        stored: u32,
        /// What their bytes give.
        computed: u32,
    },
    /// A block could not be read.
    Read(E),
}

impl<E: Display> Display for Fault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signature => f.write_str("no \"EFI PART\" signature"),
            Self::HeaderSize(size) => write!(f, "header size {size}, not {HEADER_SIZE}"),
            Self::HeaderChecksum { stored, computed } => {
                write!(f, "header checksum {stored:#010x}, its bytes give {computed:#010x}")
            }
            Self::Place { says, found } => write!(f, "header in block {found} says it is in block {says}"),
            Self::EntrySize(size) => write!(f, "entry size {size}"),
            Self::Entries { first, count, size } => {
                write!(f, "{count} entries of {size} bytes from block {first} on cannot be read")
            }
            Self::EntriesChecksum { stored, computed } => {
                write!(f, "entries checksum {stored:#010x}, their bytes give {computed:#010x}")
            }
            Self::Read(error) => write!(f, "{error}"),
        }
    }
}

/// Neither table can be believed.
#[derive(Debug, PartialEq, Eq)]
pub struct Missing<E> {
    primary: Fault<E>,
    backup: Fault<E>,
}

impl<E: Display> Display for Missing<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.primary, &self.backup) {
            (Fault::Signature, Fault::Signature) => {
                f.write_str("no partition table: neither block 1 nor the last block begins with \"EFI PART\"")
            }
            (primary, backup) => write!(f, "no usable partition table: primary: {primary}; backup: {backup}"),
        }
    }
}

impl<E: Debug + Display + Send + Sync + 'static> Table<E> {
    /// Finds the primary table or, if that is broken, the backup in the last block. Leaves the entries in `buffer`.
    ///
    /// # Errors
    /// [`Missing`] names what is wrong with both.
    pub fn find<Io: BlockIo<Error = E>>(disk: &mut Io, buffer: &mut [u8]) -> Result<Self, Missing<E>> {
        let primary = match Self::at(disk, PRIMARY, buffer) {
            Ok(table) => return Ok(table),
            Err(fault) => fault,
        };
        // A disk too small for a backup has its primary's fault twice.
        let last = disk.num_blocks().map_or(PRIMARY, |blocks| blocks.saturating_sub(1));
        match Self::at(disk, last, buffer) {
            Ok(table) => Ok(Self { primary_fault: Some(primary), ..table }),
            Err(backup) => Err(Missing { primary, backup }),
        }
    }

    /// Reads and checks the table whose header is in `block`.
    fn at<Io: BlockIo<Error = E>>(disk: &mut Io, block: u64, buffer: &mut [u8]) -> Result<Self, Fault<E>> {
        let block_size = disk.block_size();
        let blocks = disk.num_blocks().map_err(Fault::Read)?;
        let mut disk = Disk::new(Borrowed(disk)).map_err(fault)?;
        let header = disk.read_gpt_header(Lba(block), buffer).map_err(fault)?;
        check(&header, block)?;
        let entries = Fault::Entries {
            first: header.partition_entry_lba.to_u64(),
            count: header.number_of_partition_entries.to_u32(),
            size: header.size_of_partition_entry.to_u32(),
        };
        let layout = header
            .get_partition_entry_array_layout()
            .map_err(|_| Fault::EntrySize(header.size_of_partition_entry.to_u32()))?;
        // All of them on the disk, and in the buffer with room for a block behind them.
        let size = layout.num_bytes_rounded_to_block(block_size).filter(|size| {
            let end = layout.start_lba.to_u64().checked_add(size / block_size.to_u64());
            let room = (buffer.len() as u64).saturating_sub(block_size.to_u64());
            end.is_some_and(|end| end <= blocks) && *size <= room && *size != 0
        });
        if size.is_none() {
            return Err(entries);
        }
        let array: GptPartitionEntryArray<'_> = disk.read_gpt_partition_entry_array(layout, buffer).map_err(fault)?;
        let (stored, computed) = (header.partition_entry_array_crc32, array.calculate_crc32());
        if stored != computed {
            return Err(Fault::EntriesChecksum { stored: stored.0.to_u32(), computed: computed.0.to_u32() });
        }
        Ok(Self {
            primary_fault: None,
            header_block: block,
            blocks,
            usable: (header.first_usable_lba.to_u64(), header.last_usable_lba.to_u64()),
            disk: header.disk_guid,
            layout,
        })
    }
}

/// Checks what a header says of itself.
fn check<E>(header: &GptHeader, block: u64) -> Result<(), Fault<E>> {
    if !header.is_signature_valid() {
        return Err(Fault::Signature);
    }
    let size = header.header_size.to_u32();
    if size != HEADER_SIZE {
        return Err(Fault::HeaderSize(size));
    }
    let (stored, computed) = (header.header_crc32, header.calculate_header_crc32());
    if stored != computed {
        return Err(Fault::HeaderChecksum { stored: stored.0.to_u32(), computed: computed.0.to_u32() });
    }
    let says = header.my_lba.to_u64();
    if says != block {
        return Err(Fault::Place { says, found: block });
    }
    Ok(())
}

fn fault<E: Debug + Display>(error: DiskError<E>) -> Fault<E> {
    match error {
        DiskError::Io(error) => Fault::Read(error),
        // Excluded by the checks before: the buffer takes the entries, and nothing overflows.
        DiskError::BufferTooSmall | DiskError::Overflow | DiskError::BlockSizeSmallerThanPartitionEntry => {
            Fault::Entries { first: 0, count: 0, size: 0 }
        }
    }
}

/// Lends a disk to `Disk`, which wants to own it and flushes it at its end. Reads only.
struct Borrowed<'a, Io>(&'a mut Io);

impl<Io: BlockIo> BlockIo for Borrowed<'_, Io> {
    type Error = Io::Error;

    fn block_size(&self) -> gpt_disk_io::gpt_disk_types::BlockSize {
        self.0.block_size()
    }

    fn num_blocks(&mut self) -> Result<u64, Self::Error> {
        self.0.num_blocks()
    }

    fn read_blocks(&mut self, start: Lba, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.read_blocks(start, bytes)
    }

    fn write_blocks(&mut self, start: Lba, bytes: &[u8]) -> Result<(), Self::Error> {
        self.0.write_blocks(start, bytes)
    }

    /// Nothing was written, so there is nothing to flush.
    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }
}
