//! Operations that move or change data, all of them within the list's blocks.

use hal::Platform;
use nvme::{Buffer, Deallocated, Operation};
use sha2::{Digest, Sha256};

use super::outcome::{NO_MEMORY, Outcome};
use super::{BLOCKS, Entry, List};
use crate::length;
use crate::random::Random;

/// Where the operations that change something do so, as blocks from the list's first on; no two of them share one.
const WRITTEN: u64 = 2;
const FORCED: u64 = 8;
const ZEROED: u64 = 16;
const DISCARDED: u64 = 32;
/// Blocks that are zeroed or discarded.
const EIGHT: u32 = 8;
/// Blocks that one command moves, where it is more than one: the least limit that a controller of 4096-byte blocks has.
const PAIR: u32 = 2;
/// Seeds of patterns: what every block is filled with at first, and what some are written with later.
const FILL: u32 = 1;
const OTHER: u32 = 2;
/// Bytes that a buffer begins behind a page's start: no multiple of a block, but of 4.
const ODD: usize = 0x204;
/// Type and code of the error of a comparison.
const COMPARE_FAILURE: (u8, u8) = (2, 0x85);

impl<'a, P: Platform> List<'a, P> {
    pub(super) const DATA: &'a [Entry<'a, P>] = &[
        ("write every block in calls that split", Self::fill),
        ("read 1 block", |list| list.read(0, 1)),
        ("read 2 blocks", |list| list.read(1, 2)),
        ("read 2 blocks into the middle of a page", Self::read_odd),
        ("read as much as one command may move", Self::read_limit),
        ("read every block in calls that split", Self::read_split),
        ("write 2 blocks and read them", |list| list.write_and_read(WRITTEN, false)),
        ("write 2 blocks past the cache and read them", |list| list.write_and_read(FORCED, true)),
        ("flush", |list| list.without_data(Operation::Flush)),
        ("compare what is equal", |list| list.compare(OTHER)),
        ("compare what differs", Self::compare_different),
        ("write zeroes", Self::write_zeroes),
        ("read zeroes", Self::read_zeroes),
        ("discard", Self::discard),
        ("read what was discarded", Self::read_discarded),
        ("read every block that was not zeroed or discarded", Self::read_kept),
    ];

    /// Writes a pattern to every block, so that all that is read after it is known.
    fn fill(&mut self) -> Result<Outcome, Outcome> {
        self.in_pieces(|list, at, bytes| {
            pattern(bytes, list.block_size(), FILL, at);
            Ok(list.controller.write(list.namespace.id, list.first + at, bytes)?)
        })?;
        Ok(Outcome::Done)
    }

    /// Reads every block by the call that makes several commands of one where it must.
    fn read_split(&mut self) -> Result<Outcome, Outcome> {
        let mut hash = Sha256::new();
        self.in_pieces(|list, at, bytes| {
            list.controller.read(list.namespace.id, list.first + at, bytes)?;
            hash.update(bytes);
            Ok(())
        })?;
        Ok(Outcome::digest(hash))
    }

    /// Goes over all blocks, in pieces of as many as the memory for data on its way holds.
    fn in_pieces(
        &mut self,
        mut each: impl FnMut(&mut Self, u64, &mut [u8]) -> Result<(), Outcome>,
    ) -> Result<(), Outcome> {
        let scratch = core::mem::take(&mut self.scratch);
        let most = (scratch.len() >> self.namespace.block_shift) as u64;
        let (mut done, mut result) = (0, Ok(()));
        while done < BLOCKS && result.is_ok() {
            let count = most.min(BLOCKS - done);
            let bytes = scratch.get_mut(..length(count) << self.namespace.block_shift);
            result = bytes.map_or(Err(NO_MEMORY), |bytes| each(self, done, bytes));
            done += count;
        }
        self.scratch = scratch;
        result
    }

    /// Reads `count` blocks from the list's block `at` on with one command.
    fn read(&mut self, at: u64, count: u32) -> Result<Outcome, Outcome> {
        let buffer = self.buffer(count)?;
        let buffer = self.read_into(buffer, self.first + at, count)?;
        self.digest(&buffer, count)
    }

    fn read_odd(&mut self) -> Result<Outcome, Outcome> {
        let buffer = self.buffer_at(ODD, PAIR)?;
        let buffer = self.read_into(buffer, self.first + 3, PAIR)?;
        self.digest(&buffer, PAIR)
    }

    /// Reads every block in commands of exactly the most that one may move. Where that is more than the list has, what lies
    /// around it is read too, and not told of.
    fn read_limit(&mut self) -> Result<Outcome, Outcome> {
        let limit = u32::try_from(self.namespace.blocks).map_or(self.limit(), |blocks| blocks.min(self.limit()));
        let mut hash = Sha256::new();
        let end = self.first + BLOCKS;
        let mut at = self.first;
        while at < end {
            let start = at.min(self.namespace.blocks - u64::from(limit));
            let buffer = self.buffer(limit)?;
            let buffer = self.read_into(buffer, start, limit)?;
            let next = (start + u64::from(limit)).min(end);
            self.add(&mut hash, &buffer, at - start, next - at)?;
            at = next;
        }
        Ok(Outcome::digest(hash))
    }

    /// Writes two blocks with a pattern of their own, and reads them.
    fn write_and_read(&mut self, at: u64, force_unit_access: bool) -> Result<Outcome, Outcome> {
        let buffer = self.patterned(OTHER, at)?;
        self.send(Operation::Write { lba: self.first + at, count: PAIR, force_unit_access }, Some(buffer))?;
        self.read(at, PAIR)
    }

    /// Compares the two blocks that were written past the cache with a pattern.
    fn compare(&mut self, seed: u32) -> Result<Outcome, Outcome> {
        if !self.identity.compare {
            return Ok(Outcome::NotThere);
        }
        let buffer = self.patterned(seed, FORCED)?;
        self.send(Operation::Compare { lba: self.first + FORCED, count: PAIR }, Some(buffer))?;
        Ok(Outcome::Done)
    }

    fn compare_different(&mut self) -> Result<Outcome, Outcome> {
        let outcome = self.compare(FILL).unwrap_or_else(|outcome| outcome);
        let told = |outcome: &Outcome| match outcome {
            Outcome::Status(status) => (status.kind(), status.code()) == COMPARE_FAILURE,
            other => *other == Outcome::NotThere,
        };
        Ok(outcome.if_only(told, "not told as a compare failure"))
    }

    fn write_zeroes(&mut self) -> Result<Outcome, Outcome> {
        if !self.identity.write_zeroes {
            return Ok(Outcome::NotThere);
        }
        self.without_data(Operation::WriteZeroes { lba: self.first + ZEROED, count: EIGHT })
    }

    fn read_zeroes(&mut self) -> Result<Outcome, Outcome> {
        if !self.identity.write_zeroes {
            return Ok(Outcome::NotThere);
        }
        self.all_zero(ZEROED)
    }

    fn discard(&mut self) -> Result<Outcome, Outcome> {
        if !self.identity.discard {
            return Ok(Outcome::NotThere);
        }
        self.without_data(Operation::Discard { lba: self.first + DISCARDED, count: EIGHT })
    }

    /// What discarded blocks read as is known only where the namespace tells of it.
    fn read_discarded(&mut self) -> Result<Outcome, Outcome> {
        if !self.identity.discard || self.namespace.deallocated != Deallocated::Zeroes {
            return Ok(Outcome::NotThere);
        }
        self.all_zero(DISCARDED)
    }

    /// What was to stay stayed.
    fn read_kept(&mut self) -> Result<Outcome, Outcome> {
        let eight = u64::from(EIGHT);
        self.read_each((0..ZEROED).chain(ZEROED + eight..DISCARDED).chain(DISCARDED + eight..BLOCKS))
    }

    /// Reads blocks of the list one by one.
    fn read_each(&mut self, blocks: impl Iterator<Item = u64>) -> Result<Outcome, Outcome> {
        let mut hash = Sha256::new();
        for at in blocks {
            let buffer = self.buffer(1)?;
            let buffer = self.read_into(buffer, self.first + at, 1)?;
            self.add(&mut hash, &buffer, 0, 1)?;
        }
        Ok(Outcome::digest(hash))
    }

    fn without_data(&mut self, operation: Operation) -> Result<Outcome, Outcome> {
        self.send(operation, None)?;
        Ok(Outcome::Done)
    }

    fn read_into(&mut self, buffer: Buffer<P::Pool>, lba: u64, count: u32) -> Result<Buffer<P::Pool>, Outcome> {
        self.send(Operation::Read { lba, count }, Some(buffer))?.ok_or(Outcome::Wrong("the buffer did not come back"))
    }

    /// Reads eight blocks, which must be zeroes.
    fn all_zero(&mut self, at: u64) -> Result<Outcome, Outcome> {
        let block_size = self.block_size();
        let block = self.scratch.get_mut(..block_size).ok_or(NO_MEMORY)?;
        block.fill(0);
        let mut zeroes = Sha256::new();
        (0..EIGHT).for_each(|_| zeroes.update(&*block));
        let zeroes = Outcome::digest(zeroes);
        let read = self.read_each(at..at + u64::from(EIGHT))?;
        Ok(read.if_only(|read| *read == zeroes, "not all zeroes"))
    }

    /// A buffer with the pattern of the two blocks from the list's block `at` on.
    fn patterned(&mut self, seed: u32, at: u64) -> Result<Buffer<P::Pool>, Outcome> {
        let buffer = self.buffer(PAIR)?;
        let block_size = self.block_size();
        let bytes = self.scratch.get_mut(..PAIR as usize * block_size).ok_or(NO_MEMORY)?;
        pattern(bytes, block_size, seed, at);
        buffer.write_bytes(0, bytes);
        Ok(buffer)
    }

    fn digest(&mut self, buffer: &Buffer<P::Pool>, count: u32) -> Result<Outcome, Outcome> {
        let mut hash = Sha256::new();
        self.add(&mut hash, buffer, 0, u64::from(count))?;
        Ok(Outcome::digest(hash))
    }

    /// Adds `count` blocks of a buffer to a digest, from its block `from` on.
    fn add(&mut self, hash: &mut Sha256, buffer: &Buffer<P::Pool>, from: u64, count: u64) -> Result<(), Outcome> {
        let block_size = self.block_size();
        let block = self.scratch.get_mut(..block_size).ok_or(NO_MEMORY)?;
        for index in from..from + count {
            buffer.read_bytes(length(index) * block_size, block);
            hash.update(&*block);
        }
        Ok(())
    }
}

/// Fills blocks with words that differ with the seed and with their place, which is counted from the list's first block on, so
/// that it does not change with the disk.
fn pattern(bytes: &mut [u8], block_size: usize, seed: u32, at: u64) {
    for (block, at) in bytes.chunks_mut(block_size).zip(at + 1..) {
        let mut random = Random::new(u64::from(seed) << 32 | at);
        for word in block.chunks_mut(8) {
            for (to, from) in word.iter_mut().zip(random.next().to_le_bytes()) {
                *to = from;
            }
        }
    }
}
