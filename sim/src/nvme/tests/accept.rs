//! What the model must accept: each is done by a driver that works on real M1.

use super::*;

/// Where a block is read to, and a plain check that reads work.
fn reads(bench: &mut Bench, tag: u8) {
    assert_eq!(bench.run(Io, tag, Script::read(9, 1, [DATA, 0])).status, 0);
    let mut expected = vec![0; 4096];
    crate::nvme::store::pattern(1, 9, &mut expected);
    assert_eq!(bench.get(DATA, 4096), expected);
}

#[test]
fn a_command_id_that_is_a_running_counter() {
    let mut bench = Bench::up();
    for (tag, id) in [(0, 0x100), (1, 0x101), (0, 0x102)] {
        let script = Script::read(9, 1, [DATA, 0]);
        bench.place(Io, tag, &script.entry(id), &script.block(tag));
        bench.ring(Io, tag.into());
        assert_eq!(bench.wait(Io), Entry { result: 0, id, status: 0 });
        bench.step(Io);
        assert_eq!(bench.invalidate(tag), 0);
        bench.write_head(Io);
    }
    bench.finish();
    bench.assert_clean();
}

#[test]
fn an_admin_queue_and_io_queues_of_two_entries() {
    let mut bench = Bench::new();
    bench.prepare();
    bench.write(0x24, 0x0001_0001);
    bench.enable();
    bench.create(2);
    for round in 0..5 {
        assert_eq!(bench.run(Admin, round & 1, Script::identify(1, 0)).status, 0);
        reads(&mut bench, round & 1);
    }
    bench.finish();
    bench.assert_clean();
}

#[test]
fn an_admin_queue_size_given_as_a_count_is_cut_to_the_hardware_limit() {
    let mut bench = Bench::new();
    bench.prepare();
    bench.write(0x24, 0x0040_0040);
    bench.enable();
    bench.create(64);
    for _ in 0..130 {
        assert_eq!(bench.run(Admin, 63, Script::identify(1, 0)).status, 0);
    }
    bench.finish();
    bench.assert_clean();
}

#[test]
fn the_number_of_queues_asked_for_before_or_after_creation() {
    for before in [true, false] {
        let mut bench = Bench::new();
        bench.prepare();
        bench.enable();
        let ask = |bench: &mut Bench| bench.run(Admin, 0, Script::admin(9, 7, 0));
        if before {
            assert_eq!(ask(&mut bench), Entry { result: 0, id: 0, status: 0 });
        }
        bench.create(64);
        if !before {
            assert_eq!(ask(&mut bench), Entry { result: 0, id: 0, status: 0 });
        }
        reads(&mut bench, 2);
        bench.finish();
        bench.assert_clean();
    }
}

#[test]
fn both_readings_of_the_limits_and_the_mode_register_written_or_not() {
    for (pending, blocks, mode) in [(0x0040_0040, 63, false), (0x0040_0040, 127, true), (0x003f_003f, 63, false)] {
        let mut bench = Bench::new();
        bench.prepare();
        bench.write(0x1210, pending);
        bench.write(0x28100, blocks);
        if mode {
            bench.write(0x1304, 0);
        }
        bench.enable();
        bench.create(64);
        reads(&mut bench, 63);
        bench.finish();
        bench.assert_clean();
    }
}

#[test]
fn control_blocks_with_both_directions_and_without_an_opcode() {
    let mut bench = Bench::up();
    for opcode in [0, 2] {
        let script = Script::read(9, 1, [DATA, 0]);
        let mut block = script.block(7);
        block[..2].copy_from_slice(&[opcode, 3]);
        bench.place(Io, 7, &script.entry(7), &block);
        bench.ring(Io, 7);
        assert_eq!(bench.wait(Io).status, 0);
        bench.step(Io);
        assert_eq!(bench.invalidate(7), 0);
        bench.write_head(Io);
    }
    // Without data the flags are free.
    for flags in [0, 1, 2, 3] {
        let script = Script::flush();
        let mut block = script.block(7);
        block[1] = flags;
        bench.place(Io, 7, &script.entry(7), &block);
        bench.ring(Io, 7);
        assert_eq!(bench.wait(Io).status, 0);
        bench.step(Io);
        assert_eq!(bench.invalidate(7), 0);
        bench.write_head(Io);
    }
    bench.finish();
    bench.assert_clean();
}

#[test]
fn a_length_that_is_the_whole_of_dword_12() {
    let mut bench = Bench::up();
    let mut script = Script::read(9, 1, [DATA, 0]);
    // FUA.
    script.dwords[2] |= 1 << 30;
    let mut block = script.block(2);
    block[4..8].copy_from_slice(&script.dwords[2].to_le_bytes());
    bench.place(Io, 2, &script.entry(2), &block);
    bench.ring(Io, 2);
    assert_eq!(bench.wait(Io).status, 0);
    bench.assert_clean();
}

#[test]
fn a_control_block_cleared_before_its_invalidation() {
    let mut bench = Bench::up();
    for _ in 0..3 {
        bench.submit(Io, 1, Script::read(9, 1, [DATA, 0]));
        bench.wait(Io);
        bench.step(Io);
        bench.put(IO_BLOCKS + 128, &[0; 128]);
        assert_eq!(bench.invalidate(1), 0);
        bench.write_head(Io);
    }
    bench.finish();
    bench.assert_clean();
}

#[test]
fn one_head_write_for_a_batch_of_entries() {
    let mut bench = Bench::up();
    for round in 0..10_u64 {
        for tag in 2..63 {
            bench.submit(Io, tag, Script::read(round, 1, [DATA + 4096 * u64::from(tag), 0]));
        }
        let mut seen = Vec::new();
        while seen.len() < 61 {
            let entry = bench.wait(Io);
            bench.step(Io);
            assert_eq!(entry.status, 0);
            assert_eq!(bench.invalidate(bits::low8(entry.id.into())), 0);
            seen.push(entry.id);
        }
        bench.write_head(Io);
        assert!(!seen.is_sorted(), "completions came in order");
        seen.sort_unstable();
        assert!(seen.into_iter().eq(2..63));
    }
    bench.finish();
    bench.assert_clean();
    assert_eq!(bench.block.counters().deepest, 61);
}

#[test]
fn completion_queues_with_and_without_interrupts() {
    for enabled in [true, false] {
        let mut bench = Bench::new();
        bench.prepare();
        bench.enable();
        let mut script = Script::create_completions(64);
        script.dwords[1] = if enabled { 3 } else { 1 };
        assert_eq!(bench.run(Admin, 0, script).status, 0);
        assert_eq!(bench.run(Admin, 0, Script::create_submissions(64)).status, 0);
        bench.heads.insert(Io, (0, true, 64));
        assert!(!bench.wires.nvme_interrupt);
        bench.submit(Io, 2, Script::flush());
        bench.wait(Io);
        assert_eq!(bench.wires.nvme_interrupt, enabled);
        // Masked and unmasked as Apple's driver does.
        bench.write(0x0c, 1);
        assert!(!bench.wires.nvme_interrupt);
        assert_eq!((bench.read(0x0c), bench.read(0x10)), (1, 1));
        bench.write(0x10, 1);
        assert_eq!(bench.wires.nvme_interrupt, enabled);
        bench.step(Io);
        bench.invalidate(2);
        bench.write_head(Io);
        assert!(!bench.wires.nvme_interrupt);
        bench.finish();
        bench.assert_clean();
    }
}

#[test]
fn the_status_of_an_invalidation_read_where_m1n1_does_is_0_and_a_note() {
    let mut bench = Bench::up();
    bench.submit(Io, 0, Script::flush());
    bench.wait(Io);
    bench.step(Io);
    bench.write(0x28118, 0);
    assert_eq!(bench.read(0x29120), 0);
    bench.write_head(Io);
    bench.finish();
    bench.assert_clean();
    assert!(bench.noted("tcb-stat-elsewhere"));
}

#[test]
fn a_reset_pulse_although_the_stage_before_did_one() {
    let mut bench = Bench::up();
    bench.finish();
    for _ in 0..2 {
        bench.wires.firmware_ready = false;
        bench.act(|block, ctx| block.reset(ctx));
    }
    bench.wires.firmware_ready = true;
    bench.ready(64);
    reads(&mut bench, 2);
    bench.finish();
    bench.assert_clean();
}

#[test]
fn queues_left_to_the_shutdown_in_place_of_being_deleted() {
    let mut bench = Bench::up();
    reads(&mut bench, 0);
    bench.shut_down();
    bench.act(|block, ctx| block.finish(ctx));
    bench.assert_clean();
    assert!(bench.wires.syslog.is_empty());
}

#[test]
fn wide_registers_written_in_halves_low_first() {
    let mut bench = Bench::new();
    bench.prepare();
    for offset in [0x28, 0x30, 0x28108, 0x28110] {
        let value = bench.act(|block, ctx| block.read(ctx, offset, 8));
        bench.write_double(offset, 0);
        bench.write(offset, bits::low32(value));
        bench.write(offset + 4, bits::low32(value >> 32));
        assert_eq!(bench.act(|block, ctx| block.read(ctx, offset, 8)), value);
    }
    bench.enable();
    bench.create(64);
    reads(&mut bench, 2);
    bench.finish();
    bench.assert_clean();
}

#[test]
fn only_the_enable_bit_set_in_what_was_found() {
    let mut bench = Bench::new();
    bench.prepare();
    let found = bench.read(0x14);
    bench.write(0x14, found | 1);
    bench.pass(10_000_000);
    bench.heads.insert(Admin, (0, true, 64));
    bench.create(64);
    reads(&mut bench, 0);
    bench.finish();
    bench.assert_clean();
}
