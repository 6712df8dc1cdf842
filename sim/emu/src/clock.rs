//! Emulated time: a count of instructions, plus what waiting and register accesses add.

/// Sixteenths of a nanosecond per instruction: 0.3125 ns, about what an M1 core takes on average.
const INSTRUCTION: u64 = 5;
/// What one register access costs: an uncached load or store to a block behind the fabric takes about this long.
const REGISTER_ACCESS_NS: u64 = 100;
/// The counter runs at 24 MHz, which is 3 ticks in 125 ns (`soc.md` section 1).
const TICKS: u64 = 3;
const TICKS_NS: u64 = 125;

/// The clock of one run. It moves only with what the image does, so that a run repeats to the bit.
///
/// Instructions are counted a basic block at a time, when the block begins; within a block the program counter tells how
/// far it has come.
#[derive(Debug, Default)]
pub(crate) struct Clock {
    /// Instructions of all blocks begun, the current one as a whole.
    begun: u64,
    /// The address behind the current block, and its length in bytes.
    block_end: u64,
    block_bytes: u32,
    /// Time beyond that of the instructions, in sixteenths of a nanosecond.
    extra: u64,
}

impl Clock {
    /// A block of `bytes` bytes begins at `address`.
    #[inline]
    pub(crate) fn begin_block(&mut self, address: u64, bytes: u32) {
        self.begun += u64::from(bytes / 4);
        self.block_end = address.wrapping_add(u64::from(bytes));
        self.block_bytes = bytes;
    }

    /// Instructions of all blocks begun.
    #[inline]
    pub(crate) fn begun(&self) -> u64 {
        self.begun
    }

    /// Instructions done before the one at `counter` in the current block; all of the block for one that lies elsewhere.
    pub(crate) fn instructions_at(&self, counter: u64) -> u64 {
        let left = self.block_end.wrapping_sub(counter);
        if left <= u64::from(self.block_bytes) { self.begun - left / 4 } else { self.begun }
    }

    /// The current block is left at `counter`: what follows it there is not done.
    pub(crate) fn leave_block(&mut self, counter: u64) {
        self.begun = self.instructions_at(counter);
        self.block_bytes = 0;
    }

    /// The time when that many instructions are done, in nanoseconds.
    pub(crate) fn nanoseconds(&self, instructions: u64) -> u64 {
        (instructions * INSTRUCTION + self.extra) / 16
    }

    /// The number of instructions, done without a pause, at which it is `nanoseconds` or later.
    pub(crate) fn instructions_until(&self, nanoseconds: u64) -> u64 {
        (nanoseconds * 16).saturating_sub(self.extra).div_ceil(INSTRUCTION)
    }

    /// Adds the cost of one register access.
    pub(crate) fn register_access(&mut self) {
        self.extra += REGISTER_ACCESS_NS * 16;
    }

    /// Sleeps until `nanoseconds`, with that many instructions done; never goes back.
    pub(crate) fn sleep_until(&mut self, instructions: u64, nanoseconds: u64) {
        self.extra = self.extra.max((nanoseconds * 16).saturating_sub(instructions * INSTRUCTION));
    }
}

/// The generic timer's counter at a time in nanoseconds.
pub(crate) fn ticks(nanoseconds: u64) -> u64 {
    // Divided first, so that no run is long enough to overflow.
    nanoseconds / TICKS_NS * TICKS + nanoseconds % TICKS_NS * TICKS / TICKS_NS
}

/// The first nanosecond at which the counter shows `ticks`.
pub(crate) fn nanoseconds_of(ticks: u64) -> u64 {
    (ticks / TICKS).saturating_mul(TICKS_NS).saturating_add((ticks % TICKS * TICKS_NS).div_ceil(TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_runs_at_24_megahertz() {
        assert_eq!(ticks(1_000_000_000), 24_000_000);
        assert_eq!(ticks(u64::MAX / 2) / 24_000_000, u64::MAX / 2 / 1_000_000_000);
    }

    #[test]
    fn the_nanosecond_of_a_tick_is_the_first_one_that_shows_it() {
        for tick in 0..1000 {
            let first = nanoseconds_of(tick);
            assert_eq!(ticks(first), tick);
            assert!(first == 0 || ticks(first - 1) < tick);
        }
    }

    #[test]
    fn the_program_counter_tells_how_much_of_a_block_is_done() {
        let mut clock = Clock::default();
        clock.begin_block(0x1000, 40);
        assert_eq!(clock.instructions_at(0x1000), 0);
        assert_eq!(clock.instructions_at(0x1024), 9);
        assert_eq!(clock.instructions_at(0x9000), 10, "not an instruction of this block");
        clock.leave_block(0x1010);
        assert_eq!(clock.begun(), 4);
    }

    #[test]
    fn instructions_until_a_time_are_the_least_that_reach_it() {
        let mut clock = Clock::default();
        clock.register_access();
        for time in [100, 101, 117, 1_000_003] {
            let count = clock.instructions_until(time);
            assert!(clock.nanoseconds(count) >= time);
            assert!(count == 0 || clock.nanoseconds(count - 1) < time);
        }
    }
}
