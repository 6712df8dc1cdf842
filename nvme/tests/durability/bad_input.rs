//! Controllers and callers that do what they should not.

use std::time::Duration;

use nvme::controller::CacheError;
use nvme::{
    Access, AdminCommand, BlockError, Buffer, CacheMode, CommandError, Error, FlushPolicy, Operation, Request, Select,
    Step, SubmitError,
};
use sim::pcie::Fault;

use crate::checker::{BLOCK, BLOCKS, content};
use crate::meddler::{FLUSH, SET_FEATURES, WRITE_CACHE};
use crate::rig::{Driver, Rig};

fn flush(driver: &mut Driver) {
    driver.submit(Request { namespace: 1, operation: Operation::Flush, buffer: None }).unwrap();
}

fn second_end_fails(driver: &mut Driver) {
    let ends = [driver.wait().unwrap().result, driver.wait().unwrap().result];
    assert!(ends.iter().all(Result::is_err), "{ends:?}");
    assert_eq!(driver.in_flight(), 0);
    assert!(driver.wait().is_none());
}

#[test]
fn a_controller_without_a_cache_is_told_nothing_of_one() {
    let rig = Rig::new(1, |model| model.write_cache.present = false);
    let mut driver = rig.up();
    assert_eq!(driver.set_write_cache(false, false), Err(CacheError::Absent));
    assert_eq!(driver.set_write_cache(true, true), Err(CacheError::Absent));
    assert_eq!(rig.count(|_| true), 0);
    assert!(matches!(driver.feature(6, 0, Select::Current), Err(CommandError::Status(_))));
    let raw = AdminCommand { opcode: SET_FEATURES, namespace: 0, dwords: [WRITE_CACHE, 1, 0, 0, 0, 0] };
    driver.pass_through(raw, &mut []).unwrap_err();
    assert_eq!(driver.cache_mode(1), Ok(CacheMode::WriteThrough));
    driver.write_durable(1, 0, &content(1, 0, 1)).unwrap();
    driver.flush(1).unwrap();
    assert_eq!(rig.count(|sent| sent.is_io(FLUSH)), 0);
    assert_eq!(rig.durable(1, 0), content(1, 0, 1));
}

#[test]
fn a_feature_that_cannot_be_read_or_reads_as_junk_counts_as_on() {
    let fails = |half_word| Fault::GetFeatureFails { feature: 6, half_word };
    let reads = |value| Fault::GetFeatureReads { feature: 6, value };
    // Internal error, command aborted, invalid field; reserved bits.
    for fault in [fails(0x06 << 1), fails(0x07 << 1), fails(0x02 << 1), reads(2), reads(0x8000_0000), reads(u32::MAX)] {
        let rig = Rig::new(1, |model| {
            model.write_cache.enabled = false;
            model.faults.push(fault.clone());
        });
        let mut driver = rig.up();
        assert_eq!(driver.write_cache().enabled, None, "{fault:?}");
        assert_eq!(driver.cache_mode(1), Ok(CacheMode::WriteBack));
        driver.flush(1).unwrap();
        assert_eq!(rig.count(|sent| sent.is_io(FLUSH)), 1);
        let error = driver.set_write_cache(false, false).unwrap_err();
        assert!(matches!(error, CacheError::Command(_) | CacheError::NotTaken { seen: None, .. }), "{error}");
        rig.board.clear_faults();
        driver.feature(6, 0, Select::Current).unwrap();
        assert_eq!(driver.cache_mode(1), Ok(CacheMode::WriteThrough));
        // And later the same.
        rig.board.add_fault(fault);
        let _ = driver.feature(6, 0, Select::Current);
        assert_eq!(driver.cache_mode(1), Ok(CacheMode::WriteBack));
    }
}

#[test]
fn a_feature_read_that_is_never_answered_ends_the_bring_up_with_its_step() {
    let rig = Rig::new(1, |model| model.faults.push(Fault::AdminSwallowed(0x0a)));
    let Err(error) = rig.enable() else { panic!("it came up") };
    assert!(matches!(error, Error::Command { step: Step::ReadWriteCache, error: CommandError::TimedOut { .. } }));
}

#[test]
fn a_flush_that_fails_once_says_so_and_the_next_one_keeps_the_promise() {
    for policy in [FlushPolicy::Strict, FlushPolicy::Coalesce] {
        let rig = Rig::new(1, |model| model.faults.push(Fault::FlushFails(0)));
        let mut driver = rig.up();
        driver.set_flush_policy(1, policy).unwrap();
        driver.write(1, 0, &content(1, 0, 1)).unwrap();
        assert!(matches!(driver.flush(1), Err(BlockError::Command(CommandError::Status(_)))), "{policy}");
        assert_ne!(rig.durable(1, 0), content(1, 0, 1));
        driver.flush(1).unwrap();
        assert_eq!(rig.durable(1, 0), content(1, 0, 1));
        let statistics = driver.flush_statistics(1).unwrap();
        assert_eq!((statistics.asked, statistics.sent, statistics.failed), (2, 2, 1), "{policy}");
    }
}

#[test]
fn a_flush_that_always_fails_fails_every_caller_and_nothing_else() {
    let rig = Rig::new(2, |model| model.faults.push(Fault::FlushError));
    let mut driver = rig.up();
    for _ in 0..3 {
        driver.flush(1).unwrap_err();
        driver.sync(2).unwrap_err();
        driver.quiesce().unwrap();
    }
    driver.write_durable(1, 0, &content(1, 0, 1)).unwrap();
    assert_eq!(rig.durable(1, 0), content(1, 0, 1));
    assert_eq!(driver.fault(), None);
}

#[test]
fn a_flush_of_4_seconds_outlasts_the_limit_of_writes_and_is_counted() {
    // Case BL-104.
    let four = Duration::from_secs(4);
    let mut rig = Rig::new(1, |model| {
        model.timings.flush = 30_000_000;
        model.faults.push(Fault::FlushDelayed { flush: 1, delay_ns: 4_000_000_000 });
    });
    (rig.config.io, rig.config.flush) = (Duration::from_secs(1), Duration::from_secs(10));
    let mut driver = rig.up();
    for _ in 0..3 {
        driver.flush(1).unwrap();
    }
    let counters = driver.counters();
    assert_eq!((counters.flushes, counters.time_outs), (3, 0));
    assert!(counters.longest_flush >= four && counters.flush_time >= four + 3 * Duration::from_millis(30));
}

#[test]
fn a_flush_that_is_never_answered_ends_at_its_own_limit_and_so_does_what_waited_behind_it() {
    for policy in [FlushPolicy::Strict, FlushPolicy::Coalesce] {
        let mut rig = Rig::new(1, |model| {
            model.faults.extend([Fault::FlushNever, Fault::AbortFails]);
        });
        rig.config.flush = Duration::from_secs(2);
        let mut driver = rig.up();
        driver.set_flush_policy(1, policy).unwrap();
        flush(&mut driver);
        assert!(driver.poll().is_none());
        flush(&mut driver);
        second_end_fails(&mut driver);
        assert!(driver.fault().is_some());
        rig.board.clear_faults();
        driver.reset().unwrap();
        driver.flush(1).unwrap();
        assert!(driver.poll().is_none(), "nobody asked for anything else");
    }
}

#[test]
fn a_flush_that_waits_ends_when_an_admin_command_is_never_answered() {
    let rig = Rig::new(1, |model| model.timings.flush = 20_000_000);
    let mut driver = rig.up();
    driver.set_flush_policy(1, FlushPolicy::Coalesce).unwrap();
    flush(&mut driver);
    driver.poll();
    flush(&mut driver);
    rig.board.add_fault(Fault::AdminSwallowed(0x02));
    driver.health().unwrap_err();
    let ends = [driver.wait().unwrap().result, driver.wait().unwrap().result];
    assert!(ends.contains(&Ok(())), "the first was sent: {ends:?}");
    assert!(ends.iter().any(|end| matches!(end, Err(CommandError::Dead(_)))), "{ends:?}");
    assert!(driver.wait().is_none());
}

#[test]
fn delays_that_make_no_sense_are_refused_and_deferring_is_armed_by_its_own_call_only() {
    let rig = Rig::new(1, |_| ());
    let mut driver = rig.up();
    for asked in [Duration::ZERO, Duration::from_nanos(999_999), Duration::from_secs(61), Duration::from_secs(86_400)] {
        let result = driver.defer_flushes(1, asked, nvme::Accept::LossOfFlushedDataOnPowerCut);
        assert_eq!(result, Err(SubmitError::Delay { asked }.into()));
    }
    let policy = FlushPolicy::Deferred { max_delay: FlushPolicy::USUAL };
    assert_eq!(driver.set_flush_policy(1, policy), Err(SubmitError::NotArmed.into()));
    assert_eq!(driver.flush_policy(1), Ok(FlushPolicy::Strict));
    let unknown = SubmitError::UnknownNamespace { namespace: 9 };
    assert_eq!(driver.set_flush_policy(9, FlushPolicy::Coalesce), Err(unknown.into()));
    assert_eq!(driver.flush(9), Err(unknown.into()));
    assert_eq!(rig.count(|_| true), 0);
}

#[test]
fn writes_to_a_read_only_namespace_or_outside_the_armed_range_put_nothing_on_the_wire() {
    let rig = Rig::new(2, |model| model.namespaces[1].read_only = true);
    let mut driver = rig.enable().unwrap();
    driver.set_access(1, Access::ReadWrite { first: 8, blocks: 8 }).unwrap();
    let all = Access::ReadWrite { first: 0, blocks: BLOCKS as u64 };
    assert_eq!(driver.set_access(2, all), Err(SubmitError::WriteProtected { namespace: 2 }));
    rig.wire().sent.clear();
    let bytes = [1; 2 * BLOCK];
    for (id, lba) in [(1, 7), (1, 15), (1, 40), (2, 0), (2, 8)] {
        assert_eq!(driver.write(id, lba, &bytes), Err(SubmitError::ReadOnly.into()));
        assert_eq!(driver.write_durable(id, lba, &bytes), Err(SubmitError::ReadOnly.into()));
        assert_eq!(driver.write_zeroes(id, lba, 2), Err(SubmitError::ReadOnly.into()));
        assert_eq!(driver.discard(id, lba, 2), Err(SubmitError::ReadOnly.into()));
        for force_unit_access in [false, true] {
            let buffer = Some(Buffer::new(driver.pool(), 2 * BLOCK).unwrap());
            let operation = Operation::Write { lba, count: 2, force_unit_access };
            let refused = driver.submit(Request { namespace: id, operation, buffer }).unwrap_err();
            assert_eq!(refused.error, SubmitError::ReadOnly);
        }
    }
    assert_eq!(rig.count(|_| true), 0);
    driver.write(1, 14, &bytes).unwrap();
    assert_eq!(rig.count(|_| true), 1);
}
