//! The volatile write cache of one namespace: a power cut loses what is in it, all or any part of it.

use std::collections::BTreeMap;
use std::io;

use super::bits;
use super::store::Store;
use crate::context::Random;

/// So many dirty blocks make the cache write them back by itself.
const DIRTY_LIMIT: usize = 16384;
/// How likely each write survives a cut that loses a subset, in eighths: one of these is drawn for each cut, since a bug may
/// show only where nearly everything is lost, or nearly nothing.
const SURVIVAL: [u64; 5] = [0, 1, 4, 7, 8];

/// A flush in progress: it covers what was written before it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushMark(u64);

/// What a block was given by one write.
#[derive(Debug)]
struct Version {
    /// Flushes begun before.
    mark: u64,
    /// Which write, in their order.
    write: u64,
    /// Blocks of that write.
    count: usize,
    data: Vec<u8>,
}

/// The blocks of one write, by number.
type Blocks = Vec<(u64, Vec<u8>)>;

/// A write that the power cut came in the midst of: its first block and its data.
pub(crate) type Torn = (u64, Vec<u8>);

/// A medium with a write cache before it.
#[derive(Debug)]
pub(crate) struct Cache {
    store: Box<dyn Store>,
    block_size: u32,
    /// What is not durable, by block, the oldest version first; none of the lists is empty.
    dirty: BTreeMap<u64, Vec<Version>>,
    /// Every version is kept, since any may survive a cut; else only those that a flush in progress may need.
    every_version: bool,
    marks: u64,
    writes: u64,
}

impl Cache {
    pub(crate) fn new(store: Box<dyn Store>, block_size: u32) -> Self {
        Self { store, block_size, dirty: BTreeMap::new(), every_version: false, marks: 0, writes: 0 }
    }

    /// For cuts that lose a subset: [`Cache::lose_some`].
    pub(crate) fn keeping_every_version(self, every_version: bool) -> Self {
        Self { every_version, ..self }
    }

    pub(crate) fn read_only(&self) -> bool {
        self.store.read_only()
    }

    /// Copies whole blocks from `first` on to `bytes`, the newest version of each.
    pub(crate) fn read(&self, first: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.store.read_at(first.saturating_mul(self.block_size.into()), bytes)?;
        if self.dirty.is_empty() {
            return Ok(());
        }
        for (number, block) in (first..).zip(bytes.chunks_mut(bits::size(self.block_size.into()))) {
            if let Some(newest) = self.dirty.get(&number).and_then(|versions| versions.last()) {
                bits::put(block, 0, &newest.data);
            }
        }
        Ok(())
    }

    /// Takes whole blocks from `first` on.
    pub(crate) fn write(&mut self, first: u64, bytes: &[u8]) -> io::Result<()> {
        self.writes += 1;
        let (size, mark, write) = (bits::size(self.block_size.into()), self.marks, self.writes);
        let count = bytes.len() / size;
        for (number, block) in (first..).zip(bytes.chunks(size)) {
            let versions = self.dirty.entry(number).or_default();
            if !self.every_version && versions.last().is_some_and(|last| last.mark == mark) {
                versions.pop();
            }
            versions.push(Version { mark, write, count, data: block.to_vec() });
        }
        if self.dirty.len() > DIRTY_LIMIT { self.write_back() } else { Ok(()) }
    }

    /// Takes whole blocks from `first` on straight to the medium; older versions of them in the cache are gone.
    pub(crate) fn write_through(&mut self, first: u64, bytes: &[u8]) -> io::Result<()> {
        for (number, _) in (first..).zip(bytes.chunks(bits::size(self.block_size.into()))) {
            self.dirty.remove(&number);
        }
        self.store.write_at(first.saturating_mul(self.block_size.into()), bytes)
    }

    /// Starts a flush of everything that is written by now.
    pub(crate) fn start_flush(&mut self) -> FlushMark {
        self.marks += 1;
        FlushMark(self.marks)
    }

    /// Ends that flush: what it covers is durable, and so is what older flushes cover.
    pub(crate) fn end_flush(&mut self, FlushMark(mark): FlushMark) -> io::Result<()> {
        let (store, block_size) = (&self.store, u64::from(self.block_size));
        for (number, versions) in &mut self.dirty {
            let covered = versions.iter().take_while(|version| version.mark < mark).count();
            if let Some(newest) = versions.drain(..covered).next_back() {
                store.write_at(number.saturating_mul(block_size), &newest.data)?;
            }
        }
        self.dirty.retain(|_, versions| !versions.is_empty());
        Ok(())
    }

    /// Makes everything durable.
    pub(crate) fn write_back(&mut self) -> io::Result<()> {
        let mark = self.start_flush();
        self.end_flush(mark)
    }

    /// The power fails: forgets what is not durable, and how many blocks that were (a block counts once per version).
    pub(crate) fn lose(&mut self) -> usize {
        std::mem::take(&mut self.dirty).into_values().map(|versions| versions.len()).sum()
    }

    /// The power fails, and any subset of what is not durable survives, `torn` included: a write of at most `atomic` blocks as a
    /// whole or not at all, a longer one in any of its blocks. What survives need not be what was written first. Gives how many
    /// blocks were lost, each version counted.
    pub(crate) fn lose_some(&mut self, random: &mut Random, atomic: usize, mut torn: Vec<Torn>) -> io::Result<usize> {
        let mut writes: BTreeMap<u64, (usize, Blocks)> = BTreeMap::new();
        for (number, versions) in std::mem::take(&mut self.dirty) {
            for Version { write, count, data, .. } in versions {
                writes.entry(write).or_insert((count, Vec::new())).1.push((number, data));
            }
        }
        // Commands in flight have no order between them.
        while !torn.is_empty() {
            let (first, bytes) = torn.swap_remove(bits::size(random.below(torn.len() as u64)));
            self.writes += 1;
            let blocks: Blocks =
                (first..).zip(bytes.chunks(bits::size(self.block_size.into())).map(<[u8]>::to_vec)).collect();
            writes.insert(self.writes, (blocks.len(), blocks));
        }
        let likely = SURVIVAL.get(bits::size(random.below(SURVIVAL.len() as u64))).copied().unwrap_or(0);
        let (mut kept, mut lost) = (BTreeMap::new(), 0);
        for (count, blocks) in writes.into_values() {
            let whole = random.below(8) < likely;
            for (number, data) in blocks {
                if if count <= atomic { whole } else { random.below(8) < likely } {
                    kept.insert(number, data);
                } else {
                    lost += 1;
                }
            }
        }
        let offset = |number: u64| number.saturating_mul(self.block_size.into());
        kept.iter().try_for_each(|(number, block)| self.store.write_at(offset(*number), block))?;
        Ok(lost)
    }
}
