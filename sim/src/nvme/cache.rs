//! The volatile write cache of one namespace: a power cut loses what is in it.

use std::collections::BTreeMap;
use std::io;

use super::bits;
use super::store::Store;

/// Dirty blocks by number.
type Blocks = BTreeMap<u64, Vec<u8>>;

/// So many dirty blocks make the cache write them back by itself.
const DIRTY_LIMIT: usize = 16384;

/// A flush in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlushMark(u64);

/// A medium with a write cache before it.
#[derive(Debug)]
pub(crate) struct Cache {
    store: Box<dyn Store>,
    block_size: u32,
    dirty: Blocks,
    /// What each flush in progress has to write back, oldest first: writes that complete later are not its business.
    flushing: Vec<(FlushMark, Blocks)>,
    marks: u64,
}

impl Cache {
    pub(crate) fn new(store: Box<dyn Store>, block_size: u32) -> Self {
        Self { store, block_size, dirty: Blocks::new(), flushing: Vec::new(), marks: 0 }
    }

    pub(crate) fn read_only(&self) -> bool {
        self.store.read_only()
    }

    /// Copies whole blocks from `first` on to `bytes`, the newest version of each.
    pub(crate) fn read(&self, first: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.store.read_at(first.saturating_mul(self.block_size.into()), bytes)?;
        if self.dirty.is_empty() && self.flushing.is_empty() {
            return Ok(());
        }
        for (number, block) in (first..).zip(bytes.chunks_mut(bits::size(self.block_size.into()))) {
            let older = self.flushing.iter().rev().find_map(|(_, blocks)| blocks.get(&number));
            if let Some(newest) = self.dirty.get(&number).or(older) {
                bits::put(block, 0, newest);
            }
        }
        Ok(())
    }

    /// Takes whole blocks from `first` on.
    pub(crate) fn write(&mut self, first: u64, bytes: &[u8]) -> io::Result<()> {
        for (number, block) in (first..).zip(bytes.chunks(bits::size(self.block_size.into()))) {
            self.dirty.insert(number, block.to_vec());
        }
        if self.dirty.len() > DIRTY_LIMIT { self.write_back() } else { Ok(()) }
    }

    /// Takes whole blocks from `first` on straight to the medium; an older version of them in the cache is gone.
    pub(crate) fn write_through(&mut self, first: u64, bytes: &[u8]) -> io::Result<()> {
        for (number, _) in (first..).zip(bytes.chunks(bits::size(self.block_size.into()))) {
            self.dirty.remove(&number);
            self.flushing.iter_mut().for_each(|(_, blocks)| drop(blocks.remove(&number)));
        }
        self.store.write_at(first.saturating_mul(self.block_size.into()), bytes)
    }

    /// Starts a flush of everything that is written by now.
    pub(crate) fn start_flush(&mut self) -> FlushMark {
        self.marks += 1;
        let mark = FlushMark(self.marks);
        self.flushing.push((mark, std::mem::take(&mut self.dirty)));
        mark
    }

    /// Ends that flush: what it covers is durable, and so is what older flushes cover.
    pub(crate) fn end_flush(&mut self, mark: FlushMark) -> io::Result<()> {
        let covered = self.flushing.iter().take_while(|(other, _)| other.0 <= mark.0).count();
        let done: Vec<_> = self.flushing.drain(..covered).collect();
        done.iter().try_for_each(|(_, blocks)| self.store_blocks(blocks))
    }

    /// Makes everything durable.
    pub(crate) fn write_back(&mut self) -> io::Result<()> {
        let mark = self.start_flush();
        self.end_flush(mark)
    }

    /// Forgets what is not durable, and how many blocks that were (a block counts once per version).
    pub(crate) fn lose(&mut self) -> usize {
        let flushing: usize = self.flushing.drain(..).map(|(_, blocks)| blocks.len()).sum();
        flushing + std::mem::take(&mut self.dirty).len()
    }

    fn store_blocks(&self, blocks: &Blocks) -> io::Result<()> {
        let offset = |number: u64| number.saturating_mul(self.block_size.into());
        blocks.iter().try_for_each(|(number, block)| self.store.write_at(offset(*number), block))
    }
}
