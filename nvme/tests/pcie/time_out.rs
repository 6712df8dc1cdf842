//! Time-outs where nothing can be aborted: told, contained, and undone by a reset.

use nvme::{CommandError, Error, Fault as Cause, ShadowDoorbells, Step, SubmitError};
use sim::pcie::{ControllerConfig, Fault};

use crate::rig::{Driver, Rig, impatient, poll, read_block, stream, submit};

fn rig(faults: Vec<Fault>) -> (Rig, Driver) {
    let rig = Rig::new(ControllerConfig { faults, ..ControllerConfig::new() });
    let driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
    (rig, driver)
}

#[test]
fn a_command_that_neither_ends_nor_can_be_aborted_keeps_its_memory_until_a_reset() {
    for no_abort in [Fault::AbortFails, Fault::AdminSwallowed(8), Fault::AdminError { opcode: 8, half_word: 0x0206 }] {
        let (rig, mut driver) = rig(vec![Fault::Swallowed(0), no_abort]);
        let before = rig.board.pool_pages().0;
        let ticket = submit(&mut driver, 1);
        let completion = driver.wait().unwrap();
        assert_eq!(completion.ticket, ticket);
        assert!(matches!(completion.result, Err(CommandError::TimedOut { .. })), "{:?}", completion.result);
        assert!(completion.buffer.is_none());
        assert!(matches!(driver.fault(), Some(Cause::TimedOut { .. })));
        assert!(driver.wait().is_none());
        // One page more than before: the buffer, which the controller may still fill.
        assert_eq!(rig.board.pool_pages().0, before + 1);
        let request = read_block(&driver, 1);
        assert!(matches!(driver.submit(request).unwrap_err().error, SubmitError::Dead(_)));
        rig.board.clear_faults();
        driver.reset().unwrap();
        assert_eq!((rig.board.pool_pages(), driver.fault()), ((before, 0), None));
        stream(&mut driver, 0, 100, 64, 1);
        rig.down(driver);
    }
}

#[test]
fn a_shutdown_after_a_time_out_says_so_and_gives_all_memory_back() {
    let (rig, mut driver) = rig(vec![Fault::Swallowed(0), Fault::AbortFails]);
    submit(&mut driver, 1);
    submit(&mut driver, 2);
    while driver.fault().is_none() {
        driver.wait();
    }
    let failure = driver.shutdown().unwrap_err();
    assert!(matches!(failure.error, Error::Fault { step: Step::Drain, .. }), "{failure}");
    rig.nothing_left();
    rig.clean();
}

#[test]
fn a_completion_that_comes_after_the_time_out_is_counted_and_frees_nothing() {
    let (rig, mut driver) = rig(vec![Fault::AbortFails, Fault::Delayed { command: 0, delay_ns: 3_000_000_000 }]);
    let before = rig.board.pool_pages().0;
    submit(&mut driver, 1);
    let completion = driver.wait().unwrap();
    assert!(matches!(completion.result, Err(CommandError::TimedOut { .. })));
    rig.board.pass(4_000_000_000);
    assert!(driver.poll().is_none());
    assert_eq!((driver.counters().late_completions, driver.counters().unknown_completions), (1, 0));
    assert_eq!(rig.board.pool_pages().0, before + 1);
    rig.board.clear_faults();
    driver.reset().unwrap();
    assert_eq!(rig.board.pool_pages(), (before, 0));
    rig.down(driver);
}

#[test]
fn commands_behind_one_that_timed_out_still_end() {
    let (rig, mut driver) =
        rig(vec![Fault::AbortFails, Fault::Swallowed(0), Fault::Delayed { command: 1, delay_ns: 2_000_000_000 }]);
    submit(&mut driver, 1);
    submit(&mut driver, 2);
    let mut ends = Vec::new();
    while let Some(completion) = driver.wait() {
        ends.push(completion.result);
    }
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|end| matches!(end, Err(CommandError::TimedOut { .. }))), "{ends:?}");
    rig.board.clear_faults();
    driver.reset().unwrap();
    rig.down(driver);
}

#[test]
fn one_who_polls_and_never_waits_hears_of_a_time_out_too() {
    let (rig, mut driver) = rig(vec![Fault::Swallowed(0), Fault::AbortFails]);
    submit(&mut driver, 1);
    let completion = poll(&mut driver, &rig.board);
    assert!(matches!(completion.result, Err(CommandError::TimedOut { .. })));
    rig.board.clear_faults();
    driver.reset().unwrap();
    rig.down(driver);
}

#[test]
fn a_host_that_was_held_up_does_not_call_late_what_has_arrived() {
    let (rig, mut driver) = rig(Vec::new());
    for lba in 0..20 {
        submit(&mut driver, lba);
    }
    driver.ring();
    assert!(driver.poll().is_none());
    rig.board.pass(100_000_000_000);
    for _ in 0..20 {
        driver.poll().unwrap().result.unwrap();
    }
    assert_eq!((driver.fault(), driver.counters().aborts), (None, 0));
    rig.down(driver);
}

#[test]
fn an_admin_command_that_never_answers_ends_the_traffic_until_a_reset() {
    let (rig, mut driver) = rig(vec![Fault::AdminSwallowed(2)]);
    assert!(matches!(driver.health(), Err(CommandError::TimedOut { .. })));
    assert!(matches!(driver.errors(), Err(CommandError::Dead(_))));
    let request = read_block(&driver, 1);
    assert!(matches!(driver.submit(request).unwrap_err().error, SubmitError::Dead(Cause::TimedOut { .. })));
    rig.board.clear_faults();
    driver.reset().unwrap();
    driver.health().unwrap();
    stream(&mut driver, 0, 10, 2, 2);
    rig.down(driver);
}

#[test]
fn a_flush_has_a_limit_of_its_own() {
    let mut config = ControllerConfig::new();
    // Longer than a read may take, with the half that the model adds by chance, and within what a flush may take.
    config.timings.flush = 320_000_000;
    let rig = Rig::new(config);
    let mut limits = impatient();
    limits.io = std::time::Duration::from_millis(50);
    let mut driver = rig.enable(limits, ShadowDoorbells::BeforeQueues);
    driver.flush(1).unwrap();
    assert_eq!((driver.counters().aborts, driver.fault()), (0, None));
    rig.down(driver);
}

#[test]
fn a_command_whose_doorbell_got_lost_times_out_where_nothing_is_rung_again() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(impatient(), ShadowDoorbells::Off);
    rig.board.add_fault(Fault::DoorbellsLost(1));
    submit(&mut driver, 1);
    let completion = driver.wait().unwrap();
    assert!(matches!(completion.result, Err(CommandError::TimedOut { .. })));
    assert_eq!((rig.ran("abort"), driver.counters().aborts), (1, 1));
    driver.reset().unwrap();
    stream(&mut driver, 0, 10, 2, 2);
    rig.down(driver);
}

#[test]
fn a_shutdown_may_take_as_long_as_the_controller_reports() {
    const RTD3E: u64 = 88;
    for (reported, works) in [(0u32, false), (3_000_000, true), (u32::MAX, true)] {
        let mut config = ControllerConfig::new();
        config.timings.shutdown = 2_500_000_000;
        let rig = Rig::new(config);
        rig.tap.borrow_mut().meddle = Some(Box::new(move |board, seen| {
            if seen.opcode == 0x06 && seen.tenth & 0xff == 1 {
                board.poke(seen.prp1 + RTD3E, &reported.to_le_bytes());
            }
        }));
        let driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
        match driver.shutdown() {
            Ok(_) => assert!(works),
            Err(failure) => assert!(!works && matches!(failure.error, Error::TimedOut { step: Step::Shutdown, .. })),
        }
        rig.nothing_left();
        rig.clean();
    }
}
