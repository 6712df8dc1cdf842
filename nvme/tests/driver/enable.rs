//! Bring-up: its order, its limits, and its undoing.

use core::time::Duration;

use nvme::spec::status::Status;
use nvme::{CommandError, Config, Error, Fault, Stage, Step};

use crate::fake::{Access, Answer, Board, NamespaceModel};

#[test]
fn the_registers_are_programmed_in_the_documented_order() {
    let board = Board::new();
    let controller = board.enable();
    let writes: Vec<(usize, u32)> = board
        .take_log()
        .into_iter()
        .filter_map(|access| if let Access::Write(offset, value) = access { Some((offset, value)) } else { None })
        .collect();
    let offsets: Vec<usize> = writes.iter().map(|write| write.0).collect();
    assert_eq!(
        offsets[..16],
        [
            0x24908, 0x1210, 0x28100, 0x24008, 0x28108, 0x2810c, 0x28110, 0x28114, // Apple's own
            0x24, 0x28, 0x2c, 0x30, 0x34, 0x14, // the standard's, halves low first
            0x2490c, 0x28118, // the first command
        ]
    );
    assert_eq!(writes[0].1, 1, "linear submission");
    assert_eq!(writes[1].1, 0x003f_003f, "pending commands");
    assert_eq!(writes[2].1, 63, "control blocks");
    assert_eq!(writes[3].1 & 0x800, 0, "null check");
    assert_eq!(writes[8].1, 0x0001_0001, "admin queue attributes");
    assert_eq!(writes[13].1, 0x0046_0001, "configuration");
    drop(controller);
    board.assert_clean();
}

#[test]
fn the_stages_are_told_of_in_order() {
    let board = Board::new();
    let mut stages = Vec::new();
    board.observe_enable(Config::default(), &mut |stage| stages.push(stage)).unwrap();
    assert_eq!(stages, [Stage::ControllerEnable, Stage::Identify, Stage::IoQueues, Stage::Namespaces]);
}

#[test]
fn the_admin_commands_come_in_the_order_that_linux_sends_them() {
    let board = Board::new();
    board.enable();
    let identify = (false, 0x06);
    let identified = [identify; 3];
    // Controller, write cache, completion queue, submission queue, number of queues, then namespaces 1 to 3.
    let before = [identify, (false, 0xa), (false, 5), (false, 1), (false, 9)];
    assert_eq!(board.opcodes(), [before.as_slice(), &identified].concat());
}

#[test]
fn only_active_namespaces_are_listed_each_with_its_own_block_size() {
    let board = Board::new();
    let controller = board.enable();
    let seen: Vec<_> =
        controller.namespaces().iter().map(|n| (n.id, n.block_size(), n.blocks, n.vendor_type)).collect();
    assert_eq!(seen, [(1, 4096, 4096, 1), (3, 512, 1000, 3)]);
    assert_eq!(controller.identity().model.as_str(), "APPLE ?SSD?");
    assert_eq!(controller.identity().serial.as_str(), "SERIAL 1");
    assert_eq!(controller.identity().firmware.as_str(), "387.100.");
    assert_eq!(controller.identity().version.to_string(), "1.1.0");
    assert_eq!(controller.depth(), 61);
}

#[test]
fn capacity_is_the_size_and_neither_what_is_allocated_nor_what_is_used() {
    let board = Board::new();
    board.with(|machine| {
        let namespace = machine.namespaces.get_mut(&3).unwrap();
        (namespace.size, namespace.capacity, namespace.used) = (1000, 900, 12);
    });
    let mut controller = board.enable();
    assert_eq!(controller.namespace(3).unwrap().blocks, 1000);
    controller.read(3, 999, &mut [0; 512]).unwrap();
}

#[test]
fn formats_that_make_no_sense_are_left_out() {
    for (shift, metadata, size) in [(0, 0, 8), (8, 0, 8), (17, 0, 8), (255, 0, 8), (12, 8, 8), (12, 0, u64::MAX)] {
        let board = Board::new();
        board.with(|machine| {
            let mut odd = NamespaceModel::new(4096, size);
            (odd.shift, odd.metadata) = (Some(shift), metadata);
            machine.namespaces.insert(2, odd);
        });
        let controller = board.enable();
        let ids: Vec<u32> = controller.namespaces().iter().map(|namespace| namespace.id).collect();
        assert_eq!(ids, [1, 3], "shift {shift}, metadata {metadata}, size {size}");
    }
}

#[test]
fn a_controller_that_reports_endless_namespaces_is_scanned_to_the_limit() {
    let board = Board::new();
    board.with(|machine| {
        machine.reported_namespaces = Some(u32::MAX);
        for id in 4..60 {
            machine.namespaces.insert(id, NamespaceModel::new(512, 1));
        }
    });
    let mut config = Config::default();
    config.scan = 40;
    let controller = board.try_enable(config).unwrap();
    assert_eq!(controller.namespaces().len(), 16, "the list is bounded");
    assert!(board.opcodes().iter().filter(|opcode| opcode.1 == 6).count() <= 41);
}

#[test]
fn the_depth_is_the_least_of_all_limits() {
    for (mqes, asked, depth, pending) in
        [(63, 64, 61, 63), (15, 64, 13, 15), (7, 64, 5, 7), (63, 15, 13, 15), (3, 64, 1, 3), (1023, 1024, 61, 63)]
    {
        let board = Board::new();
        board.with(|machine| machine.most_entries = mqes);
        let mut config = Config::default();
        config.depth = asked;
        let mut controller = board.try_enable(config).unwrap();
        assert_eq!(controller.depth(), depth, "MQES {mqes}, asked {asked}");
        board.with(|machine| assert_eq!(machine.registers[&0x1210], pending << 16 | pending));
        let mut block = [0; 4096];
        for lba in 0..200 {
            controller.read(1, lba, &mut block).unwrap();
        }
        controller.shutdown().unwrap();
        board.assert_as_found();
    }
}

#[test]
fn a_queue_with_no_tag_left_for_io_is_refused() {
    let board = Board::new();
    board.with(|machine| machine.most_entries = 2);
    let error = board.try_enable(Config::default()).err().unwrap().error;
    assert_eq!(error.to_string(), "probing the controller: queues of 3 entries are too short, 4 are needed");
    board.assert_as_found();
}

#[test]
fn ready_may_take_what_the_controller_says_and_half_a_second_more() {
    for (seconds, ready) in [(9.5, true), (10.4, true), (10.6, false)] {
        let board = Board::new();
        board.with(|machine| machine.ready_after = Some((seconds * 1e9) as u64));
        match board.try_enable(Config::default()) {
            Ok(controller) => {
                assert!(ready, "{seconds} s");
                controller.shutdown().unwrap();
            }
            Err(failure) => {
                assert!(!ready, "{seconds} s");
                let Error::TimedOut { step: Step::Enable, waited, status: 0 } = failure.error else {
                    panic!("{}", failure.error)
                };
                assert!(waited >= Duration::from_millis(10_500), "{waited:?}");
            }
        }
    }
}

#[test]
fn a_fatal_controller_ends_the_wait_at_once() {
    let board = Board::new();
    board.with(|machine| machine.fatal_at_enable = true);
    let error = board.try_enable(Config::default()).err().unwrap().error;
    assert_eq!(error, Error::Fault { step: Step::Enable, fault: Fault::Fatal { status: 2 } });
    board.with(|machine| assert!(machine.now < 1_000_000_000));
    board.assert_as_found();
}

#[test]
fn a_controller_that_is_gone_is_told_from_one_that_is_slow() {
    let board = Board::new();
    board.with(|machine| machine.gone = true);
    let error = board.try_enable(Config::default()).err().unwrap().error;
    assert_eq!(error, Error::Fault { step: Step::Probe, fault: Fault::Gone });
    board.with(|machine| assert!(machine.log.iter().all(|access| matches!(access, Access::Read(..)))));
    board.assert_as_found();
}

#[test]
fn a_controller_left_enabled_is_disabled_first() {
    let board = Board::new();
    board.with(|machine| {
        machine.registers.insert(0x14, 0x0046_0001);
        machine.status = 1;
    });
    board.enable().shutdown().unwrap();
    let writes: Vec<_> =
        board.take_log().into_iter().filter(|access| matches!(access, Access::Write(..))).take(2).collect();
    assert_eq!(writes, [Access::Write(0x14, 0x0046_0000), Access::Write(0x24908, 1)]);
    board.assert_as_found();
}

/// The commands of bring-up in order, and the step that each belongs to.
const STEPS: [Step; 6] = [
    Step::IdentifyController,
    Step::ReadWriteCache,
    Step::CreateCompletionQueue,
    Step::CreateSubmissionQueue,
    Step::SetQueueCount,
    Step::IdentifyNamespace,
];

#[test]
fn each_command_of_bring_up_that_fails_is_named_and_undone() {
    let refused = Answer::Status(6 << 1);
    // A write cache that cannot be read is taken for on, and a namespace that cannot be identified is left out.
    for (at, step) in STEPS.into_iter().enumerate().filter(|(at, _)| ![1, 5].contains(at)) {
        let board = Board::new();
        let mut number = 0;
        board.answer(move |_| {
            number += 1;
            if number == at + 1 { refused } else { Answer::Do }
        });
        let failure = board.try_enable(Config::default()).err().unwrap();
        let error = CommandError::Status(Status::from_half_word(6 << 1));
        assert_eq!(failure.error, Error::Command { step, error });
        drop(failure);
        board.assert_as_found();
    }
}

#[test]
fn a_failed_submission_queue_takes_the_completion_queue_with_it() {
    let board = Board::new();
    board
        .answer(|command| if (command.io, command.opcode) == (false, 1) { Answer::Status(6 << 1) } else { Answer::Do });
    assert!(board.try_enable(Config::default()).is_err());
    assert_eq!(board.opcodes().last(), Some(&(false, 4)), "Delete IO completion queue");
    board.with(|machine| assert!(machine.io_completion.is_none()));
    board.assert_as_found();
}

#[test]
fn each_command_of_bring_up_that_never_answers_times_out_and_leaves_the_controller_down() {
    for (at, step) in STEPS.into_iter().enumerate() {
        let board = Board::new();
        let mut number = 0;
        board.answer(move |_| {
            number += 1;
            if number == at + 1 { Answer::Swallow } else { Answer::Do }
        });
        let failure = board.try_enable(Config::default()).err().unwrap();
        let Error::Command { step: failed, error: CommandError::TimedOut { tag: 0, waited } } = failure.error else {
            panic!("{}", failure.error)
        };
        assert_eq!(failed, step);
        assert!(waited >= Duration::from_secs(60) && waited < Duration::from_secs(61), "{waited:?}");
        drop(failure);
        board.with(|machine| machine.violations.retain(|text| !text.contains("queues alive")));
        board.assert_as_found();
    }
}
