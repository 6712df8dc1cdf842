//! Enabling, reset, shutdown and the registers.

use hal::{Clock, DmaPool, Mmio};
use sim::pcie::{Capabilities, ControllerConfig, Fault};

use crate::host::{Host, Script};

fn config() -> ControllerConfig {
    ControllerConfig::new()
}

#[test]
fn a_whole_life_breaks_no_rule() {
    let mut host = Host::up(config());
    let data = host.data;
    host.put(data, &[0x5a; 512]);
    assert_eq!(host.io(Script::write(7, 1, [data, 0])).status, 0);
    host.put(data, &[0; 512]);
    assert_eq!(host.io(Script::read(7, 1, [data, 0])).status, 0);
    assert_eq!(host.get(data, 512), [0x5a; 512]);
    assert_eq!(host.io(Script::flush()).status, 0);
    host.shut_down();
    host.board.finish();
    host.assert_clean();
    let counters = host.board.counters();
    assert_eq!((counters.commands["read"], counters.commands["write"], counters.commands["flush"]), (1, 1, 1));
    assert_eq!((counters.bytes_read, counters.bytes_written), (512, 512));
    assert_eq!((counters.submission_doorbells, counters.completion_doorbells), (3, 3));
}

#[test]
fn the_registers_say_what_was_configured() {
    let capabilities =
        Capabilities { queue_entries: 0x7e, doorbell_stride: 2, timeout: 9, page_min: 1, page_max: 3, command_sets: 1 };
    let host = Host::new(ControllerConfig { capabilities, version: 0x0001_0300, ..config() });
    assert_eq!(host.bar.read32(0), 9 << 24 | 1 << 16 | 0x7e);
    assert_eq!(host.bar.read32(4), 3 << 20 | 1 << 16 | 1 << 5 | 2);
    assert_eq!(host.bar.read32(8), 0x0001_0300);
    host.bar.write32(0x0c, 0xf0);
    host.bar.write32(0x10, 0x30);
    assert_eq!((host.bar.read32(0x0c), host.bar.read32(0x10)), (0xc0, 0xc0));
    host.assert_clean();
}

#[test]
fn doorbells_are_where_the_stride_puts_them() {
    for doorbell_stride in [0, 1, 4] {
        let capabilities = Capabilities { doorbell_stride, ..Capabilities::default() };
        let mut host = Host::up(ControllerConfig { capabilities, ..config() });
        let data = host.data;
        assert_eq!(host.io(Script::read(0, 1, [data, 0])).status, 0);
        host.assert_clean();
    }
}

#[test]
fn every_page_size_between_the_limits_works_and_is_the_unit_of_pointers() {
    for (size, page) in [(0, 4096), (1, 8192), (2, 16384)] {
        let mut host = Host::new(config());
        host.enable(size);
        host.wait_status(1, 1);
        host.create_pair(1, 16);
        let data = host.data;
        let blocks = (page / 512) as u32;
        assert_eq!(host.io(Script::read(0, blocks, [data, 0])).status, 0);
        assert_eq!(host.io(Script::read(0, 2 * blocks, [data, data + 2 * page])).status, 0);
        host.assert_clean();
        let bad = host.io(Script::read(0, 2 * blocks, [data, data + page / 2]));
        assert_eq!(bad.status, 0x13);
        host.assert_only("prp-offset");
    }
}

#[test]
fn enabling_with_wrong_registers_is_fatal_and_caught() {
    let page = |host: &Host| host.memory(65536);
    type Break = fn(&Host, u64);
    let cases: [(&str, Break); 6] = [
        ("page size", |host, _| host.bar.write32(0x14, 4 << 20 | 6 << 16 | 3 << 7 | 1)),
        ("command set", |host, _| host.bar.write32(0x14, 4 << 20 | 6 << 16 | 1 << 4 | 1)),
        ("AQA", |host, _| {
            host.bar.write32(0x24, 31 << 16);
            host.bar.write32(0x14, 4 << 20 | 6 << 16 | 1);
        }),
        ("ASQ zero", |host, _| {
            host.bar.write_halves(0x28, 0);
            host.bar.write32(0x14, 4 << 20 | 6 << 16 | 1);
        }),
        ("ACQ misaligned for 8 KiB", |host, base| {
            host.bar.write_halves(0x30, base + 4096);
            host.bar.write32(0x14, 4 << 20 | 6 << 16 | 1 << 7 | 1);
        }),
        ("entry sizes", |host, _| host.bar.write32(0x14, 4 << 20 | 7 << 16 | 1)),
    ];
    for (what, break_it) in cases {
        let host = Host::new(config());
        let base = page(&host);
        host.bar.write32(0x24, 31 << 16 | 31);
        host.bar.write_halves(0x28, base);
        host.bar.write_halves(0x30, base + 16384);
        break_it(&host, base);
        assert_eq!(host.bar.read32(0x1c) & 3, 2, "{what}");
        host.assert_only("enable-invalid");
        host.bar.write32(0x14, 0);
        assert_eq!(host.bar.read32(0x1c) & 3, 0, "{what}");
    }
}

#[test]
fn accesses_of_64_bits_and_high_halves_first_are_caught() {
    let host = Host::new(config());
    assert_eq!(host.bar.read64(0), u64::from(host.bar.read32(0)) | u64::from(host.bar.read32(4)) << 32);
    host.assert_only("register-width");
    let host = Host::new(config());
    host.bar.write64(0x28, 0x8_0000_1000);
    host.assert_only("register-width");
    let host = Host::new(config());
    host.bar.write32(0x2c, 8);
    host.bar.write32(0x28, 0x1000);
    host.assert_only("register-halves");
}

#[test]
fn accesses_that_no_register_takes_are_caught() {
    type Act = fn(&Host);
    let cases: [(&str, Act); 5] = [
        ("write-only-register", |host| _ = host.bar.read32(0x1000)),
        ("unknown-register", |host| host.bar.write32(0x200, 1)),
        ("outside-window", |host| {
            host.bar.read32(0x2000);
        }),
        ("external-abort", |host| _ = host.board.read(0x2000_0000, 4)),
        ("configuration-while-enabled", |host| host.bar.write32(0x14, 4 << 20 | 6 << 16 | 1 << 7 | 1)),
    ];
    for (rule, act) in cases {
        let host = Host::up(config());
        act(&host);
        assert!(host.board.broke(rule), "{rule}: {:?}", host.board.violations());
    }
}

#[test]
fn admin_registers_are_fixed_while_enabled_and_kept_over_a_reset() {
    let mut host = Host::enabled(config());
    let base = host.bar.read32(0x28);
    host.bar.write32(0x28, 0x1000);
    host.assert_only("admin-registers-while-enabled");
    host.reset();
    assert_eq!(host.bar.read32(0x28), base);
}

#[test]
fn a_reset_deletes_queues_drops_commands_and_frees_their_memory_once_confirmed() {
    let mut host = Host::up(config());
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    assert_eq!(host.board.in_flight(), 1);
    let queue = host.pair(1).submissions;
    host.reset();
    assert_eq!(host.board.in_flight(), 0);
    host.pool.release(queue, 1024);
    host.assert_clean();
    host.enable(0);
    host.wait_status(1, 1);
    host.create_pair(1, 16);
    assert_eq!(host.io(Script::read(0, 1, [data, 0])).status, 0);
    host.assert_clean();
}

#[test]
fn memory_freed_before_a_reset_is_confirmed_is_caught() {
    let mut host = Host::up(config());
    let queue = host.pair(1).submissions;
    host.bar.write32(0x14, 4 << 20 | 6 << 16);
    host.pool.release(queue, 1024);
    host.assert_only("memory-freed-before-reset");
}

#[test]
fn enabling_before_a_reset_is_confirmed_is_caught() {
    let mut host = Host::up(config());
    host.bar.write32(0x14, 4 << 20 | 6 << 16);
    host.enable(0);
    host.assert_only("enable-before-stopped");
}

#[test]
fn a_controller_left_enabled_and_a_shutdown_left_out_are_caught_at_the_end() {
    let host = Host::up(config());
    host.board.finish();
    host.assert_only("controller-left-enabled");
    let mut host = Host::up(config());
    host.reset();
    host.board.finish();
    host.assert_only("shutdown-skipped");
}

#[test]
fn doorbells_before_ready_and_after_a_shutdown_are_caught() {
    let mut host = Host::new(config());
    host.enable(0);
    host.bar.write32(0x1000, 1);
    host.assert_only("doorbell-before-ready");
    let mut host = Host::up(config());
    let cc = host.bar.read32(0x14);
    host.bar.write32(0x14, cc | 2 << 14);
    host.wait_status(0xc, 8);
    host.submit(1, Script::flush());
    host.assert_only("doorbell-after-shutdown");
}

#[test]
fn a_notice_of_shutdown_to_a_controller_that_is_off_has_no_effect_then_or_later() {
    let mut host = Host::new(config());
    host.bar.write32(0x14, 4 << 20 | 6 << 16 | 1 << 14);
    host.board.pass(1_000_000_000);
    assert_eq!(host.bar.read32(0x1c), 0);
    assert!(host.board.noted("shutdown-while-disabled"));
    host.enable(0);
    host.wait_status(1, 1);
    host.create_pair(1, 16);
    host.assert_clean();
}

#[test]
fn states_that_never_come_never_come() {
    let stays = |fault: Fault, act: fn(&mut Host), mask: u32| {
        let mut host = Host::new(ControllerConfig { faults: vec![fault], ..config() });
        host.enable(0);
        host.board.pass(10_000_000);
        act(&mut host);
        host.board.pass(60_000_000_000);
        host.bar.read32(0x1c) & mask
    };
    assert_eq!(stays(Fault::NeverReady, |_| {}, 1), 0);
    assert_eq!(stays(Fault::NeverDisabled, |host| host.bar.write32(0x14, 0), 1), 1);
    assert_eq!(stays(Fault::ShutdownNever, |host| host.bar.write32(0x14, 4 << 20 | 6 << 16 | 1 << 14 | 1), 0xc), 4);
    assert_eq!(stays(Fault::Fatal(0), |_| {}, 3), 2);
    assert_eq!(stays(Fault::Gone, |_| {}, u32::MAX), u32::MAX);
}

#[test]
fn a_fatal_state_in_operation_stops_everything_until_a_reset() {
    let mut host = Host::up(config());
    host.board.add_fault(Fault::Fatal(1));
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    assert_eq!(host.wait_for(1, 50_000_000), None);
    assert_eq!(host.bar.read32(0x1c) & 3, 2);
    host.board.clear_faults();
    host.reset();
    host.enable(0);
    host.wait_status(1, 1);
    host.create_pair(1, 16);
    assert_eq!(host.io(Script::read(0, 1, [data, 0])).status, 0);
    host.assert_clean();
}

#[test]
fn the_interrupt_line_follows_entries_that_are_not_taken_and_the_mask() {
    let mut host = Host::up(config());
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    assert!(!host.board.interrupt());
    host.board.pass(1_000_000);
    assert!(host.board.interrupt());
    host.bar.write32(0x0c, 1);
    assert!(!host.board.interrupt());
    host.bar.write32(0x10, 1);
    assert!(host.board.interrupt());
    host.take(1).unwrap();
    assert!(host.board.interrupt());
    host.acknowledge(1);
    assert!(!host.board.interrupt());
}

#[test]
fn flushes_pass_beside_each_other_or_take_turns_until_a_reset() {
    for in_turn in [false, true] {
        let mut config = ControllerConfig::new();
        config.timings.flushes_in_turn = in_turn;
        let flush = config.timings.flush;
        let mut host = Host::up(config);
        let four = |host: &mut Host| {
            let start = host.board.clock().now().as_nanos();
            for _ in 0..4 {
                host.submit(1, Script::flush());
            }
            start
        };
        let start = four(&mut host);
        (0..4).for_each(|_| assert_eq!(host.wait(1).status, 0));
        let took = host.board.clock().now().as_nanos() - start;
        assert_eq!(took >= 4 * flush, in_turn, "{took} ns for four flushes");
        // Dropped with the reset, they hold up nobody.
        four(&mut host);
        host.reset();
        host.enable(0);
        host.wait_status(1, 1);
        host.create_pair(1, 16);
        let start = host.board.clock().now().as_nanos();
        assert_eq!(host.io(Script::flush()).status, 0);
        assert!(host.board.clock().now().as_nanos() - start < 2 * flush);
        assert!(host.board.violations().is_empty());
    }
}
