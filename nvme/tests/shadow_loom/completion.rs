//! A completion queue: the device posts until the queue is full by the head that it knows, and sleeps; the host reads, and
//! announces its head.
//!
//! Here the register wakes a device that waits for room. At the end of both threads whoever has something to do does it, until
//! neither has: then every completion was posted and read, or the queue stands still for ever.

use std::sync::Arc;

use loom::sync::atomic::{Ordering, fence};
use loom::thread;
use nvme::transport::pcie::shadow::announce;
use sim::pcie::shadow::{Entry, EventIndex, InvalidValue, Variant, room};

use crate::words::{Device, Host, OFFSET, Omission, Shared};
use crate::{Explored, explore, holds, is_broken};

/// What is wrong with a queue that stands still.
const STILL: &str = "the device waits for room that it has, and nothing rings";

#[derive(Clone, Copy, Debug)]
struct Model {
    /// Entries of the queue, one of which stays free.
    size: u16,
    /// Completions that are posted when the model starts.
    posted: u32,
    /// Completions of these that are read, and announced to a device that knows of it.
    read: u32,
    /// Completions in all.
    wanted: u32,
    /// So many entries the host reads before it announces, if there are as many.
    batch: u32,
    /// How often the host looks for an entry, and the device for the register, while the other runs.
    looks: u32,
    variant: Variant,
    omission: Omission,
}

/// A queue of three, full after one entry was read, whose event index is behind; one more completion to come. Nothing is left
/// out.
const PLAIN: Model = Model {
    size: 3,
    posted: 3,
    read: 1,
    wanted: 4,
    batch: 1,
    looks: 1,
    variant: Variant { barrier: true, event_index: EventIndex::Kept },
    omission: Omission::Nothing,
};

/// The phase of the lap that completion `index` is in, as the last word that goes with it.
fn phase(index: u32, size: u16) -> u32 {
    1 + (index / u32::from(size)) % 2
}

/// Where completion `index` lies in the queue.
fn place(index: u32, size: u16) -> u16 {
    u16::try_from(index % u32::from(size)).unwrap_or(u16::MAX)
}

struct Controller {
    shared: Arc<Shared>,
    model: Model,
    head: u16,
    tail: u16,
    posted: u32,
    heard: u32,
}

impl Controller {
    /// Posts until everything is posted or there is no room.
    fn post(&mut self) {
        let entry = Entry { offset: OFFSET.into(), size: self.model.size };
        while self.posted < self.model.wanted {
            let mut words = Device { shared: &self.shared };
            match room(&mut words, entry, self.head, self.tail, self.model.variant) {
                Ok(Some(head)) => self.head = head,
                Ok(None) => return,
                Err(InvalidValue { value }) => panic!("the head {value} is none"),
            }
            fence(Ordering::Acquire);
            write(&self.shared, self.model.size, self.posted);
            self.posted += 1;
            self.tail = (self.tail + 1) % self.model.size;
        }
    }

    fn hears(&mut self) -> bool {
        let rings = self.shared.rings();
        let new = rings != self.heard;
        self.heard = rings;
        new
    }
}

/// Writes completion `index`: the phase comes last.
fn write(shared: &Shared, size: u16, index: u32) {
    let place = usize::from(place(index, size));
    shared.entries[place].store(index, Ordering::Relaxed);
    fence(Ordering::Release);
    shared.last_words[place].store(phase(index, size), Ordering::Relaxed);
}

struct Reader<'a> {
    shared: &'a Shared,
    model: Model,
    read: u32,
    /// Read and not announced.
    untold: u32,
}

impl Reader<'_> {
    /// Reads the next entry, if it is there.
    fn read(&mut self) -> bool {
        let place = usize::from(place(self.read, self.model.size));
        if self.read == self.model.wanted
            || self.shared.last_words[place].load(Ordering::Relaxed) != phase(self.read, self.model.size)
        {
            return false;
        }
        fence(Ordering::Acquire);
        let content = self.shared.entries[place].load(Ordering::Relaxed);
        assert_eq!(content, self.read, "a completion is read that is not there");
        self.read += 1;
        self.untold += 1;
        true
    }

    fn tell(&mut self) {
        let [old, new] = [self.read - self.untold, self.read].map(|index| place(index, self.model.size));
        self.untold = 0;
        if announce(&Host { shared: self.shared, omission: self.model.omission }, OFFSET.into(), old, new) {
            self.shared.ring();
        }
    }

    /// Looks so often, and announces each full batch and what is left in the end.
    fn look(&mut self, times: u32) -> bool {
        let before = self.read;
        for _ in 0..times {
            if self.read() && self.untold == self.model.batch {
                self.tell();
            }
        }
        if self.untold != 0 {
            self.tell();
        }
        self.read != before
    }
}

impl Model {
    fn run(self) {
        let [head, tail] = [self.read, self.posted].map(|index| place(index, self.size));
        let shared = Arc::new(Shared::new(self.size, head, 0));
        for index in 0..self.posted {
            write(&shared, self.size, index);
        }
        let mut controller =
            Controller { shared: Arc::clone(&shared), model: self, head, tail, posted: self.posted, heard: 0 };
        let device = thread::spawn(move || {
            controller.post();
            for _ in 0..self.looks {
                if controller.hears() {
                    controller.post();
                }
            }
            controller
        });
        let mut reader = Reader { shared: &shared, model: self, read: self.read, untold: 0 };
        reader.look(self.looks);
        let mut controller = device.join().unwrap_or_else(|_| panic!("the device's thread"));
        loop {
            let woken = controller.hears();
            if woken {
                controller.post();
            }
            if !reader.look(1) && !woken {
                break;
            }
        }
        assert_eq!((controller.posted, reader.read), (self.wanted, self.wanted), "{STILL}");
    }

    fn explore(self, bound: Option<usize>) -> Explored {
        explore(bound, move || self.run())
    }
}

/// An empty queue of two entries, so that each completion has to be read before the next; three to come, over the end.
const NEW: Model = Model { size: 2, posted: 0, read: 0, wanted: 3, looks: 3, ..PLAIN };

#[test]
fn no_room_is_lost() {
    holds("one head", Model { looks: 2, ..PLAIN }.explore(None));
    holds("a head of two entries", Model { batch: 2, looks: 2, wanted: 5, ..PLAIN }.explore(None));
    holds("two heads, at most 3 preemptions", Model { looks: 3, wanted: 5, ..PLAIN }.explore(Some(3)));
}

#[test]
fn no_room_is_lost_and_no_completion_read_early_from_an_empty_queue_on() {
    holds("a queue of two, at most 4 preemptions", NEW.explore(Some(4)));
    let three = Model { size: 3, wanted: 4, looks: 4, ..NEW };
    holds("a queue of three, at most 3 preemptions", three.explore(Some(3)));
}

#[test]
fn a_host_without_the_full_barrier_is_found_to_lose_room() {
    for omission in [Omission::Order, Omission::OrderStoresOnly] {
        for model in [PLAIN, NEW] {
            is_broken(&format!("host without {omission:?}"), STILL, Model { omission, ..model }.explore(None));
        }
    }
}

#[test]
fn a_device_without_the_full_barrier_is_found_to_lose_room() {
    let variant = Variant { barrier: false, event_index: EventIndex::Kept };
    for model in [PLAIN, NEW] {
        is_broken("device without the barrier", STILL, Model { variant, ..model }.explore(None));
    }
}

#[test]
fn a_device_that_waits_for_room_without_its_event_index_is_found_to_lose_room() {
    for event_index in [EventIndex::Never, EventIndex::AllOnes] {
        let variant = Variant { barrier: true, event_index };
        is_broken(&format!("device that waits with {event_index:?}"), STILL, Model { variant, ..NEW }.explore(None));
    }
}
