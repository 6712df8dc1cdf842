//! A window that misbehaves on plan.

#[cfg(test)]
mod tests;

use core::cell::Cell;

use crate::Mmio;
use crate::trace::Direction;

/// What happens to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// The value is replaced: what a read gives, or what a write brings to the device.
    Replace(u64),
    /// The bits of the mask are inverted.
    Flip(u64),
    /// One bit, chosen by the seed, is inverted.
    FlipAny,
    /// The access does not reach the device; a read gives all ones, as an empty bus does.
    Lose,
}

/// One planned fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The register, in bytes from the window's start.
    pub offset: usize,
    /// Reads or writes of it.
    pub direction: Direction,
    /// The first access that is hit, counted from zero among those of this offset and direction.
    pub first: u32,
    /// How many accesses in a row are hit.
    pub times: u32,
    /// What happens to them.
    pub effect: Effect,
}

/// A window with `N` planned faults; every other access goes through. The same plan and seed misbehave the same way.
#[derive(Debug)]
pub struct Fault<B, const N: usize> {
    window: B,
    plan: [(Rule, Cell<u32>); N],
    seed: Cell<u64>,
}

impl<B: Mmio, const N: usize> Fault<B, N> {
    /// Lets `window` misbehave by `plan`.
    pub fn new(window: B, plan: [Rule; N], seed: u64) -> Self {
        Self { window, plan: plan.map(|rule| (rule, Cell::new(0))), seed: Cell::new(seed) }
    }

    /// The window itself, well-behaved again.
    pub fn into_inner(self) -> B {
        self.window
    }

    /// The value after all rules that hit, or `None` if one of them loses the access. Every rule counts every access.
    fn bend(&self, offset: usize, direction: Direction, bits: u32, value: impl FnOnce() -> u64) -> Option<u64> {
        let mut lost = false;
        let effects = self.plan.each_ref().map(|(rule, count)| {
            if (rule.offset, rule.direction) != (offset, direction) {
                return None;
            }
            let number = count.replace(count.get().saturating_add(1));
            let hit = number >= rule.first && number - rule.first < rule.times;
            lost |= hit && rule.effect == Effect::Lose;
            hit.then_some(rule.effect)
        });
        if lost {
            return None;
        }
        Some(effects.into_iter().flatten().fold(value(), |value, effect| match effect {
            Effect::Replace(other) => other,
            Effect::Flip(mask) => value ^ mask,
            Effect::FlipAny => value ^ 1 << (self.random() % u64::from(bits)),
            Effect::Lose => value,
        }))
    }

    /// The next number of the SplitMix64 sequence (Steele, Lea, Flood 2014).
    fn random(&self) -> u64 {
        let state = self.seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.seed.set(state);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// The low half of a value, for a 32-bit access.
const fn low(value: u64) -> u32 {
    (value & 0xffff_ffff) as u32
}

impl<B: Mmio, const N: usize> Mmio for Fault<B, N> {
    fn read32(&self, offset: usize) -> u32 {
        self.bend(offset, Direction::Read, 32, || self.window.read32(offset).into()).map_or(u32::MAX, low)
    }

    fn write32(&self, offset: usize, value: u32) {
        if let Some(value) = self.bend(offset, Direction::Write, 32, || value.into()) {
            self.window.write32(offset, low(value));
        }
    }

    fn read64(&self, offset: usize) -> u64 {
        self.bend(offset, Direction::Read, 64, || self.window.read64(offset)).unwrap_or(u64::MAX)
    }

    fn write64(&self, offset: usize, value: u64) {
        if let Some(value) = self.bend(offset, Direction::Write, 64, || value) {
            self.window.write64(offset, value);
        }
    }
}
