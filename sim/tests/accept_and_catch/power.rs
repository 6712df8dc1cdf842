//! Power domains and their resets: order, delays, parents.

use super::*;
use sim::host::plain::{ANS2, APCIE_ST, PMGR};

const RESET: u64 = 1 << 31;
const DEV_DISABLE: u64 = 1 << 10;

fn powered() -> Plain {
    let mut driver = driver(Plan::default());
    driver.power(ANS2, 0xf).unwrap();
    driver
}

#[test]
fn the_actual_state_follows_the_target_after_a_delay() {
    let driver = driver(Plan::default());
    driver.write(PMGR, ANS2, 0xf);
    assert_eq!(driver.read(PMGR, ANS2), 0x0f);
    driver.board.pass(6_000);
    assert_eq!(driver.read(PMGR, ANS2), 0xff);
    assert_clean(&driver);
}

#[test]
fn a_child_does_not_come_up_without_its_parent() {
    let driver = driver(Plan::default());
    driver.write(PMGR, APCIE_ST, 0xf);
    driver.board.pass(10_000);
    assert_eq!(driver.read(PMGR, APCIE_ST), 0x80f);
    assert_caught(&driver, "parent-off", &[]);
}

#[test]
fn a_parent_does_not_go_down_before_its_child() {
    let mut driver = powered();
    driver.power(APCIE_ST, 0xf).unwrap();
    driver.power(ANS2, 0).unwrap();
    assert_caught(&driver, "child-on", &[]);
}

#[test]
fn each_step_of_a_reset_is_a_write_of_its_own_inside_device_disable() {
    let at_once = powered();
    at_once.write(PMGR, ANS2, 0xff | RESET | DEV_DISABLE);
    assert_caught(&at_once, "reset-in-one-write", &[]);

    let bare = powered();
    bare.write(PMGR, ANS2, 0xff | RESET);
    assert_caught(&bare, "reset-without-device-disable", &[]);

    let early = powered();
    for bits in [DEV_DISABLE, RESET | DEV_DISABLE, RESET] {
        early.write(PMGR, ANS2, 0xff | bits);
    }
    assert_caught(&early, "device-enabled-in-reset", &[]);
}

#[test]
fn a_reset_needs_power() {
    let driver = driver(Plan::default());
    driver.reset();
    assert_caught(&driver, "reset-while-off", &[]);
}

#[test]
fn power_is_not_cut_under_a_running_coprocessor() {
    let mut driver = driver(Plan::default());
    driver.start().unwrap();
    driver.boot().unwrap();
    driver.power(APCIE_ST, 0).unwrap();
    driver.power(ANS2, 0).unwrap();
    assert_caught(&driver, "power-off-while-running", &[]);
}

#[test]
fn an_unmodelled_domain_is_on_and_follows_at_once() {
    let driver = driver(Plan::default());
    assert_eq!(driver.read(PMGR, 0x200), 0xff);
    driver.write(PMGR, 0x200, 0x4);
    assert_eq!(driver.read(PMGR, 0x200), 0x44);
    assert_clean(&driver);
}
