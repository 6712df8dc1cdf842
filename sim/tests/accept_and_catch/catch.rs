//! Broken drivers: each differs from the plain one in one way, and the model says which.

use super::*;
use sim::host::plain::{ANS2, APCIE_ST, MAILBOX, NVME, Open, PMGR, SART};

const CLEAN_UP_SKIPPED: &[&str] = &["rtkit-left-running", "sart-entry-left", "domain-left-changed"];

/// A boot that fails by the plan's mistake.
fn fails(plan: Plan, rule: &str, consequences: &[&str]) -> Plain {
    let mut driver = driver(plan);
    driver.start().unwrap();
    assert!(driver.boot().is_err(), "the boot went through");
    driver.board.pass(2_000_000_000);
    assert_caught(&driver, rule, consequences);
    driver
}

#[test]
fn endpoints_that_are_not_started_stall_the_boot() {
    for endpoints in [vec![], vec![1, 2, 3, 8], vec![2, 3, 4, 8]] {
        fails(Plan { endpoints, ..Plan::default() }, "endpoints-not-started", &[]);
    }
}

#[test]
fn an_endpoint_that_the_map_does_not_have_is_not_started() {
    let mut driver = driver(Plan { endpoints: vec![1, 2, 3, 4, 5, 8], ..Plan::default() });
    driver.start().unwrap();
    driver.boot().unwrap();
    assert_caught(&driver, "endpoint-not-in-map", &[]);
}

#[test]
fn an_endpoint_starts_once() {
    let mut driver = driver(Plan { endpoints: vec![1, 1, 4], ..Plan::default() });
    driver.start().unwrap();
    driver.boot().unwrap();
    assert_caught(&driver, "endpoint-started-twice", &[]);
}

#[test]
fn a_buffer_request_without_answer_stalls_the_boot() {
    fails(Plan { answer_buffers: false, ..Plan::default() }, "buffer-request-unanswered", &[]);
}

#[test]
fn a_buffer_that_the_filter_does_not_open_in_time_crashes_the_coprocessor() {
    for open in [Open::After, Open::Never] {
        let driver = fails(Plan { open, ..Plan::default() }, "buffer-not-in-sart", &["buffer-window-closed"]);
        assert!(driver.board.noted("coprocessor-crash"));
    }
}

#[test]
fn a_filter_entry_smaller_than_its_buffer_crashes_the_coprocessor() {
    let driver = fails(Plan { short_pages: 1, ..Plan::default() }, "buffer-not-in-sart", &["buffer-window-closed"]);
    assert!(driver.board.noted("coprocessor-crash"));
}

#[test]
fn a_buffer_outside_memory_crashes_the_coprocessor() {
    let plan = Plan { buffer_address: Some(0xf_0000_0000), ..Plan::default() };
    fails(plan, "buffer-outside-memory", &[]);
}

#[test]
fn syslog_lines_without_echo_are_caught() {
    fails(Plan { echo_syslog: false, ..Plan::default() }, "syslog-not-echoed", &[]);
}

#[test]
fn ioreport_messages_without_echo_stall_the_boot() {
    fails(Plan { echo_ioreport: false, ..Plan::default() }, "ioreport-not-echoed", &[]);
}

#[test]
fn an_ioreport_of_a_running_coprocessor_without_echo_hangs_it() {
    let mut driver = driver(Plan::default());
    driver.up().unwrap();
    driver.plan.echo_ioreport = false;
    driver.board.pass(2_100_000_000);
    driver.poll().unwrap();
    driver.board.pass(1_100_000_000);
    assert_caught(&driver, "ioreport-not-echoed", &[]);
    assert!(driver.sleep().is_err());
}

#[test]
fn a_filter_entry_left_behind_is_caught_at_the_end() {
    let mut driver = driver(Plan::default());
    driver.up().unwrap();
    driver.disable().unwrap();
    driver.sleep().unwrap();
    // A gated domain would forget the entries.
    driver.board.finish();
    assert_caught(&driver, "sart-entry-left", &["domain-left-changed"]);
}

#[test]
fn a_write_over_an_entry_of_the_boot_chain_is_caught_and_changes_nothing() {
    let consequences = &["buffer-not-in-sart", "buffer-window-closed"];
    let driver = fails(Plan { first_entry: 0, ..Plan::default() }, "sart-protected-entry", consequences);
    assert_eq!(driver.read(SART, 0x40), 0x9_f000_0000 >> 12);
}

#[test]
fn an_entry_that_is_closed_while_the_coprocessor_is_awake_is_caught() {
    let mut driver = driver(Plan::default());
    driver.up().unwrap();
    driver.disable().unwrap();
    driver.close();
    assert!(driver.sleep().is_err());
    assert_caught(&driver, "buffer-window-closed", &[]);
}

#[test]
fn without_run_there_is_no_hello() {
    let mut silent = driver(Plan::default());
    silent.power(ANS2, 0xf).unwrap();
    silent.power(APCIE_ST, 0xf).unwrap();
    silent.reset();
    assert!(silent.boot().is_err());
    assert_eq!(silent.seen, []);
    assert_clean(&silent);

    let mut speaking = driver(Plan { wake: Some(0x20), ..Plan::default() });
    speaking.power(ANS2, 0xf).unwrap();
    speaking.power(APCIE_ST, 0xf).unwrap();
    assert!(speaking.boot().is_err());
    assert_caught(&speaking, "message-to-stopped-coprocessor", &[]);
}

#[test]
fn a_reset_of_a_running_coprocessor_breaks_it_for_good() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.boot().unwrap();
    driver.reset();
    assert_caught(&driver, "reset-while-running", &[]);
    driver.run(true);
    assert!(driver.boot().is_err());
}

#[test]
fn a_coprocessor_left_idle_by_iboot_bears_neither_reset_nor_stop() {
    let mut reset = Plain::new(&machine(AnsState::Running, &[]), Plan::default());
    reset.reset();
    assert_caught(&reset, "reset-while-running", &[]);
    reset.run(true);
    assert!(reset.boot().is_err());

    let stopped = Plain::new(&machine(AnsState::Running, &[]), Plan::default());
    stopped.run(false);
    assert_caught(&stopped, "run-cleared-while-alive", &[]);
}

#[test]
fn run_is_not_cleared_before_the_sleep_handshake() {
    let mut driver = driver(Plan::default());
    driver.up().unwrap();
    driver.disable().unwrap();
    driver.run(false);
    assert_caught(&driver, "run-cleared-while-alive", &[]);
}

#[test]
fn an_access_to_a_gated_block_is_an_external_abort() {
    for address in [NVME, SART, MAILBOX + 0x110] {
        let driver = driver(Plan::default());
        assert_eq!(driver.board.read(address, 4), u64::from(u32::MAX) | u64::MAX << 32);
        assert_caught(&driver, "access-while-gated", &["external-abort"]);
    }
}

#[test]
fn a_domain_left_changed_is_caught_at_the_end() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.boot().unwrap();
    driver.sleep().unwrap();
    driver.close();
    driver.power(APCIE_ST, 0).unwrap();
    driver.board.finish();
    assert_caught(&driver, "domain-left-changed", &[]);
}

#[test]
fn a_coprocessor_left_awake_is_caught_at_the_end() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.boot().unwrap();
    driver.board.finish();
    assert_caught(&driver, "rtkit-left-running", CLEAN_UP_SKIPPED);
}

#[test]
fn a_coprocessor_put_to_sleep_with_the_controller_enabled_complains() {
    let mut driver = driver(Plan::default());
    driver.up().unwrap();
    driver.sleep().unwrap();
    assert!(driver.board.broke("slept-with-controller-enabled"));
}

#[test]
fn a_boot_without_the_storage_port_crashes() {
    let mut driver = driver(Plan::default());
    driver.power(ANS2, 0xf).unwrap();
    driver.reset();
    driver.run(true);
    assert!(driver.boot().is_err());
    assert_caught(&driver, "storage-port-off", &[]);
}

#[test]
fn an_iop_that_was_sent_to_off_never_wakes() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.boot().unwrap();
    driver.send(0, 0x6 << 52).unwrap();
    driver.until("acknowledgement", |message| message == (0, 0x7 << 52)).unwrap();
    driver.plan.wake = Some(0x220);
    assert!(driver.boot().is_err());
    assert_caught(&driver, "iop-power-off", &["iop-is-off"]);
}

#[test]
fn a_version_that_was_not_offered_stalls_the_boot() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    let hello = driver.wait("HELLO", Plain::receive).unwrap();
    assert_eq!(hello, (0, 1 << 52 | 12 << 16 | 11));
    driver.send(0, 2 << 52 | 13 << 16 | 13).unwrap();
    assert!(driver.wait("endpoint map", Plain::receive).is_err());
    assert_caught(&driver, "hello-version", &[]);
}

#[test]
fn a_map_reply_without_its_flag_stalls_the_boot() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.wait("HELLO", Plain::receive).unwrap();
    driver.send(0, 2 << 52 | 12 << 16 | 12).unwrap();
    driver.wait("endpoint map", Plain::receive).unwrap();
    driver.send(0, 8 << 52).unwrap();
    assert!(driver.wait("next page", Plain::receive).is_err());
    assert_caught(&driver, "endpoint-map-reply", &[]);
}

#[test]
fn mailbox_words_written_in_halves_lose_the_message() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.wait("HELLO", Plain::receive).unwrap();
    driver.write(MAILBOX, 0x800, 12 << 16 | 12);
    driver.write(MAILBOX, 0x804, 2 << 20);
    driver.board.write(MAILBOX + 0x808, 8, 0);
    assert!(driver.wait("endpoint map", Plain::receive).is_err());
    assert_caught(&driver, "mailbox-halves", &["mailbox-order", "hello-unanswered"]);
}

#[test]
fn mailbox_word_1_before_word_0_loses_the_message() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.wait("HELLO", Plain::receive).unwrap();
    driver.board.write(MAILBOX + 0x808, 8, 0);
    driver.board.write(MAILBOX + 0x800, 8, 2 << 52 | 12 << 16 | 12);
    assert!(driver.wait("endpoint map", Plain::receive).is_err());
    assert_caught(&driver, "mailbox-order", &["hello-unanswered"]);
}

#[test]
fn mailbox_words_are_read_in_order_whole_and_not_when_empty() {
    let booted = || {
        let mut driver = driver(Plan::default());
        driver.start().unwrap();
        driver.board.pass(20_000_000);
        driver
    };
    let backwards = booted();
    backwards.board.read(MAILBOX + 0x838, 8);
    assert_caught(&backwards, "mailbox-order", &[]);
    let twice = booted();
    twice.board.read(MAILBOX + 0x830, 8);
    twice.board.read(MAILBOX + 0x830, 8);
    assert_caught(&twice, "mailbox-order", &["mailbox-read-empty"]);
    let halves = booted();
    halves.board.read(MAILBOX + 0x830, 4);
    assert_caught(&halves, "mailbox-halves", &[]);
    let empty = booted();
    empty.board.read(MAILBOX + 0x830, 8);
    empty.board.read(MAILBOX + 0x838, 8);
    empty.board.read(MAILBOX + 0x830, 8);
    assert_caught(&empty, "mailbox-read-empty", &[]);
}

#[test]
fn a_message_sent_while_full_is_lost() {
    let mut driver = Plain::new(&machine(AnsState::Stopped, &["mailbox-full"]), Plan::default());
    driver.start().unwrap();
    for _ in 0..16 {
        driver.send(0, 6 << 52 | 0x20).unwrap();
    }
    assert!(driver.send(0, 6 << 52 | 0x20).is_err());
    assert_clean(&driver);
    driver.board.write(MAILBOX + 0x800, 8, 0);
    driver.board.write(MAILBOX + 0x808, 8, 0);
    assert_caught(&driver, "mailbox-overflow", &[]);
}

#[test]
fn an_unaligned_or_odd_access_aborts() {
    let mut driver = driver(Plan::default());
    driver.power(ANS2, 0xf).unwrap();
    driver.board.read(PMGR + 0x3f0, 8);
    assert_caught(&driver, "access-size", &["external-abort"]);
}
