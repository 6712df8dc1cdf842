//! The controller's life, its queues and its admin commands.

use super::*;

/// Status type 1, that code.
const fn specific(code: u16) -> u16 {
    1 << 8 | code
}

#[test]
fn ready_comes_after_a_while_and_goes_after_a_while() {
    let mut bench = Bench::new();
    bench.prepare();
    bench.write(0x14, 0x0046_0001);
    assert_eq!(bench.read(0x1c), 0);
    assert!(bench.wires.controller_enabled);
    bench.pass(10_000_000);
    assert_eq!(bench.read(0x1c), 1);
    bench.write(0x14, 0x0046_0000);
    assert_eq!(bench.read(0x1c), 1);
    bench.pass(10_000_000);
    assert_eq!(bench.read(0x1c), 0);
    assert!(!bench.wires.controller_enabled);
    bench.assert_clean();
}

#[test]
fn a_controller_enabled_with_nonsense_fails_fatally() {
    let spoilers: [fn(&mut Bench); 6] = [
        |bench| bench.write(0x24, 0),
        |bench| bench.write(0x24, 0x003f_0000),
        |bench| bench.write_double(0x28, 0),
        |bench| bench.write_double(0x30, ADMIN_COMPLETIONS + 0x800),
        |bench| bench.write(0x14, 0x0046_0080),
        |bench| bench.write(0x14, 0x0047_0000),
    ];
    for (number, spoil) in spoilers.into_iter().enumerate() {
        let mut bench = Bench::new();
        bench.prepare();
        spoil(&mut bench);
        let found = if number < 4 { 0x0046_0000 } else { bench.read(0x14) };
        bench.write(0x14, found | 1);
        bench.pass(10_000_000);
        assert_eq!(bench.read(0x1c), 2, "case {number}");
        assert_eq!(bench.broken(), ["enable-invalid"], "case {number}");
        bench.write(0x14, 0);
        assert_eq!(bench.read(0x1c), 0);
    }
}

#[test]
fn disabling_a_controller_that_is_starting_crashes_the_coprocessor() {
    let mut bench = Bench::new();
    bench.prepare();
    bench.write(0x14, 0x0046_0001);
    bench.write(0x14, 0x0046_0000);
    assert_eq!(bench.broken(), ["disable-while-starting"]);
    assert!(bench.wires.crash.is_some());
}

#[test]
fn disabling_before_the_shutdown_is_complete_is_caught() {
    let mut bench = Bench::up();
    bench.delete_queues();
    bench.write(0x14, 0x0046_4001);
    bench.write(0x14, 0x0046_0000);
    bench.act(|block, ctx| block.finish(ctx));
    assert_eq!(bench.broken(), ["disable-during-shutdown", "shutdown-skipped"]);
}

#[test]
fn registers_touched_after_the_controller_was_left_and_the_firmware_slept_are_caught() {
    let mut bench = Bench::up();
    bench.finish();
    bench.wires.firmware_ready = false;
    bench.read(0x1c);
    assert_eq!(bench.broken(), ["registers-before-boot-status"]);
}

#[test]
fn enabling_before_the_last_stop_is_done_is_caught() {
    let mut bench = Bench::new();
    bench.prepare();
    bench.enable();
    bench.write(0x14, 0x0046_0000);
    bench.write(0x14, 0x0046_0001);
    assert_eq!(bench.broken(), ["enable-before-stopped"]);
}

#[test]
fn admin_registers_and_fixed_fields_do_not_change_while_enabled() {
    let mut bench = Bench::up();
    bench.write(0x24, 0x0001_0001);
    bench.write(0x2c, 0);
    assert_eq!(bench.broken(), ["admin-registers-while-enabled"]);
    assert_eq!(bench.read(0x24), 0x003f_003f);
    let mut bench = Bench::up();
    bench.write(0x14, 0x0046_0101);
    assert_eq!(bench.broken(), ["configuration-while-enabled"]);
}

#[test]
fn doorbells_before_enable_are_caught_and_harmless() {
    for offset in [0x2490c, 0x24910] {
        let mut bench = Bench::new();
        bench.prepare();
        bench.write(offset, 0xffff_0000);
        assert_eq!(bench.broken(), ["doorbell-while-disabled"]);
        assert!(bench.noted("doorbell-upper-half"));
    }
    let mut bench = Bench::new();
    bench.prepare();
    bench.write(0x1004, 1);
    assert!(bench.noted("head-while-disabled"));
}

#[test]
fn the_upper_half_of_a_doorbell_is_ignored() {
    let mut bench = Bench::up();
    let script = Script::flush();
    bench.place(Io, 3, &script.entry(3), &script.block(3));
    bench.ring(Io, 0xffff_0003);
    assert_eq!(bench.wait(Io).status, 0);
    bench.invalidate(3);
    bench.write(0x100c, 0xffff_0001);
    bench.step(Io);
    assert_eq!(bench.run(Io, 3, script).status, 0);
    bench.assert_clean();
}

#[test]
fn an_io_doorbell_without_io_queues_is_caught() {
    let mut bench = Bench::new();
    bench.prepare();
    bench.enable();
    bench.ring(Io, 2);
    assert_eq!(bench.broken(), ["doorbell-without-queue"]);
}

#[test]
fn registers_have_their_width() {
    let mut bench = Bench::up();
    for (offset, size) in [(0x14, 8), (0x14, 2), (0x15, 4), (0x24, 1), (0x2c, 8)] {
        bench.act(|block, ctx| block.write(ctx, offset, size, 0));
        bench.act(|block, ctx| block.read(ctx, offset, size));
    }
    assert_eq!(bench.broken(), ["register-width"]);
    assert_eq!(bench.record.violations.len(), 10);
}

#[test]
fn create_and_delete_fail_with_the_status_of_the_standard() {
    let mut bench = Bench::new();
    bench.prepare();
    bench.enable();
    let with = |script: Script, first, second, pointer| Script {
        prp: [pointer, 0],
        dwords: [first, second, 0, 0, 0, 0],
        ..script
    };
    let completions = |first, second| with(Script::create_completions(64), first, second, IO_COMPLETIONS);
    let submissions = |first, second| with(Script::create_submissions(64), first, second, IO_SUBMISSIONS);
    let size = 63 << 16;
    let cases = [
        ("CQ 0", completions(size, 3), specific(0x01)),
        ("CQ 2", completions(size | 2, 3), specific(0x01)),
        ("CQ size 0", completions(1, 3), specific(0x02)),
        ("CQ beyond MQES", completions(64 << 16 | 1, 3), specific(0x02)),
        ("CQ vector", completions(size | 1, 1 << 16 | 3), specific(0x08)),
        ("CQ not contiguous", completions(size | 1, 2), 0x02),
        ("CQ off its page", with(Script::create_completions(64), size | 1, 3, IO_COMPLETIONS + 64), 0x13),
        ("SQ before CQ", submissions(size | 1, 1 << 16 | 1), specific(0x00)),
        ("delete CQ before creation", Script::admin(4, 1, 0), specific(0x01)),
        ("delete SQ before creation", Script::admin(0, 1, 0), specific(0x01)),
        ("CQ", completions(size | 1, 3), 0),
        ("CQ again", completions(size | 1, 3), specific(0x01)),
        ("SQ of CQ 2", submissions(size | 1, 2 << 16 | 1), specific(0x00)),
        ("SQ 0", submissions(size, 1 << 16 | 1), specific(0x01)),
        ("SQ size 0", submissions(1, 1 << 16 | 1), specific(0x02)),
        ("SQ", submissions(size | 1, 1 << 16 | 1), 0),
        ("delete CQ under its SQ", Script::admin(4, 1, 0), specific(0x0c)),
        ("delete SQ 2", Script::admin(0, 2, 0), specific(0x01)),
        ("delete SQ", Script::admin(0, 1, 0), 0),
        ("delete CQ", Script::admin(4, 1, 0), 0),
    ];
    for (name, script, status) in cases {
        assert_eq!(bench.run(Admin, 1, script).status, status, "{name}");
    }
    bench.assert_clean();
}

#[test]
fn deleting_the_submission_queue_aborts_what_is_in_flight() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::flush());
    assert_eq!(bench.run(Admin, 0, Script::admin(0, 1, 0)).status, 0);
    assert_eq!(bench.wait(Io), Entry { result: 0, id: 3, status: 0x08 });
    bench.step(Io);
    assert_eq!(bench.invalidate(3), 0);
    bench.write_head(Io);
    assert_eq!(bench.run(Admin, 0, Script::admin(4, 1, 0)).status, 0);
    bench.shut_down();
    bench.assert_clean();
}

#[test]
fn a_completion_left_over_from_a_disable_may_still_be_invalidated() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::flush());
    bench.wait(Io);
    bench.delete_queues();
    bench.shut_down();
    assert_eq!(bench.invalidate(3), 0);
    bench.assert_clean();
}

#[test]
fn unsupported_admin_commands_and_identify_structures_get_a_clean_error() {
    let mut bench = Bench::up();
    for opcode in [0x08, 0x0c, 0x7c, 0x80, 0xd8] {
        assert_eq!(bench.run(Admin, 0, Script::admin(opcode, 0, 0)).status, 0x01, "{opcode:#x}");
    }
    for cns in [2, 3, 6, 0x10, 0xff] {
        assert_eq!(bench.run(Admin, 0, Script::identify(cns, 1)).status, 0x02, "{cns:#x}");
    }
    assert!(bench.noted("identify-cns") && bench.noted("unsupported-command"));
    bench.finish();
    bench.assert_clean();
}

#[test]
fn namespaces_are_found_by_number_and_gaps_are_all_zero() {
    let mut configuration = config(&MemoryStore::new(1 << 20), &[]);
    let small = |id, kind, block_size, blocks| crate::config::NamespaceConfig { id, kind, block_size, blocks };
    configuration.namespaces = vec![small(5, 8, 512, 16), small(1, 1, 4096, 0)];
    let mut bench = Bench::configured(&configuration);
    bench.ready(64);
    assert_eq!(bench.run(Admin, 0, Script::identify(0, 5)).status, 0);
    let page = bench.get(DATA, 4096);
    assert_eq!((page[0], page[130], page[384]), (16, 9, 8));
    assert_eq!(bench.run(Admin, 0, Script::identify(0, 4)).status, 0);
    assert_eq!(bench.get(DATA, 4096), vec![0; 4096]);
    for id in [0, 6, 0xffff_ffff] {
        assert_eq!(bench.run(Admin, 0, Script::identify(0, id)).status, 0x0b);
    }
    let read = |namespace, block, count| Script { namespace, ..Script::read(block, count, [DATA, 0]) };
    assert_eq!(bench.run(Io, 0, read(5, 8, 8)).status, 0);
    assert_eq!(bench.run(Io, 0, read(5, 8, 9)).status, 0x80);
    assert_eq!(bench.run(Io, 0, read(4, 0, 1)).status, 0x0b);
    bench.assert_clean();
}

#[test]
fn features_are_read_and_set() {
    let mut bench = Bench::up();
    let mut ask = |opcode, first, second| {
        let entry = bench.run(Admin, 0, Script::admin(opcode, first, second));
        (entry.status, entry.result)
    };
    assert_eq!(ask(0x0a, 6, 0), (0, 1));
    assert_eq!(ask(0x09, 6, 0), (0, 0));
    assert_eq!(ask(0x0a, 6, 0), (0, 0));
    assert_eq!(ask(0x0a, 6 | 1 << 8, 0), (0, 1));
    assert_eq!(ask(0x0a, 7, 0), (0, 0));
    assert_eq!(ask(0x09, 7, 0x0000_ffff), (0x02, 0));
    assert_eq!(ask(0x09, 6 | 1 << 31, 1), (specific(0x0d), 0));
    assert_eq!(ask(0x0a, 0x0c, 0), (0x02, 0));
}

#[test]
fn the_health_log_counts_what_was_read() {
    let mut bench = Bench::up();
    for tag in 0..3 {
        bench.run(Io, tag, Script::read(0, 1, [DATA, 0]));
    }
    let log = |dword| Script { opcode: 2, prp: [DATA, 0], dwords: [dword, 0, 0, 0, 0, 0], ..Script::default() };
    assert_eq!(bench.run(Admin, 0, log(127 << 16 | 2)).status, 0);
    let page = bench.get(DATA, 512);
    assert_eq!((page[32], page[64]), (1, 3));
    assert_eq!(bench.run(Admin, 0, log(127 << 16 | 0x70)).status, specific(0x09));
    bench.assert_clean();
}

#[test]
fn planned_faults_of_the_controller_happen() {
    let store = MemoryStore::new(1 << 20);
    let mut bench = Bench::with(&store, &[Fault::ControllerNeverReady]);
    bench.prepare();
    bench.enable();
    bench.pass(60_000_000_000);
    assert_eq!(bench.read(0x1c), 0);
    bench.write(0x14, 0x0046_0000);
    bench.assert_clean();

    let mut bench = Bench::with(&store, &[Fault::ControllerFatal(2)]);
    bench.ready(64);
    assert_eq!(bench.run(Io, 0, Script::flush()).status, 0);
    bench.submit(Io, 1, Script::flush());
    bench.pass(1_000_000_000);
    assert_eq!((bench.read(0x1c), bench.peek(Io)), (2, None));
    // A driver may not have seen that yet.
    bench.submit(Io, 2, Script::flush());
    bench.write(0x14, 0x0046_0000);
    bench.act(|block, ctx| block.finish(ctx));
    bench.assert_clean();

    let faults = [Fault::CompletionLost(0), Fault::IoError(5), Fault::AdminError(6), Fault::InvalStatus(9)];
    let mut bench = Bench::with(&store, &faults);
    bench.ready(64);
    bench.submit(Io, 1, Script::flush());
    bench.pass(10_000_000_000);
    assert_eq!(bench.peek(Io), None);
    bench.submit(Io, 2, Script::read(0, 1, [DATA, 0]));
    bench.ring(Io, 1);
    assert_eq!(bench.broken(), ["tag-in-flight"]);
    bench.record.violations.clear();
    assert_eq!(bench.wait(Io).id, 2);
    bench.step(Io);
    bench.invalidate(2);
    bench.write_head(Io);
    assert_eq!(bench.run(Io, 2, Script::read(4, 2, [DATA, DATA + 0x1000])).status, 2 << 8 | 0x81);
    assert_eq!(bench.run(Admin, 0, Script::identify(1, 0)).status, 0x06);
    bench.submit(Io, 9, Script::flush());
    bench.wait(Io);
    assert_eq!(bench.invalidate(9), 1);
    bench.assert_clean();

    let mut bench = Bench::with(&store, &[Fault::CompletionUnknown(0)]);
    bench.ready(64);
    bench.submit(Io, 1, Script::flush());
    assert_eq!(bench.wait(Io).id, 0xfffe);
}

#[test]
fn a_firmware_that_goes_down_takes_the_controller_with_it() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::flush());
    bench.wires.firmware_ready = false;
    bench.pass(1_000_000_000);
    assert_eq!(bench.peek(Io), None);
    // The driver has not heard of the crash yet.
    assert_eq!(bench.read(0x1c), 2);
    bench.submit(Io, 4, Script::flush());
    bench.assert_clean();
    bench.wires.firmware_ready = true;
    assert_eq!(bench.read(0x1300), 0xde71_ce55);
    assert_eq!((bench.read(0x14) & 1, bench.read(0x24), bench.read(0x28110)), (0, 0, 0));
}
