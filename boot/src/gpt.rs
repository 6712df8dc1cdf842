//! The partitions of a disk.
//!
//! The table is what a stranger wrote: both headers are checked in full before an entry is believed, and no entry sends a
//! read beyond the disk.

mod kind;
mod table;

#[cfg(test)]
mod tests;

use core::fmt::{self, Debug, Display, Write};

use gpt_disk_io::BlockIo;
use gpt_disk_io::gpt_disk_types::{GptPartitionEntry, GptPartitionEntryArray, Guid, Lba};

use crate::quote::QuotedUtf16;
pub use table::{Fault, Missing, Table};

/// `NXSB`, the magic of an APFS container superblock, at this offset of its first block (Apple File System Reference).
const APFS_MAGIC: (usize, &[u8; 4]) = (32, b"NXSB");

/// Why partitions could not be listed.
#[derive(Debug)]
pub enum ListError<E> {
    /// There is no usable table.
    Missing(Missing<E>),
    /// A partition's first block could not be read.
    Read(u64, E),
    /// The output failed.
    Output,
}

impl<E: Display> Display for ListError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(missing) => missing.fmt(f),
            Self::Read(block, error) => write!(f, "block {block}: {error}"),
            Self::Output => f.write_str("the output failed"),
        }
    }
}

impl<E> From<fmt::Error> for ListError<E> {
    fn from(_: fmt::Error) -> Self {
        Self::Output
    }
}

/// Lists the partitions of `disk` with the fields of `sfdisk --dump`, and what is known of type and content.
///
/// `scratch` holds the partition entries, and one block more: 128 KiB are enough for 960 entries on blocks of 4 KiB.
///
/// # Errors
/// [`ListError`] names what is wrong with each of the two tables, or the block that could not be read.
pub fn list<Io: BlockIo>(disk: &mut Io, scratch: &mut [u8], out: &mut dyn Write) -> Result<(), ListError<Io::Error>> {
    let table = Table::find(disk, scratch).map_err(ListError::Missing)?;
    if let Some(fault) = &table.primary_fault {
        writeln!(out, "gpt: primary table: {fault}; using the backup at block {}", table.header_block)?;
    }
    let block_size = disk.block_size();
    let layout = table.layout;
    writeln!(
        out,
        "gpt: disk {}, {} entries, blocks {} to {} of {} bytes usable",
        Upper(table.disk),
        layout.num_entries,
        table.usable.0,
        table.usable.1,
        block_size.to_u64()
    )?;
    // The entries lie in the front of the buffer; the rest takes the first block of each partition.
    let entries_size = layout.num_bytes_rounded_to_block_as_usize(block_size).unwrap_or(usize::MAX);
    let Some((entries, rest)) = scratch.split_at_mut_checked(entries_size) else {
        return Err(ListError::Output);
    };
    let first_block = rest.get_mut(..block_size.to_usize().unwrap_or(0)).unwrap_or_default();
    let entries = GptPartitionEntryArray::new(layout, block_size, entries).map_err(|_| ListError::Output)?;
    let mut partitions = 0;
    for index in 0..layout.num_entries {
        let Some(entry) = entries.get_partition_entry(index).filter(|entry| entry.is_used()) else {
            continue;
        };
        partitions += 1;
        partition(disk, index + 1, entry, table.blocks, first_block, out)?;
    }
    if partitions == 0 {
        writeln!(out, "gpt: no partitions")?;
    }
    Ok(())
}

/// Shows one partition.
fn partition<Io: BlockIo>(
    disk: &mut Io,
    number: u32,
    entry: &GptPartitionEntry,
    blocks: u64,
    first_block: &mut [u8],
    out: &mut dyn Write,
) -> Result<(), ListError<Io::Error>> {
    let (start, end) = (entry.starting_lba.to_u64(), entry.ending_lba.to_u64());
    let (kind, unique, name) = (entry.partition_type_guid.0, entry.unique_partition_guid, entry.name);
    write!(out, "{number:3} : start={start:>12}, size={:>12}", end.wrapping_sub(start).wrapping_add(1))?;
    write!(out, ", type={}, uuid={}, name={}", Upper(kind), Upper(unique), QuotedUtf16(&name.0))?;
    if let Some(name) = kind::name(kind) {
        write!(out, " ({name})")?;
    }
    if start > end || end >= blocks {
        // Said, and not followed.
        writeln!(out, " [outside the disk of {blocks} blocks]")?;
        return Ok(());
    }
    if !first_block.is_empty() {
        disk.read_blocks(Lba(start), first_block).map_err(|error| ListError::Read(start, error))?;
        let (offset, magic) = APFS_MAGIC;
        if first_block.get(offset..).is_some_and(|bytes| bytes.starts_with(magic)) {
            write!(out, " [APFS container]")?;
        }
    }
    writeln!(out)?;
    Ok(())
}

/// A GUID in capitals, as partitioning tools print it.
struct Upper(Guid);

impl Display for Upper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.to_ascii_hex_lower() {
            f.write_char(char::from(byte.to_ascii_uppercase()))?;
        }
        Ok(())
    }
}
