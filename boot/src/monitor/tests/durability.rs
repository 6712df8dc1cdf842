//! The write cache, flushes and their policies at work on models.

use std::time::Duration;

use hal::Clock;
use sha2::{Digest, Sha256};

use super::*;
use crate::monitor::{Monitor, Next};

const SECOND: Duration = Duration::from_secs(1);
/// Set Features and Get Features.
const SET_FEATURES: u8 = 0x09;
const GET_FEATURES: u8 = 0x0a;

/// What lines print with deferring armed, and how the last one ended: the first that fails ends them.
fn deferring<P: hal::Platform<Clock: Clone>>(
    storage: &mut dyn Storage<Platform = P>,
    delay: Duration,
    lines: &[&str],
) -> (String, Result<(), String>) {
    let mut out = String::new();
    let mut mark = |_: &'static str| ();
    let mut scratch = vec![0; 128 << 10];
    let mut monitor = Monitor::new(storage, &mut out, &mut mark, &mut scratch);
    let armed = monitor.arm(RANGE.unwrap()).and_then(|()| monitor.arm_deferral(delay));
    let result = armed.and_then(|()| lines.iter().try_for_each(|line| monitor.line(line).map(drop)));
    (out, result.map_err(|reason| reason.to_string()))
}

/// The blocks that a write makes: the number and the byte, eight bytes each, over and over.
fn written(first: u64, count: u64, byte: u8, block_size: usize) -> Vec<u8> {
    let block = |number: u64| [number.to_le_bytes(), [byte; 8]].concat().repeat(block_size / 16);
    (first..first + count).flat_map(block).collect()
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_write_cache_is_turned_off_and_on_and_only_then_do_flushes_need_the_device() {
    let (mut storage, board) = standard(|config| config.saveable = true);
    let out = printed(&mut storage, &["cache", "info"]);
    has(&out, &["write cache: volatile write cache, on\nnamespace 1: write-back\n"]);
    has(&out, &["cache      volatile write cache, on\n", "flushes    strict, namespace 1 is write-back\n"]);
    let out = printed(&mut storage, &["cache off"]);
    has(&out, &["write cache: volatile write cache, off\nnamespace 1: write-through\n"]);
    let before = board.io_commands();
    let out = printed(&mut storage, &["flush", "sync"]);
    has(&out, &["flush spared: namespace 1 is write-through", "sync spared: namespace 1 is write-through"]);
    assert_eq!(board.io_commands(), before);
    let out = printed(&mut storage, &["cache on save", "flush", "sync", "features"]);
    has(
        &out,
        &[
            "namespace 1: write-back\n",
            "flushed in ",
            "synced in ",
            "0x06 write cache: 0x1, on; default 0x1; saved 0x1",
        ],
    );
    assert_eq!(board.io_commands(), before + 2);
}

#[test]
fn turning_the_write_cache_changes_the_drive_and_needs_writes_armed() {
    let boards = [rig::controller(|_| ()), rig::controller(|_| ())];
    let mut storage = rig::standard(&boards, ShadowDoorbells::Off);
    for line in ["cache off", "cache on", "cache on save"] {
        has(&rig::monitor(&mut storage, None, &[line]).1.unwrap_err(), &["nothing of controller 0 is armed", "--rw"]);
        has(&refused(&mut storage, &["select 1", line]), &["nothing of controller 1 is armed", "--rw"]);
    }
    has(&rig::monitor(&mut storage, None, &["cache"]).0, &["on\n"]);
}

#[test]
fn a_write_cache_that_cannot_be_changed_or_known_is_told_of_in_one_line_and_flushed() {
    let (mut storage, _) = standard(|config| config.write_cache.present = false);
    assert_eq!(refused(&mut storage, &["cache off"]), "cache: the controller has no volatile write cache");
    assert_eq!(
        rig::monitor(&mut storage, None, &["cache on"]).1.unwrap_err(),
        "cache: the controller has no volatile write cache"
    );
    assert_eq!(rig::monitor(&mut storage, None, &["cache"]).0, "write cache: no volatile write cache\n");
    has(&printed(&mut storage, &["info", "flush"]), &["no volatile write cache\n", "flush spared"]);

    let (mut storage, _) = standard(|config| config.optional.save_select = false);
    has(&refused(&mut storage, &["cache off save"]), &["cache: the controller does not keep features over resets"]);
    let (mut storage, _) = standard(|_| ());
    has(&refused(&mut storage, &["cache off save"]), &["cache: changing the write cache: ", "feature not saveable"]);

    for (opcode, words) in [(SET_FEATURES, "internal error"), (GET_FEATURES, "internal error")] {
        let (mut storage, board) = standard(|_| ());
        board.add_fault(Fault::AdminError { opcode, half_word: 0x800c });
        has(&refused(&mut storage, &["cache off"]), &["cache: changing the write cache: ", words]);
        let before = board.io_commands();
        let out = printed(&mut storage, &["cache", "flush"]);
        has(&out, &["taken for on since it cannot be read\nnamespace 1: write-back\n", "flushed in "]);
        assert_eq!(board.io_commands(), before + 1);
    }

    let (mut storage, board) = standard(|_| ());
    board.add_fault(Fault::FlushError);
    has(&refused(&mut storage, &["cache off"]), &["the write cache stays on", "write fault"]);
    has(&printed(&mut storage, &["cache"]), &["volatile write cache, on\n"]);
}

#[test]
fn a_policy_is_chosen_by_name_and_deferring_needs_to_be_armed() {
    let (mut storage, _) = standard(|config| config.namespaces.push(NamespaceConfig::new(2, 512, 1 << 20)));
    let out = printed(&mut storage, &["policy", "policy coalesce", "flush", "policy strict", "flush", "info"]);
    has(&out, &["namespace 1: strict, the cache is write-back\n", "namespace 1: coalesce, the cache is write-back\n"]);
    assert_eq!(out.matches("flushed in ").count(), 2, "{out}");
    let says = ["policy: deferring flushes is not armed: --defer MILLISECONDS", "a power cut loses"];
    has(&refused(&mut storage, &["policy deferred"]), &says);
    has(&refused(&mut storage, &["policy deferred 5"]), &says);
    let (out, result) = deferring(&mut storage, SECOND, &["policy", "policy strict", "policy deferred 250", "policy"]);
    assert_eq!(result, Ok(()), "{out}");
    has(&out, &["flushes are deferred: namespace 1, for at most 1000 ms; a power cut loses what was flushed"]);
    has(
        &out,
        &["namespace 1: deferred(1000 ms), the", "namespace 1: strict, the", "namespace 1: deferred(250 ms), the"],
    );
    let (out, result) = deferring(&mut storage, SECOND, &["select 0 2", "policy", "policy deferred"]);
    has(&result.unwrap_err(), &["armed for namespace 1 of controller 0 alone"]);
    has(&out, &["namespace 2: strict"]);
    has(&deferring(&mut storage, Duration::ZERO, &[]).1.unwrap_err(), &["deferring flushes: "]);
    has(&deferring(&mut storage, Duration::from_secs(86_400), &[]).1.unwrap_err(), &["deferring flushes: "]);
}

#[test]
fn deferring_is_not_armed_where_the_disk_is_not_there_or_may_be_another() {
    let (mut storage, _) = standard(|_| ());
    storage.missing = 1;
    let arm = |storage: &mut PciStorage<sim::pcie::HostPlatform>| {
        let (mut out, mut mark, mut scratch) = (String::new(), |_: &'static str| (), vec![0; 8192]);
        Monitor::new(storage, &mut out, &mut mark, &mut scratch).arm_deferral(SECOND).unwrap_err().to_string()
    };
    has(&arm(&mut storage), &["deferring flushes: a controller is missing"]);
    let (mut storage, _) = standard(|config| config.namespaces[0].zoned = true);
    has(&arm(&mut storage), &["deferring flushes: ", "of the zoned command set"]);
}

#[test]
fn a_flush_that_is_deferred_is_performed_while_a_command_line_is_awaited() {
    let (mut storage, board) = standard(|_| ());
    let clock = board.clock();
    let before = board.io_commands();
    let (mut out, mut mark, mut scratch) = (String::new(), |_: &'static str| (), vec![0; 8192]);
    let mut monitor = Monitor::new(&mut storage, &mut out, &mut mark, &mut scratch);
    monitor.arm_deferral(SECOND).unwrap();
    let mut typed = b"flush\n".iter();
    let mut seen = Vec::new();
    let mut began = None;
    monitor
        .interact(|| {
            let key = typed.next().copied();
            if key.is_some() {
                return key;
            }
            // Nobody types for 1.2 seconds.
            let began = began.get_or_insert_with(|| clock.now());
            let waited = clock.now().since(*began);
            board.pass(10_000_000);
            seen.push((waited.as_millis(), board.io_commands() - before));
            (waited > Duration::from_millis(1200)).then_some(4)
        })
        .unwrap();
    has(&out, &["flush deferred: the device is asked within 1000 ms"]);
    let at = |most: u128| seen.iter().take_while(|(waited, _)| *waited < most).last().unwrap().1;
    assert_eq!((at(850), at(1000)), (0, 1), "{seen:?}");
    let out = printed(&mut storage, &["stats"]);
    has(&out, &["deferred(1000 ms); flushes asked 1, spared 0, shared 0, deferred 1, sent 1, failed 0, late 0\n"]);
}

#[test]
fn a_load_performs_what_was_deferred_in_time() {
    let (mut storage, board) = standard(|_| ());
    // 16 reads at a time, 80 us and more each: the last of them are long past the delay.
    let (out, result) = deferring(&mut storage, SECOND, &["flush", "bench randread 200000 16", "stats"]);
    assert_eq!(result, Ok(()), "{out}");
    has(&out, &["flush deferred", "deferred 1, sent 1, failed 0, late 0\n"]);
    assert!(board.violations().is_empty(), "{:#?}", board.violations());
}

#[test]
fn what_was_deferred_is_performed_before_the_monitor_prints_for_long_or_works_on_another_controller() {
    for (delay, line, sent) in [
        (SECOND, "select 0", 0),
        (SECOND, "stats", 0),
        (SECOND, "read 0 1", 1),
        (SECOND, "help", 1),
        (Duration::from_millis(500), "stats", 1),
        (Duration::from_millis(1), "select 0", 1),
    ] {
        let (mut storage, board) = standard(|_| ());
        let (out, result) = deferring(&mut storage, delay, &["flush", line]);
        assert_eq!(result, Ok(()), "{out}");
        let statistics = storage.controllers[0].1.flush_statistics(1).unwrap();
        assert_eq!((statistics.sent, statistics.late), (sent, 0), "{delay:?} {line}");
        drop(board);
    }
    let boards = [rig::controller(|_| ()), rig::controller(|_| ())];
    let mut storage = rig::standard(&boards, ShadowDoorbells::Off);
    let (out, result) = deferring(&mut storage, SECOND, &["flush", "select 1", "sha256 0 1"]);
    assert_eq!(result, Ok(()), "{out}");
    assert_eq!(storage.controllers[0].1.flush_statistics(1).unwrap().sent, 1);
}

#[test]
fn a_shutdown_performs_what_was_deferred() {
    let (mut storage, board) = standard(|_| ());
    let before = board.io_commands();
    let (out, result) = deferring(&mut storage, Duration::from_secs(60), &["flush", "flush"]);
    assert_eq!(result, Ok(()), "{out}");
    assert_eq!(board.io_commands(), before);
    let (_, controller) = storage.controllers.pop().unwrap();
    controller.shutdown().unwrap();
    assert_eq!(board.io_commands(), before + 1);
}

#[test]
fn a_flush_that_failed_after_it_was_answered_is_told_by_the_next_call_and_stays_to_be_done() {
    for repaired in [false, true] {
        let (mut storage, board) = standard(|_| ());
        board.add_fault(Fault::FlushError);
        let (out, result) = deferring(&mut storage, SECOND, &["flush", "read 0 1"]);
        has(&out, &["flush deferred"]);
        has(&result.unwrap_err(), &["read: ", "a flush that had been answered failed: ", "write fault"]);
        has(&printed(&mut storage, &["policy"]), &["namespace 1: strict"]);
        has(&refused(&mut storage, &["flush"]), &["flush: namespace 1: ", "write fault"]);
        if repaired {
            board.clear_faults();
        }
        let (_, controller) = storage.controllers.pop().unwrap();
        match controller.shutdown() {
            Ok(_) => assert!(repaired),
            Err(failure) => assert!(!repaired && failure.to_string().contains("write fault"), "{failure}"),
        }
    }
}

#[test]
fn what_is_written_holds_its_own_numbers_and_is_read_back() {
    for block_size in [512, 4096] {
        let (mut storage, board) = standard(|config| {
            config.namespaces = vec![NamespaceConfig::new(1, block_size, 16 << 20)];
        });
        let lines = ["write 100 99 0xa5", "write 199 1 7 fua", "sha256 100 99", "sha256 199 1"];
        let out = printed(&mut storage, &lines);
        has(&out, &["wrote 99 blocks from 100 in ", " us\n", "wrote 1 blocks from 199 in ", " us, durable\n"]);
        has(&out, &[&digest(&written(100, 99, 0xa5, block_size as usize))]);
        has(&out, &[&digest(&written(199, 1, 7, block_size as usize))]);
        assert!(board.violations().is_empty(), "{:#?}", board.violations());
    }
    let board = rig::machine(|_| ());
    let mut ans = rig::apple(&board);
    let out = printed(&mut ans, &["write 100 99 0xa5 fua", "sha256 100 99", "stats"]);
    has(&out, &[&digest(&written(100, 99, 0xa5, 4096)), " writes, 0 others, "]);
}

#[test]
fn a_write_to_what_is_not_armed_or_protected_puts_nothing_on_the_wire() {
    let (mut storage, board) = standard(|config| {
        config.namespaces.push(NamespaceConfig { read_only: true, ..NamespaceConfig::new(2, 512, 1 << 20) });
    });
    let before = board.io_commands();
    for line in ["write 99 1 0", "write 200 1 0", "write 199 2 0 fua", "write 0 4096 0"] {
        has(&refused(&mut storage, &[line]), &["write: ", "blocks 100 to 199", "--rw"]);
    }
    has(&refused(&mut storage, &["write 4096 1 0"]), &["beyond the end: the disk has 4096"]);
    has(&refused(&mut storage, &["select 0 2", "write 100 1 0"]), &["namespace 1 of controller 0"]);
    has(&rig::monitor(&mut storage, None, &["write 100 1 0"]).1.unwrap_err(), &["nothing is armed", "--rw"]);
    assert_eq!(board.io_commands(), before);
    let (mut storage, board) = standard(|config| config.namespaces[0].read_only = true);
    let before = board.io_commands();
    has(&refused(&mut storage, &["write 100 1 0"]), &["arming writes: ", "write protected"]);
    assert_eq!(board.io_commands(), before);
}

#[test]
fn the_figures_count_what_was_done() {
    let (mut storage, _) = standard(|_| ());
    let out = printed(
        &mut storage,
        &["soak 10", "write 100 1 0", "write 101 1 0 fua", "flush", "sync", "zero 100 1", "stats"],
    );
    has(&out, &["commands   10 reads, 2 writes, 1 others, 2 flushes\n", "flush time ", " us the longest\n"]);
    has(&out, &["doorbells  ", "trouble    0 time-outs, 0 aborts, 0 events, 0 late and 0 unknown completions\n"]);
    has(&out, &["namespace 1: strict; flushes asked 2, spared 0, shared 0, deferred 0, sent 2, failed 0, late 0\n"]);
    assert_eq!(
        Monitor::new(&mut storage, &mut String::new(), &mut |_| (), &mut [0; 8192]).line("shutdown").unwrap(),
        Next::Shutdown
    );
}
