//! The pages of shadow doorbells: binding, clearing, ordering, resetting, freeing.

use hal::{DmaPool, Mmio};
use sim::pcie::{Capabilities, ControllerConfig, Doorbells, Fault};

use crate::host::{Host, Ringing, Script};
use crate::shadow::{LINGERS, POLLS, config, stream, wakes};

#[test]
fn pages_that_make_no_sense_are_refused_for_good_and_the_controller_stays_usable() {
    let mut host = Host::up(ControllerConfig::new());
    let (a, b) = (host.memory(4096), host.memory(4096));
    for prp in [[0, b], [a, 0], [a + 8, b], [a, b + 2048], [a, a], [0, 0]] {
        let entry = host.admin(Script { prp, ..Script::admin(0x7c, 0, 0) });
        assert_eq!((entry.status, entry.half_word >> 15), (0x02, 1), "{prp:x?}");
    }
    let data = host.data;
    assert_eq!(host.io(Script::read(0, 1, [data, 0])).status, 0);
    assert_eq!(host.board.counters().shadow_binds, 0);
    host.assert_clean();
}

#[test]
fn a_controller_without_the_feature_does_not_know_the_command() {
    let mut host = Host::up(ControllerConfig { shadow_doorbells: false, ..ControllerConfig::new() });
    let page = host.page(|page| Script::identify(1, 0, page), 4096);
    assert_eq!(page[257] & 1, 0);
    let (a, b) = (host.memory(4096), host.memory(4096));
    assert_eq!(host.admin(Script { prp: [a, b], ..Script::admin(0x7c, 0, 0) }).status, 0x01);
    let mut host = Host::up(ControllerConfig::new());
    let page = host.page(|page| Script::identify(1, 0, page), 4096);
    assert_eq!(page[257] & 1, 1);
    host.board.add_fault(Fault::doorbell_buffer_fails());
    let (a, b) = (host.memory(4096), host.memory(4096));
    assert_eq!(host.admin(Script { prp: [a, b], ..Script::admin(0x7c, 0, 0) }).status, 0x06);
    stream(&mut host, 40, 15);
    host.assert_clean();
}

#[test]
fn pages_that_are_not_cleared_before_they_are_bound_are_caught() {
    for (page, offset) in [(0, 0x10), (0, 0xffc), (1, 8)] {
        let mut host = Host::up(ControllerConfig::new());
        let pages = [host.memory(4096), host.memory(4096)];
        host.put(pages[page] + offset, &[1]);
        assert_eq!(host.admin(Script { prp: pages, ..Script::admin(0x7c, 0, 0) }).status, 0);
        host.assert_only("stale-shadow");
    }
}

#[test]
fn a_queue_made_again_wants_its_entries_cleared() {
    for clear in [true, false] {
        let mut host = Host::up(config(wakes()));
        let (shadow, events) = host.bind();
        stream(&mut host, 21, 3);
        assert_eq!(host.admin(Script::admin(0, 1, 0)).status, 0);
        assert_eq!(host.admin(Script::admin(4, 1, 0)).status, 0);
        host.pairs.truncate(1);
        if clear {
            host.put(shadow + 8, &[0; 8]);
            host.put(events + 8, &[0; 8]);
        }
        host.create_pair(1, 16);
        if clear {
            stream(&mut host, 40, 7);
            host.assert_clean();
        } else {
            host.assert_only("shadow-entry-stale");
        }
    }
}

#[test]
fn an_event_index_read_without_the_barrier_is_caught() {
    let mut host = Host::up(config(wakes()));
    host.bind();
    host.ringing = Ringing::Unordered;
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    host.assert_only("shadow-unordered");
}

#[test]
fn a_shadow_tail_stored_before_its_entries_are_published_is_caught() {
    let mut host = Host::up(config(wakes()));
    let (shadow, _) = host.bind();
    let data = host.data;
    host.place(1, &Script::read(0, 1, [data, 0]));
    host.pool.write(shadow + 8, &[1]);
    host.assert_only("shadow-before-entries");
}

#[test]
fn the_event_index_of_a_queue_that_exists_is_the_devices() {
    let mut host = Host::up(config(wakes()));
    let (_, events) = host.bind();
    host.put(events + 16, &[0; 64]);
    host.assert_clean();
    host.put(events + 8, &[0; 4]);
    host.assert_only("event-index-written");
}

#[test]
fn after_a_reset_the_former_pages_are_neither_written_nor_read() {
    for doorbells in [wakes(), LINGERS, POLLS, Doorbells::NeedsMmio] {
        let mut host = Host::up(config(doorbells));
        let (shadow, events) = host.bind();
        stream(&mut host, 30, 15);
        let data = host.data;
        (0..8).for_each(|at| _ = host.submit(1, Script::read(0, 1, [data + at * 512, 0])));
        host.bar.write32(0x14, 4 << 20 | 6 << 16);
        for page in [shadow, events] {
            host.board.poke(page, &[0x5a; 4096]);
        }
        let loads = host.board.counters().shadow_loads;
        host.board.pass(10_000_000);
        host.reset();
        host.enable(0);
        host.wait_status(1, 1);
        host.create_pair(1, 16);
        stream(&mut host, 50, 7);
        assert_eq!(host.board.counters().shadow_loads, loads);
        for page in [shadow, events] {
            assert_eq!(host.board.peek(page, 4096), [0x5a; 4096]);
        }
        host.assert_clean();
        host.bind();
        stream(&mut host, 50, 7);
        host.assert_clean();
    }
}

#[test]
fn pages_freed_while_bound_or_before_the_reset_is_confirmed_are_caught() {
    let mut host = Host::up(config(wakes()));
    let (shadow, events) = host.bind();
    host.pool.release(events, 4096);
    host.assert_only("shadow-freed-while-bound");
    let cc = 4 << 20 | 6 << 16;
    host.bar.write32(0x14, cc);
    host.pool.release(shadow, 4096);
    assert!(host.board.broke("memory-freed-before-reset"));
    let mut host = Host::up(config(wakes()));
    let (shadow, events) = host.bind();
    host.bar.write32(0x14, cc);
    host.wait_status(1, 0);
    host.pool.release(shadow, 4096);
    host.pool.release(events, 4096);
    host.assert_clean();
}

#[test]
fn binding_with_commands_in_flight_goes_on_from_the_last_doorbell() {
    for doorbells in [wakes(), LINGERS, POLLS, Doorbells::NeedsMmio] {
        for (copies_on_bind, beforehand) in [(false, true), (false, false), (true, false)] {
            for tail in [0, 5, 37, 63] {
                let mut host = Host::enabled(ControllerConfig { copies_on_bind, ..config(doorbells) });
                host.create_pair(1, 64);
                stream(&mut host, tail, 1);
                let data = host.data;
                (0..32).for_each(|at| _ = host.submit(1, Script::read(0, 1, [data + at * 512, 0])));
                let (tail, head) = (u32::from(host.pair(1).tail), u32::from(host.pair(1).head));
                let pages = [host.memory(4096), host.memory(4096)];
                let known: Vec<u8> = [tail, head].iter().flat_map(|value| value.to_le_bytes()).collect();
                if beforehand {
                    host.put(pages[0] + 8, &known);
                }
                assert_eq!(host.admin(Script { prp: pages, ..Script::admin(0x7c, 0, 0) }).status, 0);
                if copies_on_bind {
                    assert_eq!(host.board.peek(pages[0] + 8, 8), known, "the shadow is the last MMIO value");
                } else if !beforehand {
                    // Until then the entries say nothing, although the device looks at them.
                    host.board.pass(20_000);
                    host.put(pages[0] + 8, &known);
                }
                host.pages = Some((pages[0], pages[1]));
                for _ in 0..32 {
                    assert_eq!(host.wait(1).status, 0);
                }
                stream(&mut host, 200, 31);
                assert_eq!(host.board.peek(pages[0] + 8, 2), host.pair(1).tail.to_le_bytes());
                host.assert_clean();
            }
        }
    }
}

#[test]
fn a_device_that_does_not_arm_on_binding_needs_the_first_doorbell_rung_in_any_case() {
    for ring in [true, false] {
        let mut host = Host::up(ControllerConfig { arms_on_bind: false, ..config(wakes()) });
        stream(&mut host, 5, 1);
        let pages = [host.memory(4096), host.memory(4096)];
        host.put(pages[0] + 8, &[5, 0, 0, 0, 5]);
        assert_eq!(host.admin(Script { prp: pages, ..Script::admin(0x7c, 0, 0) }).status, 0);
        host.pages = Some((pages[0], pages[1]));
        host.ringing = if ring { Ringing::Both } else { Ringing::Shadow };
        let data = host.data;
        host.submit(1, Script::read(0, 1, [data, 0]));
        assert_eq!(host.wait_for(1, 100_000_000).is_some(), ring);
        host.assert_clean();
    }
}

#[test]
fn entries_beyond_the_page_stay_with_mmio() {
    let capabilities = Capabilities { doorbell_stride: 4, ..Capabilities::default() };
    let mut host = Host::enabled(ControllerConfig { capabilities, ..config(wakes()) });
    host.create_pair(33, 16);
    let pages = host.bind();
    host.pages = None;
    let data = host.data;
    for _ in 0..40 {
        assert_eq!(host.run(33, Script::read(0, 1, [data, 0])).status, 0);
    }
    host.pages = Some(pages);
    host.assert_clean();
}
