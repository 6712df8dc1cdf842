//! A controller's life: up, reset, down, abandoned; and what is left of it when the device does not play along.

use hal::Mmio;
use nvme::{BlockError, CommandError, Config, Error, Fault as Cause, ShadowDoorbells, Step, SubmitError};
use sim::pcie::{ControllerConfig, Fault};

use crate::rig::{Rig, arm, impatient, pattern, poll, read_block, stream, submit, up};

const ORDERS: [ShadowDoorbells; 3] =
    [ShadowDoorbells::Off, ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues];

#[test]
fn a_controller_that_was_up_and_goes_down_leaves_nothing_behind() {
    for shadow in ORDERS {
        let (rig, mut driver) = up(ControllerConfig::new(), shadow);
        assert_eq!(driver.doorbells().shadowed, shadow != ShadowDoorbells::Off);
        stream(&mut driver, 0, 100, 8, 7);
        rig.down(driver);
        assert!(!rig.board.noted("commands-dropped"));
        assert_eq!((rig.ran("delete-submission-queue"), rig.ran("delete-completion-queue")), (1, 1));
    }
}

#[test]
fn a_controller_that_someone_left_enabled_is_taken_over() {
    let (rig, driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    drop(driver);
    let (left, quarantined) = rig.board.pool_pages();
    assert_eq!(left, quarantined);
    let mut driver = rig.enable(Config::default(), ShadowDoorbells::AfterQueues);
    stream(&mut driver, 0, 50, 4, 3);
    driver.shutdown().unwrap();
    assert_eq!(rig.board.pool_pages(), (left, left));
    rig.clean();
}

#[test]
fn an_abandoned_controller_is_not_touched_and_all_its_memory_is_in_quarantine() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    submit(&mut driver, 1);
    driver.ring();
    rig.board.clear_log();
    let parts = driver.abandon();
    assert!(rig.board.log().is_empty());
    let (used, quarantined) = rig.board.pool_pages();
    assert!(used > 0 && used == quarantined, "{used} {quarantined}");
    drop(parts);
    rig.clean();
}

#[test]
fn a_reset_brings_back_a_controller_with_its_data_and_its_write_access() {
    for shadow in ORDERS {
        let (rig, mut driver) = up(ControllerConfig::new(), shadow);
        arm(&mut driver, 1);
        let data = pattern(5, 8192);
        driver.write(1, 40, &data).unwrap();
        driver.flush(1).unwrap();
        driver.reset().unwrap();
        let mut read = vec![0; data.len()];
        driver.read(1, 40, &mut read).unwrap();
        assert_eq!(read, data);
        driver.write(1, 40, &data).unwrap();
        assert_eq!(driver.doorbells().shadowed, shadow != ShadowDoorbells::Off);
        rig.down(driver);
    }
}

#[test]
fn a_reset_ends_what_is_in_flight_and_gives_its_memory_back() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    let tickets: Vec<_> = (0..10).map(|lba| submit(&mut driver, lba)).collect();
    driver.ring();
    driver.reset().unwrap();
    let mut ended = Vec::new();
    while let Some(completion) = driver.poll() {
        assert_eq!(completion.result, Err(CommandError::Reset));
        assert!(completion.buffer.is_some());
        ended.push(completion.ticket);
    }
    ended.sort_by_key(|ticket| tickets.iter().position(|one| one == ticket));
    assert_eq!(ended, tickets);
    stream(&mut driver, 0, 64, 64, 1);
    rig.down(driver);
}

#[test]
fn a_controller_that_would_not_be_disabled_keeps_all_memory_that_it_may_reach() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    stream(&mut driver, 0, 20, 4, 1);
    rig.board.add_fault(Fault::NeverDisabled);
    let failure = driver.shutdown().unwrap_err();
    assert!(matches!(failure.error, Error::TimedOut { step: Step::Disable, .. }), "{failure}");
    let (used, quarantined) = rig.board.pool_pages();
    assert!(used > 4 && used == quarantined, "{used} {quarantined}");
    rig.clean();
}

#[test]
fn a_shutdown_that_is_not_confirmed_is_named_and_the_controller_disabled_all_the_same() {
    let rig = Rig::new(ControllerConfig::new());
    let driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::ShutdownNever);
    let failure = driver.shutdown().unwrap_err();
    assert!(matches!(failure.error, Error::TimedOut { step: Step::Shutdown, .. }), "{failure}");
    rig.nothing_left();
    rig.clean();
}

#[test]
fn queues_that_cannot_be_deleted_are_named_and_the_controller_goes_down_all_the_same() {
    for (opcode, expected) in [(0x00, Step::DeleteSubmissionQueue), (0x04, Step::DeleteCompletionQueue)] {
        for fault in [Fault::AdminError { opcode, half_word: 0x800c }, Fault::AdminSwallowed(opcode)] {
            let rig = Rig::new(ControllerConfig::new());
            let driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
            rig.board.add_fault(fault);
            let failure = driver.shutdown().unwrap_err();
            assert!(matches!(failure.error, Error::Command { step, .. } if step == expected), "{failure}");
            rig.nothing_left();
            rig.clean();
        }
    }
}

#[test]
fn a_controller_that_is_gone_ends_everything_and_is_not_written_to() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    submit(&mut driver, 1);
    driver.ring();
    rig.board.add_fault(Fault::Gone);
    let completion = poll(&mut driver, &rig.board);
    assert_eq!(completion.result, Err(CommandError::Failed(Cause::Gone)));
    assert!(completion.buffer.is_none());
    assert_eq!(driver.fault(), Some(Cause::Gone));
    let request = read_block(&driver, 1);
    assert_eq!(driver.submit(request).unwrap_err().error, SubmitError::Dead(Cause::Gone));
    assert!(driver.reset().is_err());
    rig.board.clear_log();
    let failure = driver.shutdown().unwrap_err();
    assert!(matches!(failure.error, Error::Fault { fault: Cause::Gone, .. }), "{failure}");
    assert!(rig.board.log().iter().all(|access| !access.write));
    let (used, quarantined) = rig.board.pool_pages();
    assert!(used > 0 && used == quarantined);
    rig.clean();
}

#[test]
fn a_fatal_error_ends_what_is_in_flight_and_a_reset_leads_out_of_it() {
    for shadow in ORDERS {
        let (rig, mut driver) = up(ControllerConfig::new(), shadow);
        rig.board.add_fault(Fault::Fatal(5));
        for lba in 0..8 {
            submit(&mut driver, lba);
        }
        for _ in 0..8 {
            let completion = driver.wait().unwrap();
            assert!(matches!(completion.result, Err(CommandError::Failed(Cause::Fatal { .. }))), "{completion:?}");
            assert!(completion.buffer.is_none());
        }
        assert!(driver.wait().is_none());
        rig.board.clear_faults();
        driver.reset().unwrap();
        assert_eq!(driver.fault(), None);
        stream(&mut driver, 0, 100, 64, 9);
        rig.down(driver);
    }
}

#[test]
fn after_a_reset_that_failed_nothing_is_sent_until_one_succeeds() {
    for fault in [Fault::NeverReady, Fault::AdminError { opcode: 0x05, half_word: 0x800c }] {
        let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
        arm(&mut driver, 1);
        rig.board.add_fault(fault);
        driver.reset().unwrap_err();
        let request = read_block_anyway(&driver);
        assert!(matches!(driver.submit(request).unwrap_err().error, SubmitError::Dead(_)));
        rig.board.clear_faults();
        driver.reset().unwrap();
        // What was armed is armed still.
        driver.write(1, 0, &pattern(1, 512)).unwrap();
        rig.down(driver);
    }
}

#[test]
fn after_a_change_of_doorbells_that_failed_nothing_is_sent_until_a_reset() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    rig.board.add_fault(Fault::AdminError { opcode: 0x01, half_word: 0x800c });
    driver.set_shadow_doorbells(ShadowDoorbells::BeforeQueues).unwrap_err();
    let request = read_block(&driver, 3);
    assert!(matches!(driver.submit(request).unwrap_err().error, SubmitError::Dead(_)));
    assert!(matches!(driver.read(1, 0, &mut [0; 512]), Err(BlockError::Submit(SubmitError::Dead(_)))));
    rig.board.clear_faults();
    driver.reset().unwrap();
    stream(&mut driver, 0, 10, 2, 1);
    rig.down(driver);
}

#[test]
fn a_controller_that_would_not_be_disabled_for_a_reset_is_sent_nothing() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::NeverDisabled);
    driver.reset().unwrap_err();
    let request = read_block(&driver, 3);
    assert!(matches!(driver.submit(request).unwrap_err().error, SubmitError::Dead(_)));
    drop(driver);
    let (used, quarantined) = rig.board.pool_pages();
    assert_eq!(used, quarantined);
    rig.clean();
}

/// A read of the first block, whether or not the namespace is known.
fn read_block_anyway(driver: &crate::rig::Driver) -> nvme::Request<sim::pcie::Pool> {
    let buffer = Some(crate::rig::buffer(driver, 512));
    nvme::Request { namespace: 1, operation: nvme::Operation::Read { lba: 0, count: 1 }, buffer }
}

#[test]
fn the_register_block_is_as_if_untouched_when_the_pool_has_no_memory() {
    let rig = Rig::new(ControllerConfig::new());
    let mut held = Vec::new();
    let mut pieces = std::iter::repeat_n(1 << 20, 63).chain(std::iter::repeat(4096));
    while let Ok(region) = hal::DmaRegion::new(&rig.board.pool(), pieces.next().unwrap(), 4096) {
        held.push(region);
    }
    // As memory comes back page by page, each allocation of bring-up is the one that fails.
    let mut failures = 0;
    loop {
        rig.board.clear_log();
        let before = rig.board.pool_pages().0;
        match rig.try_enable(Config::default(), ShadowDoorbells::BeforeQueues, &mut |_| ()) {
            Ok(driver) => break drop(driver.shutdown().unwrap()),
            Err(failure) => {
                assert!(matches!(failure.error, Error::Memory(_) | Error::Transport(_)), "{failure}");
                assert!(rig.board.log().iter().all(|access| !access.write));
                assert_eq!(rig.board.pool_pages(), (before, 0));
            }
        }
        failures += 1;
        held.pop().unwrap();
    }
    assert!(failures > 70, "{failures}");
    drop(held);
    rig.nothing_left();
    rig.clean();
    assert_eq!(rig.board.bar().read32(0x14) & 1, 0);
}

#[test]
fn a_controller_that_failed_under_its_former_owner_comes_up_under_the_next() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::Fatal(1));
    submit(&mut driver, 1);
    assert!(driver.wait().unwrap().result.is_err());
    driver.abandon();
    rig.board.clear_faults();
    let mut driver = rig.enable(Config::default(), ShadowDoorbells::BeforeQueues);
    stream(&mut driver, 0, 20, 4, 1);
    driver.shutdown().unwrap();
    rig.clean();
}

#[test]
fn ends_that_were_not_polled_before_a_reset_stay_what_they_were() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    let tickets = [submit(&mut driver, 1), submit(&mut driver, 2)];
    driver.ring();
    rig.board.pass(10_000_000);
    let first = driver.poll().unwrap().ticket;
    driver.reset().unwrap();
    let second = driver.poll().unwrap();
    assert_eq!(second.result, Ok(()));
    assert!(tickets.contains(&first) && tickets.contains(&second.ticket) && first != second.ticket);
    drop(second);
    rig.down(driver);
}

#[test]
fn a_shutdown_awaits_what_is_in_flight() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    for lba in 0..30 {
        submit(&mut driver, lba);
    }
    rig.down(driver);
    assert_eq!(rig.ran("read"), 30);
    assert!(!rig.board.noted("commands-dropped") && !rig.board.noted("command-failed"));
}
