//! Strict and coalesce: what a flush is worth, and what it costs on the wire.

use nvme::{CommandError, FlushPolicy, Operation, Request};
use sim::pcie::{Cut, Fault};

use crate::checker::content;
use crate::meddler::FLUSH;
use crate::rig::{Driver, Rig};

fn flushes(rig: &Rig, namespace: u32) -> usize {
    rig.count(|sent| sent.is_io(FLUSH) && sent.namespace == namespace)
}

fn submit(driver: &mut Driver, namespace: u32, operation: Operation) -> nvme::Ticket {
    driver.submit(Request { namespace, operation, buffer: None }).unwrap()
}

fn cut(rig: &Rig) {
    rig.board.plan_cut(Some(Cut::AfterEvents(1)));
    rig.board.pass(10_000_000_000);
    if rig.board.cut_at().is_none() {
        rig.board.write(sim::pcie::BAR0 + 0x0c, 4, 0);
    }
    assert!(rig.board.cut_at().is_some());
}

/// What a cut leaves of a write that was treated as `act` says.
fn survives(act: impl FnOnce(&Rig, Driver) -> Option<Driver>) -> bool {
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    driver.write(1, 20, &content(1, 20, 1)).unwrap();
    let driver = act(&rig, driver);
    rig.board.cut_power();
    drop(driver);
    let block = rig.durable(1, 20);
    assert!(block == content(1, 20, 1) || block == content(1, 20, 0));
    block == content(1, 20, 1)
}

#[test]
fn a_write_survives_a_cut_once_it_was_flushed_synced_or_the_controller_was_shut_down() {
    // Case BL-101.
    assert!(!survives(|_, driver| Some(driver)));
    assert!(survives(|_, mut driver| {
        driver.flush(1).unwrap();
        Some(driver)
    }));
    assert!(survives(|rig, mut driver| {
        rig.wire().sent.clear();
        driver.sync(1).unwrap();
        assert_eq!((flushes(rig, 1), rig.count(|_| true)), (1, 1));
        Some(driver)
    }));
    assert!(survives(|_, driver| {
        driver.shutdown().unwrap();
        None
    }));
}

#[test]
fn strict_sends_one_device_flush_for_each_that_is_asked_for_and_answers_after_it() {
    let rig = Rig::new(2, |_| ());
    let mut driver = rig.up();
    let tickets: Vec<_> = (0..8).map(|at| submit(&mut driver, 1 + at % 2, Operation::Flush)).collect();
    assert_eq!((flushes(&rig, 1), flushes(&rig, 2)), (4, 4));
    assert!(driver.poll().is_none());
    rig.board.pass(900_000);
    assert!(driver.poll().is_none(), "the device takes 1 ms at least");
    for _ in tickets {
        assert_eq!(driver.wait().unwrap().result, Ok(()));
    }
    let statistics = driver.flush_statistics(1).unwrap();
    assert_eq!((statistics.asked, statistics.sent, statistics.shared, statistics.spared), (4, 4, 0, 0));
}

#[test]
fn coalesced_flushes_that_wait_share_one_which_is_sent_after_the_last_was_asked_for() {
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    driver.set_flush_policy(1, FlushPolicy::Coalesce).unwrap();
    for at in 0..16 {
        submit(&mut driver, 1, if at % 4 == 3 { Operation::Sync } else { Operation::Flush });
    }
    assert_eq!(flushes(&rig, 1), 0, "not before the controller is polled");
    for _ in 0..16 {
        assert_eq!(driver.wait().unwrap().result, Ok(()));
    }
    assert_eq!(flushes(&rig, 1), 1);
    let statistics = driver.flush_statistics(1).unwrap();
    assert_eq!((statistics.asked, statistics.sent, statistics.shared), (16, 1, 15));
}

#[test]
fn a_flush_asked_for_while_one_is_under_way_waits_for_the_next() {
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    driver.set_flush_policy(1, FlushPolicy::Coalesce).unwrap();
    let first = submit(&mut driver, 1, Operation::Flush);
    assert!(driver.poll().is_none());
    assert_eq!(flushes(&rig, 1), 1);
    // It is not covered by what the device has begun.
    driver.write(1, 30, &content(1, 30, 1)).unwrap();
    let second = submit(&mut driver, 1, Operation::Flush);
    let third = submit(&mut driver, 1, Operation::Flush);
    let end = driver.wait().unwrap();
    assert_eq!((end.ticket, end.result), (first, Ok(())));
    assert_ne!(rig.durable(1, 30), content(1, 30, 1));
    let mut ends = [driver.wait().unwrap(), driver.wait().unwrap()].map(|end| (end.ticket, end.result));
    ends.sort_by_key(|(ticket, _)| *ticket != second);
    assert_eq!(ends, [(second, Ok(())), (third, Ok(()))]);
    assert_eq!(flushes(&rig, 1), 2);
    cut(&rig);
    assert_eq!(rig.durable(1, 30), content(1, 30, 1));
}

#[test]
fn flushes_share_within_a_namespace_only() {
    let rig = Rig::new(3, |_| ());
    let mut driver = rig.up();
    driver.set_flush_policy(1, FlushPolicy::Coalesce).unwrap();
    driver.set_flush_policy(3, FlushPolicy::Coalesce).unwrap();
    for at in 0..9 {
        submit(&mut driver, 1 + at % 3, Operation::Flush);
    }
    while driver.wait().is_some() {}
    assert_eq!([flushes(&rig, 1), flushes(&rig, 2), flushes(&rig, 3)], [1, 3, 1]);
    assert_eq!(driver.flush_policy(2), Ok(FlushPolicy::Strict));
}

#[test]
fn flushes_of_several_queue_pairs_share_one() {
    let mut rig = Rig::new(1, |_| ());
    rig.config.queue_pairs = 4;
    let mut driver = rig.up();
    driver.set_flush_policy(1, FlushPolicy::Coalesce).unwrap();
    for pair in 0..4 {
        driver.submit_on(pair, Request { namespace: 1, operation: Operation::Flush, buffer: None }).unwrap();
    }
    for _ in 0..4 {
        assert_eq!(driver.wait().unwrap().result, Ok(()));
    }
    assert_eq!(flushes(&rig, 1), 1);
}

#[test]
fn all_that_shared_a_flush_which_failed_hear_of_it() {
    let rig = Rig::new(1, |model| model.faults.push(Fault::FlushFails(0)));
    let mut driver = rig.up();
    driver.set_flush_policy(1, FlushPolicy::Coalesce).unwrap();
    for _ in 0..5 {
        submit(&mut driver, 1, Operation::Flush);
    }
    for _ in 0..5 {
        assert!(matches!(driver.wait().unwrap().result, Err(CommandError::Status(_))));
    }
    let statistics = driver.flush_statistics(1).unwrap();
    assert_eq!((statistics.sent, statistics.failed), (1, 1));
}

#[test]
fn flushes_that_wait_are_performed_before_the_policy_changes() {
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    driver.set_flush_policy(1, FlushPolicy::Coalesce).unwrap();
    submit(&mut driver, 1, Operation::Flush);
    driver.set_flush_policy(1, FlushPolicy::Strict).unwrap();
    assert_eq!(flushes(&rig, 1), 1);
    assert_eq!(driver.poll().unwrap().result, Ok(()));
}
