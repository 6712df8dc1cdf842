use gpt_disk_io::gpt_disk_types::{
    BlockSize, GptHeader, GptPartitionEntry, GptPartitionEntrySize, GptPartitionType, Lba, LbaLe, U32Le, guid,
};
use gpt_disk_io::{BlockIo, Disk};

use super::*;

const BLOCKS: u64 = 1024;
const ENTRIES: u32 = 128;

/// A disk in memory that refuses reads beyond its end, and counts writes.
struct Store {
    bytes: Vec<u8>,
    block_size: BlockSize,
    writes: usize,
}

impl Store {
    fn empty(block_size: BlockSize, blocks: u64) -> Self {
        Self { bytes: vec![0; crate::length(blocks * block_size.to_u64())], block_size, writes: 0 }
    }

    fn place(&mut self, start: Lba, size: usize) -> Result<&mut [u8], String> {
        let offset = usize::try_from(start.0 * self.block_size.to_u64()).map_err(|error| error.to_string())?;
        self.bytes.get_mut(offset..offset + size).ok_or_else(|| format!("{size} bytes beyond the end at {start}"))
    }
}

impl BlockIo for Store {
    type Error = String;
    fn block_size(&self) -> BlockSize {
        self.block_size
    }
    fn num_blocks(&mut self) -> Result<u64, String> {
        Ok(self.bytes.len() as u64 / self.block_size.to_u64())
    }
    fn read_blocks(&mut self, start: Lba, bytes: &mut [u8]) -> Result<(), String> {
        bytes.copy_from_slice(self.place(start, bytes.len())?);
        Ok(())
    }
    fn write_blocks(&mut self, start: Lba, bytes: &[u8]) -> Result<(), String> {
        self.writes += 1;
        self.place(start, bytes.len())?.copy_from_slice(bytes);
        Ok(())
    }
    fn flush(&mut self) -> Result<(), String> {
        Err("flush".into())
    }
}

fn entry(start: u64, end: u64, name: &str) -> GptPartitionEntry {
    let mut entry = GptPartitionEntry {
        partition_type_guid: GptPartitionType::EFI_SYSTEM,
        unique_partition_guid: guid!("0dc0ffee-1234-5678-9abc-def012345678"),
        starting_lba: LbaLe::from_u64(start),
        ending_lba: LbaLe::from_u64(end),
        ..GptPartitionEntry::default()
    };
    for (place, unit) in entry.name.0.chunks_exact_mut(2).zip(name.encode_utf16()) {
        place.copy_from_slice(&unit.to_le_bytes());
    }
    entry
}

/// A disk with both tables and these entries by index.
fn disk(block_size: BlockSize, entries: &[(u32, GptPartitionEntry)]) -> Store {
    let mut store = Store::empty(block_size, BLOCKS);
    let array_blocks = u64::from(ENTRIES) * 128 / block_size.to_u64();
    for (header_at, array_at) in [(1, 2), (BLOCKS - 1, BLOCKS - 1 - array_blocks)] {
        let mut header = GptHeader {
            my_lba: LbaLe::from_u64(header_at),
            alternate_lba: LbaLe::from_u64(BLOCKS - header_at),
            first_usable_lba: LbaLe::from_u64(2 + array_blocks),
            last_usable_lba: LbaLe::from_u64(BLOCKS - 2 - array_blocks),
            disk_guid: guid!("11111111-2222-3333-4444-555555555555"),
            partition_entry_lba: LbaLe::from_u64(array_at),
            number_of_partition_entries: U32Le::from_u32(ENTRIES),
            ..GptHeader::default()
        };
        let layout = header.get_partition_entry_array_layout().expect("128 bytes each");
        let mut storage = vec![0; (ENTRIES * 128) as usize];
        let mut array = GptPartitionEntryArray::new(layout, block_size, &mut storage).expect("fits");
        for (index, entry) in entries {
            *array.get_partition_entry_mut(*index).expect("an index of the table") = *entry;
        }
        header.partition_entry_array_crc32 = array.calculate_crc32();
        Disk::new(&mut store).expect("opens").write_gpt_partition_entry_array(&array).expect("fits the disk");
        store.put_header(header_at, header);
    }
    store
}

impl BlockIo for &mut Store {
    type Error = String;
    fn block_size(&self) -> BlockSize {
        self.block_size
    }
    fn num_blocks(&mut self) -> Result<u64, String> {
        (**self).num_blocks()
    }
    fn read_blocks(&mut self, start: Lba, bytes: &mut [u8]) -> Result<(), String> {
        (**self).read_blocks(start, bytes)
    }
    fn write_blocks(&mut self, start: Lba, bytes: &[u8]) -> Result<(), String> {
        (**self).write_blocks(start, bytes)
    }
    fn flush(&mut self) -> Result<(), String> {
        Ok(())
    }
}

impl Store {
    fn put(&mut self, block: u64, bytes: &[u8]) {
        self.write_blocks(Lba(block), bytes).expect("inside the disk");
    }

    fn put_header(&mut self, block: u64, mut header: GptHeader) {
        header.update_header_crc32();
        let mut buffer = [0; 4096];
        Disk::new(self).expect("opens").write_gpt_header(Lba(block), &header, &mut buffer).expect("inside the disk");
    }

    fn header(&mut self, block: u64) -> GptHeader {
        Disk::new(self).expect("opens").read_gpt_header(Lba(block), &mut [0; 4096]).expect("inside the disk")
    }

    fn flip(&mut self, block: u64, byte: usize) {
        let offset = crate::length(block) * self.block_size.to_usize().expect("small") + byte;
        self.bytes[offset] ^= 0x40;
    }

    /// Lists, and makes sure that listing wrote nothing.
    fn list(&mut self) -> Result<String, String> {
        let (mut out, mut scratch) = (String::new(), vec![0; 128 << 10]);
        let before = self.writes;
        let listed = list(self, &mut scratch, &mut out).map_err(|error| error.to_string());
        assert_eq!(self.writes, before, "listing wrote to the disk");
        listed.map(|()| out)
    }
}

fn example() -> Store {
    disk(BlockSize::BS_4096, &[(0, entry(6, 105, "EFI")), (3, entry(200, 299, "data")), (1, entry(110, 110, "one"))])
}

#[test]
fn partitions_are_listed_by_their_number_in_the_table() {
    for block_size in [BlockSize::BS_512, BlockSize::BS_4096] {
        let mut store = disk(block_size, &[(0, entry(40, 105, "EFI")), (3, entry(200, 299, "data"))]);
        let out = store.list().expect("a good table");
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines.len(), 3, "{out}");
        assert_eq!(
            lines[1],
            "  1 : start=          40, size=          66, type=C12A7328-F81F-11D2-BA4B-00A0C93EC93B, \
             uuid=0DC0FFEE-1234-5678-9ABC-DEF012345678, name=\"EFI\" (EFI System)"
        );
        assert!(lines[2].starts_with("  4 : start=         200, size=         100, "), "{out}");
    }
}

#[test]
fn an_apfs_container_is_named() {
    let mut store = example();
    store.put(200, &[&[0; 32][..], b"NXSB"].concat());
    let out = store.list().expect("a good table");
    let marked: Vec<_> = out.lines().filter(|line| line.ends_with("[APFS container]")).collect();
    assert_eq!(marked.len(), 1, "{out}");
    assert!(marked[0].starts_with("  4 :"), "{out}");
}

#[test]
fn a_broken_primary_gives_the_backup_and_says_why() {
    for (block, byte, reason) in [
        (1, 0, "no \"EFI PART\" signature"),
        (1, 57, "header checksum"),
        (2, 33, "entries checksum"),
        (1, 12, "header size"),
    ] {
        let mut store = example();
        store.flip(block, byte);
        let out = store.list().expect("the backup is good");
        let first = out.lines().next().unwrap_or_default();
        assert!(first.contains(reason) && first.ends_with("using the backup at block 1023"), "{out}");
        assert_eq!(out.lines().count(), 5);
    }
}

#[test]
fn both_broken_names_both_reasons() {
    let mut store = example();
    store.flip(2, 0);
    store.flip(BLOCKS - 1, 0);
    let error = store.list().expect_err("both are broken");
    assert!(error.contains("primary: entries checksum") && error.contains("backup: no \"EFI PART\""), "{error}");
}

#[test]
fn a_disk_without_a_table_is_told_apart_from_a_broken_one() {
    for blocks in [1, 2, 64] {
        let mut store = Store::empty(BlockSize::BS_4096, blocks);
        let error = store.list().expect_err("no table");
        assert!(blocks == 1 || error.starts_with("no partition table"), "{blocks} blocks: {error}");
    }
}

#[test]
fn a_header_that_names_another_place_is_not_believed() {
    let mut store = example();
    let header = store.header(BLOCKS - 1);
    store.put_header(1, header);
    let out = store.list().expect("the backup is good");
    assert!(out.contains("header in block 1 says it is in block 1023"), "{out}");
}

#[test]
fn entries_out_of_reach_are_refused_before_they_are_read() {
    for (first, count, size) in [
        (u64::MAX, ENTRIES, 128),
        (BLOCKS - 2, ENTRIES, 128),
        (2, u32::MAX, 128),
        (2, 1 << 20, 4096),
        (2, ENTRIES, 1 << 31),
        (2, 0, 128),
    ] {
        let mut store = example();
        for block in [1, BLOCKS - 1] {
            let header = store.header(block);
            let changed = GptHeader {
                partition_entry_lba: LbaLe::from_u64(first),
                number_of_partition_entries: U32Le::from_u32(count),
                size_of_partition_entry: U32Le::from_u32(size),
                ..header
            };
            store.put_header(block, changed);
        }
        let error = store.list().expect_err("out of reach");
        assert!(error.contains("cannot be read"), "{first} {count} {size}: {error}");
    }
    assert!(GptPartitionEntrySize::new(64).is_err());
}

#[test]
fn an_entry_size_that_the_standard_does_not_know_is_named() {
    let mut store = example();
    for block in [1, BLOCKS - 1] {
        let changed = GptHeader { size_of_partition_entry: U32Le::from_u32(100), ..store.header(block) };
        store.put_header(block, changed);
    }
    assert!(store.list().expect_err("no such size").contains("entry size 100"));
}

#[test]
fn an_entry_outside_the_disk_is_said_and_not_followed() {
    let mut store = disk(
        BlockSize::BS_4096,
        &[(0, entry(500, 400, "backwards")), (1, entry(900, BLOCKS, "beyond")), (2, entry(0, u64::MAX, "all"))],
    );
    let out = store.list().expect("the table itself is good");
    assert_eq!(out.lines().filter(|line| line.ends_with("[outside the disk of 1024 blocks]")).count(), 3, "{out}");
}

#[test]
fn a_name_cannot_speak_to_the_terminal() {
    let mut store = disk(BlockSize::BS_4096, &[(0, entry(6, 7, "\u{1b}[2J\r\n\"x\""))]);
    let out = store.list().expect("a good table");
    assert!(out.contains(r#"name="\u{1b}[2J\u{d}\u{a}\"x\"""#), "{out}");
    assert_eq!(out.lines().count(), 2);
}

#[test]
fn an_empty_table_says_so() {
    let mut store = disk(BlockSize::BS_4096, &[]);
    assert!(store.list().expect("a good table").ends_with("gpt: no partitions\n"));
}
