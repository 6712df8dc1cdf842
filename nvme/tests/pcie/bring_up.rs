//! Bring-up that fails at each of its steps: the step is named, and everything before it is undone.

use core::time::Duration;

use nvme::{CommandError, Error, Fault as Cause, ShadowDoorbells, Stage, Step};
use sim::pcie::{Capabilities, ControllerConfig, Fault};

use crate::rig::{Rig, impatient, stream};

/// Brings up with `fault` from `stage` on, and gives the error of that; nothing may be left.
#[track_caller]
fn fails(fault: &Fault, stage: Stage, shadow: ShadowDoorbells) -> Error {
    let rig = Rig::new(ControllerConfig::new());
    let board = rig.board.clone();
    let failed = rig.try_enable(impatient(), shadow, &mut |begun| {
        if begun == stage {
            board.add_fault(fault.clone());
        }
    });
    let error = failed.unwrap_err().error;
    rig.nothing_left();
    rig.board.finish();
    rig.clean();
    error
}

#[test]
fn each_command_of_bring_up_that_fails_is_named_and_undone() {
    let steps = [
        (0x06, Stage::Identify, Step::IdentifyController),
        (0x09, Stage::IoQueues, Step::SetQueueCount),
        (0x05, Stage::IoQueues, Step::CreateCompletionQueue),
        (0x01, Stage::IoQueues, Step::CreateSubmissionQueue),
    ];
    for shadow in [ShadowDoorbells::Off, ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues] {
        for (opcode, stage, expected) in steps {
            match fails(&Fault::AdminError { opcode, half_word: 0x800c }, stage, shadow) {
                Error::Command { step, error: CommandError::Status(status) } => {
                    assert_eq!((step, status.code()), (expected, 0x06));
                }
                error => panic!("{error}"),
            }
        }
    }
}

#[test]
fn each_command_of_bring_up_that_never_answers_is_named_and_undone() {
    let steps = [
        (0x06, Stage::Identify, Step::IdentifyController),
        (0x09, Stage::IoQueues, Step::SetQueueCount),
        (0x7c, Stage::IoQueues, Step::DoorbellBuffers),
        (0x05, Stage::IoQueues, Step::CreateCompletionQueue),
        (0x01, Stage::IoQueues, Step::CreateSubmissionQueue),
        (0x06, Stage::Namespaces, Step::IdentifyNamespace),
    ];
    for shadow in [ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues] {
        for (opcode, stage, expected) in steps {
            match fails(&Fault::AdminSwallowed(opcode), stage, shadow) {
                Error::Command { step, error: CommandError::TimedOut { .. } } => assert_eq!(step, expected),
                error => panic!("{error}"),
            }
        }
    }
}

#[test]
fn namespaces_that_the_controller_will_not_tell_of_are_left_out_with_what_it_said() {
    let rig = Rig::new(ControllerConfig::new());
    let board = rig.board.clone();
    let driver = rig.try_enable(impatient(), ShadowDoorbells::BeforeQueues, &mut |begun| {
        if begun == Stage::Namespaces {
            board.add_fault(Fault::AdminError { opcode: 0x06, half_word: 0x800c });
        }
    });
    let driver = driver.unwrap();
    assert!(driver.namespaces().is_empty());
    assert!(matches!(driver.left_out(), [(1, nvme::Unusable::Status(status))] if status.code() == 0x06));
    rig.down(driver);
}

#[test]
fn a_controller_without_events_comes_up_without_them() {
    let rig = Rig::new(ControllerConfig::new());
    rig.board.add_fault(Fault::AdminError { opcode: 0x0c, half_word: 0x8002 });
    let mut driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
    assert_eq!(driver.next_event(), Ok(None));
    stream(&mut driver, 0, 10, 2, 1);
    rig.down(driver);
}

#[test]
fn ready_is_awaited_for_as_long_as_the_controller_asks_and_no_longer() {
    for timeout in [0, 1, 20, 255] {
        let capabilities = Capabilities { timeout, ..Capabilities::default() };
        let config = ControllerConfig { capabilities, faults: vec![Fault::NeverReady], ..ControllerConfig::new() };
        let rig = Rig::new(config);
        let failure = rig.try_enable(impatient(), ShadowDoorbells::BeforeQueues, &mut |_| ()).unwrap_err();
        let Error::TimedOut { step: Step::Enable, waited, .. } = failure.error else { panic!("{failure}") };
        let limit = Duration::from_millis((u64::from(timeout) + 1) * 500);
        assert!(waited >= limit && waited < limit * 5 / 4, "{waited:?} of {limit:?}");
        rig.nothing_left();
        rig.clean();
    }
}

#[test]
fn a_controller_that_is_slow_but_within_its_time_comes_up() {
    let mut config = ControllerConfig::new();
    config.capabilities.timeout = 4;
    config.timings.ready = 1_900_000_000;
    let rig = Rig::new(config);
    let driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
    rig.down(driver);
}

#[test]
fn a_fatal_error_while_enabling_ends_the_wait_at_once() {
    let rig = Rig::new(ControllerConfig { faults: vec![Fault::Fatal(0)], ..ControllerConfig::new() });
    let failure = rig.try_enable(impatient(), ShadowDoorbells::BeforeQueues, &mut |_| ()).unwrap_err();
    let expected = Error::Fault { step: Step::Enable, fault: Cause::Fatal { status: 0b10 } };
    assert_eq!(failure.error, expected);
    rig.nothing_left();
    rig.clean();
}

#[test]
fn a_device_that_is_gone_is_told_before_anything_is_taken() {
    let rig = Rig::new(ControllerConfig { faults: vec![Fault::Gone], ..ControllerConfig::new() });
    let failure = rig.try_enable(impatient(), ShadowDoorbells::BeforeQueues, &mut |_| ()).unwrap_err();
    assert_eq!(failure.error, Error::Fault { step: Step::Probe, fault: Cause::Gone });
    assert_eq!(rig.board.pool_pages(), (0, 0));
    assert!(rig.board.log().iter().all(|access| !access.write));
    rig.clean();
}
