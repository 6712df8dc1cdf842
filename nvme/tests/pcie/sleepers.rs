//! Devices that sleep, poll, lag or lie about their event indices: no command is lost with any of them.

use nvme::ShadowDoorbells;
use sim::pcie::shadow::EventIndex;
use sim::pcie::{Capabilities, ControllerConfig, Doorbells, Fault};

use crate::rig::{Random, Rig, settings, stream, submit, up};

const BOTH: [ShadowDoorbells; 2] = [ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues];

fn device(doorbells: Doorbells, queue_entries: u16) -> ControllerConfig {
    let capabilities = Capabilities { queue_entries, ..Capabilities::default() };
    ControllerConfig { doorbells, capabilities, ..ControllerConfig::new() }
}

#[test]
fn every_device_that_keeps_to_the_rules_is_never_rung_in_vain() {
    for doorbells in [
        Doorbells::default(),
        Doorbells::Wakes { wake_ns: 500, settle_ns: 20_000, look_again_ns: 5_000 },
        Doorbells::Wakes { wake_ns: 50_000, settle_ns: 0, look_again_ns: 0 },
        Doorbells::Polls { every_ns: 3_000, event_index: EventIndex::AllOnes },
        Doorbells::Polls { every_ns: 200_000, event_index: EventIndex::Never },
        Doorbells::NeedsMmio,
    ] {
        for queue_entries in [2, 7, 1023] {
            for shadow in BOTH {
                for (copies_on_bind, arms_on_bind) in [(false, true), (true, true), (false, false)] {
                    let config = ControllerConfig { copies_on_bind, arms_on_bind, ..device(doorbells, queue_entries) };
                    let (rig, mut driver) = up(config, shadow);
                    for depth in [1, 3, driver.depth()] {
                        let depth = depth.min(driver.depth());
                        stream(&mut driver, 0, 150, depth, 3);
                    }
                    let counters = driver.doorbells().counters;
                    let model = rig.board.counters();
                    assert_eq!(counters.rung_again, 0, "{doorbells:?} {queue_entries} {shadow:?}");
                    assert_eq!(model.submission_doorbells, counters.tail_writes);
                    assert_eq!(model.completion_doorbells, counters.head_writes);
                    rig.down(driver);
                }
            }
        }
    }
}

#[test]
fn a_device_that_sleeps_on_an_old_event_index_is_rung_again() {
    for queue_entries in [3, 1023] {
        for shadow in BOTH {
            let (rig, mut driver) = up(device(Doorbells::NeverUpdates, queue_entries), shadow);
            for depth in [1, 3] {
                stream(&mut driver, 0, 40, depth, 3);
            }
            let counters = driver.doorbells().counters;
            assert!(counters.rung_again > 0);
            assert_eq!(rig.board.counters().submission_doorbells, counters.tail_writes + counters.rung_again);
            assert_eq!((driver.fault(), driver.counters().aborts, driver.counters().time_outs), (None, 0, 0));
            rig.down(driver);
        }
    }
}

#[test]
fn a_doorbell_that_got_lost_is_made_up_for() {
    for shadow in BOTH {
        let (rig, mut driver) = up(ControllerConfig::new(), shadow);
        rig.board.add_fault(Fault::DoorbellsLost(3));
        stream(&mut driver, 0, 100, 4, 3);
        assert!(driver.doorbells().counters.rung_again >= 1);
        rig.down(driver);
    }
}

#[test]
fn one_who_polls_and_never_waits_gets_a_sleeping_device_rung_too() {
    let (rig, mut driver) = up(device(Doorbells::NeverUpdates, 1023), ShadowDoorbells::BeforeQueues);
    for lba in 0..5 {
        submit(&mut driver, lba);
        crate::rig::poll(&mut driver, &rig.board).result.unwrap();
    }
    assert!(driver.doorbells().counters.rung_again > 0);
    rig.down(driver);
}

#[test]
fn a_pair_that_was_idle_is_not_taken_for_a_stalled_one() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(settings(|config| config.queue_pairs = 2), ShadowDoorbells::BeforeQueues);
    for index in [0, 1, 0] {
        rig.board.pass(3_000_000_000);
        // Longer than the first looks of a wait, and far shorter than a stall.
        rig.board.add_fault(Fault::Delayed { command: rig.board.io_commands(), delay_ns: 20_000_000 });
        stream(&mut driver, index, 1, 1, 3);
    }
    assert_eq!(driver.doorbells().counters.rung_again, 0);
    rig.down(driver);
}

#[test]
fn a_pair_that_is_merely_slow_does_not_mind_being_rung_again() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::Delayed { command: 0, delay_ns: 900_000_000 });
    stream(&mut driver, 0, 1, 1, 3);
    let rung = driver.doorbells().counters.rung_again;
    assert!((1..=9).contains(&rung), "{rung}");
    stream(&mut driver, 0, 100, 8, 3);
    rig.down(driver);
}

#[test]
fn without_the_pages_nothing_is_rung_again() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    rig.board.add_fault(Fault::Delayed { command: 0, delay_ns: 900_000_000 });
    stream(&mut driver, 0, 20, 4, 3);
    assert_eq!(driver.doorbells().counters.rung_again, 0);
    rig.down(driver);
}

#[test]
fn event_indices_that_are_nonsense_cost_time_and_no_command() {
    for doorbells in [Doorbells::NeverUpdates, Doorbells::default()] {
        let (rig, mut driver) = up(device(doorbells, 15), ShadowDoorbells::BeforeQueues);
        let events = rig.last(0x7c).prp2;
        let mut random = Random(99);
        for round in 0..60 {
            for offset in [8, 12] {
                let word = match random.below(4) {
                    0 => random.next() as u32,
                    1 => random.below(16) as u32,
                    2 => u32::MAX,
                    // The upper half means nothing.
                    _ => 0xffff_0000 | random.below(16) as u32,
                };
                rig.board.poke(events + offset, &word.to_le_bytes());
            }
            stream(&mut driver, 0, 3, 2, round);
        }
        assert_eq!((driver.fault(), driver.counters().aborts), (None, 0));
        rig.down(driver);
    }
}

#[test]
fn what_a_pair_waited_for_before_a_reset_does_not_make_it_stalled_after_it() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::Delayed { command: 0, delay_ns: 10_000_000_000 });
    submit(&mut driver, 1);
    // One look for stalled pairs falls into this time.
    for _ in 0..150 {
        assert!(driver.poll().is_none());
        rig.board.pass(1_000_000);
    }
    driver.reset().unwrap();
    assert!(driver.poll().unwrap().result.is_err());
    let before = driver.doorbells().counters.rung_again;
    rig.board.pass(3_000_000_000);
    rig.board.add_fault(Fault::Delayed { command: rig.board.io_commands(), delay_ns: 20_000_000 });
    stream(&mut driver, 0, 1, 1, 3);
    assert_eq!(driver.doorbells().counters.rung_again, before);
    rig.down(driver);
}
