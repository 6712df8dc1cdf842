//! Shadow doorbells: when they are set up, what is cleared, and what goes by register all the same.

use nvme::{ShadowDoorbells, Step};
use sim::pcie::{ControllerConfig, Fault};

use crate::rig::{Driver, Rig, Seen, settings, stream, submit, up};

const BOTH: [ShadowDoorbells; 2] = [ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues];

fn pages(rig: &Rig) -> Seen {
    rig.last(0x7c)
}

#[test]
fn the_pages_are_given_before_or_after_the_queues_as_the_owner_wants() {
    for (shadow, expected) in [
        (ShadowDoorbells::BeforeQueues, vec![0x7c, 0x05, 0x01, 0x05, 0x01]),
        (ShadowDoorbells::AfterQueues, vec![0x05, 0x01, 0x05, 0x01, 0x7c]),
        (ShadowDoorbells::Off, vec![0x05, 0x01, 0x05, 0x01]),
    ] {
        let rig = Rig::new(ControllerConfig::new());
        let driver = rig.enable(settings(|config| config.queue_pairs = 2), shadow);
        let opcodes: Vec<_> = rig.tap.borrow().commands.iter().map(|seen| seen.opcode).collect();
        let order: Vec<_> = opcodes.into_iter().filter(|opcode| matches!(opcode, 0x7c | 0x05 | 0x01)).collect();
        assert_eq!(order, expected);
        rig.down(driver);
    }
}

#[test]
fn the_pages_are_cleared_before_each_time_they_are_given() {
    for shadow in BOTH {
        let (rig, mut driver) = up(ControllerConfig::new(), shadow);
        stream(&mut driver, 0, 100, 8, 1);
        let Seen { prp1, prp2, .. } = pages(&rig);
        rig.tap.borrow_mut().on_write = Some(Box::new(move |board, offset, value| {
            // The controller is being disabled.
            if offset == 0x14 && value & 1 == 0 {
                board.poke(prp1, &[0x5a; 4096]);
                board.poke(prp2, &[0x5a; 4096]);
            }
        }));
        for round in 0..4 {
            driver.reset().unwrap();
            stream(&mut driver, 0, 100, 8, round);
            assert_eq!(rig.board.counters().shadow_binds, 2 + round);
        }
        rig.down(driver);
    }
}

#[test]
fn entries_are_cleared_when_the_queues_are_made_anew() {
    for shadow in BOTH {
        let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
        stream(&mut driver, 0, 99, 8, 1);
        driver.set_shadow_doorbells(shadow).unwrap();
        stream(&mut driver, 0, 99, 8, 1);
        // From one order to the other leads through a reset.
        for other in BOTH {
            driver.set_shadow_doorbells(other).unwrap();
            stream(&mut driver, 0, 99, 8, 1);
            assert!(driver.doorbells().shadowed);
        }
        rig.down(driver);
    }
}

#[test]
fn admin_commands_ring_by_register_whatever_the_pages_are_for() {
    for shadow in BOTH {
        let (rig, mut driver) = up(ControllerConfig::new(), shadow);
        for _ in 0..70 {
            let before = rig.board.counters().admin_doorbells;
            driver.health().unwrap();
            // One for the tail, one for the head.
            assert_eq!(rig.board.counters().admin_doorbells, before + 2);
        }
        assert_eq!(rig.board.peek(pages(&rig).prp1, 8), [0; 8]);
        rig.down(driver);
    }
}

#[test]
fn a_controller_that_does_not_know_or_refuses_them_is_driven_by_registers() {
    let unknown = || ControllerConfig { shadow_doorbells: false, ..ControllerConfig::new() };
    let refuses = || ControllerConfig { faults: vec![Fault::doorbell_buffer_fails()], ..ControllerConfig::new() };
    for shadow in BOTH {
        for (config, supported) in [(unknown(), false), (refuses(), true)] {
            let (rig, mut driver) = up(config, shadow);
            let state = driver.doorbells();
            assert_eq!((state.supported, state.wanted, state.shadowed), (supported, shadow, false));
            assert_eq!(rig.ran("doorbell-buffer-config"), u64::from(supported));
            stream(&mut driver, 0, 200, 8, 1);
            let counters = driver.doorbells().counters;
            assert_eq!((counters.spared, counters.rung_again), (0, 0));
            assert_eq!(counters.tail_writes, rig.board.counters().submission_doorbells);
            // Asked for again, it is refused again, and everything goes on.
            driver.set_shadow_doorbells(ShadowDoorbells::Off).unwrap();
            driver.set_shadow_doorbells(shadow).unwrap();
            stream(&mut driver, 0, 200, 8, 1);
            rig.down(driver);
        }
    }
}

#[test]
fn a_controller_that_does_not_answer_to_the_pages_is_an_error_by_name() {
    let (rig, mut driver) = {
        let rig = Rig::new(ControllerConfig::new());
        let driver = rig.enable(crate::rig::impatient(), ShadowDoorbells::Off);
        (rig, driver)
    };
    rig.board.add_fault(Fault::AdminSwallowed(0x7c));
    let error = driver.set_shadow_doorbells(ShadowDoorbells::BeforeQueues).unwrap_err();
    assert!(matches!(error, nvme::Error::Command { step: Step::DoorbellBuffers, .. }), "{error}");
    rig.board.clear_faults();
    driver.reset().unwrap();
    stream(&mut driver, 0, 30, 3, 1);
    rig.down(driver);
}

/// Puts 32 commands in flight.
fn load(driver: &mut Driver, from: u64) {
    for lba in 0..32 {
        submit(driver, from + lba);
    }
    driver.ring();
}

/// Polls for the ends of 32 commands.
#[track_caller]
fn unload(driver: &mut Driver) {
    for _ in 0..32 {
        driver.poll().unwrap().result.unwrap();
    }
    assert_eq!(driver.in_flight(), 0);
}

#[test]
fn they_are_turned_on_and_off_under_load_a_thousand_times_and_no_command_is_lost() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    for round in 0..500u64 {
        let shadow = BOTH[round as usize % 2];
        load(&mut driver, round);
        driver.set_shadow_doorbells(shadow).unwrap();
        assert!(driver.doorbells().shadowed);
        unload(&mut driver);
        load(&mut driver, round);
        driver.set_shadow_doorbells(ShadowDoorbells::Off).unwrap();
        assert!(!driver.doorbells().shadowed);
        unload(&mut driver);
    }
    assert_eq!((rig.ran("read"), driver.doorbells().counters.rung_again), (32_000, 0));
    assert_eq!(rig.board.counters().shadow_binds, 500);
    rig.down(driver);
}

#[test]
fn off_takes_the_pages_back_from_the_controller_by_a_reset() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    stream(&mut driver, 0, 50, 8, 1);
    driver.set_shadow_doorbells(ShadowDoorbells::Off).unwrap();
    let loads = rig.board.counters().shadow_loads;
    let spared = driver.doorbells().counters.spared;
    stream(&mut driver, 0, 50, 8, 1);
    assert_eq!((rig.board.counters().shadow_loads, driver.doorbells().counters.spared), (loads, spared));
    driver.reset().unwrap();
    assert!(!driver.doorbells().shadowed);
    rig.down(driver);
}

#[test]
fn turning_on_what_is_on_changes_nothing_that_matters() {
    for shadow in BOTH {
        let (rig, mut driver) = up(ControllerConfig::new(), shadow);
        driver.set_shadow_doorbells(shadow).unwrap();
        stream(&mut driver, 0, 150, 8, 1);
        assert!(driver.doorbells().shadowed);
        // The shadow says where the queue of 65 entries is, whether or not the register was written last.
        assert_eq!(rig.board.peek(pages(&rig).prp1 + 8, 4), (150u32 % 65).to_le_bytes());
        rig.down(driver);
    }
}
