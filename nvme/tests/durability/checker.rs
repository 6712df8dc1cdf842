//! What was written, what was acknowledged, what was promised, and whether a power cut kept it.

use sim::nvme::store::{MemoryStore, Store};

/// Blocks of each namespace.
pub(crate) const BLOCKS: usize = 64;
/// Bytes of a block.
pub(crate) const BLOCK: usize = 512;

/// A version of each block; 0 is what was there before anything was written. Versions of a namespace count up in the order in
/// which writes are submitted, and no two writes to one block are under way at once, so they have an order for each block.
pub(crate) type Versions = [u32; BLOCKS];

/// One write: its version, its first block and how many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Write {
    pub(crate) version: u32,
    pub(crate) first: usize,
    pub(crate) count: usize,
}

impl Write {
    pub(crate) fn blocks(&self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// The content of its blocks.
    pub(crate) fn bytes(&self, namespace: u32) -> Vec<u8> {
        self.blocks().flat_map(|lba| content(namespace, lba, self.version)).collect()
    }
}

/// What a block holds: nothing else in the world does.
pub(crate) fn content(namespace: u32, lba: usize, version: u32) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    if version != 0 {
        let words = [namespace, lba as u32, version, !version].map(u32::to_le_bytes);
        block.chunks_mut(4).zip(words.iter().cycle()).for_each(|(chunk, word)| chunk.copy_from_slice(word));
    }
    block
}

/// The account of one namespace.
#[derive(Debug)]
pub(crate) struct Account {
    id: u32,
    writes: Vec<Write>,
    /// The newest version that was acknowledged.
    acknowledged: Versions,
    /// The oldest version that a power cut may leave.
    promised: Versions,
    /// What is promised from a moment on, in nanoseconds.
    later: Vec<(u64, Versions)>,
}

impl Account {
    pub(crate) fn new(id: u32) -> Self {
        Self { id, writes: Vec::new(), acknowledged: [0; BLOCKS], promised: [0; BLOCKS], later: Vec::new() }
    }

    /// A write is submitted.
    pub(crate) fn begin(&mut self, first: usize, count: usize) -> Write {
        let write = Write { version: self.writes.len() as u32 + 1, first, count };
        self.writes.push(write);
        write
    }

    /// A write that was begun was refused: it is as if it had not been.
    pub(crate) fn take_back(&mut self, write: Write) {
        assert_eq!(self.writes.pop().map(|last| last.version), Some(write.version));
    }

    /// A write was answered with success.
    pub(crate) fn acknowledge(&mut self, write: Write, durable: bool) {
        for lba in write.blocks() {
            self.acknowledged[lba] = self.acknowledged[lba].max(write.version);
            if durable {
                self.promised[lba] = self.promised[lba].max(write.version);
            }
        }
    }

    /// What has been acknowledged by now.
    pub(crate) fn snapshot(&self) -> Versions {
        self.acknowledged
    }

    /// From now on a power cut leaves these versions or newer ones.
    pub(crate) fn promise(&mut self, versions: &Versions) {
        for (promised, version) in self.promised.iter_mut().zip(versions) {
            *promised = (*promised).max(*version);
        }
    }

    /// The same from `moment` on.
    pub(crate) fn promise_by(&mut self, moment: u64, versions: Versions) {
        self.later.push((moment, versions));
    }

    /// All that was promised for later has come.
    pub(crate) fn settled(&mut self) {
        for (_, versions) in std::mem::take(&mut self.later) {
            self.promise(&versions);
        }
    }

    /// Everything that was acknowledged is promised.
    pub(crate) fn promise_all(&mut self) {
        let all = self.acknowledged;
        self.promise(&all);
        self.later.clear();
    }

    /// Whether the medium keeps what was promised at the moment of the cut, and holds only what was written. Writes of at most
    /// `atomic` blocks are not torn.
    ///
    /// # Errors
    /// The first block that is wrong.
    pub(crate) fn check(&mut self, store: &MemoryStore, cut: u64, atomic: usize) -> Result<Versions, String> {
        for (moment, versions) in std::mem::take(&mut self.later) {
            if moment <= cut {
                self.promise(&versions);
            }
        }
        let mut bytes = vec![0; BLOCKS * BLOCK];
        store.read_at(0, &mut bytes).map_err(|error| error.to_string())?;
        let mut found = [0; BLOCKS];
        for (lba, block) in bytes.chunks(BLOCK).enumerate() {
            let version = u32::from_le_bytes([block[8], block[9], block[10], block[11]]);
            let place = format!("namespace {} block {lba}", self.id);
            let written = |write: &Write| write.version == version && write.blocks().contains(&lba);
            if block != content(self.id, lba, version) || version != 0 && !self.writes.iter().any(written) {
                return Err(format!("{place} holds what was never written: {:02x?}...", &block[..16]));
            }
            if version < self.promised[lba] {
                let promised = self.promised[lba];
                return Err(format!("{place} holds version {version}, and version {promised} was promised"));
            }
            found[lba] = version;
        }
        for write in self.writes.iter().filter(|write| write.count <= atomic) {
            let held = |lba: usize| found[lba] == write.version;
            let older = |lba: usize| found[lba] < write.version;
            if write.blocks().any(held) && write.blocks().any(older) {
                return Err(format!("namespace {}: {write:?} is torn, and AWUPF covers it", self.id));
            }
        }
        Ok(found)
    }
}
