//! Planned faults: what the driver sees, and that one which gives up in good order is not blamed.

use super::*;
use sim::host::plain::{ANS2, APCIE_ST, NVME, PMGR};

fn faulty(fault: &str) -> Plain {
    let mut driver = Plain::new(&machine(AnsState::Stopped, &[fault]), Plan::default());
    driver.start().unwrap();
    driver
}

#[test]
fn a_coprocessor_that_never_says_hello_may_be_switched_off() {
    let mut driver = faulty("no-hello");
    assert!(driver.boot().is_err());
    driver.run(false);
    driver.power(APCIE_ST, 0).unwrap();
    driver.power(ANS2, 0).unwrap();
    driver.board.finish();
    assert_clean(&driver);
}

#[test]
fn a_hello_or_an_acknowledgement_that_is_late_is_waited_for() {
    for fault in ["hello-delay=2500000000", "power-ack-delay=2900000000", "mailbox-full-for=150000000"] {
        let mut driver = faulty(fault);
        driver.boot().unwrap();
        driver.put_down().unwrap();
        assert_clean(&driver);
    }
}

#[test]
fn other_versions_are_offered_as_asked_for() {
    let mut driver = faulty("versions=13:14");
    assert_eq!(driver.wait("HELLO", Plain::receive).unwrap(), (0, 1 << 52 | 14 << 16 | 13));
}

#[test]
fn a_boot_that_stays_without_acknowledgement_can_be_put_to_sleep() {
    for fault in ["no-power-ack", "boot-status-never", "no-ap-ack"] {
        let mut driver = faulty(fault);
        assert!(driver.boot().is_err(), "{fault}");
        driver.plan.quiesce_ap = fault != "no-ap-ack";
        driver.put_down().unwrap();
        assert_clean(&driver);
    }
}

#[test]
fn an_endless_endpoint_map_has_no_last_page() {
    let mut driver = faulty("endpoint-map-endless");
    driver.wait("HELLO", Plain::receive).unwrap();
    driver.send(0, 2 << 52 | 12 << 16 | 12).unwrap();
    for page in 0..300_u64 {
        let (_, map) = driver.wait("endpoint map", Plain::receive).unwrap();
        assert_eq!(map & 1 << 51, 0);
        driver.send(0, 8 << 52 | (page & 7) << 32 | 1).unwrap();
    }
    assert_clean(&driver);
}

#[test]
fn odd_buffer_requests_are_made_as_asked_for() {
    for (fault, wanted) in [
        ("buffer-pages=1:0", 1 << 52),
        ("buffer-pages=4:255", 1 << 52 | 255 << 44),
        ("buffer-preset=4:0x12000", 1 << 52 | 4 << 44 | 0x1_2000),
    ] {
        let mut driver = faulty(fault);
        driver.plan.answer_buffers = false;
        assert!(driver.boot().is_err());
        assert!(driver.seen.iter().any(|(_, payload)| *payload == wanted), "{fault}: {:x?}", driver.seen);
        assert_clean(&driver);
    }
}

#[test]
fn a_crash_leaves_its_record_in_the_crashlog_buffer_and_one_message() {
    for (stage, told) in [("hello", false), ("buffers", true), ("power", true), ("running", true)] {
        let mut driver = faulty(&format!("crash={stage}"));
        let up = driver.boot();
        driver.board.pass(20_000_000);
        let failed = up.and_then(|()| driver.poll());
        assert!(failed.is_err(), "{stage}");
        let message = driver.seen.iter().rev().find(|(endpoint, _)| *endpoint == 1);
        let address = message.map_or(0, |(_, payload)| payload & ((1 << 44) - 1));
        assert_eq!(address != 0, told, "{stage}");
        if told {
            let record = driver.board.peek(address, 0x400);
            assert_eq!(&record[..4], b"EHLC");
            assert_eq!(&record[0x20..0x24], b"revC");
        }
        assert_clean(&driver);
    }
}

#[test]
fn a_crash_at_sleep_gives_no_acknowledgement() {
    let mut driver = faulty("crash=sleep");
    driver.boot().unwrap();
    assert!(driver.sleep().is_err());
}

#[test]
fn a_coprocessor_that_does_not_acknowledge_its_sleep_excuses_what_is_left() {
    let mut driver = faulty("no-sleep-ack");
    driver.boot().unwrap();
    assert!(driver.sleep().is_err());
    driver.board.finish();
    assert_clean(&driver);
    assert!(driver.board.noted("rtkit-left-running"));
}

#[test]
fn a_stuck_domain_never_follows_and_a_slow_one_does() {
    let mut stuck = Plain::new(&machine(AnsState::Stopped, &["power-stuck=ans2"]), Plan::default());
    assert!(stuck.power(ANS2, 0xf).is_err());
    let mut slow = Plain::new(&machine(AnsState::Stopped, &["power-delay=500000"]), Plan::default());
    slow.power(ANS2, 0xf).unwrap();
    assert!(slow.board.report().time_ns > 500_000);
}

#[test]
fn a_domain_in_automatic_mode_shows_itself_gated_while_idle() {
    let mut driver = Plain::new(&machine(AnsState::Stopped, &["auto-gating"]), Plan::default());
    driver.power(ANS2, 0xf).unwrap();
    driver.write(PMGR, ANS2, 0x1000_00ff);
    driver.board.pass(2_000_000);
    assert_eq!(driver.read(PMGR, ANS2), 0x1000_004f);
    driver.read(NVME, 0x1300);
    assert_eq!(driver.read(PMGR, ANS2), 0x1000_00ff);
}

#[test]
fn an_idle_coprocessor_may_want_the_init_value_to_wake() {
    let faults = &["wake-needs-init"];
    let mut on = Plain::new(&machine(AnsState::Running, faults), Plan { wake: Some(0x20), ..Plan::default() });
    assert!(on.boot().is_err());
    let mut init = Plain::new(&machine(AnsState::Running, faults), Plan { wake: Some(0x220), ..Plan::default() });
    init.boot().unwrap();
}

#[test]
fn garbage_in_the_syslog_and_unknown_messages_keep_the_session_going() {
    for fault in ["syslog-garbage", "unknown-messages"] {
        let mut driver = faulty(fault);
        driver.boot().unwrap();
        driver.board.pass(5_000_000);
        driver.poll().unwrap();
        driver.put_down().unwrap();
        assert_clean(&driver);
    }
}

#[test]
fn a_full_filter_has_no_free_entry() {
    let mut driver = Plain::new(&machine(AnsState::Stopped, &["sart-full"]), Plan::default());
    driver.power(ANS2, 0xf).unwrap();
    assert!((0..16).all(|index| driver.read(sim::host::plain::SART, index * 4) >> 24 != 0));
}
