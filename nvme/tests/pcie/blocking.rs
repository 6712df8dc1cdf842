//! Calls that wait, among commands that others submitted.

use nvme::{Operation, Request, ShadowDoorbells, SubmitError};
use sim::pcie::{ControllerConfig, Fault};

use crate::rig::{Rig, arm, pattern, settings, submit, up};

#[test]
fn ends_of_other_commands_that_arrive_meanwhile_are_kept() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    let data = pattern(3, 16 << 10);
    let mut tickets: Vec<_> = (0..20).map(|lba| submit(&mut driver, lba)).collect();
    driver.write(1, 100, &data).unwrap();
    driver.flush(1).unwrap();
    let mut read = vec![0; data.len()];
    driver.read(1, 100, &mut read).unwrap();
    assert!(read == data);
    while let Some(completion) = driver.wait() {
        completion.result.unwrap();
        tickets.retain(|ticket| *ticket != completion.ticket);
    }
    assert!(tickets.is_empty());
    rig.down(driver);
}

#[test]
fn a_call_on_a_queue_full_of_ends_that_nobody_polls_says_busy_and_does_not_hang() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(settings(|config| config.depth = 4), ShadowDoorbells::BeforeQueues);
    for lba in 0..4 {
        submit(&mut driver, lba);
    }
    assert_eq!(driver.read(1, 9, &mut [0; 512]), Err(SubmitError::Busy.into()));
    assert_eq!(driver.in_flight(), 0);
    driver.poll().unwrap().result.unwrap();
    driver.read(1, 9, &mut [0; 512]).unwrap();
    while let Some(completion) = driver.poll() {
        completion.result.unwrap();
    }
    rig.down(driver);
}

#[test]
fn a_read_in_several_commands_ends_with_the_first_that_fails() {
    let (rig, mut driver) = up(ControllerConfig { mdts: 1, ..ControllerConfig::new() }, ShadowDoorbells::Off);
    rig.board.add_fault(Fault::ReadError(40));
    driver.read(1, 0, &mut vec![0; 64 << 10]).unwrap_err();
    // Blocks 0 to 15, 16 to 31, and 32 to 47.
    assert_eq!(rig.ran("read"), 3);
    driver.read(1, 48, &mut vec![0; 64 << 10]).unwrap();
    rig.down(driver);
}

#[test]
fn many_flushes_are_counted_and_the_longest_is_told() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    for _ in 0..9 {
        driver.flush(1).unwrap();
    }
    rig.board.add_fault(Fault::Delayed { command: rig.board.io_commands(), delay_ns: 4_000_000_000 });
    driver.submit(Request { namespace: 1, operation: Operation::Flush, buffer: None }).unwrap();
    driver.wait().unwrap().result.unwrap();
    let counters = driver.counters();
    assert_eq!((counters.flushes, rig.ran("flush")), (10, 10));
    assert!(counters.longest_flush.as_secs() >= 4 && counters.longest_flush < counters.flush_time);
    rig.down(driver);
}
