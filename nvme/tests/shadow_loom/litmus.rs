//! What the checker can see: the two classic shapes that shadow doorbells are made of, with each barrier that they might have.
//!
//! Each test names every outcome that must be possible and every one that must not.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use loom::sync::atomic::{AtomicU32, Ordering, fence};
use loom::thread;

use crate::explore;

/// A barrier, or none.
#[derive(Clone, Copy, Debug)]
enum Barrier {
    None,
    /// A read and write of a third word, as the models mark their barriers with.
    Mark,
    /// Between stores: `DMB OSHST`, and what a release store has.
    Stores,
    /// Behind loads: `DMB OSHLD`, and what an acquire load has.
    Loads,
    Full,
}

struct Words {
    mine: AtomicU32,
    yours: AtomicU32,
    mark: AtomicU32,
}

impl Words {
    fn barrier(&self, barrier: Barrier) {
        match barrier {
            Barrier::None => {}
            Barrier::Mark => {
                self.mark.fetch_add(1, Ordering::Relaxed);
            }
            Barrier::Stores => fence(Ordering::Release),
            Barrier::Loads => fence(Ordering::Acquire),
            Barrier::Full => fence(Ordering::SeqCst),
        }
    }
}

/// The outcomes of two threads over two words, in every order.
fn outcomes(
    one: impl Fn(&Words) -> u32 + Send + Sync + Copy + 'static,
    other: impl Fn(&Words) -> u32 + Send + Sync + Copy + 'static,
) -> BTreeSet<(u32, u32)> {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let kept = Arc::clone(&seen);
    let explored = explore(None, move || {
        let words = Arc::new(Words { mine: AtomicU32::new(0), yours: AtomicU32::new(0), mark: AtomicU32::new(0) });
        let theirs = Arc::clone(&words);
        let thread = thread::spawn(move || other(&theirs));
        let first = one(&words);
        let second = thread.join().unwrap_or_else(|_| panic!("the other thread"));
        kept.lock().unwrap_or_else(PoisonError::into_inner).insert((first, second));
    });
    assert_eq!(explored.wrong, None);
    seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Each side writes its word, then reads the other's.
fn store_buffering(one: Barrier, other: Barrier) -> BTreeSet<(u32, u32)> {
    outcomes(
        move |words| {
            words.mine.store(1, Ordering::Relaxed);
            words.barrier(one);
            words.yours.load(Ordering::Relaxed)
        },
        move |words| {
            words.yours.store(1, Ordering::Relaxed);
            words.barrier(other);
            words.mine.load(Ordering::Relaxed)
        },
    )
}

/// One side writes the content and then the flag, the other reads the flag and then the content.
fn message_passing(one: Barrier, other: Barrier) -> BTreeSet<(u32, u32)> {
    outcomes(
        move |words| {
            words.mine.store(1, Ordering::Relaxed);
            words.barrier(one);
            words.yours.store(1, Ordering::Relaxed);
            0
        },
        move |words| {
            let flag = words.yours.load(Ordering::Relaxed);
            words.barrier(other);
            2 * flag + words.mine.load(Ordering::Relaxed)
        },
    )
}

#[test]
fn two_full_barriers_keep_two_sides_from_both_reading_the_old_word() {
    let seen = store_buffering(Barrier::Full, Barrier::Full);
    assert_eq!(seen, BTreeSet::from([(0, 1), (1, 0), (1, 1)]));
}

#[test]
fn with_anything_less_on_either_side_both_can_read_the_old_word() {
    let all = BTreeSet::from([(0, 0), (0, 1), (1, 0), (1, 1)]);
    for less in [Barrier::None, Barrier::Mark, Barrier::Stores, Barrier::Loads] {
        assert_eq!(store_buffering(less, Barrier::Full), all, "{less:?} on one side");
        assert_eq!(store_buffering(Barrier::Full, less), all, "{less:?} on the other side");
        assert_eq!(store_buffering(less, less), all, "{less:?} on both sides");
    }
}

#[test]
fn content_is_there_with_its_flag_exactly_if_both_sides_have_their_barrier() {
    let stale = (0, 2);
    assert_eq!(message_passing(Barrier::Stores, Barrier::Loads), BTreeSet::from([(0, 0), (0, 1), (0, 3)]));
    assert!(message_passing(Barrier::None, Barrier::Loads).contains(&stale));
    assert!(message_passing(Barrier::Stores, Barrier::None).contains(&stale));
}
