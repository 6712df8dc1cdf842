//! Abort: by the owner, and of commands whose time is over.

use nvme::{Abort, CommandError, ShadowDoorbells, Ticket};
use sim::pcie::{ControllerConfig, Fault};

use crate::rig::{Driver, Rig, impatient, poll, read_block, settings, stream, submit, up};

const LONG_NS: u64 = 10_000_000_000;

#[track_caller]
fn aborted(completion: &nvme::Completion<sim::pcie::Pool>, ticket: Ticket) {
    assert_eq!(completion.ticket, ticket);
    match completion.result {
        Err(CommandError::Status(status)) => assert_eq!((status.kind(), status.code()), (0, 0x07)),
        other => panic!("{other:?}"),
    }
    assert!(completion.buffer.is_some());
}

/// A driver with a command that takes long, which the controller has.
fn with_slow_command(rig: &Rig, driver: &mut Driver) -> Ticket {
    rig.board.add_fault(Fault::Delayed { command: rig.board.io_commands(), delay_ns: LONG_NS });
    let ticket = submit(driver, 1);
    driver.ring();
    ticket
}

#[test]
fn a_command_that_the_controller_swallowed_is_aborted_and_the_controller_lives_on() {
    for shadow in [ShadowDoorbells::Off, ShadowDoorbells::BeforeQueues] {
        for abort_limit in [0, 3] {
            let faults = vec![Fault::Swallowed(2), Fault::Swallowed(5)];
            let rig = Rig::new(ControllerConfig { abort_limit, faults, ..ControllerConfig::new() });
            let mut driver = rig.enable(impatient(), shadow);
            let tickets: Vec<_> = (0..8).map(|lba| submit(&mut driver, lba)).collect();
            let mut ended = Vec::new();
            while let Some(completion) = driver.wait() {
                match tickets.iter().position(|ticket| *ticket == completion.ticket).unwrap() {
                    index @ (2 | 5) => aborted(&completion, tickets[index]),
                    _ => completion.result.unwrap(),
                }
                ended.push(completion.ticket);
            }
            assert_eq!(ended.len(), 8);
            assert_eq!((driver.fault(), driver.counters().aborts, driver.counters().time_outs), (None, 2, 0));
            stream(&mut driver, 0, 100, 64, 5);
            rig.down(driver);
        }
    }
}

#[test]
fn a_swallowed_command_of_any_pair_is_aborted_there() {
    let faults = (0..3).map(Fault::Swallowed).collect();
    let rig = Rig::new(ControllerConfig { faults, ..ControllerConfig::new() });
    let mut config = impatient();
    config.queue_pairs = 3;
    let mut driver = rig.enable(config, ShadowDoorbells::BeforeQueues);
    let mut tickets = Vec::new();
    for index in 0..3 {
        let request = read_block(&driver, 1);
        tickets.push(driver.submit_on(index, request).unwrap());
        driver.ring();
    }
    for _ in 0..3 {
        let completion = driver.wait().unwrap();
        let ticket = tickets[usize::from(completion.ticket.queue_pair())];
        aborted(&completion, ticket);
    }
    assert_eq!(driver.fault(), None);
    rig.down(driver);
}

#[test]
fn a_running_command_can_be_aborted_by_its_ticket() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    let ticket = with_slow_command(&rig, &mut driver);
    assert_eq!(driver.abort(ticket), Ok(Abort::Aborted));
    aborted(&driver.wait().unwrap(), ticket);
    assert_eq!(driver.abort(ticket), Ok(Abort::Ended));
    assert_eq!((rig.ran("abort"), driver.counters().aborts), (1, 1));
    rig.down(driver);
}

#[test]
fn a_command_that_was_not_rung_for_yet_can_be_aborted() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    let ticket = submit(&mut driver, 1);
    assert_eq!(driver.abort(ticket), Ok(Abort::Aborted));
    aborted(&driver.wait().unwrap(), ticket);
    rig.down(driver);
}

#[test]
fn a_command_that_has_ended_is_not_aborted_whether_polled_or_not() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    let first = submit(&mut driver, 1);
    driver.wait().unwrap().result.unwrap();
    assert_eq!(driver.abort(first), Ok(Abort::Ended));
    // The same tag, used again.
    let second = with_slow_command(&rig, &mut driver);
    assert_eq!(driver.abort(first), Ok(Abort::Ended));
    assert_eq!(driver.in_flight(), 1);
    assert_eq!(driver.abort(second), Ok(Abort::Aborted));
    aborted(&poll(&mut driver, &rig.board), second);
    // Two have ended, one was told of.
    let [third, fourth] = [submit(&mut driver, 1), submit(&mut driver, 2)];
    driver.ring();
    rig.board.pass(1_000_000);
    let told = driver.poll().unwrap().ticket;
    assert_eq!(driver.abort(if told == third { fourth } else { third }), Ok(Abort::Ended));
    driver.poll().unwrap().result.unwrap();
    assert_eq!(rig.ran("abort"), 1);
    rig.down(driver);
}

#[test]
fn a_ticket_of_another_controller_aborts_nothing() {
    let other = Rig::new(ControllerConfig::new());
    let mut stranger = other.enable(settings(|config| config.queue_pairs = 4), ShadowDoorbells::Off);
    stream(&mut stranger, 0, 9, 3, 1);
    let foreign = submit(&mut stranger, 1);
    let request = read_block(&stranger, 1);
    let far = stranger.submit_on(3, request).unwrap();
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    let ticket = with_slow_command(&rig, &mut driver);
    assert_eq!((driver.abort(foreign), driver.abort(far)), (Ok(Abort::Ended), Ok(Abort::Ended)));
    assert_eq!((rig.ran("abort"), driver.in_flight()), (0, 1));
    assert_eq!(driver.abort(ticket), Ok(Abort::Aborted));
    rig.down(driver);
    other.down(stranger);
}

#[test]
fn a_command_that_cannot_be_aborted_ends_as_it_ends() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::AbortFails);
    let ticket = with_slow_command(&rig, &mut driver);
    assert_eq!(driver.abort(ticket), Ok(Abort::NotAborted));
    let completion = driver.wait().unwrap();
    assert_eq!((completion.ticket, completion.result), (ticket, Ok(())));
    drop(completion);
    rig.down(driver);
}

#[test]
fn an_abort_that_the_controller_refuses_gives_its_status_and_takes_nothing_away() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    rig.board.add_fault(Fault::AdminError { opcode: 8, half_word: 0x0206 });
    let ticket = with_slow_command(&rig, &mut driver);
    assert!(matches!(driver.abort(ticket), Err(CommandError::Status(status)) if status.code() == 3));
    assert_eq!(driver.wait().unwrap().result, Ok(()));
    rig.down(driver);
}

#[test]
fn a_late_command_that_ends_before_its_abort_s_time_is_over_has_ended_well() {
    let limit = impatient().io.as_nanos() as u64;
    let faults = vec![Fault::AbortFails, Fault::Delayed { command: 0, delay_ns: limit + 50_000_000 }];
    let rig = Rig::new(ControllerConfig { faults, ..ControllerConfig::new() });
    let mut driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
    submit(&mut driver, 3);
    let completion = driver.wait().unwrap();
    assert_eq!((completion.result, completion.buffer.is_some()), (Ok(()), true));
    drop(completion);
    assert_eq!((driver.fault(), driver.counters().aborts, driver.counters().time_outs), (None, 1, 0));
    rig.down(driver);
}
