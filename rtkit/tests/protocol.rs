//! The core without registers, memory or time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a surprise ends the test")]

use proptest::prelude::*;
use rtkit::protocol::{Action, BufferError, Phase, Protocol, ProtocolError, UnsupportedVersion, VersionReason};
use rtkit::{Config, Endpoint, Message, PowerState};

fn management(kind: u64, bits: u64) -> Message {
    Message { endpoint: 0, payload: kind << 52 | bits }
}

fn hello(minimum: u64, maximum: u64) -> Message {
    management(1, maximum << 16 | minimum)
}

fn page(base: u64, bitmap: u64, last: bool) -> Message {
    management(8, u64::from(last) << 51 | base << 32 | bitmap)
}

const ON: u64 = 0x20;

fn handle(protocol: &mut Protocol, message: Message) -> Vec<Action> {
    protocol.handle(message).unwrap().into_iter().collect()
}

/// Endpoints that are started by these actions.
fn started(actions: impl IntoIterator<Item = Action>) -> Vec<u64> {
    let starts = actions.into_iter().filter_map(|action| match action {
        Action::Send(Message { endpoint: 0, payload }) if payload >> 52 == 5 => Some(payload >> 32 & 0xff),
        _ => None,
    });
    starts.collect()
}

fn begun() -> Protocol {
    let mut protocol = Protocol::new(&Config::default());
    protocol.start(None);
    protocol
}

fn mapping() -> Protocol {
    let mut protocol = begun();
    handle(&mut protocol, hello(11, 12));
    protocol
}

fn running() -> Protocol {
    let mut protocol = mapping();
    handle(&mut protocol, page(0, 0x11f, true));
    handle(&mut protocol, management(7, ON));
    handle(&mut protocol, management(0xb, ON));
    assert_eq!(protocol.phase(), Phase::Running);
    protocol
}

#[test]
fn the_highest_common_version_is_chosen() {
    for (minimum, maximum, chosen) in
        [(11, 11, 11), (12, 14, 12), (10, 20, 12), (11, 12, 12), (12, 12, 12), (3, 12, 12)]
    {
        let reply = Action::Send(management(2, chosen << 16 | chosen));
        assert_eq!(handle(&mut begun(), hello(minimum, maximum)), [reply]);
    }
}

#[test]
fn a_range_without_a_common_version_is_refused_with_the_reason() {
    for (minimum, maximum, reason) in [
        (13, 14, VersionReason::TooNew),
        (8, 10, VersionReason::TooOld),
        (12, 11, VersionReason::Contradictory),
        (0xffff, 0, VersionReason::Contradictory),
        (0, 0, VersionReason::TooOld),
    ] {
        let mut protocol = begun();
        let refused = UnsupportedVersion { reason, minimum, maximum };
        let error = protocol.handle(hello(minimum.into(), maximum.into())).unwrap_err();
        assert_eq!(error, ProtocolError::Version(refused));
        assert_eq!(protocol.phase(), Phase::Hello);
    }
}

#[test]
fn each_page_is_answered_and_the_last_one_starts_the_known_system_endpoints() {
    let mut protocol = mapping();
    assert_eq!(handle(&mut protocol, page(0, 0xffff_ffff, false)), [Action::Send(management(8, 1))]);
    assert_eq!(handle(&mut protocol, page(1, 1, false)), [Action::Send(management(8, 1 << 32 | 1))]);
    let actions = handle(&mut protocol, page(2, 0, true));
    assert_eq!(actions[0], Action::Send(management(8, 2 << 32 | 1 << 51)));
    assert_eq!(started(actions), [1, 2, 3, 4, 8]);
}

#[test]
fn only_endpoints_that_the_map_lists_are_started() {
    let mut protocol = mapping();
    assert_eq!(started(handle(&mut protocol, page(0, 0b1_0011, true))), [1, 4]);
}

#[test]
fn a_page_or_a_map_that_comes_twice_starts_nothing_twice() {
    let mut protocol = mapping();
    let mut all = Vec::new();
    for _ in 0..2 {
        for page in [page(0, 0x11f, false), page(0, 0x11f, false), page(1, 1, true)] {
            all.extend(started(handle(&mut protocol, page)));
        }
    }
    assert_eq!(all, [1, 2, 3, 4, 8]);
    assert_eq!(protocol.phase(), Phase::IopPower);
}

#[test]
fn the_coprocessor_s_power_may_be_acknowledged_before_the_endpoints_are_started() {
    let mut protocol = mapping();
    assert_eq!(handle(&mut protocol, management(7, ON)), []);
    let actions = handle(&mut protocol, page(0, 0x11f, true));
    assert_eq!(actions.last(), Some(&Action::Send(management(0xb, ON))));
    assert_eq!(actions.len(), 7);
    assert_eq!(protocol.phase(), Phase::ApPower);
}

#[test]
fn the_host_s_power_waits_for_a_coprocessor_that_is_on() {
    let mut protocol = mapping();
    handle(&mut protocol, page(0, 0x11f, true));
    assert_eq!(handle(&mut protocol, management(7, 0x10)), []);
    assert_eq!(protocol.phase(), Phase::IopPower);
    assert_eq!(handle(&mut protocol, management(7, 0x220)), [Action::Send(management(0xb, ON))]);
}

#[test]
fn a_second_hello_is_passed_over_at_first_and_later_tells_of_a_restart() {
    let mut protocol = mapping();
    assert_eq!(handle(&mut protocol, hello(11, 12)), [Action::Unknown(hello(11, 12))]);
    handle(&mut protocol, page(0, 1, false));
    assert_eq!(protocol.handle(hello(11, 12)).unwrap_err(), ProtocolError::StartedOver(Phase::Map));
    assert_eq!(running().handle(hello(11, 12)).unwrap_err(), ProtocolError::StartedOver(Phase::Running));
}

#[test]
fn memory_is_asked_for_once_and_only_in_a_session_with_endpoints() {
    let request = Message { endpoint: 4, payload: 0x0010_4000_0000_0000 };
    assert_eq!(handle(&mut begun(), request), [Action::Unknown(request)]);
    assert_eq!(handle(&mut mapping(), request), [Action::Unknown(request)]);
    let mut protocol = running();
    assert!(matches!(handle(&mut protocol, request)[..], [Action::Grant(granted)] if granted.size == 0x4000));
    let repeated = ProtocolError::Buffer(Endpoint::IOREPORT, BufferError::Repeated);
    assert_eq!(protocol.handle(request).unwrap_err(), repeated);
}

#[test]
fn a_crash_notice_counts_from_hello_on() {
    let notice = Message { endpoint: 1, payload: 0x0010_4000_0000_0000 };
    assert_eq!(handle(&mut begun(), notice), [Action::Unknown(notice)]);
    let mut protocol = mapping();
    assert_eq!(handle(&mut protocol, notice), [Action::Crashed]);
    let mut protocol = running();
    assert!(matches!(handle(&mut protocol, notice)[..], [Action::Grant(_)]));
    assert_eq!(handle(&mut protocol, notice), [Action::Crashed]);
    assert_eq!(handle(&mut protocol, notice), [Action::Unknown(notice)]);
    assert_eq!(protocol.phase(), Phase::Crashed);
}

#[test]
fn an_on_that_was_under_way_does_not_disturb_the_stop() {
    let mut protocol = mapping();
    handle(&mut protocol, page(0, 0x11f, true));
    handle(&mut protocol, management(7, ON));
    let stop = protocol.stop(PowerState::SLEEP).unwrap().into_iter().collect::<Vec<_>>();
    assert_eq!(stop, [Action::Send(management(0xb, 0x10))]);
    handle(&mut protocol, management(0xb, ON));
    handle(&mut protocol, management(7, ON));
    assert_eq!(handle(&mut protocol, management(0xb, 0x10)), [Action::Send(management(6, 1))]);
    handle(&mut protocol, management(7, ON));
    handle(&mut protocol, management(7, 1));
    assert_eq!(protocol.phase(), Phase::Down(PowerState::SLEEP));
}

#[test]
fn before_the_endpoints_start_the_coprocessor_is_stopped_without_the_host() {
    for mut protocol in [begun(), mapping()] {
        let stop = protocol.stop(PowerState::SLEEP).unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!(stop, [Action::Send(management(6, 1))]);
        handle(&mut protocol, management(7, 1));
        assert_eq!(protocol.phase(), Phase::Down(PowerState::SLEEP));
    }
    let mut none = Protocol::new(&Config::default());
    assert_eq!(none.stop(PowerState::SLEEP).unwrap_err(), ProtocolError::WrongPhase(Phase::Off));
}

/// Messages that are likely to lead somewhere, and any others.
fn any_message() -> impl Strategy<Value = Message> {
    let kinds = prop_oneof![Just(1u64), Just(7), Just(8), Just(0xb), 0..16u64];
    let bits = prop_oneof![
        Just(0x000c_000bu64),
        Just(ON),
        Just(0x10),
        Just(1),
        Just(1 << 51 | 0x51f),
        (0..8u64, any::<u32>(), any::<bool>())
            .prop_map(|(base, map, last)| { u64::from(last) << 51 | base << 32 | u64::from(map) }),
        any::<u64>().prop_map(|bits| bits & ((1 << 52) - 1)),
    ];
    let typed = (prop_oneof![Just(0u8), Just(1), Just(2), Just(4), Just(8), any::<u8>()], kinds, bits)
        .prop_map(|(endpoint, kind, bits)| Message { endpoint, payload: kind << 52 | bits });
    let raw = (any::<u8>(), any::<u64>()).prop_map(|(endpoint, payload)| Message { endpoint, payload });
    prop_oneof![4 => typed, 1 => raw]
}

proptest! {
    #[test]
    fn no_sequence_of_messages_panics_or_starts_an_endpoint_twice(
        greeted in any::<bool>(),
        messages in prop::collection::vec(any_message(), 0..200),
        stop_at in 0..400usize,
    ) {
        let mut protocol = if greeted { mapping() } else { begun() };
        let mut seen = Vec::new();
        let mut granted = Vec::new();
        for (index, message) in messages.into_iter().enumerate() {
            if index == stop_at {
                let _ = protocol.stop(PowerState::SLEEP);
            }
            let actions: Vec<_> = protocol.handle(message).map(|actions| actions.into_iter().collect()).unwrap_or_default();
            prop_assert!(actions.len() <= 7);
            seen.extend(started(actions.iter().copied()));
            for action in actions {
                if let Action::Grant(request) = action {
                    prop_assert!(request.size > 0 && request.size <= 1 << 20);
                    granted.push(request.endpoint);
                }
            }
        }
        for list in [seen.len(), granted.len()] {
            prop_assert!(list <= 5);
        }
        seen.sort_unstable();
        let count = seen.len();
        seen.dedup();
        prop_assert_eq!(seen.len(), count);
        granted.sort_unstable();
        let count = granted.len();
        granted.dedup();
        prop_assert_eq!(granted.len(), count);
    }
}
