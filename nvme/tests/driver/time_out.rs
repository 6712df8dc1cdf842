//! A time-out is no completion.

use core::time::Duration;

use nvme::{Access, Buffer, CommandError, Fault, Operation, Request, SubmitError};

use crate::fake::{Answer, Board, Nvme};

fn read(controller: &mut Nvme, board: &Board, lba: u64) -> Result<nvme::Ticket, SubmitError> {
    let buffer = Some(Buffer::new(board, 4096).unwrap());
    let operation = Operation::Read { lba, count: 1 };
    controller.submit(Request { namespace: 1, operation, buffer }).map_err(|refused| refused.error)
}

fn swallow_reads_of(board: &Board, lba: u32) {
    board.answer(move |c| if c.io && c.opcode == 2 && c.dwords[0] == lba { Answer::Swallow } else { Answer::Do });
}

#[test]
fn the_memory_of_a_command_that_timed_out_stays_out_of_use_until_the_reset() {
    let board = Board::new();
    swallow_reads_of(&board, 5);
    let mut controller = board.enable();
    let idle = board.used_pages();
    let lost = read(&mut controller, &board, 5).unwrap();
    let completion = controller.wait().unwrap();
    assert_eq!(completion.ticket, lost);
    assert!(completion.buffer.is_none());
    let Err(CommandError::TimedOut { tag: 2, waited }) = completion.result else { panic!("{:?}", completion.result) };
    assert!(waited >= Duration::from_secs(30) && waited < Duration::from_secs(31), "{waited:?}");
    assert_eq!(controller.fault(), Some(Fault::TimedOut { tag: 2, waited }));
    assert_eq!(board.used_pages(), idle + 1);
    assert_eq!(read(&mut controller, &board, 6), Err(SubmitError::Dead(Fault::TimedOut { tag: 2, waited })));
    assert!(controller.wait().is_none(), "it is told of once");

    board.answer(|_| Answer::Do);
    controller.reset().unwrap();
    assert_eq!(controller.fault(), None);
    assert_eq!(board.used_pages(), idle);
    for lba in 0..61 {
        read(&mut controller, &board, lba).unwrap();
    }
    while let Some(completion) = controller.wait() {
        completion.result.unwrap();
    }
    controller.shutdown().unwrap();
    board.assert_as_found();
}

#[test]
fn neither_abort_nor_an_event_request_is_ever_sent() {
    let board = Board::new();
    swallow_reads_of(&board, 5);
    let mut controller = board.enable();
    assert!(controller.read(1, 5, &mut [0; 4096]).is_err());
    controller.reset().unwrap();
    controller.shutdown().unwrap();
    let sent = board.opcodes();
    assert!(!sent.contains(&(false, 0x08)) && !sent.contains(&(false, 0x0c)));
    board.assert_as_found();
}

#[test]
fn a_completion_after_the_time_out_frees_nothing() {
    let board = Board::new();
    board.answer(|c| if c.io { Answer::After(40_000_000_000) } else { Answer::Do });
    let mut controller = board.enable();
    let idle = board.used_pages();
    read(&mut controller, &board, 5).unwrap();
    assert!(controller.wait().unwrap().buffer.is_none());
    board.with(|machine| machine.advance(machine.now + 20_000_000_000));
    assert!(controller.poll().is_none());
    assert_eq!(controller.counters().late_completions, 1);
    assert_eq!(board.used_pages(), idle + 1);
    controller.shutdown().unwrap_err();
    board.assert_as_found();
}

#[test]
fn others_end_as_they_do_when_one_times_out() {
    let board = Board::new();
    swallow_reads_of(&board, 1);
    let mut controller = board.enable();
    for lba in 0..3 {
        read(&mut controller, &board, lba).unwrap();
    }
    let mut results: Vec<bool> = Vec::new();
    while let Some(completion) = controller.wait() {
        results.push(completion.result.is_ok() && completion.buffer.is_some());
    }
    assert_eq!(results, [true, true, false]);
}

#[test]
fn a_command_in_flight_at_a_reset_ends_with_its_buffer() {
    let board = Board::new();
    swallow_reads_of(&board, 1);
    let mut controller = board.enable();
    controller.set_access(1, Access::ReadWrite { first: 0, blocks: 9 }).unwrap();
    let ticket = read(&mut controller, &board, 1).unwrap();
    controller.reset().unwrap();
    let completion = controller.poll().unwrap();
    assert_eq!((completion.ticket, completion.result), (ticket, Err(CommandError::Reset)));
    assert_eq!(completion.buffer.unwrap().length(), 4096);
    assert_eq!(controller.namespace(1).unwrap().access, Access::ReadWrite { first: 0, blocks: 9 });
    assert_eq!(controller.namespace(3).unwrap().access, Access::ReadOnly);
}

#[test]
fn a_command_that_hangs_while_others_flow_times_out_all_the_same() {
    let board = Board::new();
    swallow_reads_of(&board, 1);
    let mut controller = board.enable();
    read(&mut controller, &board, 1).unwrap();
    let mut rounds = 0;
    while controller.fault().is_none() {
        // There is always something to be polled, so no look finds nothing.
        if read(&mut controller, &board, 2).is_ok() {
            board.with(|machine| machine.advance(machine.now + 50_000_000));
        }
        while controller.poll().is_some_and(|completion| completion.result.is_ok()) {}
        rounds += 1;
        assert!(rounds < 2000);
    }
}

#[test]
fn the_cause_of_a_time_out_is_looked_for_in_the_status_register() {
    for (status, gone) in [(3, false), (1, true)] {
        let board = Board::new();
        swallow_reads_of(&board, 1);
        let mut controller = board.enable();
        board.with(|machine| (machine.status, machine.gone) = (status, gone));
        assert!(controller.read(1, 1, &mut [0; 4096]).is_err());
        let expected = if gone { Fault::Gone } else { Fault::Fatal { status } };
        assert_eq!(controller.fault(), Some(expected));
    }
}

#[test]
fn a_dead_controller_ends_all_commands_long_before_they_time_out() {
    let board = Board::new();
    swallow_reads_of(&board, 1);
    let mut controller = board.enable();
    let idle = board.used_pages();
    for _ in 0..3 {
        read(&mut controller, &board, 1).unwrap();
    }
    board.with(|machine| machine.status = 3);
    let began = board.with(|machine| machine.now);
    for _ in 0..3 {
        let completion = controller.wait().unwrap();
        assert_eq!(completion.result, Err(CommandError::Failed(Fault::Fatal { status: 3 })));
        assert!(completion.buffer.is_none(), "the device may still reach it");
    }
    assert!(controller.wait().is_none());
    assert!(board.with(|machine| machine.now) - began < 1_000_000_000);
    assert_eq!((controller.counters().time_outs, board.used_pages()), (0, idle + 3));
    assert_eq!(read(&mut controller, &board, 2), Err(SubmitError::Dead(Fault::Fatal { status: 3 })));
}
