//! The flash behind the controller: what survives a power cut.
//!
//! What is still in the controller's volatile write cache is not here.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::bits;
use crate::context::Random;

/// Whether a store may be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Writes are answered with "namespace is write protected".
    #[default]
    ReadOnly,
    /// Writes reach the medium.
    ReadWrite,
}

/// Why a disk file cannot be used.
#[derive(Debug)]
pub enum StoreError {
    /// There is no such file.
    Missing {
        /// The file asked for.
        path: PathBuf,
    },
    /// The file, or its metadata, could not be opened for the access asked for.
    Unusable {
        /// The file asked for.
        path: PathBuf,
        /// What the operating system said.
        cause: io::Error,
    },
    /// Something else than a file: a directory, say.
    NotAFile {
        /// The path asked for.
        path: PathBuf,
    },
    /// The file has no bytes.
    Empty {
        /// The file asked for.
        path: PathBuf,
    },
    /// The size of the file is no multiple of the block size.
    OddSize {
        /// The file asked for.
        path: PathBuf,
        /// Its size in bytes.
        bytes: u64,
        /// The block size in bytes.
        block_size: u32,
    },
    /// The block size is no power of two between 512 and 65536 bytes.
    BlockSize {
        /// The block size asked for, in bytes.
        block_size: u32,
    },
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { path } => write!(f, "disk file {} does not exist", path.display()),
            Self::Unusable { path, cause } => write!(f, "disk file {} cannot be opened: {cause}", path.display()),
            Self::NotAFile { path } => write!(f, "disk file {} is not a file", path.display()),
            Self::Empty { path } => write!(f, "disk file {} is empty", path.display()),
            Self::OddSize { path, bytes, block_size } => {
                write!(f, "disk file {} has {bytes} bytes, no multiple of its {block_size}-byte blocks", path.display())
            }
            Self::BlockSize { block_size } => {
                write!(f, "block size {block_size} is no power of two between 512 and 65536")
            }
        }
    }
}

impl std::error::Error for StoreError {}

/// What a namespace keeps its bytes on.
///
/// A store is a handle: [`Store::share`] gives another one on the same medium, so that a machine can be thrown away and
/// the next one finds what the first one had made durable.
pub trait Store: fmt::Debug {
    /// The size in bytes.
    fn size(&self) -> u64;

    /// Whether writes are to be answered with "namespace is write protected".
    fn read_only(&self) -> bool;

    /// Copies the bytes at `offset` to `bytes`.
    ///
    /// # Errors
    /// A range beyond the end, or what the operating system says.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Makes `bytes` the content at `offset`.
    ///
    /// # Errors
    /// A range beyond the end, a read-only store, or what the operating system says.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Another handle on the same medium.
    fn share(&self) -> Box<dyn Store>;
}

/// A raw disk image.
#[derive(Clone, Debug)]
pub struct FileStore {
    file: Rc<File>,
    bytes: u64,
    access: Access,
}

impl FileStore {
    /// Opens a raw disk image whose size is a multiple of `block_size` (bytes, a power of two, 512 to 65536).
    ///
    /// # Errors
    /// [`StoreError`] says what is wrong with the file; nothing is created and nothing written.
    pub fn open(path: &Path, block_size: u32, access: Access) -> Result<Self, StoreError> {
        check_block_size(block_size)?;
        let unusable = |cause: io::Error| match cause.kind() {
            io::ErrorKind::NotFound => StoreError::Missing { path: path.into() },
            _ => StoreError::Unusable { path: path.into(), cause },
        };
        let metadata = std::fs::metadata(path).map_err(unusable)?;
        if !metadata.is_file() {
            return Err(StoreError::NotAFile { path: path.into() });
        }
        let file = OpenOptions::new().read(true).write(access == Access::ReadWrite).open(path).map_err(unusable)?;
        let bytes = metadata.len();
        if bytes == 0 {
            return Err(StoreError::Empty { path: path.into() });
        }
        if !bytes.is_multiple_of(u64::from(block_size)) {
            return Err(StoreError::OddSize { path: path.into(), bytes, block_size });
        }
        Ok(Self { file: Rc::new(file), bytes, access })
    }
}

impl Store for FileStore {
    fn size(&self) -> u64 {
        self.bytes
    }

    fn read_only(&self) -> bool {
        self.access == Access::ReadOnly
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        check_range(self.bytes, offset, bytes.len())?;
        self.file.read_exact_at(bytes, offset)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        check_range(self.bytes, offset, bytes.len())?;
        match self.access {
            Access::ReadOnly => Err(io::ErrorKind::PermissionDenied.into()),
            Access::ReadWrite => self.file.write_all_at(bytes, offset),
        }
    }

    fn share(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }
}

/// The unit in which a memory store keeps what was written.
const CHUNK: u64 = 4096;

/// A medium in memory which costs memory for what was written only.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    written: Rc<RefCell<BTreeMap<u64, Vec<u8>>>>,
    bytes: u64,
    seed: Option<u64>,
    access: Access,
}

impl MemoryStore {
    /// `bytes` zero bytes, writable.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self { written: Rc::default(), bytes, seed: None, access: Access::ReadWrite }
    }

    /// `bytes` bytes of [`pattern`] of `seed`, writable.
    #[must_use]
    pub fn patterned(bytes: u64, seed: u64) -> Self {
        Self { seed: Some(seed), ..Self::new(bytes) }
    }

    /// The same medium through a handle that refuses writes.
    #[must_use]
    pub fn protected(&self) -> Self {
        Self { access: Access::ReadOnly, ..self.clone() }
    }

    fn chunk(&self, index: u64) -> Vec<u8> {
        self.written.borrow().get(&index).cloned().unwrap_or_else(|| {
            let mut bytes = vec![0; bits::size(CHUNK)];
            if let Some(seed) = self.seed {
                pattern(seed, index, &mut bytes);
            }
            bytes
        })
    }
}

impl Store for MemoryStore {
    fn size(&self) -> u64 {
        self.bytes
    }

    fn read_only(&self) -> bool {
        self.access == Access::ReadOnly
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        check_range(self.bytes, offset, bytes.len())?;
        for (index, start, part) in chunks(offset, bytes) {
            if let Some(source) = self.chunk(index).get(start..start + part.len()) {
                part.copy_from_slice(source);
            }
        }
        Ok(())
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        check_range(self.bytes, offset, bytes.len())?;
        if self.read_only() {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        for (index, start, part) in chunks(offset, &mut bytes.to_vec()) {
            let mut chunk = self.chunk(index);
            bits::put(&mut chunk, start, part);
            self.written.borrow_mut().insert(index, chunk);
        }
        Ok(())
    }

    fn share(&self) -> Box<dyn Store> {
        Box::new(self.clone())
    }
}

/// The parts of `bytes`, which lie at `offset`, by chunk: its index, where the part starts in it, and the part.
fn chunks(offset: u64, bytes: &mut [u8]) -> impl Iterator<Item = (u64, usize, &mut [u8])> {
    let head = bits::size(CHUNK - offset % CHUNK).min(bytes.len());
    let (first, rest) = bytes.split_at_mut(head);
    let index = offset / CHUNK;
    let whole = (index + 1..).zip(rest.chunks_mut(bits::size(CHUNK))).map(|(index, part)| (index, 0, part));
    std::iter::once((index, bits::size(offset % CHUNK), first)).chain(whole)
}

fn check_range(bytes: u64, offset: u64, length: usize) -> io::Result<()> {
    match u64::try_from(length).ok().and_then(|length| offset.checked_add(length)) {
        Some(end) if end <= bytes => Ok(()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

fn check_block_size(block_size: u32) -> Result<(), StoreError> {
    match block_size.is_power_of_two() && (512..=65536).contains(&block_size) {
        true => Ok(()),
        false => Err(StoreError::BlockSize { block_size }),
    }
}

/// Fills `bytes` with what 4096-byte chunk `index` of a patterned memory store holds before it is written: the
/// generator's 64-bit words, little-endian, started at a value of its own per seed and chunk.
pub fn pattern(seed: u64, index: u64, bytes: &mut [u8]) {
    let mut random = Random::new(seed ^ Random::new(index).next());
    for chunk in bytes.chunks_mut(8) {
        chunk.iter_mut().zip(random.next().to_le_bytes()).for_each(|(byte, value)| *byte = value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of `bytes` zero bytes which is removed at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str, bytes: u64) -> Self {
            let path = std::env::temp_dir().join(format!("anvil-store-{name}-{}", std::process::id()));
            File::create(&path).unwrap().set_len(bytes).unwrap();
            Self(path)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    #[test]
    fn a_missing_an_empty_and_an_odd_sized_file_are_told_apart() {
        let open = |path: &Path| FileStore::open(path, 4096, Access::ReadOnly);
        assert!(matches!(open(Path::new("/nonexistent/disk.img")), Err(StoreError::Missing { .. })));
        assert!(matches!(open(Path::new("/")), Err(StoreError::NotAFile { .. })));
        let empty = Scratch::new("empty", 0);
        assert!(matches!(open(&empty.0), Err(StoreError::Empty { .. })));
        let odd = Scratch::new("odd", 4097);
        assert!(matches!(open(&odd.0), Err(StoreError::OddSize { bytes: 4097, block_size: 4096, .. })));
        let wrong = FileStore::open(&odd.0, 1000, Access::ReadOnly);
        assert!(matches!(wrong, Err(StoreError::BlockSize { block_size: 1000 })));
    }

    #[test]
    fn a_file_opened_read_only_keeps_its_bytes() {
        let file = Scratch::new("read-only", 8192);
        let store = FileStore::open(&file.0, 4096, Access::ReadOnly).unwrap();
        assert!(store.write_at(0, &[1; 4096]).is_err());
        assert_eq!(std::fs::read(&file.0).unwrap(), vec![0; 8192]);
    }

    #[test]
    fn a_writable_file_holds_what_was_written_where_it_was_written() {
        let file = Scratch::new("writable", 12288);
        let store = FileStore::open(&file.0, 4096, Access::ReadWrite).unwrap();
        store.write_at(4096, &[7; 4096]).unwrap();
        let bytes = std::fs::read(&file.0).unwrap();
        assert_eq!((bytes[4095], bytes[4096], bytes[8191], bytes[8192]), (0, 7, 7, 0));
        assert!(store.write_at(12288, &[7; 4096]).is_err());
        assert_eq!(std::fs::read(&file.0).unwrap(), bytes);
    }

    #[test]
    fn handles_on_a_memory_store_share_the_medium() {
        let store = MemoryStore::patterned(10 * 4096, 1);
        let (mut before, mut expected, mut after) = ([0; 4096], [0; 4096], [0; 300]);
        store.read_at(3 * 4096, &mut before).unwrap();
        pattern(1, 3, &mut expected);
        assert_eq!(before, expected);
        store.share().write_at(3 * 4096 + 4000, &[9; 200]).unwrap();
        store.read_at(3 * 4096 + 3950, &mut after).unwrap();
        assert_eq!(after[..50], expected[3950..4000]);
        assert_eq!(after[50..250], [9; 200]);
        assert!(store.protected().write_at(0, &[1]).is_err());
        assert!(store.read_at(10 * 4096 - 1, &mut [0; 2]).is_err());
        assert!(store.read_at(u64::MAX, &mut [0; 2]).is_err());
    }
}
