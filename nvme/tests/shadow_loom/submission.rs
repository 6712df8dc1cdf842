//! A submission queue: the host announces tails while the device wakes, looks, takes and goes to sleep.
//!
//! The device looks once on its own account, as one that is still awake or serves other queues may at any time, and then as
//! often as a model says when it hears of the register. What it has not heard of when the host is done it hears of afterwards:
//! such a wake-up is under way, and nothing is lost by it. Without one, a device that sleeps has to have taken everything.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use loom::sync::atomic::{Ordering, fence};
use loom::thread;
use nvme::transport::pcie::shadow::announce;
use sim::pcie::shadow::{
    Entry, EventIndex, InvalidValue, Next, Outcome, Server, SharedWords, Variant, arm, look, look_again, wake,
};

use crate::words::{Device, Host, OFFSET, Omission, Shared};
use crate::{Explored, explore, holds, is_broken};

const KEPT: Variant = Variant { barrier: true, event_index: EventIndex::Kept };
const NEVER: Variant = Variant { barrier: true, event_index: EventIndex::Never };
const ALL_ONES: Variant = Variant { barrier: true, event_index: EventIndex::AllOnes };
const NO_BARRIER: Variant = Variant { barrier: false, event_index: EventIndex::Kept };

/// What is wrong with a device that sleeps over an entry.
const ASLEEP: &str = "the device sleeps, nothing rings, and the tail has moved on";

/// What the device does when it is awake.
#[derive(Clone, Copy, Debug)]
enum Behaviour {
    /// Wakes as it should, or in a variant.
    Wake(Variant),
    /// Looks once in a variant without going to sleep by it, and then wakes as it should.
    LookThenWake(Variant),
    /// Sets the event index behind the second look, so that the index is stale during it.
    ArmLate,
    /// Never sleeps.
    Poll(Variant),
}

#[derive(Clone, Copy, Debug)]
struct Model {
    size: u16,
    /// The tail up to which everything was taken when the model starts.
    start: u16,
    /// What the pages say at the start: shadow doorbell and event index.
    pages: (u16, u16),
    /// Entries in each announcement.
    batches: &'static [u16],
    /// Whether the device looks once on its own account.
    awake: bool,
    /// How often the device may hear of the register while the host runs.
    wakes: u32,
    behaviour: Behaviour,
    omission: Omission,
}

/// One entry was taken by a device that is still awake, so that its event index is behind; one more announcement, which rings
/// only if the device gets to set its index first. Nothing is left out.
const PLAIN: Model = Model {
    size: 4,
    start: 1,
    pages: (1, 0),
    batches: &[1],
    awake: true,
    wakes: 1,
    behaviour: Behaviour::Wake(KEPT),
    omission: Omission::Nothing,
};

/// The device: what it has taken, and whether it still has to look on its own account.
struct Controller {
    shared: Arc<Shared>,
    size: u16,
    head: u16,
    taken: u32,
    heard: u32,
    awake: bool,
}

impl SharedWords for Controller {
    fn load(&mut self, offset: u64) -> u32 {
        Device { shared: &self.shared }.load(offset)
    }

    fn store(&mut self, offset: u64, value: u32) {
        Device { shared: &self.shared }.store(offset, value);
    }

    fn full_barrier(&mut self) {
        Device { shared: &self.shared }.full_barrier();
    }
}

impl Server for Controller {
    fn process(&mut self, tail: u16) -> bool {
        fence(Ordering::Acquire);
        while self.head != tail {
            self.taken += 1;
            let content = self.shared.entries[usize::from(self.head)].load(Ordering::Relaxed);
            assert_eq!(content, self.taken, "an entry is taken that is not there");
            self.head = (self.head + 1) % self.size;
        }
        true
    }
}

impl Controller {
    fn run(&mut self, behaviour: Behaviour) {
        let entry = Entry { offset: OFFSET.into(), size: self.size };
        let outcome = match behaviour {
            Behaviour::Wake(variant) | Behaviour::Poll(variant) => wake(self, entry, variant),
            Behaviour::LookThenWake(variant) => wake(self, entry, variant).and_then(|_| wake(self, entry, KEPT)),
            Behaviour::ArmLate => self.arm_late(entry),
        };
        self.awake = match outcome {
            Ok(Outcome::Asleep) => matches!(behaviour, Behaviour::Poll(_)),
            Ok(Outcome::Stopped | Outcome::Busy) => true,
            Err(InvalidValue { value }) => panic!("the tail {value} is none"),
        };
    }

    /// `wake` with its steps in the wrong order.
    fn arm_late(&mut self, entry: Entry) -> Result<Outcome, InvalidValue> {
        let mut tail = look(self, entry)?;
        self.process(tail);
        while let Next::GoOn(further) = look_again(self, entry, tail, KEPT)? {
            tail = further;
            self.process(tail);
        }
        arm(self, entry, tail, KEPT);
        Ok(Outcome::Asleep)
    }

    /// Whether the register was written since it was asked.
    fn hears(&mut self) -> bool {
        let rings = self.shared.rings();
        let new = rings != self.heard;
        self.heard = rings;
        new
    }
}

impl Model {
    fn host(&self, shared: &Shared) -> u32 {
        let words = Host { shared, omission: self.omission };
        let (mut tail, mut placed) = (self.start, 0);
        for batch in self.batches {
            let old = tail;
            for _ in 0..*batch {
                placed += 1;
                shared.entries[usize::from(tail)].store(placed, Ordering::Relaxed);
                tail = (tail + 1) % self.size;
            }
            if announce(&words, OFFSET.into(), old, tail) {
                shared.ring();
            }
        }
        placed
    }

    /// One execution; how often the register was written.
    fn run(&self) -> u32 {
        let shared = Arc::new(Shared::new(self.size, self.pages.0, self.pages.1));
        let (behaviour, wakes) = (self.behaviour, self.wakes);
        let mut controller = Controller {
            shared: Arc::clone(&shared),
            size: self.size,
            head: self.start,
            taken: 0,
            heard: 0,
            awake: self.awake,
        };
        let device = thread::spawn(move || {
            if controller.awake {
                controller.run(behaviour);
            }
            for _ in 0..wakes {
                if controller.hears() || controller.awake {
                    controller.run(behaviour);
                }
            }
            controller
        });
        let placed = self.host(&shared);
        let mut controller = device.join().unwrap_or_else(|_| panic!("the device's thread"));
        if controller.hears() || controller.awake {
            controller.run(behaviour);
        }
        assert_eq!(controller.taken, placed, "{ASLEEP}");
        shared.rings()
    }

    fn explore(self, bound: Option<usize>) -> Explored {
        explore(bound, move || {
            self.run();
        })
    }
}

/// A new queue, of which the device knows nothing before it is rung.
const NEW: Model = Model { start: 0, pages: (0, 0), batches: &[1, 1], awake: false, ..PLAIN };

/// A queue that was taken up to its third place, so that its tail is about to wrap.
const WRAPPING: Model = Model { start: 2, pages: (2, 1), batches: &[1, 1, 1], ..PLAIN };

#[test]
fn no_tail_is_lost_with_one_announcement() {
    holds("one announcement, three wakes", Model { wakes: 3, ..PLAIN }.explore(None));
    holds("one announcement of two entries", Model { batches: &[2], ..PLAIN }.explore(None));
    holds("one announcement over the end", Model { batches: &[3], ..WRAPPING }.explore(None));
}

#[test]
fn the_register_is_spared_in_some_orders_and_written_in_others() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let kept = Arc::clone(&seen);
    let explored = explore(None, move || {
        let rings = PLAIN.run();
        kept.lock().unwrap_or_else(PoisonError::into_inner).insert(rings);
    });
    holds("one announcement", explored);
    assert_eq!(*seen.lock().unwrap_or_else(PoisonError::into_inner), BTreeSet::from([0, 1]));
}

#[test]
fn no_tail_is_lost_with_two_announcements() {
    holds("two announcements, woken after them", Model { batches: &[1, 1], wakes: 0, ..PLAIN }.explore(None));
    holds("two announcements, at most 4 preemptions", Model { batches: &[1, 1], ..PLAIN }.explore(Some(4)));
    holds("two announcements in a new queue", NEW.explore(None));
}

#[test]
fn no_tail_is_lost_with_three_announcements_over_the_end_of_the_queue() {
    holds("three announcements over the end, at most 3 preemptions", WRAPPING.explore(Some(3)));
    let after = Model { wakes: 0, ..WRAPPING };
    holds("three announcements over the end, woken after them, at most 4 preemptions", after.explore(Some(4)));
}

#[test]
fn an_event_index_left_behind_while_the_device_is_awake_loses_nothing_if_it_is_set_before_sleep() {
    for variant in [NEVER, ALL_ONES] {
        let name = format!("looked with {:?} before, at most 3 preemptions", variant.event_index);
        let behaviour = Behaviour::LookThenWake(variant);
        holds(&name, Model { batches: &[1, 1], behaviour, ..PLAIN }.explore(Some(3)));
        holds(&name, Model { batches: &[2], behaviour, ..WRAPPING }.explore(Some(3)));
    }
}

#[test]
fn a_device_that_polls_loses_nothing_and_is_never_rung_but_at_the_end_of_the_queue() {
    // It sets its index to all ones, or leaves such a one as it is: no tail passes that, short of the wrap.
    for variant in [ALL_ONES, NEVER] {
        let name = format!("polls with {:?}, at most 3 preemptions", variant.event_index);
        let model = Model { wakes: 2, behaviour: Behaviour::Poll(variant), ..PLAIN };
        let before = Model { pages: (1, u16::MAX), batches: &[1, 1], ..model };
        holds(&name, explore(Some(3), move || assert_eq!(before.run(), 0, "a device that polls was rung")));
        let wrapping = Model { start: 2, pages: (2, u16::MAX), batches: &[1, 1, 1], ..model };
        holds(&name, explore(Some(3), move || assert_eq!(wrapping.run(), 1, "rung once, at the wrap")));
    }
}

#[test]
fn a_host_without_the_full_barrier_is_found_to_lose_a_tail() {
    for omission in [Omission::Order, Omission::OrderStoresOnly] {
        let name = format!("host without {omission:?}");
        is_broken(&name, ASLEEP, Model { omission, ..PLAIN }.explore(None));
        is_broken(&name, ASLEEP, Model { omission, ..WRAPPING }.explore(None));
        is_broken(&name, ASLEEP, Model { omission, ..NEW }.explore(None));
    }
}

#[test]
fn a_device_without_the_full_barrier_is_found_to_lose_a_tail() {
    let behaviour = Behaviour::Wake(NO_BARRIER);
    for model in [PLAIN, WRAPPING, NEW] {
        is_broken("device without the barrier", ASLEEP, Model { behaviour, ..model }.explore(None));
    }
}

#[test]
fn a_device_that_sleeps_without_its_event_index_is_found_to_lose_a_tail() {
    for variant in [NEVER, ALL_ONES] {
        let name = format!("device that sleeps with {:?}", variant.event_index);
        let behaviour = Behaviour::Wake(variant);
        for model in [PLAIN, NEW] {
            is_broken(&name, ASLEEP, Model { behaviour, ..model }.explore(None));
        }
    }
}

#[test]
fn a_device_whose_event_index_is_stale_during_its_second_look_is_found_to_lose_a_tail() {
    let model = Model { behaviour: Behaviour::ArmLate, ..PLAIN };
    is_broken("event index set behind the second look", ASLEEP, model.explore(None));
}

#[test]
fn a_host_that_leaves_the_pages_of_an_earlier_life_uncleared_is_found_broken() {
    // The earlier life ended at 3, ahead of what this one announces first.
    is_broken("stale event index", ASLEEP, Model { pages: (0, 3), ..NEW }.explore(None));
    let stale = Model { pages: (3, 0), awake: true, ..NEW };
    is_broken("stale shadow doorbell", "is taken that is not there", stale.explore(None));
}

#[test]
fn a_host_that_does_not_publish_its_entries_is_found_broken() {
    let model = Model { omission: Omission::Publish, ..PLAIN };
    is_broken("host without Publish", "is taken that is not there", model.explore(None));
}
