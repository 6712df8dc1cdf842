//! Deferred: answered at once, performed in time, and never forgotten.

use std::time::Duration;

use nvme::{Accept, Access, BlockError, CacheMode, DeferredError, FlushPolicy, Operation, Request, SubmitError};
use sim::pcie::Fault;

use crate::checker::{BLOCK, content};
use crate::meddler::FLUSH;
use crate::rig::{Driver, Rig};

const DELAY: Duration = Duration::from_millis(800);
const EIGHTH: u64 = 100_000_000;
const ACCEPT: Accept = Accept::LossOfFlushedDataOnPowerCut;

fn flushes(rig: &Rig) -> usize {
    rig.count(|sent| sent.is_io(FLUSH))
}

/// A controller that defers the flushes of its first namespace, with block 3 written and flushed.
fn pending(rig: &Rig) -> Driver {
    let mut driver = rig.up();
    driver.defer_flushes(1, DELAY, ACCEPT).unwrap();
    driver.write(1, 3, &content(1, 3, 1)).unwrap();
    driver.flush(1).unwrap();
    assert_eq!((flushes(rig), rig.durable(1, 3)), (0, content(1, 3, 0)), "answered, and not performed");
    driver
}

fn is_durable(rig: &Rig) -> bool {
    rig.durable(1, 3) == content(1, 3, 1)
}

fn told(result: Result<(), BlockError>) -> Option<DeferredError> {
    match result {
        Err(BlockError::Submit(SubmitError::Deferred { namespace: 1, error })) => Some(error),
        _ => None,
    }
}

#[test]
fn it_is_performed_an_eighth_of_the_delay_early_by_a_caller_who_polls() {
    let rig = Rig::new(1, |_| ());
    let mut driver = pending(&rig);
    rig.board.pass(6 * EIGHTH);
    assert!(driver.poll().is_none());
    driver.flush(1).unwrap();
    assert_eq!(flushes(&rig), 0);
    rig.board.pass(EIGHTH);
    assert!(driver.poll().is_none());
    assert_eq!(flushes(&rig), 1, "by the first that was asked for");
    rig.board.pass(2_000_000);
    assert!(is_durable(&rig));
    assert!(driver.poll().is_none(), "nobody waits for it");
    let statistics = driver.flush_statistics(1).unwrap();
    assert_eq!((statistics.asked, statistics.deferred, statistics.sent, statistics.late), (2, 2, 1, 0));
    rig.board.pass(20 * EIGHTH);
    assert!(driver.poll().is_none());
    assert_eq!(flushes(&rig), 1, "nothing is left to be flushed");
}

#[test]
fn a_caller_who_does_not_poll_in_time_is_told_once() {
    let rig = Rig::new(2, |_| ());
    let mut driver = pending(&rig);
    rig.board.pass(8 * EIGHTH + 5_000_000);
    driver.poll();
    assert_eq!(flushes(&rig), 1);
    driver.flush(2).unwrap();
    let late = told(driver.flush(1)).unwrap();
    let DeferredError::Late { by } = late else { panic!("{late}") };
    assert!((Duration::from_millis(4)..Duration::from_millis(6)).contains(&by), "{by:?}");
    driver.flush(1).unwrap();
    assert_eq!(driver.flush_statistics(1).unwrap().late, 1);
    assert_eq!(driver.flush_policy(1), Ok(FlushPolicy::Deferred { max_delay: DELAY }));
}

#[test]
fn a_caller_who_never_polls_is_told_by_the_next_call_that_waits_or_the_one_after_it() {
    let rig = Rig::new(1, |_| ());
    let mut driver = pending(&rig);
    rig.board.pass(80 * EIGHTH);
    // Nothing was sent so far, so that this call finds it.
    let first = driver.read(1, 0, &mut [0; BLOCK]);
    let error = told(first).or_else(|| told(driver.read(1, 0, &mut [0; BLOCK]))).unwrap();
    assert!(matches!(error, DeferredError::Late { by } if by >= 9 * DELAY));
    assert_eq!(flushes(&rig), 1);
}

#[test]
fn a_failed_one_is_told_once_and_stays_to_be_done() {
    let rig = Rig::new(2, |model| model.faults.push(Fault::FlushFails(0)));
    let mut driver = pending(&rig);
    driver.defer_flushes(2, DELAY, ACCEPT).unwrap();
    rig.board.pass(7 * EIGHTH);
    driver.poll();
    rig.board.pass(2_000_000);
    driver.poll();
    assert!(!is_durable(&rig));
    driver.read(2, 0, &mut [0; BLOCK]).unwrap();
    assert!(matches!(told(driver.read(1, 0, &mut [0; BLOCK])), Some(DeferredError::Failed(_))));
    for _ in 0..100 {
        driver.read(1, 0, &mut [0; BLOCK]).unwrap();
    }
    assert_eq!(flushes(&rig), 1, "a broken device is not flooded");
    rig.board.pass(100_000_000);
    driver.poll();
    rig.board.pass(2_000_000);
    assert!(is_durable(&rig), "it was tried again by itself");
    assert_eq!(driver.flush_policy(1), Ok(FlushPolicy::Strict), "nothing more is deferred");
    assert_eq!(driver.flush_policy(2), Ok(FlushPolicy::Deferred { max_delay: DELAY }), "the other goes on");
    assert_eq!(driver.flush_statistics(1).unwrap().failed, 1);
}

#[test]
fn one_that_fails_always_is_not_forgotten_by_a_reset() {
    let rig = Rig::new(1, |model| model.faults.push(Fault::FlushError));
    let mut driver = pending(&rig);
    assert!(matches!(told(driver.quiesce()), Some(DeferredError::Failed(_))));
    assert!(matches!(told(driver.quiesce()), Some(DeferredError::Failed(_))), "tried again, and failed again");
    driver.reset().unwrap();
    rig.board.clear_faults();
    let _ = driver.quiesce();
    assert!(is_durable(&rig));
    driver.quiesce().unwrap();
    driver.shutdown().unwrap();
    rig.assert_clean();
}

#[test]
fn it_is_performed_before_sleep_reset_shutdown_cache_changes_read_only_and_other_policies() {
    type Act = fn(&mut Driver);
    let acts: [(&str, Act); 6] = [
        ("sleep", |driver| driver.quiesce().unwrap()),
        ("reset", |driver| driver.reset().unwrap()),
        ("off", |driver| driver.set_write_cache(false, false).unwrap()),
        ("read-only", |driver| driver.set_access(1, Access::ReadOnly).unwrap()),
        ("strict", |driver| driver.set_flush_policy(1, FlushPolicy::Strict).unwrap()),
        ("longer", |driver| driver.defer_flushes(1, 2 * DELAY, ACCEPT).unwrap()),
    ];
    for (name, act) in acts {
        let rig = Rig::new(1, |_| ());
        let mut driver = pending(&rig);
        act(&mut driver);
        assert!(flushes(&rig) >= 1 && is_durable(&rig), "{name}");
        assert!(driver.poll().is_none(), "{name}: an end that nobody asked for");
    }
    let rig = Rig::new(1, |_| ());
    pending(&rig).shutdown().unwrap();
    assert!(flushes(&rig) == 1 && is_durable(&rig), "not by the controller's own shutdown alone");
}

#[test]
fn sync_and_forced_writes_are_never_deferred() {
    let rig = Rig::new(1, |_| ());
    let mut driver = pending(&rig);
    driver.write_durable(1, 4, &content(1, 4, 1)).unwrap();
    assert_eq!(rig.durable(1, 4), content(1, 4, 1));
    driver.sync(1).unwrap();
    assert!(is_durable(&rig));
    assert_eq!(flushes(&rig), 1);
    rig.board.pass(20 * EIGHTH);
    driver.poll();
    assert_eq!(flushes(&rig), 1, "the sync has done it");
}

#[test]
fn each_namespace_has_its_own_delay_and_its_own_account() {
    let rig = Rig::new(3, |_| ());
    let mut driver = rig.up();
    driver.defer_flushes(1, DELAY, ACCEPT).unwrap();
    driver.defer_flushes(2, 4 * DELAY, ACCEPT).unwrap();
    for id in 1..=3 {
        driver.flush(id).unwrap();
    }
    let sent = |id| rig.count(|sent| sent.is_io(FLUSH) && sent.namespace == id);
    assert_eq!([sent(1), sent(2), sent(3)], [0, 0, 1]);
    rig.board.pass(8 * EIGHTH - 10_000_000);
    driver.poll();
    assert_eq!([sent(1), sent(2), sent(3)], [1, 0, 1]);
    rig.board.pass(4 * 7 * EIGHTH - 8 * EIGHTH + 20_000_000);
    driver.poll();
    assert_eq!([sent(1), sent(2), sent(3)], [1, 1, 1]);
}

#[test]
fn a_load_that_takes_every_tag_does_not_starve_it() {
    let mut rig = Rig::new(1, |_| ());
    rig.config.depth = 4;
    let mut driver = pending(&rig);
    let read = |driver: &Driver| Request {
        namespace: 1,
        operation: Operation::Read { lba: 0, count: 1 },
        buffer: Some(nvme::Buffer::new(driver.pool(), BLOCK).unwrap()),
    };
    // Each end that is told of is followed by the next read at once.
    for _ in 0..10_000 {
        let request = read(&driver);
        match driver.submit(request) {
            Ok(_) => {}
            Err(refused) => {
                assert_eq!(refused.error, SubmitError::Busy);
                rig.board.pass(1_000_000);
                driver.poll();
            }
        }
        if flushes(&rig) > 0 {
            break;
        }
    }
    let statistics = driver.flush_statistics(1).unwrap();
    assert_eq!((statistics.sent, statistics.late), (1, 0));
}

#[test]
fn ends_that_nobody_polls_for_hold_its_tag_and_the_caller_is_told_that() {
    let mut rig = Rig::new(1, |_| ());
    rig.config.depth = 2;
    let mut driver = rig.up();
    driver.defer_flushes(1, DELAY, ACCEPT).unwrap();
    for _ in 0..2 {
        driver.submit(Request { namespace: 1, operation: Operation::Flush, buffer: None }).unwrap();
    }
    assert_eq!(driver.quiesce(), Err(SubmitError::Busy.into()));
    while driver.poll().is_some() {}
    driver.quiesce().unwrap();
    assert_eq!(flushes(&rig), 1);
}

#[test]
fn ends_that_nobody_polls_for_do_not_keep_a_shutdown_from_flushing() {
    let mut rig = Rig::new(1, |_| ());
    rig.config.depth = 2;
    let mut driver = pending(&rig);
    for _ in 0..2 {
        driver.submit(Request { namespace: 1, operation: Operation::Flush, buffer: None }).unwrap();
    }
    driver.shutdown().unwrap();
    assert!(flushes(&rig) == 1 && is_durable(&rig));
    rig.assert_clean();
}

#[test]
fn a_reset_of_a_controller_that_died_keeps_what_was_deferred_and_tells_of_no_flush_that_nobody_asked_for() {
    let rig = Rig::new(1, |_| ());
    let mut driver = pending(&rig);
    rig.board.pass(7 * EIGHTH);
    // The controller dies as it takes the device flush, and the driver did not look at it since.
    rig.board.add_fault(Fault::Fatal(rig.board.io_commands() + 1));
    assert!(driver.poll().is_none());
    assert_eq!((flushes(&rig), is_durable(&rig)), (1, false));
    rig.board.clear_faults();
    driver.reset().unwrap();
    assert!(driver.poll().is_none(), "nobody asked for that flush");
    rig.board.pass(2_000_000);
    assert!(driver.poll().is_none());
    assert_eq!(flushes(&rig), 2, "and it is still due");
    assert!(is_durable(&rig));
    assert_eq!(driver.flush_policy(1), Ok(FlushPolicy::Deferred { max_delay: DELAY }));
}

#[test]
fn what_failed_before_is_tried_again_before_it_is_told() {
    let rig = Rig::new(1, |model| model.faults.push(Fault::FlushFails(0)));
    let mut driver = pending(&rig);
    rig.board.pass(7 * EIGHTH);
    driver.poll();
    rig.board.pass(2_000_000);
    driver.poll();
    assert_eq!(driver.flush_statistics(1).unwrap().failed, 1);
    assert!(matches!(told(driver.quiesce()), Some(DeferredError::Failed(_))));
    assert!(is_durable(&rig), "the machine may sleep now all the same");
    driver.quiesce().unwrap();
    assert_eq!(flushes(&rig), 2);
}

#[test]
fn where_nothing_can_be_lost_nothing_is_deferred() {
    let rig = Rig::new(1, |model| model.write_cache.enabled = false);
    let mut driver = rig.up();
    driver.defer_flushes(1, DELAY, ACCEPT).unwrap();
    driver.flush(1).unwrap();
    rig.board.pass(20 * EIGHTH);
    driver.poll();
    let statistics = driver.flush_statistics(1).unwrap();
    assert_eq!((statistics.asked, statistics.spared, statistics.deferred, statistics.sent), (1, 1, 0, 0));
    assert_eq!(driver.cache_mode(1), Ok(CacheMode::WriteThrough));
}

#[test]
fn what_was_deferred_while_the_cache_was_on_is_flushed_by_whoever_turns_it_off() {
    let rig = Rig::new(1, |_| ());
    let mut driver = pending(&rig);
    rig.board.change_write_cache(false);
    driver.feature(6, 0, nvme::Select::Current).unwrap();
    rig.board.pass(7 * EIGHTH);
    driver.poll();
    assert_eq!(flushes(&rig), 1, "a flush too many does no harm");
}
