//! The coprocessor in use: log lines, reports, application endpoints, the crash.

use crate::board::{Board, Firmware, Owner};
use rtkit::crash::RecordError;
use rtkit::protocol::{BufferError, Phase, ProtocolError};
use rtkit::{Config, Coprocessor, Endpoint, Error, Message, Stage};
use std::time::Duration;

const CRASH_NOTICE: Message = Message { endpoint: 1, payload: 0x0010_4000_0000_0000 };

fn message(endpoint: u8, payload: u64) -> Message {
    Message { endpoint, payload }
}

fn say(board: &Board, messages: &[Message]) {
    board.say(messages.iter().map(|&message| (Duration::ZERO, message)));
}

fn running(firmware: Firmware) -> (Board, Owner, Coprocessor<crate::board::OnBoard>) {
    let board = Board::new(firmware);
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.boot(&board, &mut owner).unwrap();
    board.state().sent.clear();
    (board, owner, coprocessor)
}

/// A record with a message and nothing else.
fn record(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let words = |bytes: &mut Vec<u8>, words: &[u32]| words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
    words(&mut bytes, &[0x434c_4845, 1, 0x40 + 0x20, 0, 0, 0, 0, 0]);
    words(&mut bytes, &[0x4373_7472, 0, 0, 0x30, 7]);
    bytes.extend(text.as_bytes());
    bytes.resize(0x50, 0);
    words(&mut bytes, &[0x434c_4845, 0, 0, 0x10]);
    bytes
}

#[test]
fn ten_messages_that_wait_are_served_in_order() {
    let (board, mut owner, mut coprocessor) = running(Firmware::default());
    let address = owner.address(Endpoint::SYSLOG);
    let mut said = Vec::new();
    for index in 0..5 {
        let entry = address + index * (0x20 + 200);
        board.poke(entry + 8, b"nvme\0");
        board.poke(entry + 0x20, format!("line {index}\n").as_bytes());
        said.extend([message(2, 0x0050_0000_0000_0000 | index), message(4, 0x0080_0000_0000_0000 | index)]);
    }
    say(&board, &said);
    coprocessor.poll(&board, &mut owner).unwrap();
    assert_eq!(board.sent(), said);
    assert_eq!(owner.lines, ["nvme: line 0", "nvme: line 1", "nvme: line 2", "nvme: line 3", "nvme: line 4"]);
}

#[test]
fn a_log_entry_outside_the_memory_is_echoed_and_not_read() {
    let (board, mut owner, mut coprocessor) = running(Firmware::default());
    let said = [
        // Index 32 of 32 entries; then a shape whose entry 255 lies far beyond the 32 KiB that were lent.
        message(2, 0x0050_0000_0000_0020),
        message(2, 0x0080_00ff_ff00_ffff),
        message(2, 0x0050_0000_0000_00ff),
    ];
    say(&board, &said);
    coprocessor.poll(&board, &mut owner).unwrap();
    assert_eq!(board.sent(), [said[0], said[2]]);
    assert!(owner.lines.is_empty());
}

#[test]
fn requests_are_served_while_the_sleep_is_awaited() {
    let (board, mut owner, mut coprocessor) = running(Firmware::default());
    let said = [message(4, 0x0080_0000_0000_0000), message(2, 0x0050_0000_0000_0001)];
    say(&board, &said);
    coprocessor.sleep(&board, &mut owner).unwrap();
    for echo in said {
        assert!(board.sent().contains(&echo));
    }
}

#[test]
fn a_crash_is_reported_once_and_every_later_call_fails() {
    let (board, mut owner, mut coprocessor) = running(Firmware::default());
    board.poke(owner.address(Endpoint::CRASHLOG), &record("ANS2 panic"));
    say(&board, &[CRASH_NOTICE, CRASH_NOTICE]);
    let error = coprocessor.poll(&board, &mut owner).unwrap_err();
    let Error::Crashed { stage: Stage::Running, crash } = error else { panic!("{error}") };
    assert_eq!((crash.text.as_str(), crash.error), ("ANS2 panic", None));
    assert!(coprocessor.is_crashed());
    assert_eq!(board.sent(), []);
    let accesses = board.state().accesses;
    for outcome in [
        coprocessor.poll(&board, &mut owner),
        coprocessor.boot(&board, &mut owner),
        coprocessor.wake(&board, &mut owner),
        coprocessor.sleep(&board, &mut owner),
        coprocessor.quiesce(&board, &mut owner),
        coprocessor.start_endpoint(&board, Endpoint(0x20)),
        coprocessor.send_to_application(&board, message(0x20, 0)),
    ] {
        assert!(matches!(outcome, Err(Error::Crashed { .. })));
    }
    assert_eq!(board.state().accesses, accesses);
    assert_eq!(owner.crashes.len(), 1);

    coprocessor.abandon(&mut owner);
    assert_eq!(board.pages_in_use(), (0, 16));
    assert!(coprocessor.is_crashed());
}

#[test]
fn a_crash_while_booting_and_while_going_to_sleep_ends_the_wait() {
    let mut firmware = Firmware { on_after: None, ..Firmware::default() };
    firmware.on_start.insert(8, vec![]);
    firmware.on_start.insert(1, vec![CRASH_NOTICE.payload, CRASH_NOTICE.payload]);
    let board = Board::new(firmware);
    let mut owner = Owner::new(&board);
    let error = board.coprocessor(Config::default()).boot(&board, &mut owner).unwrap_err();
    assert!(matches!(error, Error::Crashed { stage: Stage::Power, .. }), "{error}");

    let (board, mut owner, mut coprocessor) = running(Firmware::default());
    say(&board, &[CRASH_NOTICE]);
    let error = coprocessor.sleep(&board, &mut owner).unwrap_err();
    assert!(matches!(error, Error::Crashed { stage: Stage::Quiesce, .. }), "{error}");
    assert_eq!(owner.taken_back, []);
}

#[test]
fn a_crash_without_memory_for_its_record_says_so() {
    let mut firmware = Firmware::default();
    // The coprocessor keeps the record in memory of its own.
    firmware.on_start.insert(1, vec![0x0010_4000_1000_0000]);
    let (board, mut owner, mut coprocessor) = running(firmware);
    say(&board, &[CRASH_NOTICE]);
    let Err(Error::Crashed { crash, .. }) = coprocessor.poll(&board, &mut owner) else { panic!("no crash") };
    assert_eq!(crash.error, Some(RecordError::NoMemory));
    assert_eq!(owner.crashes, [crash]);
}

#[test]
fn memory_of_the_coprocessor_s_own_is_not_answered() {
    let mut firmware = Firmware::default();
    firmware.on_start.insert(4, vec![0x0010_4000_1000_0000]);
    let (board, owner, _) = running(firmware);
    assert_eq!(owner.lent.iter().map(|lent| lent.0).collect::<Vec<_>>(), [Endpoint::CRASHLOG, Endpoint::SYSLOG]);
    assert!(board.sent().iter().all(|message| message.endpoint != 4));
}

#[test]
fn absurd_requests_for_memory_are_refused_and_the_session_goes_on() {
    let mut firmware = Firmware::default();
    firmware.on_start.remove(&4);
    let (board, mut owner, mut coprocessor) = running(firmware);
    let refused =
        |endpoint, error| Err(Error::Protocol { stage: Stage::Running, error: ProtocolError::Buffer(endpoint, error) });
    let cases = [
        (message(4, 0x0010_0000_0000_0000), refused(Endpoint::IOREPORT, BufferError::Empty)),
        (message(4, 0x0010_4000_0000_0000), refused(Endpoint::IOREPORT, BufferError::Repeated)),
        (message(2, 0x0010_8000_0000_0000), refused(Endpoint::SYSLOG, BufferError::Repeated)),
        (message(8, 0x0100_0000_0000_0000), refused(Endpoint::OSLOG, BufferError::Empty)),
    ];
    for (request, outcome) in cases {
        say(&board, &[request]);
        assert_eq!(coprocessor.poll(&board, &mut owner), outcome);
        assert!(coprocessor.is_running());
    }
    assert_eq!(board.sent(), []);
    coprocessor.sleep(&board, &mut owner).unwrap();
    assert_eq!(board.pages_in_use(), (0, 0));
}

#[test]
fn a_request_beyond_the_configured_size_is_refused() {
    let mut config = Config::default();
    config.largest_buffer = 0x4000;
    let board = Board::new(Firmware::default());
    let error = board.coprocessor(config).boot(&board, &mut Owner::new(&board)).unwrap_err();
    let too_large = BufferError::TooLarge { size: 0x8000, allowed: 0x4000 };
    let expected = Error::Protocol { stage: Stage::Power, error: ProtocolError::Buffer(Endpoint::SYSLOG, too_large) };
    assert_eq!(error, expected);
}

#[test]
fn an_application_endpoint_is_started_once_and_only_if_the_map_has_it() {
    let (board, mut owner, mut coprocessor) = running(Firmware::default());
    let refused = |endpoint| {
        Err(Error::Protocol { stage: Stage::Running, error: ProtocolError::NoSuchEndpoint(Endpoint(endpoint)) })
    };
    assert_eq!(coprocessor.start_endpoint(&board, Endpoint(0x21)), refused(0x21));
    assert_eq!(coprocessor.start_endpoint(&board, Endpoint::SYSLOG), refused(2));
    coprocessor.start_endpoint(&board, Endpoint(0x20)).unwrap();
    assert_eq!(coprocessor.start_endpoint(&board, Endpoint(0x20)), refused(0x20));
    coprocessor.send_to_application(&board, message(0x20, 0x1234)).unwrap();
    assert_eq!(coprocessor.send_to_application(&board, message(4, 0)), refused(4));
    assert_eq!(board.sent(), [message(0, 0x0050_0020_0000_0002), message(0x20, 0x1234)]);

    say(&board, &[message(0x20, 0x4321)]);
    coprocessor.poll(&board, &mut owner).unwrap();
    assert_eq!(owner.unknown, [message(0x20, 0x4321)]);
    coprocessor.sleep(&board, &mut owner).unwrap();
    assert!(matches!(
        coprocessor.start_endpoint(&board, Endpoint(0x20)),
        Err(Error::Protocol { error: ProtocolError::WrongPhase(Phase::Down(_)), .. })
    ));
}

#[test]
fn one_poll_serves_a_bounded_number_of_a_flood_of_messages() {
    let (board, mut owner, mut coprocessor) = running(Firmware::default());
    say(&board, &[message(4, 0x0080_0000_0000_0000); 1000]);
    coprocessor.poll(&board, &mut owner).unwrap();
    assert_eq!(board.sent().len(), 64);
}
