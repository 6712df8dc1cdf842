//! Shadow doorbells: both binding orders, event indices, every variant of device, hostile and careless hosts.

use hal::{DmaPool, Mmio};
use sim::pcie::shadow::EventIndex;
use sim::pcie::{ControllerConfig, Doorbells};

use crate::host::{Host, Pair, Ringing, Script};

pub(crate) fn config(doorbells: Doorbells) -> ControllerConfig {
    ControllerConfig { doorbells, ..ControllerConfig::new() }
}

pub(crate) fn wakes() -> Doorbells {
    Doorbells::default()
}

pub(crate) const LINGERS: Doorbells = Doorbells::Wakes { wake_ns: 500, settle_ns: 20_000, look_again_ns: 5_000 };
pub(crate) const POLLS: Doorbells = Doorbells::Polls { every_ns: 3_000, event_index: EventIndex::AllOnes };
const LAGS: Doorbells = Doorbells::Polls { every_ns: 3_000, event_index: EventIndex::Never };

/// Reads `count` blocks with up to `depth` commands in flight on queue 1, and checks that every one of them completes.
#[track_caller]
pub(crate) fn stream(host: &mut Host, count: u32, depth: u32) {
    let data = host.data;
    let (mut sent, mut done) = (0, 0);
    while done < count {
        while sent < count && sent - done < depth {
            let at = data + u64::from(sent % (2 * depth)) * 512;
            host.submit(1, Script::read(0, 1, [at, 0]));
            sent += 1;
        }
        let entry = host.wait_for(1, 50_000_000).unwrap_or_else(|| panic!("stalled after {done} of {count}"));
        assert_eq!(entry.status, 0);
        done += 1;
    }
}

#[test]
fn every_device_serves_a_host_that_follows_its_event_indices() {
    for doorbells in [wakes(), LINGERS, POLLS, LAGS, Doorbells::NeedsMmio] {
        for depth in [1, 3, 15] {
            for before in [true, false] {
                let mut host = Host::enabled(config(doorbells));
                if before {
                    host.bind();
                    host.create_pair(1, 16);
                } else {
                    host.create_pair(1, 16);
                    host.bind();
                }
                stream(&mut host, 200, depth);
                host.shut_down();
                host.board.finish();
                host.assert_clean();
            }
        }
    }
}

#[test]
fn a_device_that_stays_awake_spares_doorbells_and_one_that_needs_them_gets_all() {
    let doorbells = |device| {
        let mut host = Host::up(config(device));
        host.bind();
        stream(&mut host, 300, 15);
        host.assert_clean();
        host.board.counters().submission_doorbells
    };
    assert_eq!(doorbells(Doorbells::NeedsMmio), 300);
    assert!(doorbells(LINGERS) < 150);
    // Once per lap of the ring at most: 0xffff lies between the old and the new tail only where the index wraps.
    assert!(doorbells(POLLS) <= 300 / 16 + 2);
}

#[test]
fn the_admin_queue_goes_by_mmio_whatever_the_shadow_says() {
    for doorbells in [wakes(), LINGERS, POLLS, LAGS, Doorbells::NeverUpdates, Doorbells::NeedsMmio] {
        let mut host = Host::up(config(doorbells));
        let (shadow, events) = host.bind();
        let identify = Script::identify(1, 0, host.data);
        // A host that goes by MMIO alone.
        assert_eq!(host.admin(identify).status, 0);
        // One that stores to its shadow as well, and rings when the event index lies behind the new tail.
        for _ in 0..70 {
            let old = host.pair(0).tail;
            host.place(0, &identify);
            let new = host.pair(0).tail;
            host.put(shadow, &u32::from(new).to_le_bytes());
            host.pool.order();
            let event = (host.pool.read_word(events) & 0xffff) as u16;
            assert!(new.wrapping_sub(event).wrapping_sub(1) < new.wrapping_sub(old), "{event} {old} {new}");
            host.bar.write32(0x1000, new.into());
            assert_eq!(host.wait(0).status, 0);
        }
        // Nonsense in the admin queue's entries means nothing.
        host.put(shadow, &[0xff; 8]);
        host.pool.order();
        assert_eq!(host.admin(identify).status, 0);
        host.assert_clean();
    }
}

#[test]
fn mmio_is_a_wake_up_and_its_value_is_not_believed_over_the_shadow() {
    let mut host = Host::up(config(wakes()));
    host.bind();
    let data = host.data;
    host.place(1, &Script::read(0, 1, [data, 0]));
    host.ring(1);
    assert_eq!(host.wait(1).status, 0);
    // The shadow says 1, MMIO says 9.
    host.bar.write32(0x1008, 9);
    assert_eq!((host.board.in_flight(), host.board.io_commands()), (0, 1));
    host.assert_clean();
}

#[test]
fn a_host_that_stores_to_its_pages_and_rings_always_is_served_once() {
    for doorbells in [wakes(), LINGERS, POLLS, Doorbells::NeverUpdates, Doorbells::NeedsMmio] {
        let mut host = Host::up(config(doorbells));
        host.bind();
        host.ringing = Ringing::Both;
        stream(&mut host, 100, 15);
        assert_eq!(host.board.io_commands(), 100);
        host.assert_clean();
    }
}

#[test]
fn a_host_that_never_stores_to_its_pages_is_served_by_a_device_that_goes_by_mmio_alone() {
    for doorbells in [wakes(), LINGERS, POLLS, Doorbells::NeedsMmio] {
        let mut host = Host::up(config(doorbells));
        host.bind();
        host.ringing = Ringing::MmioOnly;
        if doorbells == Doorbells::NeedsMmio {
            stream(&mut host, 100, 15);
        } else {
            let data = host.data;
            host.submit(1, Script::read(0, 1, [data, 0]));
            assert_eq!(host.wait_for(1, 100_000_000), None);
        }
        host.assert_clean();
    }
}

#[test]
fn a_sleeping_device_that_never_updates_event_indices_hangs_a_host_that_believes_them() {
    let mut host = Host::up(config(Doorbells::NeverUpdates));
    host.bind();
    let data = host.data;
    assert_eq!(host.io(Script::read(0, 1, [data, 0])).status, 0);
    host.submit(1, Script::read(0, 1, [data, 0]));
    assert_eq!(host.wait_for(1, 1_000_000_000), None);
    // The watchdog of a host rings again.
    host.bar.write32(0x1008, 2);
    assert_eq!(host.wait(1).status, 0);
    host.assert_clean();
}

#[test]
fn a_sleeping_device_does_not_see_a_host_that_does_not_ring_at_all() {
    let mut host = Host::up(config(wakes()));
    host.bind();
    let data = host.data;
    host.ringing = Ringing::Silent;
    host.submit(1, Script::read(0, 1, [data, 0]));
    assert_eq!(host.wait_for(1, 1_000_000_000), None);
    let mut host = Host::up(config(POLLS));
    host.bind();
    host.ringing = Ringing::Silent;
    stream(&mut host, 100, 15);
    host.assert_clean();
}

#[test]
fn what_is_stored_between_work_and_sleep_is_not_lost() {
    // At every moment of the way to sleep, and a little after.
    for moment in (0..40_000).step_by(700) {
        let mut host = Host::up(config(LINGERS));
        host.bind();
        let data = host.data;
        host.submit(1, Script::read(0, 1, [data, 0]));
        host.board.pass(moment);
        host.submit(1, Script::read(0, 1, [data + 512, 0]));
        assert_eq!((host.wait(1).status, host.wait(1).status), (0, 0), "{moment}");
        host.assert_clean();
    }
}

/// A pair with a completion queue of 4 entries.
fn narrow(host: &mut Host) {
    let pair: Pair = host.new_pair(1, 32);
    assert_eq!(host.admin(Script::create_completions(1, 4, pair.completions)).status, 0);
    assert_eq!(host.admin(Script::create_submissions(1, 32, pair.submissions)).status, 0);
    host.pairs.push(pair);
}

#[test]
fn a_full_completion_queue_looks_at_the_shadow_head_and_arms_its_event_index() {
    for doorbells in [wakes(), LINGERS, POLLS, Doorbells::NeedsMmio] {
        let mut host = Host::enabled(config(doorbells));
        narrow(&mut host);
        let (_, events) = host.bind();
        let data = host.data;
        for at in 0..20 {
            host.submit(1, Script::read(0, 1, [data + at * 512, 0]));
        }
        host.pair(1).size = 4;
        host.board.pass(3_000_000);
        for round in 0..20 {
            let entry = host.wait_for(1, 5_000_000).unwrap_or_else(|| panic!("{doorbells:?} stalled after {round}"));
            assert_eq!(entry.status, 0);
        }
        assert!(host.board.counters().queue_full > 0);
        assert!(host.pool.read_word(events + 12) < 4 || doorbells == POLLS);
        host.assert_clean();
    }
}

#[test]
fn heads_told_by_the_shadow_alone_make_room_without_mmio() {
    let mut host = Host::enabled(config(wakes()));
    host.create_pair(1, 4);
    host.bind();
    let data = host.data;
    for _ in 0..50 {
        assert_eq!(host.io(Script::read(0, 1, [data, 0])).status, 0);
    }
    let counters = host.board.counters();
    assert!(counters.completion_doorbells < 25, "{}", counters.completion_doorbells);
    assert!(!host.board.interrupt(), "the line follows shadow heads");
    host.assert_clean();
}

#[test]
fn a_device_short_of_slots_comes_back_to_the_shadow_by_itself() {
    for doorbells in [wakes(), LINGERS, POLLS] {
        let mut host = Host::up(ControllerConfig { request_slots: 1, ..config(doorbells) });
        host.bind();
        stream(&mut host, 100, 15);
        host.assert_clean();
    }
}

#[test]
fn a_hostile_tail_is_caught_told_and_neither_followed_nor_a_hang() {
    for (hostile, doorbells) in [(16, wakes()), (0x1_0001, LINGERS), (0xffff_ffff, POLLS), (0x8000, wakes())] {
        let mut host = Host::up(config(doorbells));
        let (shadow, _) = host.bind();
        host.submit(0, Script::admin(12, 0, 0));
        host.put(shadow + 8, &u32::to_le_bytes(hostile));
        host.pool.order();
        host.bar.write32(0x1008, 1);
        let told = host.wait(0);
        assert_eq!(told.result, 1 << 16 | 1 << 8);
        host.board.pass(1_000_000);
        assert_eq!(host.board.io_commands(), 0);
        host.assert_only("shadow-doorbell-value");
        assert_eq!(host.board.violations().len(), 1, "told once");
        // A good value afterwards works.
        let data = host.data;
        host.place(1, &Script::read(0, 1, [data, 0]));
        host.put(shadow + 8, &1_u32.to_le_bytes());
        host.pool.order();
        host.bar.write32(0x1008, 1);
        assert_eq!(host.wait(1).status, 0);
    }
}

#[test]
fn a_hostile_head_is_caught_and_overwrites_nothing() {
    for hostile in [4_u32, 0x1_0000, 3] {
        let mut host = Host::enabled(config(wakes()));
        narrow(&mut host);
        let (shadow, _) = host.bind();
        let data = host.data;
        host.submit(1, Script::read(0, 1, [data, 0]));
        host.board.pass(1_000_000);
        host.put(shadow + 12, &hostile.to_le_bytes());
        host.pool.order();
        host.bar.write32(0x100c, 1);
        host.assert_only("shadow-doorbell-value");
        if hostile == 3 {
            // It can be true once two more entries stand.
            continue;
        }
        (1..10).for_each(|at| _ = host.submit(1, Script::read(0, 1, [data + at * 512, 0])));
        host.board.pass(5_000_000);
        assert!(host.board.counters().queue_full > 0);
        assert_eq!(host.take(1).unwrap().id, 0, "the first entry still stands");
    }
}
