//! Several IO queue pairs.

use nvme::{ShadowDoorbells, SubmitError};
use sim::pcie::ControllerConfig;

use crate::rig::{Driver, Rig, poll, read_block, settings, stream};

const ORDERS: [ShadowDoorbells; 3] =
    [ShadowDoorbells::Off, ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues];

#[test]
fn as_many_pairs_as_were_asked_for_and_granted_are_in_use() {
    for (asked, has, used) in [(0, 64, 1), (1, 64, 1), (4, 64, 4), (9, 64, 4), (4, 2, 2), (4, 1, 1), (3, 4, 3)] {
        let rig = Rig::new(ControllerConfig { queue_pairs: has, ..ControllerConfig::new() });
        let mut driver = rig.enable(settings(|config| config.queue_pairs = asked), ShadowDoorbells::BeforeQueues);
        assert_eq!(driver.queue_pairs(), used);
        let request = read_block(&driver, 1);
        let refused = driver.submit_on(used, request).unwrap_err();
        assert_eq!(refused.error, SubmitError::UnknownQueuePair { index: used });
        drop(refused);
        for index in 0..used {
            stream(&mut driver, index, 40, 9, 2);
        }
        driver.reset().unwrap();
        assert_eq!(driver.queue_pairs(), used);
        rig.down(driver);
    }
}

#[test]
fn pairs_in_flight_together_are_all_served() {
    for shadow in ORDERS {
        let rig = Rig::new(ControllerConfig::new());
        let mut driver = rig.enable(settings(|config| config.queue_pairs = 4), shadow);
        let mut ended = [0; 4];
        let mut sent = [0; 4];
        while ended != [500; 4] {
            for index in 0..4u16 {
                let at = usize::from(index);
                while sent[at] < 500 && sent[at] - ended[at] < 3 + 5 * u32::from(index) {
                    let request = read_block(&driver, u64::from(sent[at]));
                    driver.submit_on(index, request).unwrap();
                    sent[at] += 1;
                }
            }
            let completion = driver.wait().unwrap();
            completion.result.unwrap();
            ended[usize::from(completion.ticket.queue_pair())] += 1;
        }
        assert_eq!(rig.ran("read"), 2000);
        rig.down(driver);
    }
}

/// Submits on a pair until it is full.
fn fill(driver: &mut Driver, index: u16) {
    loop {
        let request = read_block(driver, 1);
        if driver.submit_on(index, request).is_err() {
            break;
        }
    }
}

#[test]
fn a_pair_that_is_kept_full_does_not_keep_another_waiting() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(settings(|config| config.queue_pairs = 3), ShadowDoorbells::BeforeQueues);
    for busy in 0..3u16 {
        for quiet in (0..3).filter(|quiet| *quiet != busy) {
            let request = read_block(&driver, 7);
            let ticket = driver.submit_on(quiet, request).unwrap();
            let mut others = 0;
            loop {
                fill(&mut driver, busy);
                let completion = poll(&mut driver, &rig.board);
                completion.result.unwrap();
                if completion.ticket == ticket {
                    break;
                }
                others += 1;
                // Two rounds of the busy pair at most.
                assert!(others <= 3 * 64, "pair {quiet} starves behind pair {busy}");
            }
            while let Some(completion) = driver.wait() {
                completion.result.unwrap();
            }
        }
    }
    rig.down(driver);
}

#[test]
fn each_pair_can_be_polled_by_itself() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(settings(|config| config.queue_pairs = 2), ShadowDoorbells::AfterQueues);
    let request = read_block(&driver, 7);
    let first = driver.submit_on(0, request).unwrap();
    let request = read_block(&driver, 7);
    let second = driver.submit_on(1, request).unwrap();
    driver.ring();
    rig.board.pass(10_000_000);
    assert_eq!(driver.poll_on(1).unwrap().ticket, second);
    assert!(driver.poll_on(1).is_none());
    assert_eq!(driver.poll_on(0).unwrap().ticket, first);
    assert!(driver.poll_on(7).is_none());
    rig.down(driver);
}

#[test]
fn ends_of_a_pair_that_a_reset_took_away_are_still_polled() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(settings(|config| config.queue_pairs = 4), ShadowDoorbells::BeforeQueues);
    for index in 0..4 {
        let request = read_block(&driver, 7);
        driver.submit_on(index, request).unwrap();
    }
    driver.ring();
    // From now on the controller grants one pair.
    rig.tap.borrow_mut().rewrite = Some(Box::new(|entry: &mut [u8]| {
        if entry[0] == 0x09 {
            entry[44..48].fill(0);
        }
    }));
    driver.reset().unwrap();
    assert_eq!(driver.queue_pairs(), 1);
    let mut ended = Vec::new();
    while let Some(completion) = driver.poll() {
        ended.push(completion.ticket.queue_pair());
    }
    ended.sort_unstable();
    assert_eq!(ended, [0, 1, 2, 3]);
    stream(&mut driver, 0, 20, 3, 1);
    rig.down(driver);
}
