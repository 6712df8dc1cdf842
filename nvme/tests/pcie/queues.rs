//! One IO queue pair: wrap, order, batches, and doorbells that add up.

use nvme::ShadowDoorbells;
use sim::pcie::{Capabilities, ControllerConfig, Doorbells};

use crate::rig::{Driver, Random, Rig, poll, read_block, settings, stream, submit, up};

const ORDERS: [ShadowDoorbells; 3] =
    [ShadowDoorbells::Off, ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues];

/// Asserts that model and driver counted the same doorbells.
#[track_caller]
fn agree(rig: &Rig, driver: &Driver) {
    let (model, counted) = (rig.board.counters(), driver.doorbells().counters);
    assert_eq!(model.submission_doorbells, counted.tail_writes + counted.rung_again);
    assert_eq!(model.completion_doorbells, counted.head_writes + counted.rung_again);
}

/// A number of commands at a depth that changes by chance; the bytes that were read are compared.
fn random_depth(driver: &mut Driver, count: u64, seed: u64) -> bool {
    let mut random = Random(seed);
    let (mut sent, mut ended, mut out_of_order) = (0, 0, false);
    let mut waiting = std::collections::VecDeque::new();
    let mut goal = 1;
    while ended < count {
        if random.below(10) == 0 {
            goal = random.below(u64::from(driver.depth())) + 1;
        }
        while sent < count && sent - ended < goal {
            waiting.push_back(submit(driver, random.below(2000)));
            sent += 1;
        }
        let completion = driver.wait().unwrap();
        completion.result.unwrap();
        assert!(completion.buffer.is_some());
        let position = waiting.iter().position(|ticket| *ticket == completion.ticket).unwrap();
        out_of_order |= position != 0;
        waiting.remove(position);
        ended += 1;
    }
    assert_eq!(driver.in_flight(), 0);
    out_of_order
}

#[test]
fn thousands_of_commands_at_changing_depth_end_once_each_and_the_doorbells_add_up() {
    for shadow in ORDERS {
        for batching in [true, false] {
            let (rig, mut driver) = up(ControllerConfig::new(), shadow);
            driver.set_batching(batching);
            assert!(random_depth(&mut driver, 3000, 77), "nothing ended out of order");
            agree(&rig, &driver);
            let counted = driver.doorbells().counters;
            assert_eq!(counted.rung_again, 0);
            if !batching {
                assert_eq!(counted.tail_writes + counted.head_writes + counted.spared, 6000);
            }
            assert_eq!((rig.ran("read"), driver.counters().reads), (3000, 3000));
            assert_eq!(rig.board.counters().queue_full, 0);
            rig.down(driver);
        }
    }
}

#[test]
fn a_completion_queue_with_no_entry_to_spare_never_overruns() {
    for queue_entries in [1, 2, 3, 4, 7] {
        for shadow in ORDERS {
            for batching in [true, false] {
                let capabilities = Capabilities { queue_entries, ..Capabilities::default() };
                let (rig, mut driver) = up(ControllerConfig { capabilities, ..ControllerConfig::new() }, shadow);
                driver.set_batching(batching);
                random_depth(&mut driver, 1000, 5);
                agree(&rig, &driver);
                assert_eq!((rig.board.counters().queue_full, driver.doorbells().counters.rung_again), (0, 0));
                rig.down(driver);
            }
        }
    }
}

#[test]
fn a_device_that_takes_few_commands_at_once_gets_the_rest_later() {
    // Four of the admin queue's are taken by requests for events.
    for request_slots in [5, 9] {
        for shadow in ORDERS {
            let (rig, mut driver) = up(ControllerConfig { request_slots, ..ControllerConfig::new() }, shadow);
            stream(&mut driver, 0, 500, 64, 5);
            agree(&rig, &driver);
            rig.down(driver);
        }
    }
}

#[test]
fn what_was_submitted_waits_for_one_ring_and_starts_with_it() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    for lba in 0..20 {
        submit(&mut driver, lba);
    }
    rig.board.pass(1_000_000);
    assert_eq!(rig.board.io_commands(), 0);
    driver.ring();
    assert_eq!((rig.board.io_commands(), rig.board.counters().submission_doorbells), (20, 1));
    driver.ring();
    assert_eq!(rig.board.counters().submission_doorbells, 1);
    for _ in 0..20 {
        poll(&mut driver, &rig.board).result.unwrap();
    }
    agree(&rig, &driver);
    rig.down(driver);
}

#[test]
fn a_poll_rings_for_what_was_submitted() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    submit(&mut driver, 1);
    assert!(driver.poll().is_none());
    assert_eq!(rig.board.io_commands(), 1);
    poll(&mut driver, &rig.board).result.unwrap();
    rig.down(driver);
}

#[test]
fn without_batching_each_command_rings_and_each_completion_gives_its_entry_back() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    driver.set_batching(false);
    for lba in 0..20 {
        submit(&mut driver, lba);
    }
    assert_eq!(rig.board.counters().submission_doorbells, 20);
    while driver.in_flight() > 0 {
        poll(&mut driver, &rig.board).result.unwrap();
    }
    while driver.poll().is_some() {}
    assert_eq!(rig.board.counters().completion_doorbells, 20);
    // Turned on again with nothing lost.
    driver.set_batching(true);
    stream(&mut driver, 0, 200, 16, 3);
    agree(&rig, &driver);
    rig.down(driver);
}

#[test]
fn turning_batching_off_rings_for_what_waited() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    submit(&mut driver, 4);
    driver.set_batching(false);
    assert_eq!(rig.board.io_commands(), 1);
    driver.wait().unwrap().result.unwrap();
    rig.down(driver);
}

#[test]
fn a_full_queue_is_busy_until_an_end_was_polled() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(settings(|config| config.depth = 4), ShadowDoorbells::BeforeQueues);
    for lba in 0..4 {
        submit(&mut driver, lba);
    }
    let request = read_block(&driver, 9);
    let refused = driver.submit(request).unwrap_err();
    assert_eq!((refused.error, refused.buffer.is_some()), (nvme::SubmitError::Busy, true));
    drop(refused);
    assert!(driver.wait().is_some());
    submit(&mut driver, 9);
    while let Some(completion) = driver.wait() {
        completion.result.unwrap();
    }
    assert_eq!(rig.ran("read"), 5);
    rig.down(driver);
}

#[test]
fn at_depth_sixteen_a_device_that_keeps_its_event_index_is_rung_for_one_read_in_seven_at_most() {
    let device = Doorbells::Wakes { wake_ns: 500, settle_ns: 20_000, look_again_ns: 1_000 };
    let doorbells = |shadow| {
        let (rig, mut driver) = up(ControllerConfig { doorbells: device, ..ControllerConfig::new() }, shadow);
        stream(&mut driver, 0, 4000, 16, 21);
        agree(&rig, &driver);
        let model = rig.board.counters();
        rig.down(driver);
        model.submission_doorbells + model.completion_doorbells
    };
    let (with, without) = (doorbells(ShadowDoorbells::BeforeQueues), doorbells(ShadowDoorbells::Off));
    assert!(with * 100 < 4000 * 15, "{with} doorbells for 4000 reads");
    assert!(with < without, "{with} {without}");
}

#[test]
fn completion_entries_are_given_back_in_batches_where_the_queue_has_entries_to_spare() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(settings(|config| config.depth = 8), ShadowDoorbells::Off);
    stream(&mut driver, 0, 1000, 8, 4);
    // Four entries for each of nine: 27 to spare beside eight in flight, and half of them may wait.
    assert!(rig.board.counters().completion_doorbells <= 1000 / 14);
    agree(&rig, &driver);
    rig.down(driver);
}
