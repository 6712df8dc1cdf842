//! Whether a barrier stands on every way to a load.

use std::collections::{BTreeMap, BTreeSet};

use super::instruction::{Instruction, Next, Strength};

/// A function's instructions.
pub(super) struct Code {
    start: u64,
    words: Vec<Instruction>,
    /// By address, where the instruction there can be come to from.
    before: BTreeMap<u64, Vec<u64>>,
}

/// A barrier and the address of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Barrier {
    pub(super) address: u64,
    pub(super) name: &'static str,
}

impl Code {
    pub(super) fn new(start: u64, words: impl IntoIterator<Item = u32>) -> Self {
        let mut code = Self { start, words: words.into_iter().map(Instruction).collect(), before: BTreeMap::new() };
        for (address, instruction) in code.instructions().collect::<Vec<_>>() {
            let (following, jump) = match instruction.next() {
                Next::Following => (true, None),
                Next::Either(offset) => (true, Some(offset)),
                Next::Jump(offset) => (false, Some(offset)),
                Next::Away => (false, None),
            };
            let following = following.then_some(address + 4);
            for to in following.into_iter().chain(jump.and_then(|offset| address.checked_add_signed(offset))) {
                code.before.entry(to).or_default().push(address);
            }
        }
        code
    }

    /// Each address with the instruction there.
    pub(super) fn instructions(&self) -> impl Iterator<Item = (u64, Instruction)> {
        (self.start..).step_by(4).zip(self.words.iter().copied())
    }

    fn at(&self, address: u64) -> Option<Instruction> {
        let index = usize::try_from(address.checked_sub(self.start)? / 4).ok()?;
        self.words.get(index).copied()
    }

    /// The barriers of `strength` that every way to the `load` meets one of, after the last access of `firsts` on it.
    ///
    /// A way that comes from where the function begins, or from nowhere as the target of a jump by register does, without
    /// meeting one is unguarded too: what it did before is not known. A call counts as no barrier.
    ///
    /// # Errors
    /// Where the way without a barrier comes from.
    pub(super) fn guards(&self, load: u64, firsts: &BTreeSet<u64>, strength: Strength) -> Result<Vec<Barrier>, u64> {
        let mut guards = Vec::new();
        let mut seen = BTreeSet::new();
        let mut waiting = vec![load];
        while let Some(address) = waiting.pop() {
            let origins = self.before.get(&address).map(Vec::as_slice).unwrap_or_default();
            if address == self.start || origins.is_empty() {
                return Err(address);
            }
            for origin in origins.iter().copied().filter(|origin| seen.insert(*origin)) {
                match self.at(origin).and_then(Instruction::barrier) {
                    Some((name, found)) if found == Strength::Full || found == strength => {
                        guards.push(Barrier { address: origin, name });
                    }
                    _ if firsts.contains(&origin) => return Err(origin),
                    _ => waiting.push(origin),
                }
            }
        }
        guards.sort_unstable_by_key(|barrier| barrier.address);
        Ok(guards)
    }

    /// Whether a way to one of `ends` passes an access of `firsts`.
    pub(super) fn follows(&self, ends: &[Barrier], firsts: &BTreeSet<u64>) -> bool {
        let mut waiting: Vec<u64> = ends.iter().map(|barrier| barrier.address).collect();
        let mut seen = BTreeSet::new();
        while let Some(address) = waiting.pop() {
            if firsts.contains(&address) {
                return true;
            }
            let origins = self.before.get(&address).into_iter().flatten().copied();
            waiting.extend(origins.filter(|origin| seen.insert(*origin)));
        }
        false
    }
}
