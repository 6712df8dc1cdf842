//! A set of addresses, kept as disjoint intervals.

use std::collections::BTreeMap;

/// Half-open intervals by their start; none of them touch.
#[derive(Debug, Default)]
pub(super) struct Intervals(BTreeMap<u64, u64>);

impl Intervals {
    /// Adds `start..end`.
    pub(super) fn insert(&mut self, start: u64, end: u64) {
        let (mut low, mut high) = (start, end);
        while let Some((&from, &to)) = self.0.range(..=high).next_back().filter(|(_, to)| **to >= low) {
            self.0.remove(&from);
            low = low.min(from);
            high = high.max(to);
        }
        if low < high {
            self.0.insert(low, high);
        }
    }

    /// Takes `start..end` out.
    pub(super) fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        while let Some((&from, &to)) = self.0.range(..end).next_back().filter(|(_, to)| **to > start) {
            self.0.remove(&from);
            if to > end {
                self.0.insert(end, to);
            }
            if from < start {
                self.0.insert(from, start);
            }
        }
    }

    /// The first address of `start..end` that is in the set.
    pub(super) fn first_in(&self, start: u64, end: u64) -> Option<u64> {
        if start >= end {
            return None;
        }
        let overlapping = self.0.range(..end).rev().take_while(|(_, to)| **to > start);
        overlapping.last().map(|(from, _)| (*from).max(start))
    }

    /// Makes the set empty.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn intervals_hold_just_what_a_set_of_addresses_would(steps in proptest::collection::vec((0..3_u8, 0..60_u64, 0..20_u64), 1..40)) {
            let (mut intervals, mut model) = (Intervals::default(), std::collections::BTreeSet::new());
            for (kind, start, length) in steps {
                let range = start..start + length;
                match kind {
                    0 => {
                        intervals.insert(range.start, range.end);
                        model.extend(range);
                    }
                    1 => {
                        intervals.remove(range.start, range.end);
                        model.retain(|address| !range.contains(address));
                    }
                    _ => assert_eq!(intervals.first_in(range.start, range.end), model.range(range).next().copied()),
                }
            }
        }
    }
}
