//! The way down.

use nvme::{Access, Buffer, Error, Fault, Operation, Request, Step};

use crate::fake::{Access as Bus, Answer, Board};

#[test]
fn queues_go_before_the_notification_and_the_enable_bit_goes_last() {
    let board = Board::new();
    let controller = board.enable();
    board.take_log();
    let sent = board.opcodes().len();
    controller.shutdown().unwrap();
    assert_eq!(board.opcodes()[sent..], [(false, 0), (false, 4)], "submission queue, then completion queue");
    let log = board.take_log();
    let writes: Vec<_> = log.iter().filter(|access| matches!(access, Bus::Write(0x2490c | 0x14, _))).collect();
    assert_eq!(
        writes,
        [
            &Bus::Write(0x2490c, 0),
            &Bus::Write(0x2490c, 0),
            &Bus::Write(0x14, 0x0046_4001),
            &Bus::Write(0x14, 0x0046_4000)
        ]
    );
    let complete = log.iter().position(|access| *access == Bus::Read(0x1c, 1 | 2 << 2)).unwrap();
    let cleared = log.iter().position(|access| *access == Bus::Write(0x14, 0x0046_4000)).unwrap();
    assert!(complete < cleared, "EN is cleared only after SHST tells of the end");
    assert_eq!(log.last(), Some(&Bus::Read(0x1c, 0)), "RDY is awaited");
    board.assert_as_found();
}

#[test]
fn commands_in_flight_are_awaited_and_their_memory_freed() {
    let board = Board::new();
    let mut controller = board.enable();
    controller.set_access(1, Access::ReadWrite { first: 0, blocks: 10 }).unwrap();
    let buffer = Buffer::new(&board, 4096).unwrap();
    buffer.write_bytes(0, &[9; 4096]);
    let operation = Operation::Write { lba: 3, count: 1, force_unit_access: false };
    controller.submit(Request { namespace: 1, operation, buffer: Some(buffer) }).unwrap();
    controller.shutdown().unwrap();
    board.with(|machine| assert_eq!(machine.namespaces[&1].content[&3], vec![9; 4096]));
    board.assert_as_found();
}

#[test]
fn a_shutdown_that_never_ends_is_reported_and_the_controller_disabled_all_the_same() {
    let board = Board::new();
    board.with(|machine| machine.shutdown_after = None);
    let failure = board.enable().shutdown().unwrap_err();
    let Error::TimedOut { step: Step::Shutdown, status: 5, .. } = failure.error else { panic!("{}", failure.error) };
    drop(failure);
    board.assert_as_found();
}

#[test]
fn a_controller_that_is_gone_gets_no_write_and_keeps_its_memory() {
    let board = Board::new();
    let controller = board.enable();
    board.with(|machine| machine.gone = true);
    board.take_log();
    let failure = controller.shutdown().unwrap_err();
    assert_eq!(failure.error, Error::Fault { step: Step::Disable, fault: Fault::Gone });
    assert!(board.take_log().iter().all(|access| matches!(access, Bus::Read(..))));
    board.with(|machine| assert_eq!(machine.pages.quarantined(), machine.pages.used()));
    board.with(|machine| assert!(machine.pages.used() > 0));
}

#[test]
fn an_abandoned_controller_is_not_touched_and_keeps_its_memory() {
    let board = Board::new();
    board.answer(|command| if command.io { Answer::Swallow } else { Answer::Do });
    let mut controller = board.enable();
    let buffer = Some(Buffer::new(&board, 4096).unwrap());
    controller.submit(Request { namespace: 1, operation: Operation::Read { lba: 0, count: 1 }, buffer }).unwrap();
    board.take_log();
    controller.abandon();
    assert_eq!(board.take_log(), []);
    board.with(|machine| assert_eq!(machine.pages.quarantined(), machine.pages.used()));
    board.with(|machine| assert!(machine.pages.used() > 0));
}

#[test]
fn a_second_life_starts_from_empty_queues() {
    let board = Board::new();
    for _ in 0..5 {
        let mut controller = board.enable();
        for lba in 0..100 {
            controller.read(1, lba, &mut [0; 4096]).unwrap();
        }
        controller.shutdown().unwrap();
        board.assert_as_found();
    }
}
