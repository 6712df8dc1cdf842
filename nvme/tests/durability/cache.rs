//! The write cache's state: where it comes from, what it changes, and that no write escapes its flush meanwhile.

use nvme::controller::CacheError;
use nvme::spec::command::EVERY_NAMESPACE;
use nvme::{AdminCommand, CacheMode, Operation, Request, Select};
use sim::pcie::{Cut, Fault};

use crate::checker::{BLOCK, content};
use crate::meddler::{FLUSH, GET_FEATURES, SET_FEATURES, Sent, WRITE, WRITE_CACHE};
use crate::rig::{Driver, Rig};

fn flushes(rig: &Rig) -> usize {
    rig.count(|sent| sent.is_io(FLUSH))
}

/// What went over the wire that is about the cache, in order.
fn story(rig: &Rig) -> Vec<(&'static str, u32)> {
    let tell = |sent: &Sent| match sent {
        _ if sent.is_io(FLUSH) => Some(("flush", sent.namespace)),
        _ if sent.is_cache(SET_FEATURES) => Some(("set", sent.dwords[1])),
        _ if sent.is_cache(GET_FEATURES) => Some(("get", 0)),
        _ => None,
    };
    rig.wire().sent.iter().filter_map(tell).collect()
}

fn raw(opcode: u8, value: u32) -> AdminCommand {
    AdminCommand { opcode, namespace: 0, dwords: [WRITE_CACHE, value, 0, 0, 0, 0] }
}

fn is_write_back(driver: &Driver) -> bool {
    let modes: Vec<_> = driver.namespaces().iter().map(|namespace| driver.cache_mode(namespace.id).unwrap()).collect();
    assert!(modes.iter().all(|mode| *mode == modes[0]));
    modes[0] == CacheMode::WriteBack
}

#[test]
fn a_flush_reaches_the_device_where_the_table_says_write_back_and_nowhere_else() {
    for (present, enabled, sent) in [(false, false, 0), (false, true, 0), (true, false, 0), (true, true, 1)] {
        let rig = Rig::new(1, |model| (model.write_cache.present, model.write_cache.enabled) = (present, enabled));
        let mut driver = rig.up();
        assert_eq!(is_write_back(&driver), sent == 1);
        driver.flush(1).unwrap();
        driver.sync(1).unwrap();
        assert_eq!(flushes(&rig), 2 * sent, "present {present}, enabled {enabled}");
        let statistics = driver.flush_statistics(1).unwrap();
        assert_eq!((statistics.asked, statistics.spared), (2, 2 - 2 * sent as u64));
    }
}

#[test]
fn the_feature_is_read_at_identify_and_after_each_reset() {
    let rig = Rig::new(2, |_| ());
    let mut driver = rig.enable().unwrap();
    assert_eq!(story(&rig), [("get", 0)]);
    driver.set_write_cache(false, false).unwrap();
    assert!(!is_write_back(&driver));
    rig.wire().sent.clear();
    driver.reset().unwrap();
    assert_eq!(story(&rig), [("get", 0)]);
    assert!(is_write_back(&driver), "the reset brought the default back");
}

#[test]
fn a_saved_change_lasts_over_resets_where_that_can_be_had() {
    let rig = Rig::new(1, |model| model.saveable = true);
    let mut driver = rig.up();
    driver.set_write_cache(false, true).unwrap();
    driver.reset().unwrap();
    assert!(!is_write_back(&driver));
    let rig = Rig::new(1, |model| model.optional.save_select = false);
    let mut driver = rig.up();
    assert_eq!(driver.set_write_cache(false, true), Err(CacheError::NotSaveable));
    assert_eq!(story(&rig), []);
    let rig = Rig::new(1, |model| model.saveable = false);
    let mut driver = rig.up();
    assert!(matches!(driver.set_write_cache(false, true), Err(CacheError::Command(_))));
    assert!(is_write_back(&driver));
}

#[test]
fn turning_it_off_flushes_first_then_sets_then_reads_and_only_then_spares_flushes() {
    for (broadcast, all) in [(0, vec![1, 2]), (2, vec![1, 2]), (3, vec![EVERY_NAMESPACE])] {
        let rig = Rig::new(2, |model| model.write_cache.broadcast = broadcast);
        let mut driver = rig.up();
        driver.write(2, 5, &content(2, 5, 1)).unwrap();
        driver.set_write_cache(false, false).unwrap();
        let mut expected: Vec<_> = all.into_iter().map(|id| ("flush", id)).collect();
        expected.extend([("set", 0), ("get", 0)]);
        assert_eq!(story(&rig), expected);
        driver.flush(1).unwrap();
        driver.write(1, 6, &content(1, 6, 1)).unwrap();
        driver.flush(2).unwrap();
        assert_eq!(story(&rig), expected, "nothing is flushed any more");
        rig.board.plan_cut(Some(Cut::AfterEvents(1)));
        rig.board.pass(0);
        assert_eq!((rig.durable(2, 5), rig.durable(1, 6)), (content(2, 5, 1), content(1, 6, 1)));
    }
}

#[test]
fn with_one_namespace_nothing_is_broadcast() {
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    driver.set_write_cache(false, false).unwrap();
    assert_eq!(story(&rig), [("flush", 1), ("set", 0), ("get", 0)]);
}

#[test]
fn a_write_that_is_in_flight_while_the_cache_is_turned_on_does_not_escape_its_flush() {
    let rig = Rig::new(2, |model| model.write_cache.enabled = false);
    let mut driver = rig.up();
    let buffer = nvme::Buffer::new(driver.pool(), BLOCK).unwrap();
    buffer.write_bytes(0, &content(2, 9, 1));
    let operation = Operation::Write { lba: 9, count: 1, force_unit_access: false };
    driver.submit(Request { namespace: 2, operation, buffer: Some(buffer) }).unwrap();
    driver.ring();
    // It ends long after the command that turns the cache on.
    driver.set_write_cache(true, false).unwrap();
    assert!(is_write_back(&driver));
    assert_eq!(driver.wait().unwrap().result, Ok(()));
    driver.flush(2).unwrap();
    assert_eq!(story(&rig), [("set", 1), ("get", 0), ("flush", 2)]);
    assert_eq!(rig.durable(2, 9), content(2, 9, 1));
}

#[test]
fn turning_it_on_is_write_back_even_if_the_command_fails_after_taking_effect() {
    let rig = Rig::new(2, |model| model.write_cache.enabled = false);
    let mut driver = rig.up();
    rig.board.add_fault(Fault::SetFeatureFailsAfter { feature: 6, half_word: 0x800c });
    assert!(matches!(driver.set_write_cache(true, false), Err(CacheError::Command(_))));
    assert!(is_write_back(&driver) && rig.board.write_cache_enabled());
    driver.write(1, 3, &content(1, 3, 1)).unwrap();
    driver.flush(1).unwrap();
    assert_eq!(rig.durable(1, 3), content(1, 3, 1));
}

#[test]
fn turning_it_off_that_fails_leaves_write_back_whatever_the_device_did() {
    for fault in [
        Fault::SetFeatureFailsAfter { feature: 6, half_word: 0x800c },
        Fault::AdminError { opcode: SET_FEATURES, half_word: 0x800c },
        Fault::GetFeatureFails { feature: 6, half_word: 0x800c },
        Fault::FlushError,
    ] {
        let rig = Rig::new(1, |_| ());
        let mut driver = rig.up();
        rig.board.add_fault(fault.clone());
        let error = driver.set_write_cache(false, false).unwrap_err();
        assert_eq!(matches!(error, CacheError::Flush(_)), fault == Fault::FlushError, "{error}");
        assert!(is_write_back(&driver), "{fault:?}");
        rig.board.clear_faults();
        rig.wire().sent.clear();
        driver.flush(1).unwrap();
        assert_eq!(flushes(&rig), 1, "{fault:?}");
    }
}

#[test]
fn a_controller_that_answers_success_and_changes_nothing_is_caught() {
    // Case BL-102.
    for on in [false, true] {
        let rig = Rig::new(2, |model| model.write_cache.enabled = !on);
        let mut driver = rig.up();
        rig.board.add_fault(Fault::WriteCacheStuck);
        assert_eq!(driver.set_write_cache(on, false), Err(CacheError::NotTaken { asked: on, seen: Some(!on) }));
        assert_eq!(is_write_back(&driver), !on, "what it reads as");
        rig.wire().sent.clear();
        driver.flush(2).unwrap();
        assert_eq!(flushes(&rig), usize::from(!on));
    }
}

#[test]
fn a_raw_set_features_is_noticed_and_read_back() {
    let rig = Rig::new(2, |_| ());
    let mut driver = rig.up();
    driver.pass_through(raw(SET_FEATURES, 0), &mut []).unwrap();
    assert_eq!(story(&rig), [("set", 0), ("get", 0)]);
    assert!(!is_write_back(&driver));
    driver.pass_through(raw(SET_FEATURES, 1), &mut []).unwrap();
    assert!(is_write_back(&driver));
    driver.pass_through(raw(SET_FEATURES, 0), &mut []).unwrap();
    rig.board.add_fault(Fault::SetFeatureFailsAfter { feature: 6, half_word: 0x800c });
    driver.pass_through(raw(SET_FEATURES, 1), &mut []).unwrap_err();
    assert!(is_write_back(&driver), "it took effect");
    rig.board.clear_faults();
    rig.board.add_fault(Fault::WriteCacheStuck);
    driver.pass_through(raw(SET_FEATURES, 0), &mut []).unwrap();
    assert!(is_write_back(&driver), "it took no effect");
}

#[test]
fn what_another_host_did_is_noticed_at_the_next_read_of_the_feature() {
    let rig = Rig::new(2, |model| model.write_cache.enabled = false);
    let mut driver = rig.up();
    rig.board.change_write_cache(true);
    driver.write(2, 1, &content(2, 1, 1)).unwrap();
    assert_eq!(driver.feature(6, 0, Select::Current), Ok(1));
    assert!(is_write_back(&driver));
    driver.flush(2).unwrap();
    assert_eq!(rig.durable(2, 1), content(2, 1, 1), "what was written before it was noticed is flushed too");
    rig.board.change_write_cache(false);
    assert_eq!(driver.pass_through(raw(GET_FEATURES, 0), &mut []), Ok(0));
    assert!(!is_write_back(&driver));
    rig.board.change_write_cache(true);
    // Bits 10:8 of the selector: 1 asks for the default value, which says nothing of what is in force.
    let default = AdminCommand { dwords: [WRITE_CACHE | 1 << 8, 0, 0, 0, 0, 0], ..raw(GET_FEATURES, 0) };
    driver.pass_through(default, &mut []).unwrap();
    driver.feature(6, 0, Select::Default).unwrap();
    assert!(!is_write_back(&driver));
}

#[test]
fn a_namespace_without_a_volatile_cache_is_write_through_beside_one_with_it() {
    for (version, spared) in [(0x0002_0000, true), (0x0001_0400, false)] {
        let rig = Rig::new(2, |model| {
            model.version = version;
            model.namespaces[1].no_cache = true;
        });
        let mut driver = rig.up();
        assert_eq!(driver.cache_mode(1), Ok(CacheMode::WriteBack));
        assert_eq!(driver.cache_mode(2) == Ok(CacheMode::WriteThrough), spared);
        driver.write_durable(2, 7, &content(2, 7, 1)).unwrap();
        driver.flush(2).unwrap();
        assert_eq!(flushes(&rig), usize::from(!spared));
        assert_eq!(rig.durable(2, 7), content(2, 7, 1));
        driver.flush(1).unwrap();
        assert_eq!(rig.count(|sent| sent.is_io(FLUSH) && sent.namespace == 1), 1);
    }
}

#[test]
fn a_durable_write_forces_unit_access_only_where_something_could_be_lost() {
    let forced = |sent: &Sent| sent.is_io(WRITE) && sent.dwords[2] >> 30 & 1 == 1;
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    driver.write_durable(1, 4, &content(1, 4, 1)).unwrap();
    assert_eq!((rig.count(forced), flushes(&rig)), (1, 0));
    assert_eq!(rig.durable(1, 4), content(1, 4, 1));
    driver.set_write_cache(false, false).unwrap();
    rig.wire().sent.clear();
    driver.write_durable(1, 4, &content(1, 4, 2)).unwrap();
    assert_eq!((rig.count(forced), flushes(&rig)), (0, 0));
    assert_eq!(rig.durable(1, 4), content(1, 4, 2));
}

#[test]
fn where_forced_unit_access_is_refused_a_durable_write_is_a_write_and_a_flush() {
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    // Invalid field in command.
    rig.board.add_fault(Fault::Status { command: rig.board.io_commands(), half_word: 0x02 << 1 });
    driver.write_durable(1, 4, &content(1, 4, 1)).unwrap();
    let opcodes: Vec<_> = rig.wire().sent.iter().map(|sent| (sent.opcode, sent.dwords[2] >> 30 & 1)).collect();
    assert_eq!(opcodes, [(WRITE, 1), (WRITE, 0), (FLUSH, 0)]);
    assert_eq!(rig.durable(1, 4), content(1, 4, 1));
    rig.assert_clean();
}
