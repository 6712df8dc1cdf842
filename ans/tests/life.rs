//! ANS on the simulated machine from being found to being left, in both states in which it can be found.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, and says where"
)]

mod common;

use ans::sart::Version;
use ans::{Config, Hardware, Stage};
use common::{assert_clean, hardware, start};
use sim::host::{Access, Board};
use sim::{AnsState, MachineConfig};

const FOUND: [AnsState; 2] = [AnsState::Stopped, AnsState::Running];

/// The writes to one register.
fn writes(log: &[Access], block: &str, offset: u64) -> Vec<u64> {
    log.iter()
        .filter(|access| access.write && access.block == block && access.offset == offset)
        .map(|access| access.value)
        .collect()
}

/// Where the first access that `wanted` accepts is in the log.
fn place(log: &[Access], wanted: impl Fn(&Access) -> bool) -> usize {
    log.iter().position(wanted).expect("the access is in the log")
}

#[test]
fn it_comes_up_reads_a_block_and_goes_down_however_it_was_found() {
    for found in FOUND {
        let board = Board::new(MachineConfig::new(found));
        let (ans, stages) = start(hardware(&board), Config::default());
        let mut ans = ans.unwrap();
        let begun = if found == AnsState::Stopped { Stage::CoprocessorStart } else { Stage::CoprocessorWake };
        let all = [
            Stage::PowerDomains,
            Stage::Sart,
            begun,
            Stage::RtkitHello,
            Stage::RtkitEndpoints,
            Stage::RtkitPower,
            Stage::BootStatus,
            Stage::ControllerEnable,
            Stage::Identify,
            Stage::IoQueues,
            Stage::Namespaces,
        ];
        assert_eq!(stages, all);
        let mut block = [1; 4096];
        ans.controller().read(1, 0, &mut block).unwrap();
        assert_eq!(block, [0; 4096]);
        ans.poll().unwrap();
        ans.shutdown(&mut |_, _| {}).unwrap();
        board.finish();
        assert_clean(&board);
        assert_eq!(board.pool_pages(), (0, 0));
    }
}

#[test]
fn a_running_coprocessor_is_neither_reset_nor_restarted() {
    let board = Board::new(MachineConfig::new(AnsState::Running));
    let (ans, _) = start(hardware(&board), Config::default());
    let log = board.log();
    assert!(writes(&log, "asc", 0x44).is_empty());
    assert!(writes(&log, "pmgr", 0x3f0).iter().all(|word| word & 0x8000_0400 == 0));
    ans.unwrap().shutdown(&mut |_, _| {}).unwrap();
    // The next stage wants it fully stopped, whatever it was before.
    assert_eq!(writes(&board.log(), "asc", 0x44), [0]);
}

#[test]
fn a_stopped_coprocessor_is_reset_in_four_writes_and_started_once() {
    let board = Board::new(MachineConfig::new(AnsState::Stopped));
    let (ans, _) = start(hardware(&board), Config::default());
    let log = board.log();
    let resets: Vec<_> = writes(&log, "pmgr", 0x3f0).into_iter().map(|word| word & 0x8000_0400).collect();
    assert_eq!(resets, [0, 0, 0, 0x400, 0x8000_0400, 0x400, 0, 0], "on, gating; fully on, assert, deassert, gating");
    assert_eq!(writes(&log, "asc", 0x44), [0x10]);
    ans.unwrap().shutdown(&mut |_, _| {}).unwrap();
    assert_eq!(writes(&board.log(), "asc", 0x44), [0x10, 0]);
}

#[test]
fn shutdown_goes_in_the_documented_order() {
    let board = Board::new(MachineConfig::new(AnsState::Stopped));
    let (ans, _) = start(hardware(&board), Config::default());
    board.clear_log();
    let mut stages = Vec::new();
    ans.unwrap().shutdown(&mut |stage, _| stages.push(stage)).unwrap();
    let all = [Stage::ControllerShutdown, Stage::CoprocessorStop, Stage::SartClose, Stage::PowerRestore];
    assert_eq!(stages, all);

    let log = board.log();
    let is_write = |block: &'static str, offset: u64| {
        move |access: &Access| access.write && access.block == block && access.offset == offset
    };
    let message = |payload: u64| {
        move |access: &Access| {
            access.write && access.block == "mailbox" && access.offset == 0x800 && access.value == payload
        }
    };
    let order = [
        // Two admin commands: the queues are deleted.
        place(&log, is_write("nvme", 0x2490c)),
        log.iter().rposition(is_write("nvme", 0x2490c)).unwrap(),
        place(&log, |access| is_write("nvme", 0x14)(access) && access.value >> 14 & 3 == 1 && access.value & 1 == 1),
        place(&log, |access| is_write("nvme", 0x14)(access) && access.value & 1 == 0),
        place(&log, message(0x00b0_0000_0000_0010)),
        place(&log, message(0x0060_0000_0000_0001)),
        // Buffers are closed in the SART before the CPU stops.
        place(&log, |access| access.write && access.block == "sart"),
        place(&log, is_write("asc", 0x44)),
        place(&log, is_write("pmgr", 0x418)),
        place(&log, is_write("pmgr", 0x3f0)),
    ];
    assert!(order.is_sorted_by(|one, next| one < next), "{order:?}");
    assert_eq!(log.iter().filter(|access| is_write("nvme", 0x2490c)(access)).count(), 2);
}

#[test]
fn every_buffer_is_open_in_the_sart_before_the_coprocessor_is_told_of_it() {
    let board = Board::new(MachineConfig::new(AnsState::Stopped));
    let (ans, _) = start(hardware(&board), Config::default());
    let log = board.log();
    let replies: Vec<_> = (0..log.len())
        .filter(|index| {
            let access = log[*index];
            let told = access.write && access.block == "mailbox" && access.offset == 0x800;
            told && access.value >> 52 == 1 && access.value & 0xfff_ffff_ffff != 0
        })
        .collect();
    assert!(replies.len() >= 3, "crashlog, syslog and ioreport get buffers");
    for reply in replies {
        let page = (log[reply].value & 0x3ff_ffff_ffff) >> 12;
        let opened = log[..reply].iter().filter(|access| access.write && access.block == "sart").collect::<Vec<_>>();
        let last = opened[opened.len() - 2..].iter().map(|access| access.value).collect::<Vec<_>>();
        assert_eq!(last[0], page, "PADDR comes first");
        assert_eq!(last[1] >> 24, 0xff, "the flags come last");
    }
    ans.unwrap().shutdown(&mut |_, _| {}).unwrap();
}

#[test]
fn it_comes_up_again_after_a_shutdown_on_the_same_hardware() {
    for found in FOUND {
        let board = Board::new(MachineConfig::new(found));
        let mut parts = hardware(&board);
        for _ in 0..3 {
            let mut ans = start(parts, Config::default()).0.unwrap();
            ans.controller().read(1, 7, &mut [0; 8192]).unwrap();
            parts = ans.shutdown(&mut |_, _| {}).unwrap();
        }
        board.finish();
        assert_clean(&board);
        assert_eq!(board.pool_pages(), (0, 0));
    }
}

#[test]
fn both_versions_of_the_sart_let_it_live() {
    for (number, version) in [(2, Version::Two), (3, Version::Three)] {
        let mut config = MachineConfig::new(AnsState::Stopped);
        config.sart_version = number;
        let board = Board::new(config);
        let parts = Hardware { sart_version: version, ..hardware(&board) };
        let ans = start(parts, Config::default()).0.unwrap();
        ans.shutdown(&mut |_, _| {}).unwrap();
        board.finish();
        assert_clean(&board);
    }
}
