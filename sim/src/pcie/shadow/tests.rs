//! The functions by themselves, and against a host in every order of steps, with stores that become visible late.

use super::*;

/// Two words without anybody else.
#[derive(Default)]
struct Still {
    shadow: u32,
    event: u32,
    barriers: u32,
    processed: Vec<u16>,
    /// Added to the shadow by each process, while there are any: a host that never stops.
    adds: u32,
    stops: bool,
}

impl SharedWords for Still {
    fn load(&mut self, offset: u64) -> u32 {
        assert_eq!(offset, 8);
        self.shadow
    }

    fn store(&mut self, offset: u64, value: u32) {
        assert_eq!(offset, 8);
        self.event = value;
    }

    fn full_barrier(&mut self) {
        self.barriers += 1;
    }
}

impl Server for Still {
    fn process(&mut self, tail: u16) -> bool {
        self.processed.push(tail);
        self.shadow = (self.shadow + self.adds) % 16;
        !self.stops
    }
}

const ENTRY: Entry = Entry { offset: 8, size: 16 };

#[test]
fn a_wake_takes_everything_sets_the_event_index_and_looks_again_behind_the_barrier() {
    let mut still = Still { shadow: 5, ..Still::default() };
    assert_eq!(wake(&mut still, ENTRY, Variant::default()), Ok(Outcome::Asleep));
    assert_eq!((still.processed, still.event, still.barriers), (vec![5], 5, 1));
}

#[test]
fn a_host_that_never_stops_does_not_keep_a_wake_for_ever() {
    let mut still = Still { adds: 7, ..Still::default() };
    assert_eq!(wake(&mut still, ENTRY, Variant::default()), Ok(Outcome::Busy));
    assert_eq!(still.processed.len(), ROUNDS as usize);
}

#[test]
fn a_wake_that_has_to_stop_leaves_the_event_index_behind() {
    let mut still = Still { shadow: 5, stops: true, ..Still::default() };
    assert_eq!(wake(&mut still, ENTRY, Variant::default()), Ok(Outcome::Stopped));
    assert_eq!(still.event, 0);
}

#[test]
fn values_that_no_queue_can_have_are_refused() {
    for value in [16, 17, 0xffff, 0x1_0000, 0x1_0001, u32::MAX] {
        let mut still = Still { shadow: value, ..Still::default() };
        assert_eq!(wake(&mut still, ENTRY, Variant::default()), Err(InvalidValue { value }));
        assert_eq!(still.processed, []);
        assert_eq!(room(&mut still, ENTRY, 0, 15, Variant::default()), Err(InvalidValue { value }));
    }
    // Between the tail and the head there is nothing that a host can have taken.
    let mut still = Still { shadow: 4, ..Still::default() };
    assert_eq!(room(&mut still, Entry { offset: 8, size: 16 }, 5, 4, Variant::default()), Ok(Some(4)));
    let mut still = Still { shadow: 3, ..Still::default() };
    assert_eq!(room(&mut still, Entry { offset: 8, size: 5 }, 0, 4, Variant::default()), Ok(Some(3)));
}

#[test]
fn a_polling_device_has_all_ones_and_a_lazy_one_nothing() {
    for (event_index, event) in [(EventIndex::AllOnes, u32::MAX), (EventIndex::Never, 0), (EventIndex::Kept, 3)] {
        let mut still = Still { shadow: 3, ..Still::default() };
        let variant = Variant { event_index, ..Variant::default() };
        assert_eq!(wake(&mut still, ENTRY, variant), Ok(Outcome::Asleep));
        assert_eq!(still.event, event);
    }
}

#[test]
fn a_queue_with_room_is_not_looked_at() {
    let mut still = Still { shadow: u32::MAX, ..Still::default() };
    assert_eq!(room(&mut still, ENTRY, 3, 1, Variant::default()), Ok(Some(3)));
    assert_eq!((still.barriers, still.event), (0, 0));
}

/// Choices of one run, and the way to the next run: a depth-first walk through all of them.
#[derive(Default)]
struct Choices {
    made: Vec<(usize, usize)>,
    at: usize,
}

impl Choices {
    fn choose(&mut self, count: usize) -> usize {
        if self.at == self.made.len() {
            self.made.push((0, count));
        }
        self.at += 1;
        self.made[self.at - 1].0
    }

    fn next(&mut self) -> bool {
        self.at = 0;
        while let Some((choice, count)) = self.made.pop() {
            if choice + 1 < count {
                self.made.push((choice + 1, count));
                return true;
            }
        }
        false
    }
}

/// A host that moves one doorbell on, and the memory between: a store is visible to the other side at any time after it was made,
/// at the latest at the barrier of its own side.
struct World<'a> {
    choices: &'a mut Choices,
    shadow: u32,
    event: u32,
    host_store: Option<u32>,
    device_store: Option<u32>,
    host_barrier: bool,
    /// Values that the host has still to tell.
    values: Vec<u16>,
    step: u32,
    told: u16,
    new: u16,
    rung: bool,
    taken: u16,
}

impl<'a> World<'a> {
    fn new(choices: &'a mut Choices, host_barrier: bool, values: &[u16]) -> Self {
        let values = values.iter().rev().copied().collect();
        let (host_store, device_store, rung) = (None, None, false);
        Self {
            choices,
            shadow: 0,
            event: 0,
            host_store,
            device_store,
            host_barrier,
            values,
            step: 0,
            told: 0,
            new: 0,
            rung,
            taken: 0,
        }
    }

    fn host_is_done(&self) -> bool {
        self.step == 0 && self.values.is_empty()
    }

    fn show_host(&mut self) {
        self.shadow = self.host_store.take().unwrap_or(self.shadow);
    }

    fn show_device(&mut self) {
        self.event = self.device_store.take().unwrap_or(self.event);
    }

    /// One step of the host: store, barrier, load and ring.
    fn host(&mut self) {
        match self.step {
            0 => {
                let Some(new) = self.values.pop() else { return };
                self.show_host();
                (self.new, self.host_store, self.step) = (new, Some(new.into()), 1);
            }
            1 => {
                if self.host_barrier {
                    self.show_host();
                }
                self.step = 2;
            }
            _ => {
                let event = (self.event & 0xffff) as u16;
                let asks = self.new.wrapping_sub(event).wrapping_sub(1) < self.new.wrapping_sub(self.told);
                self.rung |= asks;
                (self.told, self.step) = (self.new, 0);
            }
        }
    }

    /// Before each step of the device, and while it sleeps, anything else may happen, in any number.
    fn others(&mut self) {
        loop {
            let mut may: Vec<fn(&mut Self)> = vec![|_| {}];
            if !self.host_is_done() {
                may.push(Self::host);
            }
            if self.host_store.is_some() {
                may.push(Self::show_host);
            }
            if self.device_store.is_some() {
                may.push(Self::show_device);
            }
            let choice = if may.len() == 1 { 0 } else { self.choices.choose(may.len()) };
            may[choice](self);
            if choice == 0 {
                return;
            }
        }
    }

    /// Sleeps until the host rings; false if it never will.
    fn sleep(&mut self) -> bool {
        while !self.rung {
            if self.host_is_done() {
                self.show_host();
                return false;
            }
            self.host();
            self.others();
        }
        // The doorbell's write comes behind what was stored before it.
        self.show_host();
        self.rung = false;
        true
    }
}

impl SharedWords for World<'_> {
    fn load(&mut self, _: u64) -> u32 {
        self.others();
        self.shadow
    }

    fn store(&mut self, _: u64, value: u32) {
        self.others();
        self.show_device();
        self.device_store = Some(value);
    }

    fn full_barrier(&mut self) {
        self.others();
        self.show_device();
    }
}

impl Server for World<'_> {
    fn process(&mut self, tail: u16) -> bool {
        self.others();
        self.taken = tail;
        true
    }
}

/// Whether there is an order in which a submission queue with entries sleeps for ever; and how many orders there are.
fn loses_tails(variant: Variant, host_barrier: bool) -> (bool, u64) {
    let (mut choices, mut orders) = (Choices::default(), 0);
    loop {
        orders += 1;
        let mut world = World::new(&mut choices, host_barrier, &[1, 2]);
        while world.sleep() {
            while wake(&mut world, ENTRY, variant) == Ok(Outcome::Busy) {}
        }
        if world.taken != 2 {
            return (true, orders);
        }
        if !choices.next() {
            return (false, orders);
        }
    }
}

/// The same for a completion queue of 3 entries that is full, with one more completion after each that finds room.
fn loses_heads(variant: Variant, host_barrier: bool) -> (bool, u64) {
    let entry = Entry { offset: 8, size: 3 };
    let (mut choices, mut orders) = (Choices::default(), 0);
    loop {
        orders += 1;
        let mut world = World::new(&mut choices, host_barrier, &[1, 2]);
        let (mut head, mut tail, mut posted) = (0, 2, 0);
        loop {
            while posted < 2 {
                let Ok(Some(now)) = room(&mut world, entry, head, tail, variant) else { break };
                (head, tail, posted) = (now, (tail + 1) % 3, posted + 1);
            }
            if posted == 2 || !world.sleep() {
                break;
            }
        }
        if posted != 2 {
            return (true, orders);
        }
        if !choices.next() {
            return (false, orders);
        }
    }
}

#[test]
fn no_order_of_steps_loses_a_tail_unless_a_barrier_or_the_event_index_is_left_out() {
    let (lost, orders) = loses_tails(Variant::default(), true);
    assert!(!lost && orders > 1000, "{orders} orders");
    assert!(loses_tails(Variant { barrier: false, ..Variant::default() }, true).0);
    assert!(loses_tails(Variant { event_index: EventIndex::Never, ..Variant::default() }, true).0);
    assert!(loses_tails(Variant { event_index: EventIndex::AllOnes, ..Variant::default() }, true).0);
    assert!(loses_tails(Variant::default(), false).0);
}

#[test]
fn no_order_of_steps_loses_a_head_unless_a_barrier_or_the_event_index_is_left_out() {
    let (lost, orders) = loses_heads(Variant::default(), true);
    assert!(!lost && orders > 100, "{orders} orders");
    assert!(loses_heads(Variant { barrier: false, ..Variant::default() }, true).0);
    assert!(loses_heads(Variant { event_index: EventIndex::Never, ..Variant::default() }, true).0);
    assert!(loses_heads(Variant::default(), false).0);
}
