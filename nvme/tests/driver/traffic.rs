//! Reads, writes and flushes.

use core::time::Duration;
use std::collections::BTreeSet;

use nvme::{Access, BlockDevice, BlockError, Buffer, Config, Operation, Request, SubmitError, Ticket};

use crate::fake::{Access as Bus, Answer, Board, Nvme};

fn read(controller: &mut Nvme, board: &Board, lba: u64, count: u32) -> Ticket {
    let buffer = Buffer::new(board, count as usize * 4096).unwrap();
    let operation = Operation::Read { lba, count };
    controller.submit(Request { namespace: 1, operation, buffer: Some(buffer) }).unwrap()
}

#[test]
fn one_read_costs_a_doorbell_an_invalidation_its_check_and_a_head() {
    let board = Board::new();
    let mut controller = board.enable();
    board.take_log();
    controller.read(1, 7, &mut [0; 4096]).unwrap();
    assert_eq!(
        board.take_log(),
        [Bus::Write(0x24910, 2), Bus::Write(0x28118, 2), Bus::Read(0x28120, 0), Bus::Write(0x100c, 1)]
    );
    board.with(|machine| {
        let command = machine.commands.last().unwrap();
        assert_eq!((command.opcode, command.namespace, command.prp2), (2, 1, 0));
        assert_eq!(command.dwords, [7, 0, 0, 0, 0, 0], "the count is zero-based");
    });
    board.assert_clean();
}

#[test]
fn a_batch_of_completions_costs_one_head() {
    let board = Board::new();
    let mut controller = board.enable();
    for lba in 0..32 {
        read(&mut controller, &board, lba, 1);
    }
    board.with(|machine| machine.advance(machine.now + 1_000_000));
    board.take_log();
    let mut ended = 0;
    while let Some(completion) = controller.poll() {
        completion.result.unwrap();
        ended += 1;
    }
    assert_eq!(ended, 32);
    let log = board.take_log();
    assert_eq!(log.len(), 32 * 2 + 1);
    assert_eq!(log.last(), Some(&Bus::Write(0x100c, 32)));
    board.assert_clean();
}

#[test]
fn an_empty_poll_touches_no_register() {
    let board = Board::new();
    let mut controller = board.enable();
    read(&mut controller, &board, 0, 1);
    board.take_log();
    for _ in 0..1000 {
        assert!(controller.poll().is_none());
    }
    assert_eq!(board.take_log(), []);
}

#[test]
fn what_was_written_is_read_back_through_any_split() {
    let board = Board::new();
    let mut controller = board.enable();
    controller.set_access(1, Access::ReadWrite { first: 0, blocks: 4096 }).unwrap();
    let written: Vec<u8> = (0..700 * 4096u32).map(|byte| (byte / 3 % 251) as u8).collect();
    controller.write(1, 100, &written).unwrap();
    let mut seen = vec![0; written.len()];
    controller.read(1, 100, &mut seen).unwrap();
    assert!(written == seen);
    // 700 blocks of 4 KiB in commands of at most 1 MiB.
    let lengths: Vec<u32> =
        board.with(|machine| machine.commands.iter().filter(|c| c.opcode == 2 && c.io).map(|c| c.dwords[2]).collect());
    assert_eq!(lengths, [255, 255, 187]);
    controller.shutdown().unwrap();
    board.assert_as_found();
}

#[test]
fn a_flush_is_sent_once_for_each_call_and_to_its_namespace() {
    let board = Board::new();
    board.answer(
        |command| if (command.io, command.opcode) == (true, 0) { Answer::After(30_000_000) } else { Answer::Do },
    );
    let mut controller = board.enable();
    controller.flush(3).unwrap();
    board.with(|machine| {
        let flushes: Vec<_> = machine.commands.iter().filter(|c| c.io && c.opcode == 0).collect();
        assert_eq!(flushes.len(), 1);
        assert_eq!((flushes[0].namespace, flushes[0].prp1, flushes[0].prp2), (3, 0, 0));
    });
    let counters = controller.counters();
    assert_eq!(counters.flushes, 1);
    assert!(counters.flush_time >= Duration::from_millis(30), "{:?}", counters.flush_time);
    assert_eq!(counters.longest_flush, counters.flush_time);
}

#[test]
fn a_flush_may_take_longer_than_a_read_may() {
    let board = Board::new();
    board.answer(|command| match (command.io, command.opcode) {
        (true, 0) => Answer::After(4_000_000_000),
        _ => Answer::Do,
    });
    let mut config = Config::default();
    (config.io, config.flush) = (Duration::from_secs(1), Duration::from_secs(10));
    let mut controller = board.try_enable(config).unwrap();
    controller.flush(1).unwrap();
    assert!(controller.counters().longest_flush >= Duration::from_secs(4));
    assert_eq!(controller.fault(), None);
}

#[test]
fn every_tag_is_used_and_none_twice() {
    let board = Board::new();
    let mut controller = board.enable();
    let tickets: BTreeSet<String> = (0..61).map(|lba| format!("{:?}", read(&mut controller, &board, lba, 1))).collect();
    assert_eq!(tickets.len(), 61);
    let buffer = Buffer::new(&board, 4096).unwrap();
    let request = Request { namespace: 1, operation: Operation::Read { lba: 0, count: 1 }, buffer: Some(buffer) };
    let refused = controller.submit(request).unwrap_err();
    assert_eq!(refused.error, SubmitError::Busy);
    assert_eq!(refused.buffer.unwrap().length(), 4096, "the buffer comes back");
    // A command that ended makes room for one.
    assert!(controller.wait().unwrap().result.is_ok());
    read(&mut controller, &board, 0, 1);
    let tags: BTreeSet<u32> = board.with(|machine| machine.commands.iter().filter(|c| c.io).map(|c| c.tag).collect());
    assert_eq!(tags, (2..63).collect());
    board.assert_clean();
}

#[test]
fn a_hundred_thousand_commands_at_random_depth_in_random_order_break_no_rule() {
    let board = Board::new();
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move |below: u64| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed % below
    };
    let mut delays = random;
    board.answer(move |_| Answer::After(1_000 + delays(200_000)));
    let mut controller = board.enable();
    controller.set_access(1, Access::ReadWrite { first: 0, blocks: 4096 }).unwrap();
    let (mut sent, mut ended) = (0, 0);
    while ended < 100_000 {
        let depth = 1 + random(61) as u32;
        while sent < 100_000 && controller.in_flight() < depth {
            let (lba, count) = (random(4000), 1 + random(4) as u32);
            let operation = match random(100) {
                0 => Operation::Flush,
                1..40 => Operation::Write { lba, count, force_unit_access: false },
                _ => Operation::Read { lba, count },
            };
            let buffer = (operation != Operation::Flush).then(|| Buffer::new(&board, count as usize * 4096).unwrap());
            match controller.submit(Request { namespace: 1, operation, buffer }) {
                Ok(_) => sent += 1,
                Err(refused) => {
                    assert_eq!(refused.error, SubmitError::Busy);
                    break;
                }
            }
            if sent % 1000 == 0 {
                board.with(|machine| machine.commands.clear());
            }
        }
        let completion = controller.wait().unwrap();
        completion.result.unwrap();
        ended += 1;
    }
    controller.shutdown().unwrap();
    board.assert_as_found();
}

#[test]
fn the_block_device_of_a_namespace_keeps_to_it() {
    let board = Board::new();
    let mut controller = board.enable();
    controller.set_access(3, Access::ReadWrite { first: 10, blocks: 5 }).unwrap();
    let mut device = controller.device(3).unwrap();
    assert_eq!((device.block_size(), device.block_count(), device.read_only()), (512, 1000, false));
    device.write(10, &[7; 5 * 512]).unwrap();
    device.flush().unwrap();
    let mut seen = [0; 7 * 512];
    device.read(9, &mut seen).unwrap();
    assert_eq!((seen[511], seen[512], seen[6 * 512 - 1], seen[6 * 512]), (0, 7, 7, 0));
    assert_eq!(device.discard(10, 1), Err(BlockError::Submit(SubmitError::Unsupported { opcode: 9 })));
    assert!(controller.device(1).unwrap().read_only());
    board.assert_clean();
}

#[test]
fn a_blocking_call_leaves_the_ends_of_other_commands_to_be_polled() {
    let board = Board::new();
    let mut controller = board.enable();
    let tickets = [read(&mut controller, &board, 1, 1), read(&mut controller, &board, 2, 2)];
    controller.read(1, 3, &mut [0; 4096]).unwrap();
    let ended = [controller.wait().unwrap().ticket, controller.wait().unwrap().ticket];
    assert_eq!(ended, tickets);
    assert!(controller.wait().is_none());
}
