//! What drivers that run on real machines do: none of it may be recorded as a violation.

use super::*;
use sim::host::plain::{ANS2, APCIE_ST, ASC};

fn accepts(plan: Plan) -> Plain {
    let mut driver = driver(plan);
    driver.up().unwrap();
    driver.down().unwrap();
    assert_clean(&driver);
    driver
}

#[test]
fn a_plain_driver_goes_up_and_down_without_violation() {
    let driver = accepts(Plan::default());
    assert!(!driver.board.noted("ap-never-raised"));
    let report = driver.board.report();
    assert!(report.mmio["ASC_CPU_CONTROL"].writes == 2, "{:?}", report.mmio);
}

#[test]
fn no_message_about_the_ap_before_use_or_before_sleep_is_a_note_only() {
    let driver = accepts(Plan { raise_ap: false, quiesce_ap: false, ..Plan::default() });
    assert!(driver.board.noted("ap-never-raised"));
}

#[test]
fn an_ap_that_is_not_quiesced_before_sleep_is_a_note_only() {
    let driver = accepts(Plan { quiesce_ap: false, ..Plan::default() });
    assert!(driver.board.noted("ap-not-quiesced"));
}

#[test]
fn syslog_and_debug_may_stay_unstarted_and_the_application_endpoint_started() {
    accepts(Plan { endpoints: vec![1, 4, 8, 0x20], ..Plan::default() });
}

#[test]
fn endpoints_start_in_any_order() {
    accepts(Plan { endpoints: vec![3, 1, 2, 4, 8], ..Plan::default() });
    accepts(Plan { endpoints: vec![10, 8, 4, 1], ..Plan::default() });
}

#[test]
fn a_wake_message_right_after_run_gives_one_hello_for_each_value_in_use() {
    for wake in [None, Some(0x20), Some(0x220)] {
        let driver = accepts(Plan { wake, ..Plan::default() });
        let hellos = driver.seen.iter().filter(|message| message.0 == 0 && message.1 >> 52 == 1);
        assert_eq!(hellos.count(), 1, "{wake:?}");
    }
}

#[test]
fn the_oslog_request_may_be_answered_in_each_known_way_or_not_at_all() {
    for oslog in [None, Some(3), Some(1)] {
        accepts(Plan { oslog, ..Plan::default() });
    }
}

#[test]
fn a_second_reset_pulse_changes_nothing() {
    let mut driver = driver(Plan::default());
    driver.power(ANS2, 0xf).unwrap();
    driver.power(APCIE_ST, 0xf).unwrap();
    driver.reset();
    driver.reset();
    driver.run(true);
    driver.boot().unwrap();
    driver.put_down().unwrap();
    assert_clean(&driver);
}

#[test]
fn version_3_of_the_filter_takes_its_own_layout() {
    let mut config = MachineConfig::new(AnsState::Stopped);
    config.sart_version = 3;
    let mut driver = Plain::new(&Board::new(config), Plan { sart_version: 3, ..Plan::default() });
    driver.up().unwrap();
    driver.down().unwrap();
    assert_clean(&driver);
}

#[test]
fn a_coprocessor_left_running_wakes_from_each_value_in_use_and_may_be_left_stopped() {
    for wake in [Some(0x20), Some(0x220)] {
        let mut driver = Plain::new(&machine(AnsState::Running, &[]), Plan { wake, ..Plan::default() });
        assert_eq!(driver.read(ASC, 0x44), 0x10);
        driver.boot().unwrap();
        driver.enable(2, 64).unwrap();
        driver.disable().unwrap();
        driver.sleep().unwrap();
        driver.close();
        driver.board.finish();
        assert_clean(&driver);
    }
}

#[test]
fn after_a_sleep_the_reset_and_run_sequence_boots_again() {
    let mut driver = driver(Plan::default());
    driver.up().unwrap();
    driver.disable().unwrap();
    driver.sleep().unwrap();
    driver.close();
    driver.reset();
    driver.run(true);
    driver.boot().unwrap();
    driver.put_down().unwrap();
    assert_clean(&driver);
}

#[test]
fn syslog_lines_lie_in_the_granted_buffer_as_text() {
    let mut driver = driver(Plan::default());
    driver.up().unwrap();
    driver.board.pass(5_000_000);
    driver.poll().unwrap();
    let granted = driver.board.log();
    let buffer = granted.iter().find(|access| access.write && access.block == "sart" && access.offset == 0x4c).unwrap();
    let entry = driver.board.peek(buffer.value << 12, 0x40);
    assert_eq!(&entry[8..13], b"rtkit");
    assert!(entry[0x20..].starts_with(b"RTKit: syslog is up\n\0"), "{entry:x?}");
}

#[test]
fn two_runs_with_the_same_seed_leave_the_same_record() {
    let run = || format!("{:?}", accepts(Plan::default()).board.report());
    assert_eq!(run(), run());
}
