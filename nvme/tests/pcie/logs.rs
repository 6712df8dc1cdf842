//! What a controller tells when asked: identity, health, errors, features.

use nvme::{CommandError, Operation, Request, Select, ShadowDoorbells, Version};
use sim::pcie::{ControllerConfig, Fault, NamespaceConfig, Optional, WriteCache};

use crate::rig::{Driver, arm, buffer, pattern, stream, up};

#[test]
fn a_controller_is_known_by_what_it_says_of_itself() {
    let config = ControllerConfig {
        model: "A model of forty characters, to the last".into(),
        serial: "S/N 7".into(),
        firmware: "12345678".into(),
        version: 0x0001_0300,
        abort_limit: 7,
        event_limit: 255,
        error_entries: 255,
        shadow_doorbells: false,
        write_cache: WriteCache { present: false, ..WriteCache::default() },
        optional: Optional { write_zeroes: false, ..Optional::default() },
        ..ControllerConfig::new()
    };
    let (rig, driver) = up(config, ShadowDoorbells::BeforeQueues);
    let identity = driver.identity();
    assert_eq!(identity.model.as_str(), "A model of forty characters, to the last");
    assert_eq!((identity.serial.as_str(), identity.firmware.as_str()), ("S/N 7", "12345678"));
    assert_eq!((identity.version, identity.vendor), (Version(0x0001_0300), 0x1b36));
    assert_eq!((identity.aborts, identity.event_requests, identity.error_entries), (8, 256, 256));
    assert_eq!((identity.compare, identity.write_zeroes, identity.discard, identity.select), (true, false, true, true));
    assert_eq!((identity.doorbell_buffers, identity.volatile_cache, identity.namespaces), (false, false, 1));
    rig.down(driver);
}

#[test]
fn the_health_log_counts_what_was_done() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    let before = driver.health().unwrap();
    assert_eq!((before.host_reads, before.host_writes, before.units_read, before.error_entries), (0, 0, 0, 0));
    assert_eq!((before.temperature, before.available_spare, before.spare_threshold), (310, 100, 10));
    assert_eq!((before.critical_warning, before.power_cycles, before.unsafe_shutdowns), (0, 1, 0));
    stream(&mut driver, 0, 30, 4, 1);
    driver.write(1, 0, &pattern(1, 300 << 10)).unwrap();
    driver.write(1, 0, &pattern(1, 300 << 10)).unwrap();
    rig.board.add_fault(Fault::ReadError(3));
    assert!(driver.read(1, 3, &mut [0; 512]).is_err());
    rig.board.set_temperature(400);
    let after = driver.health().unwrap();
    assert_eq!((after.host_reads, after.host_writes, after.units_read, after.units_written), (31, 2, 1, 2));
    assert_eq!((after.media_errors, after.error_entries, after.temperature), (1, 1, 400));
    assert_eq!(after.critical_warning, 0b10);
    rig.down(driver);
}

#[test]
fn power_that_was_lost_without_a_shutdown_is_counted() {
    let (rig, driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.cut_power();
    driver.abandon();
    let mut driver = rig.enable(nvme::Config::default(), ShadowDoorbells::BeforeQueues);
    let health = driver.health().unwrap();
    assert_eq!((health.power_cycles, health.unsafe_shutdowns), (2, 1));
    driver.shutdown().unwrap();
    rig.clean();
}

fn fail(driver: &mut Driver, namespace: u32, lba: u64) {
    let buffer = Some(buffer(driver, 4096));
    driver.submit(Request { namespace, operation: Operation::Read { lba, count: 1 }, buffer }).unwrap();
    driver.wait().unwrap().result.unwrap_err();
}

#[test]
fn the_error_log_tells_of_failed_commands_the_newest_first() {
    let namespaces = vec![NamespaceConfig::new(1, 512, 1 << 20), NamespaceConfig::new(3, 4096, 1 << 20)];
    let (rig, mut driver) = up(ControllerConfig { namespaces, ..ControllerConfig::new() }, ShadowDoorbells::Off);
    assert_eq!(driver.errors().unwrap(), []);
    rig.board.add_fault(Fault::ReadError(7));
    rig.board.add_fault(Fault::ReadError(100));
    fail(&mut driver, 1, 100);
    fail(&mut driver, 3, 7);
    let errors = driver.errors().unwrap();
    let told: Vec<_> = errors.iter().map(|entry| (entry.count, entry.queue, entry.namespace, entry.lba)).collect();
    assert_eq!(told, [(2, 1, 3, 7), (1, 1, 1, 100)]);
    assert!(errors.iter().all(|entry| (entry.status.kind(), entry.status.code()) == (2, 0x81)));
    rig.down(driver);
}

#[test]
fn no_more_of_the_error_log_is_read_than_the_controller_keeps_and_a_page_holds() {
    for (error_entries, kept) in [(0, 1), (3, 4), (15, 16), (255, 16)] {
        let config = ControllerConfig { error_entries, faults: vec![Fault::ReadError(9)], ..ControllerConfig::new() };
        let (rig, mut driver) = up(config, ShadowDoorbells::BeforeQueues);
        for _ in 0..20 {
            fail(&mut driver, 1, 9);
        }
        let errors = driver.errors().unwrap();
        let counts: Vec<_> = errors.iter().map(|entry| entry.count).collect();
        assert_eq!(counts, (0..kept).map(|back| 20 - back).collect::<Vec<_>>());
        rig.down(driver);
    }
}

#[test]
fn features_are_read_in_all_their_values() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    for (select, value) in
        [(Select::Current, 1), (Select::Default, 1), (Select::Saved, 1), (Select::Capabilities, 0b100)]
    {
        assert_eq!(driver.feature(6, 0, select), Ok(value), "{select:?}");
    }
    // One queue pair was granted; there could be 64.
    assert_eq!(driver.feature(7, 0, Select::Current), Ok(0));
    assert_eq!(driver.feature(7, 0, Select::Default), Ok(63 << 16 | 63));
    match driver.feature(0xf0, 0, Select::Current) {
        Err(CommandError::Status(status)) => assert_eq!((status.kind(), status.code()), (0, 2)),
        other => panic!("{other:?}"),
    }
    rig.down(driver);
}

#[test]
fn a_log_that_fails_gives_its_status_and_nothing_stale() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::AdminError { opcode: 2, half_word: 0x8212 });
    assert!(matches!(driver.health(), Err(CommandError::Status(status)) if status.code() == 0x09));
    assert!(matches!(driver.errors(), Err(CommandError::Status(status)) if status.code() == 0x09));
    rig.board.clear_faults();
    driver.health().unwrap();
    rig.down(driver);
}
