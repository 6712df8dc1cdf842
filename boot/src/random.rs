//! Numbers that look random and are the same in every run.

/// Xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift generators, scrambled").
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// A generator that always gives the same numbers for the same seed.
    pub(crate) const fn new(seed: u64) -> Self {
        // Zero would stay zero.
        Self(if seed == 0 { 1 } else { seed })
    }

    /// The next 64 bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`; zero if there is none.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product: no division, and no bias that matters here.
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_below_their_bound_and_reach_all_below_it() {
        let mut random = Random::new(0);
        let mut seen = [0u32; 7];
        for _ in 0..7000 {
            seen[crate::length(random.below(7))] += 1;
        }
        assert!(seen.iter().all(|count| (800..1200).contains(count)), "{seen:?}");
        assert_eq!(random.below(0), 0);
    }
}
