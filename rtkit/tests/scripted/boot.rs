//! The coprocessor's life on a board: start, wake, use, sleep.

use std::time::Duration;

use crate::board::{Board, Firmware, Owner};
use rtkit::protocol::{Phase, ProtocolError};
use rtkit::{Config, Endpoint, Error, Message, PowerState, Stage};

fn message(endpoint: u8, payload: u64) -> Message {
    Message { endpoint, payload }
}

fn payloads_to(board: &Board, endpoint: u8) -> Vec<u64> {
    board.sent().iter().filter(|message| message.endpoint == endpoint).map(|message| message.payload).collect()
}

/// What every boot with the board's usual firmware says to the management endpoint.
const MANAGEMENT: [u64; 10] = [
    0x0060_0000_0000_0220,
    0x0020_0000_000c_000c,
    0x0080_0000_0000_0001,
    0x0088_0001_0000_0000,
    0x0050_0001_0000_0002,
    0x0050_0002_0000_0002,
    0x0050_0003_0000_0002,
    0x0050_0004_0000_0002,
    0x0050_0008_0000_0002,
    0x00b0_0000_0000_0020,
];

#[test]
fn a_cold_coprocessor_boots_and_goes_to_sleep_with_all_memory_back() {
    let board = Board::new(Firmware::default());
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.boot(&board, &mut owner).unwrap();
    assert!(coprocessor.is_running());
    assert_eq!(payloads_to(&board, 0), MANAGEMENT);
    assert_eq!(owner.stages, ["rtkit-hello", "rtkit-endpoints", "rtkit-power"]);
    assert_eq!(board.pages_in_use(), (16, 0));

    coprocessor.sleep(&board, &mut owner).unwrap();
    assert_eq!(coprocessor.phase(), Phase::Down(PowerState::SLEEP));
    assert_eq!(payloads_to(&board, 0)[10..], [0x00b0_0000_0000_0010, 0x0060_0000_0000_0001]);
    assert_eq!(owner.stages[3..], ["rtkit-quiesce", "rtkit-sleep"]);
    assert_eq!(owner.taken_back, [Endpoint::IOREPORT, Endpoint::SYSLOG, Endpoint::CRASHLOG]);
    assert_eq!(board.pages_in_use(), (0, 0));
}

#[test]
fn a_coprocessor_left_running_is_woken_and_says_hello_only_then() {
    let board = Board::new(Firmware::left_running());
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.wake(&board, &mut owner).unwrap();
    assert_eq!(payloads_to(&board, 0), MANAGEMENT);
}

#[test]
fn a_wake_asks_for_power_even_where_a_cold_boot_is_told_to_send_nothing() {
    let mut config = Config::default();
    config.first_power = None;
    let board = Board::new(Firmware::default());
    board.coprocessor(config.clone()).boot(&board, &mut Owner::new(&board)).unwrap();
    assert_eq!(payloads_to(&board, 0), MANAGEMENT[1..]);

    let board = Board::new(Firmware::left_running());
    board.coprocessor(config).wake(&board, &mut Owner::new(&board)).unwrap();
    assert_eq!(payloads_to(&board, 0), MANAGEMENT);
}

#[test]
fn what_a_former_session_left_in_the_mailbox_does_not_disturb_a_wake() {
    let log = message(2, 0x0050_0000_0000_0003);
    let report = message(4, 0x0080_0000_0000_0000);
    let leftovers =
        vec![log, report, message(0, 0x0070_0000_0000_0020), message(1, 0x0010_4000_0000_0000), message(0x20, 5)];
    let board = Board::new(Firmware { leftovers, ..Firmware::left_running() });
    let mut owner = Owner::new(&board);
    board.coprocessor(Config::default()).wake(&board, &mut owner).unwrap();
    // Echoes keep the coprocessor alive; the rest is no business of this session.
    assert_eq!(board.sent()[1..3], [log, report]);
    assert_eq!(owner.unknown.len(), 3);
    assert_eq!(payloads_to(&board, 0), MANAGEMENT);
}

#[test]
fn memory_is_reachable_before_the_coprocessor_is_told_of_it() {
    let board = Board::new(Firmware::default());
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.boot(&board, &mut owner).unwrap();
    let sent = board.sent();
    assert_eq!(
        owner.lent.iter().map(|lent| (lent.0.0, lent.2)).collect::<Vec<_>>(),
        [(1, 0x4000), (2, 0x8000), (4, 0x4000)]
    );
    for (endpoint, address, size, sent_before) in &owner.lent {
        let reply = message(endpoint.0, 0x0010_0000_0000_0000 | (*size as u64 / 4096) << 44 | address);
        assert_eq!(sent.iter().position(|message| *message == reply), Some(*sent_before));
    }
}

#[test]
fn an_oslog_buffer_is_granted_in_bytes() {
    let mut firmware = Firmware::default();
    firmware.on_start.insert(8, vec![0x0100_4000_0000_0000]);
    let board = Board::new(firmware);
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.boot(&board, &mut owner).unwrap();
    let address = owner.address(Endpoint::OSLOG);
    assert_eq!(payloads_to(&board, 8), [0x0100_4000_0000_0000 | address >> 12]);
}

#[test]
fn the_power_acknowledgement_may_take_half_a_minute() {
    for milliseconds in [50, 900, 4_900, 29_000] {
        let on_after = Some(Duration::from_millis(milliseconds));
        let board = Board::new(Firmware { on_after, ..Firmware::default() });
        board.coprocessor(Config::default()).boot(&board, &mut Owner::new(&board)).unwrap();
        assert!(board.elapsed() >= Duration::from_millis(milliseconds));
    }
}

#[test]
fn a_power_acknowledgement_that_never_comes_is_a_bounded_error() {
    let board = Board::new(Firmware { on_after: None, ..Firmware::default() });
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    let error = coprocessor.boot(&board, &mut owner).unwrap_err();
    assert!(matches!(
        error,
        Error::TimedOut { stage: Stage::Power, phase: Phase::IopPower, seen: Some(Message { endpoint: 4, .. }), .. }
    ));
    assert!(board.elapsed() < Duration::from_secs(31));
    let text = error.to_string();
    assert!(text.starts_with("rtkit-power: no acknowledgement of the coprocessor's power within 30"), "{text}");

    // It is far enough to be put to sleep, which gives the memory back.
    coprocessor.sleep(&board, &mut owner).unwrap();
    assert_eq!(board.pages_in_use(), (0, 0));
}

#[test]
fn each_wait_ends_with_an_error_that_names_its_stage() {
    let silent = Firmware { cold: false, ..Firmware::default() };
    let mut mute_host = Firmware::default();
    mute_host.power_answers.insert((0xb, 0x20), None);
    let endless = Firmware { pages: vec![1], map_ends: false, ..Firmware::default() };
    let mut config = Config::default();
    config.first_power = None;
    for (firmware, stage) in [(silent, Stage::Hello), (mute_host, Stage::Power), (endless, Stage::Endpoints)] {
        let board = Board::new(firmware);
        let mut owner = Owner::new(&board);
        let mut coprocessor = board.coprocessor(config.clone());
        let error = coprocessor.boot(&board, &mut owner).unwrap_err();
        assert!(error.to_string().starts_with(stage.name()), "{error}");
        assert!(board.elapsed() < Duration::from_secs(45));
        assert!(!coprocessor.is_running());
        coprocessor.abandon(&mut owner);
        assert_eq!(board.pages_in_use().0, 0);
    }
}

#[test]
fn a_map_that_does_not_end_is_given_up_after_eight_pages() {
    let board = Board::new(Firmware { map_ends: false, ..Firmware::default() });
    let error = board.coprocessor(Config::default()).boot(&board, &mut Owner::new(&board)).unwrap_err();
    let expected = Error::Protocol { stage: Stage::Endpoints, error: ProtocolError::EndlessMap { pages: 9 } };
    assert_eq!(error, expected);
}

#[test]
fn a_message_from_an_impossible_endpoint_is_dropped() {
    let bogus = message(0, 0x0010_0000_000d_000d);
    let mut firmware = Firmware { leftovers: vec![bogus], ..Firmware::default() };
    firmware.odd_endpoints.insert(bogus.payload, 0x100);
    let board = Board::new(firmware);
    board.coprocessor(Config::default()).boot(&board, &mut Owner::new(&board)).unwrap();
}

#[test]
fn a_mailbox_full_for_a_while_is_waited_for_and_one_full_for_ever_is_not() {
    let board = Board::new(Firmware::default());
    board.fill_for(Duration::from_millis(150));
    board.coprocessor(Config::default()).boot(&board, &mut Owner::new(&board)).unwrap();

    let board = Board::new(Firmware::default());
    board.fill_for(Duration::MAX);
    let error = board.coprocessor(Config::default()).boot(&board, &mut Owner::new(&board)).unwrap_err();
    assert!(matches!(error, Error::Mailbox { stage: Stage::Hello, .. }), "{error}");
    assert!(board.elapsed() >= Duration::from_millis(200) && board.elapsed() < Duration::from_millis(210));
}

#[test]
fn memory_out_of_the_reply_s_reach_ends_the_boot_and_goes_back() {
    let board = Board::with_memory_at(1 << 42, Firmware::default());
    let mut owner = Owner::new(&board);
    let error = board.coprocessor(Config::default()).boot(&board, &mut owner).unwrap_err();
    assert!(matches!(error, Error::Protocol { error: ProtocolError::Buffer(Endpoint::CRASHLOG, _), .. }), "{error}");
    assert_eq!(owner.taken_back, [Endpoint::CRASHLOG]);
    assert_eq!(payloads_to(&board, 1), []);
}

#[test]
fn an_owner_that_lends_nothing_ends_the_boot() {
    let board = Board::new(Firmware::default());
    let mut owner = Owner::new(&board);
    owner.refuses = true;
    let error = board.coprocessor(Config::default()).boot(&board, &mut owner).unwrap_err();
    let expected = "rtkit-power: no buffer of 16384 bytes for crashlog: the coprocessor's DMA filter cannot be opened: every entry is taken";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn a_second_boot_is_refused_until_the_first_session_has_ended() {
    let board = Board::new(Firmware::default());
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.boot(&board, &mut owner).unwrap();
    let sent = board.sent().len();
    let refused = Error::Protocol { stage: Stage::Hello, error: ProtocolError::WrongPhase(Phase::Running) };
    assert_eq!(coprocessor.boot(&board, &mut owner), Err(refused.clone()));
    assert_eq!(coprocessor.wake(&board, &mut owner), Err(refused));
    assert_eq!(board.sent().len(), sent);

    coprocessor.quiesce(&board, &mut owner).unwrap();
    assert_eq!(coprocessor.phase(), Phase::Down(PowerState::QUIESCED));
    coprocessor.wake(&board, &mut owner).unwrap();
    assert!(coprocessor.is_running());
}

#[test]
fn without_a_session_nothing_is_accessed() {
    let board = Board::new(Firmware::default());
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.sleep(&board, &mut owner).unwrap();
    coprocessor.poll(&board, &mut owner).unwrap();
    assert_eq!(board.state().accesses, 0);
}

#[test]
fn a_power_state_other_than_the_one_asked_for_is_an_error() {
    for (asked, stage, answer) in
        [((0xb, 0x20), Stage::Power, 0x10), ((0xb, 0x10), Stage::Quiesce, 0x01), ((0x6, 0x01), Stage::Sleep, 0x10)]
    {
        let mut firmware = Firmware::default();
        firmware.power_answers.insert(asked, Some(answer));
        let board = Board::new(firmware);
        let mut owner = Owner::new(&board);
        let mut coprocessor = board.coprocessor(Config::default());
        let outcome = coprocessor.boot(&board, &mut owner).and_then(|()| coprocessor.sleep(&board, &mut owner));
        let power = ProtocolError::Power {
            requested: PowerState(asked.1.try_into().unwrap()),
            acknowledged: PowerState(answer.try_into().unwrap()),
        };
        assert_eq!(outcome, Err(Error::Protocol { stage, error: power }));
        assert_eq!(owner.taken_back, [], "the coprocessor may still be writing");
    }
}

#[test]
fn a_driver_dropped_in_the_middle_keeps_its_memory_out_of_use() {
    let board = Board::new(Firmware::default());
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.boot(&board, &mut Owner::new(&board)).unwrap();
    drop(coprocessor);
    assert_eq!(board.pages_in_use(), (0, 16));
}

#[test]
fn after_a_reset_the_memory_goes_back_and_the_coprocessor_boots_again() {
    let board = Board::new(Firmware { on_after: None, ..Firmware::default() });
    let mut owner = Owner::new(&board);
    let mut coprocessor = board.coprocessor(Config::default());
    coprocessor.boot(&board, &mut owner).unwrap_err();
    coprocessor.release(&mut owner);
    assert_eq!(board.pages_in_use(), (0, 0));
    board.state().firmware = Firmware::default();
    coprocessor.boot(&board, &mut owner).unwrap();
}
