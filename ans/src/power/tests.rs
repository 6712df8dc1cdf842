use core::time::Duration;

use heapless::Vec;

use super::*;
use crate::fake::{Ticks, Window};

const LIMIT: Duration = Duration::from_micros(100);

/// ACTUAL follows TARGET; history flags stay set whatever is written.
fn obeys(_: usize, old: u32, written: u32) -> u32 {
    written & !0x3f0 | (written & 0xf) << 4 | old & 0x300
}

/// As `obeys`, but the word at 0x20 never leaves its state.
fn one_is_stuck(offset: usize, old: u32, written: u32) -> u32 {
    if offset == 0x20 { written & !0xf0 | old & 0xf0 } else { obeys(offset, old, written) }
}

fn domain(offset: usize, parents: &[usize]) -> Domain {
    let name = Label::new(&std::format!("at-{offset:x}"));
    Domain { name, block: 0, offset, parents: Vec::from_slice(parents).unwrap(), always_on: false }
}

fn table(window: &Window, domains: &[Domain]) -> Domains<Window> {
    let blocks = Vec::from_slice(core::slice::from_ref(window)).unwrap();
    Domains::new(blocks, Vec::from_slice(domains).unwrap()).unwrap()
}

/// ans2 at 0x10, apcie at 0x20, apcie_st at 0x30 under both.
fn storage(window: &Window) -> Domains<Window> {
    table(window, &[domain(0x10, &[]), domain(0x20, &[]), domain(0x30, &[0, 1])])
}

#[test]
fn switching_on_clears_gating_and_history_waits_for_the_actual_state_and_then_allows_gating() {
    let window = Window::new(&[(0x10, 0x1400_0300)], obeys);
    let mut domains = table(&window, &[domain(0x10, &[])]);
    domains.acquire(&Ticks::default(), 0, LIMIT).unwrap();
    // Both writes have the history flags clear; PS_AUTO (bits 27:24) is kept.
    assert_eq!(window.writes(), [(0x10, 0x0400_000f), (0x10, 0x1400_00ff)]);
}

#[test]
fn parents_are_switched_on_first_and_put_back_last() {
    let window = Window::new(&[], obeys);
    let mut domains = storage(&window);
    domains.acquire(&Ticks::default(), 2, LIMIT).unwrap();
    let on: std::vec::Vec<usize> = window.writes().iter().map(|write| write.0).collect();
    assert_eq!(on, [0x10, 0x10, 0x20, 0x20, 0x30, 0x30]);
    domains.release(&Ticks::default(), 2, LIMIT).unwrap();
    assert_eq!(window.writes(), [(0x30, 0xf0), (0x20, 0xf0), (0x10, 0xf0)]);
}

#[test]
fn a_shared_parent_goes_off_only_after_its_last_user() {
    let window = Window::new(&[], obeys);
    let mut domains = storage(&window);
    domains.acquire(&Ticks::default(), 0, LIMIT).unwrap();
    domains.acquire(&Ticks::default(), 2, LIMIT).unwrap();
    domains.release(&Ticks::default(), 2, LIMIT).unwrap();
    assert_eq!(window.word(0x10) & 0xff, 0xff);
    assert_eq!(window.word(0x20) & 0xff, 0);
    domains.release(&Ticks::default(), 0, LIMIT).unwrap();
    assert_eq!(window.word(0x10), 0);
}

#[test]
fn each_kind_of_word_comes_back_as_it_was_found() {
    // Values read on a real machine: active; clock gated under an active target; auto-gated off; and plainly off.
    for found in [0x0f00_00ff, 0x1400_024f, 0x1000_030f, 0x0000_0000, 0x0400_0044] {
        let window = Window::new(&[(0x10, found)], obeys);
        let mut domains = table(&window, &[domain(0x10, &[])]);
        domains.acquire(&Ticks::default(), 0, LIMIT).unwrap();
        assert_eq!(window.word(0x10) & 0xff, 0xff, "{found:#x} is not really on");
        domains.release(&Ticks::default(), 0, LIMIT).unwrap();
        let kept = 0x1f00_000f;
        assert_eq!(window.word(0x10) & kept, found & kept, "{found:#x} came back wrong");
        assert!(
            window.writes().iter().all(|write| write.1 & 0x300 == 0),
            "{found:#x}: a history flag was written back"
        );
    }
}

#[test]
fn an_active_target_over_a_gated_device_is_not_taken_for_power() {
    let window = Window::new(&[(0x20, 0x1000_030f)], one_is_stuck);
    let mut domains = table(&window, &[domain(0x20, &[])]);
    let error = domains.acquire(&Ticks::default(), 0, LIMIT).unwrap_err();
    let PowerError::TimedOut { wanted, word, waited, .. } = &error else { panic!("{error}") };
    assert_eq!((*wanted, *word), (0xf, 0x0f));
    assert!(*waited >= LIMIT && *waited < 2 * LIMIT);
    assert!(error.to_string().contains("at-20") && error.to_string().contains("0x0000000f"), "{error}");
}

#[test]
fn a_failure_half_way_puts_back_what_was_switched() {
    let window = Window::new(&[(0x10, 0x0f00_00ff)], one_is_stuck);
    let mut domains = storage(&window);
    assert!(domains.acquire(&Ticks::default(), 2, LIMIT).is_err());
    assert_eq!(window.word(0x10), 0x0f00_00ff);
    assert_eq!(window.word(0x20), 0);
    assert_eq!(window.word(0x30), 0);
    assert!(window.writes().iter().all(|write| write.0 != 0x30), "a child was touched under a dead parent");
}

#[test]
fn what_the_system_needs_is_never_switched_off() {
    let window = Window::new(&[], obeys);
    let needed = Domain { always_on: true, ..domain(0x10, &[]) };
    let mut domains = table(&window, &[needed, domain(0x20, &[0])]);
    domains.acquire(&Ticks::default(), 1, LIMIT).unwrap();
    domains.release(&Ticks::default(), 1, LIMIT).unwrap();
    assert_eq!(window.word(0x10) & 0xff, 0xff);
    assert_eq!(window.word(0x20), 0);
}

#[test]
fn reset_is_two_writes_each_way_in_the_only_safe_order() {
    let window = Window::new(&[(0x10, 0x1000_03ff)], obeys);
    let domains = table(&window, &[domain(0x10, &[])]);
    domains.assert_reset(&Ticks::default(), 0, LIMIT).unwrap();
    assert_eq!(window.writes(), [(0x10, 0xff), (0x10, 0x4ff), (0x10, 0x8000_04ff)]);
    domains.deassert_reset(0).unwrap();
    assert_eq!(window.writes(), [(0x10, 0x4ff), (0x10, 0xff), (0x10, 0x1000_00ff)]);
}

#[test]
fn a_device_without_power_is_not_reset() {
    let window = Window::new(&[], one_is_stuck);
    let domains = table(&window, &[domain(0x20, &[])]);
    assert!(domains.assert_reset(&Ticks::default(), 0, LIMIT).is_err());
    assert!(window.writes().iter().all(|write| write.1 & 0x8000_0400 == 0));
}

#[test]
fn a_table_that_names_what_it_lacks_is_refused() {
    let window = Window::new(&[], obeys);
    for bad in [domain(0x10, &[0]), domain(0x10, &[3]), Domain { block: 1, ..domain(0x10, &[]) }] {
        let blocks = Vec::from_slice(core::slice::from_ref(&window)).unwrap();
        let refused = Domains::new(blocks, Vec::from_slice(&[bad]).unwrap());
        assert!(matches!(refused.map(|_| ()), Err(PowerError::Table { index: 0 })));
    }
    let mut domains = storage(&window);
    assert_eq!(domains.acquire(&Ticks::default(), 9, LIMIT), Err(PowerError::Unknown { index: 9 }));
    assert!(window.writes().is_empty());
}
