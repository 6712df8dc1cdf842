//! Asynchronous events: told once, masked until their log is read, and never more requests than the controller takes.

use nvme::{Event, ShadowDoorbells};
use sim::pcie::{ControllerConfig, Fault};

use crate::rig::{ADMIN_TAIL, Driver, Rig, stream, up};

const HOT: Event = Event { kind: 1, information: 1, log: 2 };
const CHANGED: Event = Event { kind: 2, information: 0, log: 4 };

/// A controller that is up: the driver has asked it for events of its health and of changed namespaces.
fn telling(config: ControllerConfig) -> (Rig, Driver) {
    up(config, ShadowDoorbells::BeforeQueues)
}

#[test]
fn an_event_is_told_once_and_again_after_its_log_was_read() {
    let (rig, mut driver) = telling(ControllerConfig::new());
    assert_eq!(driver.next_event(), Ok(None));
    for round in 1..=20 {
        rig.board.set_temperature(400);
        rig.board.set_temperature(401);
        assert_eq!(driver.next_event(), Ok(Some(HOT)));
        assert_eq!(driver.next_event(), Ok(None));
        assert_eq!((rig.ran("get-log-page"), driver.counters().events), (round, round));
    }
    rig.down(driver);
}

#[test]
fn events_of_several_kinds_are_each_told() {
    let (rig, mut driver) = telling(ControllerConfig::new());
    rig.board.set_temperature(400);
    rig.board.set_read_only(1, true);
    assert_eq!(driver.next_event(), Ok(Some(HOT)));
    assert_eq!(driver.next_event(), Ok(Some(CHANGED)));
    assert_eq!(driver.next_event(), Ok(None));
    rig.board.set_read_only(1, false);
    assert_eq!(driver.next_event(), Ok(Some(CHANGED)));
    assert_eq!(driver.next_event(), Ok(None));
    rig.down(driver);
}

#[test]
fn no_more_requests_are_sent_than_the_controller_takes() {
    for (event_limit, requests) in [(0, 1), (1, 2), (2, 3), (3, 4), (255, 4)] {
        let (rig, mut driver) = telling(ControllerConfig { event_limit, ..ControllerConfig::new() });
        assert_eq!(rig.ran("asynchronous-event-request"), requests);
        for _ in 0..10 {
            rig.board.set_temperature(400);
            assert_eq!(driver.next_event(), Ok(Some(HOT)));
        }
        assert_eq!(rig.ran("asynchronous-event-request"), requests + 10);
        driver.reset().unwrap();
        assert_eq!(rig.ran("asynchronous-event-request"), 2 * requests + 10);
        assert!(!rig.board.noted("command-failed"));
        rig.down(driver);
    }
}

#[test]
fn events_that_come_while_an_admin_command_waits_are_kept() {
    let (rig, mut driver) = telling(ControllerConfig::new());
    rig.tap.borrow_mut().on_write = Some(Box::new(|board, offset, _| {
        if offset == ADMIN_TAIL {
            board.set_temperature(400);
            board.set_read_only(1, true);
        }
    }));
    assert_eq!(driver.errors().unwrap(), []);
    rig.tap.borrow_mut().on_write = Some(Box::new(|_, _, _| ()));
    let first = driver.next_event().unwrap();
    let second = driver.next_event().unwrap();
    assert_eq!([first, second], [Some(HOT), Some(CHANGED)]);
    assert_eq!(driver.next_event(), Ok(None));
    rig.down(driver);
}

#[test]
fn events_are_told_after_a_reset_too() {
    let (rig, mut driver) = telling(ControllerConfig::new());
    driver.reset().unwrap();
    rig.board.set_temperature(400);
    assert_eq!(driver.next_event(), Ok(Some(HOT)));
    stream(&mut driver, 0, 10, 3, 1);
    rig.down(driver);
}

#[test]
fn an_event_whose_log_cannot_be_read_is_not_the_last_one() {
    let (rig, mut driver) = telling(ControllerConfig { event_limit: 0, ..ControllerConfig::new() });
    rig.board.set_temperature(400);
    rig.board.add_fault(Fault::AdminError { opcode: 2, half_word: 0x8212 });
    driver.next_event().unwrap_err();
    rig.board.clear_faults();
    assert_eq!(driver.next_event(), Ok(None));
    // Reading the log is what lets the controller tell of the next.
    driver.health().unwrap();
    rig.board.set_temperature(400);
    assert_eq!(driver.next_event(), Ok(Some(HOT)));
    rig.down(driver);
}
