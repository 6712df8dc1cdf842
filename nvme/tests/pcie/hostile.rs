//! Devices that lie: nothing panics, nothing lasts for ever, and every command ends once.

use std::cell::Cell;
use std::collections::HashSet;
use std::rc::Rc;

use nvme::{CommandError, ShadowDoorbells};
use proptest::prelude::*;
use sim::pcie::{Board, ControllerConfig, Fault};

use crate::rig::{ADMIN_HEAD, IO_HEAD, Random, Rig, impatient, settings, stream, submit, up};

#[test]
fn a_completion_of_nobody_is_counted_and_the_command_times_out() {
    let rig = Rig::new(ControllerConfig { faults: vec![Fault::CompletionUnknown(1)], ..ControllerConfig::new() });
    let mut driver = rig.enable(impatient(), ShadowDoorbells::BeforeQueues);
    let tickets: Vec<_> = (0..3).map(|lba| submit(&mut driver, lba)).collect();
    let mut late = Vec::new();
    while let Some(completion) = driver.wait() {
        if completion.result.is_err() {
            assert!(matches!(completion.result, Err(CommandError::TimedOut { .. })));
            late.push(completion.ticket);
        }
    }
    assert_eq!((late, driver.counters().unknown_completions), (vec![tickets[1]], 1));
    driver.reset().unwrap();
    stream(&mut driver, 0, 20, 4, 1);
    rig.down(driver);
}

/// Fills the queue with entries of nobody whenever some are given back, as a device that never stops would; fails the
/// test if the driver keeps on taking them.
fn post_for_ever(rig: &Rig, register: usize, base: u64, entries: u32) -> Rc<Cell<u64>> {
    let posted = Rc::new(Cell::new(0));
    let (count, lap, last) = (Rc::clone(&posted), Cell::new(1u16), Cell::new(0));
    rig.tap.borrow_mut().on_write = Some(Box::new(move |board, offset, head| {
        if offset != register {
            return;
        }
        if head < last.replace(head) {
            lap.set(lap.get() ^ 1);
        }
        count.set(count.get() + 1);
        assert!(count.get() < 100_000, "the driver is held by completions that never end");
        fill(board, base, entries, head, lap.get());
    }));
    posted
}

/// Posts as many entries of nobody as a queue has room for, from `head` on in a lap of that phase.
fn fill(board: &Board, base: u64, entries: u32, head: u32, lap: u16) {
    for slot in head..head + entries - 1 {
        let phase = lap ^ u16::from(slot >= entries);
        let word = 0xfff0 | u32::from(phase) << 16;
        board.poke(base + u64::from(slot % entries) * 16 + 12, &word.to_le_bytes());
    }
}

#[test]
fn completions_that_never_end_do_not_hold_a_poll() {
    for batching in [true, false] {
        let mut config = ControllerConfig::new();
        config.capabilities.queue_entries = 63;
        // No real completion comes between the others.
        config.timings.read = 20_000_000_000;
        let rig = Rig::new(config);
        let mut driver = rig.enable(settings(|config| config.depth = 8), ShadowDoorbells::Off);
        driver.set_batching(batching);
        let created = rig.last(0x05);
        let entries = (created.tenth >> 16) + 1;
        let posted = post_for_ever(&rig, IO_HEAD, created.prp1, entries);
        submit(&mut driver, 1);
        fill(&rig.board, created.prp1, entries, 0, 1);
        for _ in 0..200 {
            let before = driver.counters().unknown_completions;
            assert!(driver.poll().is_none());
            let taken = driver.counters().unknown_completions - before;
            assert!((1..=u64::from(entries)).contains(&taken), "{taken} of {entries}");
        }
        assert!(posted.get() >= 200);
        drop(driver);
    }
}

#[test]
fn completions_that_never_end_do_not_hold_an_admin_command() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(impatient(), ShadowDoorbells::Off);
    let base = rig.board.read(sim::pcie::BAR0 + 0x30, 4) | rig.board.read(sim::pcie::BAR0 + 0x34, 4) << 32;
    let lap_before = rig.board.counters().admin_doorbells;
    assert!(lap_before < 64, "the first lap of the queue is not over");
    let posted = post_for_ever(&rig, ADMIN_HEAD, base, 32);
    for _ in 0..3 {
        let _ = driver.health();
        let _ = driver.next_event();
    }
    assert!(posted.get() > 0);
    drop(driver);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// The completion queue's memory is written over at will between the looks.
    #[test]
    fn forged_completions_end_no_command_twice(seed in 1u64.., shadow in any::<bool>(), batching in any::<bool>()) {
        let order = if shadow { ShadowDoorbells::AfterQueues } else { ShadowDoorbells::Off };
        let mut config = ControllerConfig::new();
        config.capabilities.queue_entries = 15;
        let rig = Rig::new(config);
        let mut driver = rig.enable(impatient(), order);
        driver.set_batching(batching);
        let created = rig.last(0x05);
        let mut random = Random(seed);
        let mut waiting = HashSet::new();
        for _ in 0..200 {
            if driver.fault().is_none() && random.below(2) == 0 {
                let request = crate::rig::read_block(&driver, random.below(100));
                if let Ok(ticket) = driver.submit(request) {
                    prop_assert!(waiting.insert(ticket));
                }
            }
            driver.ring();
            if random.below(4) == 0 {
                let slot = random.below(16);
                let (identifier, status) = (random.below(18), random.next() as u16 & 0x0fff);
                let word = identifier as u32 | u32::from(status) << 16;
                rig.board.poke(created.prp1 + slot * 16 + 12, &word.to_le_bytes());
            }
            rig.board.pass(random.below(60_000));
            while let Some(completion) = driver.poll() {
                prop_assert!(waiting.remove(&completion.ticket), "an end twice, or of nobody");
            }
        }
        while let Some(completion) = driver.wait() {
            prop_assert!(waiting.remove(&completion.ticket), "an end twice, or of nobody");
        }
        prop_assert!(waiting.is_empty());
        let _ = driver.shutdown();
        let (used, quarantined) = rig.board.pool_pages();
        prop_assert_eq!(used, quarantined);
    }

    /// Whatever Identify says, the controller comes up or says why not, and goes down again.
    #[test]
    fn identify_data_of_any_content_is_survived(seed in 1u64.., which in 0u32..4, sparse in any::<bool>()) {
        let rig = Rig::new(ControllerConfig::new());
        let mut random = Random(seed);
        rig.tap.borrow_mut().meddle = Some(Box::new(move |board, seen| {
            if seen.opcode != 0x06 || seen.tenth & 0xff != which {
                return;
            }
            let mut page = board.peek(seen.prp1, 4096);
            for byte in &mut page {
                if !sparse || random.below(16) == 0 {
                    *byte = random.next() as u8;
                }
            }
            board.poke(seen.prp1, &page);
        }));
        match rig.try_enable(impatient(), ShadowDoorbells::BeforeQueues, &mut |_| ()) {
            Ok(mut driver) => {
                for namespace in driver.namespaces().to_vec() {
                    prop_assert!((512..=65536).contains(&namespace.block_size()));
                    let mut block = vec![0; namespace.block_size() as usize];
                    let _ = driver.read(namespace.id, 0, &mut block);
                }
                prop_assert!(driver.namespaces().len() <= 16);
                let _ = format!("{:?} {:?}", driver.identity(), driver.left_out());
                let _ = driver.errors();
                let _ = driver.shutdown();
            }
            Err(failure) => drop(failure.error.to_string()),
        }
        prop_assert!(rig.ran("identify") < 3000);
        rig.nothing_left();
        rig.clean();
    }
}

#[test]
fn a_completion_told_twice_ends_its_command_once() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    let base = rig.last(0x05).prp1;
    let first = submit(&mut driver, 1);
    driver.ring();
    rig.board.pass(1_000_000);
    // The device says the same again in the next entry.
    let entry = rig.board.peek(base, 16);
    rig.board.poke(base + 16, &entry);
    let completion = driver.poll().unwrap();
    assert_eq!((completion.ticket, completion.result), (first, Ok(())));
    assert_eq!(driver.counters().unknown_completions, 1);
    assert!(driver.poll().is_none());
    drop(driver);
}

#[test]
fn a_completion_for_another_tag_ends_only_a_command_that_is_there() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    let base = rig.last(0x05).prp1;
    rig.board.add_fault(Fault::Delayed { command: 0, delay_ns: 50_000_000 });
    let ticket = submit(&mut driver, 1);
    driver.ring();
    for identifier in [1u16, 63, 64, 0x40, 0xffff, 0x8000] {
        let slot = driver.counters().unknown_completions;
        let mut entry = [0u8; 16];
        entry[12..14].copy_from_slice(&identifier.to_le_bytes());
        entry[14] = 1;
        rig.board.poke(base + slot * 16, &entry);
        assert!(driver.poll().is_none());
        assert_eq!(driver.counters().unknown_completions, slot + 1);
    }
    assert_eq!(driver.in_flight(), 1);
    let mut entry = [0u8; 16];
    entry[14] = 1;
    rig.board.poke(base + 6 * 16, &entry);
    assert_eq!(driver.poll().unwrap().ticket, ticket);
    drop(driver);
}

#[test]
fn more_events_than_are_kept_are_counted_and_dropped() {
    let rig = Rig::new(ControllerConfig::new());
    let mut driver = rig.enable(impatient(), ShadowDoorbells::Off);
    let base = rig.board.read(sim::pcie::BAR0 + 0x30, 4) | rig.board.read(sim::pcie::BAR0 + 0x34, 4) << 32;
    let head = |rig: &Rig| {
        let log = rig.board.log();
        log.iter().rfind(|access| access.write && access.offset == ADMIN_HEAD as u64).unwrap().value
    };
    let mut told = 0;
    for _ in 0..4 {
        // Each of the four requests comes back, with an event of the vendor's that has no log to read.
        let from = head(&rig);
        for tag in 1..=4u64 {
            let mut entry = [0u8; 16];
            entry[..4].copy_from_slice(&0x80_0007u32.to_le_bytes());
            entry[12] = tag as u8;
            entry[14] = 1;
            rig.board.poke(base + (from + tag - 1) % 32 * 16, &entry);
        }
        told += u64::from(driver.next_event().unwrap().is_some());
    }
    assert_eq!(told, 4);
    while driver.next_event().unwrap().is_some() {
        told += 1;
    }
    assert_eq!((driver.counters().events, told), (16, 3 + 8));
    drop(driver);
}
