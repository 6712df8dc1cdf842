//! What the model must catch: a plain driver changed in one way, and the rule that it then breaks.

use super::*;

/// A driver that is up places a read of one block under `tag` with a spoiled TCB, and rings.
fn with_block(tag: u8, spoil: impl Fn(&mut [u8; 128])) -> Bench {
    let mut bench = Bench::up();
    let script = Script::read(0, 1, [DATA, 0]);
    let mut block = script.block(tag);
    spoil(&mut block);
    bench.place(Io, tag, &script.entry(tag.into()), &block);
    bench.ring(Io, tag.into());
    bench
}

/// The command was refused with an error, and the rule is the only one broken.
#[track_caller]
fn assert_refused(mut bench: Bench, rule: &'static str) {
    let entry = bench.wait(Io);
    assert_ne!(entry.status, 0);
    assert_eq!(bench.broken(), [rule]);
    assert!(bench.wires.syslog.iter().any(|line| line.contains("BAD_CMD")));
    assert_eq!(bench.get(DATA, 4096), vec![0; 4096], "data moved all the same");
}

/// The command was never run, and the rule is the only one broken.
#[track_caller]
fn assert_lost(mut bench: Bench, rule: &'static str) {
    bench.pass(1_000_000_000);
    assert_eq!(bench.heads.contains_key(&Io).then(|| bench.peek(Io)).flatten(), None);
    assert_eq!(bench.broken(), [rule]);
}

#[test]
fn a_command_without_a_control_block_is_refused() {
    assert_refused(with_block(3, |block| *block = [0; 128]), "tcb-tag");
    assert_refused(with_block(0, |block| *block = [0; 128]), "tcb-prp");
}

#[test]
fn a_control_block_with_another_pointer_is_refused() {
    assert_refused(with_block(3, |block| block[0x19] ^= 0x10), "tcb-prp");
    assert_refused(with_block(3, |block| block[0x21] ^= 0x10), "tcb-prp");
}

#[test]
fn a_control_block_whose_id_is_not_the_tag_is_refused() {
    assert_refused(with_block(3, |block| block[2] = 4), "tcb-tag");
}

#[test]
fn a_control_block_with_another_opcode_is_refused() {
    assert_refused(with_block(3, |block| block[0] = 1), "tcb-opcode");
}

#[test]
fn a_control_block_whose_length_is_not_the_block_count_is_refused() {
    assert_refused(with_block(3, |block| block[4] = 1), "tcb-length");
}

#[test]
fn a_control_block_with_the_direction_against_the_command_is_refused() {
    assert_refused(with_block(3, |block| block[1] = 2), "tcb-direction");
    assert_refused(with_block(3, |block| block[1] = 0), "tcb-direction");
    let mut bench = Bench::up();
    let script = Script::write(0, 1, [DATA, 0]);
    let mut block = script.block(1);
    block[1] = 1;
    bench.place(Io, 1, &script.entry(1), &block);
    bench.ring(Io, 1);
    assert_refused(bench, "tcb-direction");
}

#[test]
fn a_queue_without_a_control_block_base_loses_its_command() {
    let mut bench = Bench::up();
    bench.write_double(0x28110, 0);
    bench.submit(Io, 3, Script::read(0, 1, [DATA, 0]));
    assert_lost(bench, "tcb-base-missing");
}

#[test]
fn a_tag_rung_again_while_in_flight_is_caught() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::read(0, 1, [DATA, 0]));
    bench.ring(Io, 3);
    assert_eq!(bench.broken(), ["tag-in-flight"]);
}

#[test]
fn a_tag_rung_again_before_its_invalidation_is_caught() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::read(0, 1, [DATA, 0]));
    bench.wait(Io);
    bench.step(Io);
    bench.write_head(Io);
    bench.submit(Io, 3, Script::read(1, 1, [DATA, 0]));
    assert_lost(bench, "tag-not-invalidated");
}

#[test]
fn the_same_tag_on_both_queues_is_caught() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::flush());
    bench.submit(Admin, 3, Script::identify(1, 0));
    assert_eq!(bench.broken(), ["tag-on-both-queues"]);
}

#[test]
fn invalidating_a_tag_that_is_not_in_flight_fails_and_is_caught() {
    for tag in [3, 63, 64, 255] {
        let mut bench = Bench::up();
        assert_ne!(bench.invalidate(tag), 0);
        assert_eq!(bench.broken(), ["invalidate-not-in-flight"]);
    }
    let mut bench = Bench::up();
    bench.run(Io, 3, Script::flush());
    assert_ne!(bench.invalidate(3), 0);
    assert_eq!(bench.broken(), ["invalidate-not-in-flight"]);
}

#[test]
fn invalidating_a_tag_before_its_completion_fails_and_is_caught() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::flush());
    assert_ne!(bench.invalidate(3), 0);
    assert_eq!(bench.broken(), ["invalidate-before-completion"]);
}

#[test]
fn a_doorbell_while_linear_submission_is_off_is_lost() {
    let mut bench = Bench::up();
    bench.write(0x24908, 0);
    bench.submit(Io, 3, Script::read(0, 1, [DATA, 0]));
    assert_lost(bench, "linear-submission-disabled");
}

#[test]
fn a_null_pointer_is_refused_while_the_null_check_is_set() {
    let mut bench = Bench::up();
    bench.write(0x24008, 1 << 11);
    bench.submit(Io, 3, Script::read(0, 1, [DATA, 0]));
    bench.pass(1_000_000);
    assert!(bench.wires.syslog.iter().any(|line| line.contains("NULL_PRP_PTR_ERR")));
    assert_refused(bench, "prp-null-check");
}

#[test]
fn the_null_check_is_set_after_reset() {
    let mut bench = Bench::new();
    assert_eq!(bench.read(0x1300), 0xde71_ce55);
    assert_eq!(bench.read(0x24008) >> 11 & 1, 1);
}

#[test]
fn a_tag_beyond_the_control_blocks_is_lost() {
    for count in [0, 2] {
        let mut bench = Bench::up();
        bench.write(0x28100, count);
        bench.submit(Io, 3, Script::read(0, 1, [DATA, 0]));
        assert_lost(bench, "tag-beyond-control-blocks");
    }
}

#[test]
fn a_tag_of_64_or_more_is_lost_whatever_the_registers_say() {
    for tag in [64, 127, 0xffff] {
        let mut bench = Bench::up();
        bench.write(0x28100, 127);
        bench.ring(Io, tag);
        assert_lost(bench, "tag-beyond-hardware");
    }
}

#[test]
fn a_tag_beyond_its_queue_is_lost() {
    let mut bench = Bench::new();
    bench.ready(4);
    bench.submit(Io, 4, Script::read(0, 1, [DATA, 0]));
    assert_lost(bench, "tag-beyond-queue");
}

#[test]
fn a_tail_rung_in_place_of_the_tag_runs_the_wrong_entry() {
    let mut bench = Bench::up();
    let script = Script::read(0, 1, [DATA, 0]);
    bench.place(Io, 3, &script.entry(3), &script.block(3));
    bench.ring(Io, 4);
    bench.wait(Io);
    assert_eq!(bench.broken(), ["tcb-tag"]);
}

#[test]
fn entries_at_a_pitch_of_128_bytes_are_the_wrong_ones() {
    let mut bench = Bench::up();
    let script = Script::read(0, 1, [DATA, 0]);
    bench.put(IO_SUBMISSIONS + 128 * 3, &script.entry(3));
    bench.put(IO_BLOCKS + 128 * 3, &script.block(3));
    bench.ring(Io, 3);
    bench.wait(Io);
    assert_eq!(bench.broken(), ["tcb-opcode"]);
}

#[test]
fn a_doorbell_at_another_offset_is_caught() {
    for (offset, rule) in [(0x1008, "standard-doorbell"), (0x1000, "standard-doorbell"), (0x24914, "unknown-register")]
    {
        let mut bench = Bench::up();
        let script = Script::read(0, 1, [DATA, 0]);
        bench.place(Io, 3, &script.entry(3), &script.block(3));
        bench.write(offset, 3);
        assert_lost(bench, rule);
    }
    // The other queue's doorbell, with nothing placed there.
    let mut bench = Bench::up();
    let script = Script::read(0, 1, [DATA, 0]);
    bench.place(Io, 3, &script.entry(3), &script.block(3));
    bench.ring(Admin, 3);
    assert_lost(bench, "tcb-tag");
}

#[test]
fn a_head_that_is_never_written_stalls_the_queue() {
    let mut bench = Bench::new();
    bench.ready(4);
    for tag in 0..4 {
        bench.submit(Io, tag, Script::read(0, 1, [DATA + 0x1000 * u64::from(tag), 0]));
    }
    bench.pass(90_000_000);
    assert_eq!(bench.broken(), [""; 0]);
    bench.pass(1_000_000_000);
    assert_eq!(bench.broken(), ["completion-queue-stalled"]);
}

#[test]
fn completions_that_found_no_room_are_caught_at_the_end_of_the_run() {
    let mut bench = Bench::new();
    bench.ready(2);
    bench.submit(Io, 0, Script::read(0, 1, [DATA, 0]));
    bench.submit(Io, 1, Script::read(0, 1, [DATA + 0x1000, 0]));
    bench.pass(1_000_000);
    bench.act(|block, ctx| block.finish(ctx));
    assert!(bench.record.broke("completion-queue-stalled"));
}

#[test]
fn a_head_beyond_the_tail_or_the_queue_is_caught_and_ignored() {
    for (head, rule) in [
        (1, "head-beyond-tail"),
        (63, "head-beyond-tail"),
        (64, "head-beyond-queue"),
        (0xffff_ffff, "head-beyond-queue"),
    ] {
        let mut bench = Bench::up();
        bench.write(0x100c, head);
        assert_eq!(bench.broken(), [rule]);
        assert_eq!(bench.run(Io, 3, Script::flush()).status, 0);
    }
}

#[test]
fn an_entry_taken_without_a_look_at_its_phase_is_caught_by_its_tag() {
    let mut bench = Bench::up();
    bench.submit(Io, 0, Script::flush());
    // The entry is not there yet: memory says id 0.
    bench.step(Io);
    assert_ne!(bench.invalidate(0), 0);
    bench.write_head(Io);
    assert_eq!(bench.broken(), ["head-beyond-tail", "invalidate-before-completion"]);
}

#[test]
fn a_doorbell_between_an_invalidation_and_the_head_is_caught() {
    for queue in [Io, Admin] {
        let mut bench = Bench::up();
        bench.submit(Io, 3, Script::flush());
        bench.wait(Io);
        bench.step(Io);
        bench.invalidate(3);
        let script = if queue == Io { Script::flush() } else { Script::identify(1, 0) };
        bench.submit(queue, 4, script);
        assert_eq!(bench.broken(), ["doorbell-before-head"]);
    }
}

#[test]
fn a_limit_of_pending_commands_of_0_or_beyond_64_is_caught() {
    for pending in [0, 0x0000_0040, 0x0040_0000, 0x0041_0040, 0x0040_0041] {
        let mut bench = Bench::new();
        bench.prepare();
        bench.write(0x1210, pending);
        bench.enable();
        assert_eq!(bench.broken(), ["maximum-pending"]);
    }
}

#[test]
fn registers_touched_before_the_boot_status_is_right_are_caught_and_dead() {
    let mut bench = Bench::new();
    bench.wires.firmware_ready = false;
    assert_ne!(bench.read(0x1300), 0xde71_ce55);
    assert_eq!(bench.broken(), [""; 0]);
    bench.write(0x1210, 0x0040_0040);
    bench.read(0x1c);
    assert_eq!(bench.broken(), ["registers-before-boot-status"]);
    bench.wires.firmware_ready = true;
    assert_eq!(bench.read(0x1300), 0xde71_ce55);
    assert_eq!(bench.read(0x1210), 0);
}

#[test]
fn a_driver_that_never_looks_at_the_boot_status_is_caught() {
    let mut bench = Bench::new();
    bench.write(0x24908, 1);
    assert_eq!(bench.broken(), ["boot-status-unchecked"]);
}

#[test]
fn disabling_with_io_queues_alive_makes_firmware_complain() {
    let mut bench = Bench::up();
    bench.write(0x14, 0x0046_0000);
    assert_eq!(bench.broken(), ["disable-with-queues"]);
    assert_eq!(bench.wires.syslog.len(), 1);
}

#[test]
fn a_skipped_shutdown_and_a_controller_left_enabled_are_caught_at_the_end() {
    let mut bench = Bench::up();
    bench.delete_queues();
    bench.write(0x14, 0x0046_0000);
    bench.pass(10_000_000);
    bench.act(|block, ctx| block.finish(ctx));
    assert_eq!(bench.broken(), ["shutdown-skipped"]);
    let mut bench = Bench::up();
    bench.act(|block, ctx| block.finish(ctx));
    assert_eq!(bench.broken(), ["controller-left-enabled"]);
}

#[test]
fn a_buffer_used_again_while_its_command_is_in_flight_is_caught() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::read(0, 1, [DATA, 0]));
    bench.submit(Io, 4, Script::read(1, 1, [DATA + 0x800, DATA + 0x1000]));
    assert_eq!(bench.broken(), ["buffer-in-flight"]);
    let pages: Vec<_> = bench.act(|block, _| block.in_flight_pages().collect());
    assert_eq!(pages, [(DATA, 3), (DATA, 4), (DATA + 0x1000, 4)]);
}

#[test]
fn data_that_changes_while_it_is_being_written_is_caught() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::write(0, 1, [DATA, 0]));
    bench.put(DATA + 100, &[1]);
    bench.wait(Io);
    assert_eq!(bench.broken(), ["buffer-changed-in-flight"]);
}

#[test]
fn data_outside_memory_fails_the_command_and_is_caught() {
    let mut bench = Bench::up();
    assert_ne!(bench.run(Io, 3, Script::read(0, 1, [0x1_0000_0000, 0])).status, 0);
    assert_eq!(bench.broken(), ["dma-fault"]);
}

#[test]
fn data_over_a_completion_queue_is_caught() {
    let mut bench = Bench::up();
    bench.submit(Io, 3, Script::read(0, 1, [IO_COMPLETIONS, 0]));
    assert_eq!(bench.broken(), ["buffer-over-queue"]);
}

#[test]
fn a_command_id_in_flight_twice_is_caught() {
    let mut bench = Bench::up();
    for tag in [3, 4] {
        let script = Script::flush();
        bench.place(Io, tag, &script.entry(77), &script.block(tag));
        bench.ring(Io, tag.into());
    }
    assert_eq!(bench.broken(), ["command-id-in-flight"]);
}
