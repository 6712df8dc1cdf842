//! Each step of the bring-up fails in turn: the error names it, and the machine is as it was found.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, and says where"
)]

mod common;

use std::time::Duration;

use ans::{Config, Error, Failed, Failure, Stage};
use common::{assert_clean, hardware, start};
use hal::{DmaPool, DmaRegion};
use sim::fault::CrashStage;
use sim::host::{Board, HostPlatform, POOL_SIZE};
use sim::{AnsState, Fault, MachineConfig};

/// How ANS is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    /// Stopped and without power.
    Off,
    /// Stopped, with its domains on.
    Stopped,
    /// Left running by the boot loader.
    Running,
}

const FOUND: [Found; 3] = [Found::Off, Found::Stopped, Found::Running];

fn board(found: Found, faults: &[Fault]) -> Board {
    let mut config = MachineConfig::new(if found == Found::Running { AnsState::Running } else { AnsState::Stopped });
    for domain in &mut config.domains {
        domain.on |= found == Found::Stopped;
    }
    config.faults = faults.to_vec();
    Board::new(config)
}

/// What a driver could leave behind: power states, RUN, SART entries, memory.
#[derive(Debug, PartialEq, Eq)]
struct State {
    domains: Vec<u64>,
    run: Option<u64>,
    sart: Vec<u64>,
    pages: (usize, usize),
}

impl State {
    fn of(board: &Board) -> Self {
        // All but the history flags.
        let domains: Vec<_> =
            [0x3f0, 0x348, 0x418].iter().map(|at| board.read(0x2_3b70_0000 + at, 4) & !0x300).collect();
        // Without power there is nothing to read.
        let on = domains[0] >> 4 & 0xf == 0xf;
        let run = on.then(|| board.read(0x2_7740_0044, 4));
        let sart = (0..0x80).step_by(4).filter(|_| on).map(|at| board.read(0x2_7bc5_0000 + at, 4)).collect();
        Self { domains, run, sart, pages: board.pool_pages() }
    }
}

/// Brings ANS up on a faulty board, and checks that it fails and leaves everything as it was.
fn fail(found: Found, faults: &[Fault]) -> (Board, Failure<HostPlatform>) {
    let board = board(found, faults);
    let before = State::of(&board);
    let failure =
        start(hardware(&board), Config::default()).0.err().unwrap_or_else(|| panic!("{faults:?} did not show"));
    assert_eq!(State::of(&board), before, "{found:?}, {faults:?}: {failure}");
    assert_eq!(failure.left, None, "{found:?}, {faults:?}");
    board.finish();
    (board, failure)
}

/// As [`fail`] for every way to find ANS; there is nothing to complain of.
fn fails_cleanly(faults: &[Fault], stage: Stage, says: &[&str]) {
    for found in FOUND {
        let (board, failure) = fail(found, faults);
        assert_eq!(failure.failed.stage, stage, "{found:?}: {failure}");
        let line = failure.to_string();
        assert!(!line.contains('\n') && says.iter().all(|part| line.contains(part)), "{found:?}: {line}");
        let report = board.report();
        assert!(report.violations.is_empty(), "{found:?}, {faults:?}: {:#?}", report.violations);
        // Before the endpoints are started there is no host state that could be taken back before the sleep.
        let early = stage <= Stage::RtkitEndpoints;
        let odd = report.notes.iter().find(|note| !(early && note.rule == "ap-never-raised"));
        assert_eq!(odd, None, "{found:?}, {faults:?}");
    }
}

#[test]
fn a_power_domain_that_is_stuck() {
    for (domain, found) in [("ans2", Found::Off), ("apcie_st", Found::Off)] {
        let (board, failure) = fail(found, &[Fault::PowerStuck(domain.into())]);
        assert!(matches!(failure.failed, Failed { stage: Stage::PowerDomains, error: Error::Power(_) }), "{failure}");
        assert!(failure.to_string().contains(domain), "{failure}");
        assert_clean(&board);
    }
}

#[test]
fn a_coprocessor_that_never_says_hello() {
    fails_cleanly(&[Fault::NoHello], Stage::RtkitHello, &["rtkit-hello", "HELLO"]);
}

#[test]
fn a_coprocessor_that_speaks_an_older_or_newer_version() {
    fails_cleanly(&[Fault::Versions(8, 10)], Stage::RtkitHello, &["rtkit-hello", "10"]);
    fails_cleanly(&[Fault::Versions(13, 14)], Stage::RtkitHello, &["rtkit-hello", "13"]);
}

#[test]
fn an_endpoint_map_without_end() {
    fails_cleanly(&[Fault::EndpointMapEndless], Stage::RtkitEndpoints, &["rtkit-endpoints"]);
}

#[test]
fn a_power_on_that_is_never_acknowledged() {
    fails_cleanly(&[Fault::NoPowerAck], Stage::RtkitPower, &["rtkit-power", "30"]);
}

#[test]
fn a_host_power_state_that_is_never_acknowledged() {
    fails_cleanly(&[Fault::NoApAck], Stage::RtkitPower, &["rtkit-power", "host"]);
}

#[test]
fn a_sart_without_a_free_entry() {
    fails_cleanly(&[Fault::SartFull], Stage::RtkitPower, &["rtkit-power", "SART"]);
}

#[test]
fn a_boot_status_that_is_never_right() {
    fails_cleanly(&[Fault::BootStatusNever], Stage::BootStatus, &["boot-status", "0xde71ce55", "1000 ms"]);
}

#[test]
fn a_controller_that_never_becomes_ready_or_dies_at_once() {
    fails_cleanly(&[Fault::ControllerNeverReady], Stage::ControllerEnable, &["controller-enable", "CSTS"]);
    fails_cleanly(&[Fault::ControllerFatal(0)], Stage::ControllerEnable, &["controller-enable", "CSTS"]);
}

#[test]
fn an_admin_command_that_fails() {
    for (opcode, stage) in
        [(0x06, Stage::Identify), (0x05, Stage::IoQueues), (0x01, Stage::IoQueues), (0x09, Stage::IoQueues)]
    {
        for found in FOUND {
            let (board, failure) = fail(found, &[Fault::AdminError(opcode)]);
            assert_eq!(failure.failed.stage, stage, "{found:?}: {failure}");
            let report = board.report();
            assert!(report.violations.is_empty(), "{opcode:#x}: {:#?}", report.violations);
            // The model tells of the command that it was made to fail, and of nothing else.
            assert!(report.notes.iter().all(|note| note.rule == "command-failed"), "{:#?}", report.notes);
        }
    }
}

#[test]
fn firmware_that_crashes_on_the_way() {
    for (crash, stage) in [
        (CrashStage::Hello, Stage::RtkitEndpoints),
        (CrashStage::Buffers, Stage::RtkitPower),
        (CrashStage::Power, Stage::RtkitPower),
    ] {
        for found in FOUND {
            let board = board(found, &[Fault::Crash(crash)]);
            let failure = start(hardware(&board), Config::default()).0.err().unwrap();
            assert_eq!(failure.failed.stage, stage, "{found:?}: {failure}");
            board.finish();
            assert!(board.violations().is_empty(), "{found:?}: {:#?}", board.violations());
            // What a crashed coprocessor might still write to is used by nobody else.
            let (used, quarantined) = board.pool_pages();
            assert_eq!(used, quarantined);
        }
    }
}

#[test]
fn memory_that_runs_out_at_any_point() {
    let mut points = 0;
    for pages in (0..).step_by(4) {
        let board = board(Found::Stopped, &[]);
        let before = State::of(&board);
        let taken = DmaRegion::new(&board.pool(), POOL_SIZE - pages * 4096, 4096).unwrap();
        match start(hardware(&board), Config::default()).0 {
            Ok(ans) => {
                ans.shutdown(&mut |_, _| {}).unwrap();
                break;
            }
            Err(failure) => {
                assert!(matches!(failure.failed.error, Error::Rtkit(_) | Error::Nvme(_)), "{failure}");
                assert_eq!(failure.left, None);
                points += 1;
            }
        }
        drop(taken);
        assert_eq!(State::of(&board), before, "{pages} pages");
        board.finish();
        assert_clean(&board);
    }
    assert!(points > 10, "memory ran out at {points} points only");
}

#[test]
fn the_same_hardware_comes_up_once_the_fault_is_gone() {
    let board = board(Found::Off, &[]);
    let taken = DmaRegion::new(&board.pool(), POOL_SIZE - (64 << 10), 4096).unwrap();
    let failure = start(hardware(&board), Config::default()).0.err().unwrap();
    drop(taken);
    let mut ans = start(failure.hardware, Config::default()).0.unwrap();
    ans.controller().read(1, 0, &mut [0; 4096]).unwrap();
    ans.shutdown(&mut |_, _| {}).unwrap();
    board.finish();
    assert_clean(&board);
}

#[test]
fn a_late_acknowledgement_is_awaited_and_a_missing_one_bounded() {
    for delay in [50_000_000, 900_000_000, 4_900_000_000, 29_000_000_000] {
        let board = board(Found::Off, &[Fault::PowerAckDelay(delay)]);
        start(hardware(&board), Config::default()).0.unwrap().shutdown(&mut |_, _| {}).unwrap();
        board.finish();
        assert_clean(&board);
    }
    let (board, _) = fail(Found::Off, &[Fault::NoPowerAck]);
    assert!(Duration::from_nanos(board.report().time_ns) < Duration::from_secs(65));
}

#[test]
fn domains_that_gate_themselves_are_as_good_as_others() {
    for found in FOUND {
        let board = board(found, &[Fault::AutoGating]);
        let mut ans = start(hardware(&board), Config::default()).0.unwrap();
        board.pass(50_000_000);
        ans.controller().read(1, 0, &mut [0; 4096]).unwrap();
        ans.shutdown(&mut |_, _| {}).unwrap();
        board.finish();
        assert!(board.violations().is_empty(), "{found:?}: {:#?}", board.violations());
    }
}

#[test]
fn a_shutdown_that_goes_wrong_says_so_and_does_the_rest() {
    for (fault, stage) in [
        (Fault::ShutdownNever, Stage::ControllerShutdown),
        (Fault::NoSleepAck, Stage::CoprocessorStop),
        (Fault::Crash(CrashStage::Sleep), Stage::CoprocessorStop),
    ] {
        for found in FOUND {
            let board = board(found, std::slice::from_ref(&fault));
            let ans = start(hardware(&board), Config::default()).0.unwrap();
            let failure = ans.shutdown(&mut |_, _| {}).err().unwrap();
            assert_eq!(failure.failed.stage, stage, "{found:?}, {fault:?}: {failure}");
            assert_eq!(failure.left, None);
            let (used, quarantined) = board.pool_pages();
            assert_eq!(used, quarantined, "{found:?}, {fault:?}");
            board.finish();
            assert!(board.violations().is_empty(), "{found:?}, {fault:?}: {:#?}", board.violations());
        }
    }
}

#[test]
fn a_coprocessor_that_does_not_sleep_keeps_its_power_and_its_memory() {
    for found in FOUND {
        let board = board(found, &[Fault::NoSleepAck]);
        let ans = start(hardware(&board), Config::default()).0.unwrap();
        board.clear_log();
        assert!(ans.shutdown(&mut |_, _| {}).is_err());
        let taken = |block: &str| board.log().iter().any(|access| access.write && access.block == block);
        assert!(!taken("asc") && !taken("sart") && !taken("pmgr"), "{found:?}");
        let (used, quarantined) = board.pool_pages();
        assert!(used == quarantined && used > 0);
    }
}

#[test]
fn a_crash_in_use_is_told_of_and_nothing_is_asked_of_the_dead() {
    let board = board(Found::Off, &[Fault::Crash(CrashStage::Running)]);
    let mut ans = start(hardware(&board), Config::default()).0.unwrap();
    board.pass(50_000_000);
    assert!(ans.poll().is_err() && ans.is_crashed());
    board.clear_log();
    let failure = ans.shutdown(&mut |_, _| {}).err().unwrap();
    assert!(matches!(failure.failed.error, Error::Rtkit(rtkit::Error::Crashed { .. })), "{failure}");
    assert!(board.log().iter().all(|access| access.block != "nvme"));
    board.pool().reclaim();
    assert_eq!(board.pool_pages(), (0, 0));
}
