//! Completions that no command asked for.

use nvme::{Buffer, CommandError, Operation, Request};

use crate::fake::{Answer, Board, Nvme};

fn read(controller: &mut Nvme, board: &Board) {
    let buffer = Some(Buffer::new(board, 4096).unwrap());
    controller.submit(Request { namespace: 1, operation: Operation::Read { lba: 0, count: 1 }, buffer }).unwrap();
}

#[test]
fn a_completion_of_no_command_is_counted_and_costs_no_tag() {
    // Tag 0 is the admin queue's, 40 is free, 63 is nobody's.
    for identifier in [0, 1, 40, 63, 64, 255, 0x8002, u16::MAX] {
        let board = Board::new();
        let mut controller = board.enable();
        read(&mut controller, &board);
        board.with(|machine| machine.post(true, identifier, 0, 0));
        controller.wait().unwrap().result.unwrap();
        assert_eq!(controller.counters().unknown_completions, 1, "identifier {identifier:#x}");
        assert_eq!(controller.in_flight(), 0);
        controller.shutdown().unwrap();
        board.assert_as_found();
    }
}

#[test]
fn a_command_retired_twice_ends_once() {
    let board = Board::new();
    board.answer(|command| if command.io { Answer::Twice } else { Answer::Do });
    let mut controller = board.enable();
    for round in 1..=200 {
        read(&mut controller, &board);
        read(&mut controller, &board);
        controller.wait().unwrap().result.unwrap();
        controller.wait().unwrap().result.unwrap();
        assert!(controller.wait().is_none(), "round {round}");
    }
    assert!(controller.counters().unknown_completions >= 200);
    board.assert_clean();
}

#[test]
fn an_admin_completion_with_a_foreign_identifier_is_no_answer() {
    let board = Board::new();
    board.answer(|_| Answer::Identifier(7));
    let failure = board.try_enable(nvme::Config::default()).err().unwrap();
    let nvme::Error::Command { error: CommandError::TimedOut { tag: 0, .. }, .. } = failure.error else {
        panic!("{}", failure.error)
    };
    drop(failure);
    board.assert_as_found();
}

#[test]
fn a_failed_invalidation_is_an_error_that_names_the_tag() {
    let board = Board::new();
    board.answer(|command| if command.io && command.tag == 3 { Answer::KeepTranslation } else { Answer::Do });
    let mut controller = board.enable();
    read(&mut controller, &board);
    read(&mut controller, &board);
    let results = [controller.wait().unwrap().result, controller.wait().unwrap().result];
    assert_eq!(results, [Ok(()), Err(CommandError::InvalidationFailed { tag: 3 })]);
    assert_eq!(controller.counters().failed_invalidations, 1);
}

#[test]
fn a_status_comes_back_with_its_name_and_the_buffer_with_it() {
    let board = Board::new();
    board.answer(|command| if command.io { Answer::Status((2 << 8 | 0x81) << 1 | 1 << 15) } else { Answer::Do });
    let mut controller = board.enable();
    read(&mut controller, &board);
    let completion = controller.wait().unwrap();
    assert_eq!(
        completion.result.unwrap_err().to_string(),
        "the controller answered: unrecovered read error (type 2, code 0x81, do not retry)"
    );
    assert_eq!(completion.buffer.unwrap().length(), 4096);
    assert_eq!(controller.fault(), None, "an error of a command is no fault of the controller");
}

#[test]
fn a_queue_full_of_rubbish_ends_each_look() {
    let board = Board::new();
    let mut controller = board.enable();
    read(&mut controller, &board);
    board.with(|machine| {
        for identifier in 0..640 {
            machine.post(true, 100 + identifier, 0, 0);
        }
    });
    // Ten laps overran one another; what is left looks like at most one lap.
    assert!(controller.poll().is_none());
    assert!(controller.counters().unknown_completions <= 64);
}
