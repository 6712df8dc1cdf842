//! Queues: rings, doorbells, creation and deletion.

use hal::{DmaPool, Mmio};
use sim::pcie::{ControllerConfig, Fault};

use crate::host::{Host, Script};

fn config() -> ControllerConfig {
    ControllerConfig::new()
}

#[test]
fn the_phase_inverts_at_each_wrap_and_entries_tell_queue_and_head() {
    let mut host = Host::enabled(config());
    host.create_pair(1, 4);
    host.create_pair(2, 5);
    let data = host.data;
    for round in 1..=23_u16 {
        for (queue, size) in [(1, 4), (2, 5)] {
            let entry = host.run(queue, Script::read(0, 1, [data, 0]));
            assert_eq!((entry.status, entry.head), (0, round % size));
        }
    }
    host.assert_clean();
}

#[test]
fn a_full_completion_queue_is_never_overwritten_and_loses_nothing() {
    let mut host = Host::enabled(config());
    let pair = host.new_pair(1, 16);
    assert_eq!(host.admin(Script::create_completions(1, 4, pair.completions)).status, 0);
    assert_eq!(host.admin(Script::create_submissions(1, 16, pair.submissions)).status, 0);
    host.pairs.push(pair);
    let data = host.data;
    let mut ids: Vec<u16> = (0..10).map(|at| host.place(1, &Script::read(0, 1, [data + at * 512, 0]))).collect();
    host.ring(1);
    host.board.pass(10_000_000);
    assert!(host.board.counters().queue_full > 0);
    host.pair(1).size = 4;
    let mut seen = Vec::new();
    while seen.len() < 10 {
        let entry = host.take(1).unwrap();
        seen.push(entry.id);
        if seen.len() % 3 == 0 {
            assert_eq!(host.take(1), None, "a fourth entry would lie over the first");
            host.acknowledge(1);
        }
    }
    seen.sort_unstable();
    ids.sort_unstable();
    assert_eq!(seen, ids);
    host.assert_clean();
}

#[test]
fn completions_that_never_find_room_are_caught_at_the_end() {
    let mut host = Host::enabled(config());
    host.create_pair(1, 3);
    let data = host.data;
    for at in 0..3 {
        host.submit(1, Script::read(0, 1, [data + at * 512, 0]));
        host.board.pass(1_000_000);
    }
    host.board.finish();
    assert!(host.board.broke("completion-queue-stalled"));
}

#[test]
fn commands_complete_out_of_order_and_the_seed_decides_how() {
    let order = |seed| {
        let mut host = Host::up(ControllerConfig { seed, ..config() });
        let data = host.data;
        (0..12).for_each(|at| _ = host.place(1, &Script::read(0, 1, [data + at * 512, 0])));
        host.ring(1);
        let ids: Vec<u16> = (0..12).map(|_| host.wait(1).id).collect();
        host.assert_clean();
        ids
    };
    assert_ne!(order(1), (0..12).collect::<Vec<_>>());
    assert_ne!(order(1), order(2));
    assert_eq!(order(1), order(1));
}

#[test]
fn sixty_four_pairs_work_side_by_side() {
    let mut host = Host::enabled(config());
    for id in 1..=64 {
        host.create_pair(id, 2);
    }
    let data = host.data;
    for id in 1..=64 {
        host.submit(id, Script::read(0, 1, [data + u64::from(id) * 512, 0]));
    }
    for id in 1..=64 {
        assert_eq!(host.wait(id).status, 0);
    }
    let pair = host.new_pair(65, 2);
    assert_eq!(host.admin(Script::create_completions(65, 2, pair.completions)).status, 0x101);
    host.assert_clean();
}

#[test]
fn creation_and_deletion_fail_with_the_status_of_each_mistake() {
    let mut host = Host::up(config());
    let base = host.memory(65536);
    let cq = Script::create_completions;
    let sq = Script::create_submissions;
    let wrong: [(Script, u16); 17] = [
        (cq(0, 16, base), 0x101),
        (cq(1, 16, base), 0x101),
        (cq(65, 16, base), 0x101),
        (cq(2, 1, base), 0x102),
        (cq(2, 1025, base), 0x102),
        (Script { dwords: [15 << 16 | 2, 2, 0, 0, 0, 0], ..cq(2, 16, base) }, 0x002),
        (Script { dwords: [15 << 16 | 2, 65 << 16 | 3, 0, 0, 0, 0], ..cq(2, 16, base) }, 0x108),
        (cq(2, 16, base + 0x800), 0x013),
        (sq(2, 16, base), 0x100),
        (Script { dwords: [15 << 16 | 2, 1, 0, 0, 0, 0], ..sq(2, 16, base) }, 0x100),
        (Script { dwords: [15 << 16, 1 << 16 | 1, 0, 0, 0, 0], ..sq(0, 16, base) }, 0x101),
        (sq(1, 16, base), 0x101),
        (Script { dwords: [2, 1 << 16 | 1, 0, 0, 0, 0], ..sq(2, 1, base) }, 0x102),
        (Script::admin(4, 1, 0), 0x10c),
        (Script::admin(4, 0, 0), 0x101),
        (Script::admin(0, 0, 0), 0x101),
        (Script::admin(0, 2, 0), 0x101),
    ];
    for (script, status) in wrong {
        assert_eq!(host.admin(script).status, status, "{script:x?}");
    }
    assert_eq!(host.admin(Script::admin(0, 1, 0)).status, 0);
    assert_eq!(host.admin(Script::admin(4, 1, 0)).status, 0);
    assert_eq!(host.admin(Script::admin(4, 1, 0)).status, 0x101);
    host.assert_clean();
}

#[test]
fn deleting_a_submission_queue_aborts_what_is_in_flight_there() {
    let mut host = Host::up(config());
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    host.board.add_fault(Fault::AdminError { opcode: 6, half_word: 2 });
    assert_eq!(host.admin(Script::admin(0, 1, 0)).status, 0);
    let entry = host.take(1).unwrap();
    assert_eq!((entry.status, host.board.in_flight()), (0x08, 0));
    host.assert_clean();
}

#[test]
fn the_number_of_queues_is_granted_up_to_what_there_is_and_before_the_first_only() {
    let mut host = Host::enabled(ControllerConfig { queue_pairs: 8, ..config() });
    let set = |value| Script::admin(9, 7, value);
    assert_eq!(host.admin(Script::admin(10, 7, 0)).result, 7 << 16 | 7);
    assert_eq!(host.admin(set(0xffff)).status, 0x02);
    assert_eq!(host.admin(set(0xffff_0000)).status, 0x02);
    assert_eq!(host.admin(set(63 << 16 | 63)).result, 7 << 16 | 7);
    assert_eq!(host.admin(set(3 << 16 | 2)).result, 3 << 16 | 2);
    let base = host.memory(65536);
    assert_eq!(host.admin(Script::create_completions(4, 16, base)).status, 0);
    assert_eq!(host.admin(Script::create_completions(5, 16, base)).status, 0x101);
    assert_eq!(host.admin(Script::create_submissions(4, 16, base)).status, 0x101);
    assert_eq!(host.admin(set(0)).status, 0x0c);
    host.reset();
    host.enable(0);
    host.wait_status(1, 1);
    assert_eq!(host.admin(set(0)).result, 0);
    host.assert_clean();
}

#[test]
fn a_doorbell_value_beyond_its_queue_is_caught_told_and_without_effect() {
    for (doorbell, value) in [(2, 16), (2, 0x1_0001), (3, 16), (3, 1)] {
        let mut host = Host::up(config());
        let request = host.submit(0, Script::admin(12, 0, 0));
        host.bar.write32(0x1000 + 4 * doorbell, value);
        let told = host.wait(0);
        assert_eq!((told.id, told.result), (request, 1 << 16 | 1 << 8));
        host.assert_only("doorbell-value");
        let data = host.data;
        assert_eq!(host.io(Script::read(0, 1, [data, 0])).status, 0);
    }
}

#[test]
fn a_doorbell_of_no_queue_is_caught_and_told() {
    let mut host = Host::up(config());
    host.submit(0, Script::admin(12, 0, 0));
    host.bar.write32(0x1000 + 4 * 4, 1);
    assert_eq!(host.wait(0).result, 1 << 16);
    host.assert_only("doorbell-register");
}

#[test]
fn a_tail_that_runs_over_entries_not_yet_fetched_is_caught() {
    let mut host = Host::up(ControllerConfig { request_slots: 1, ..config() });
    let data = host.data;
    (0..10).for_each(|at| _ = host.place(1, &Script::read(0, 1, [data + at * 512, 0])));
    host.ring(1);
    host.bar.write32(0x1008, 5);
    host.assert_only("doorbell-value");
}

#[test]
fn a_device_short_of_slots_goes_on_when_one_is_free() {
    let mut host = Host::up(ControllerConfig { request_slots: 2, ..config() });
    let data = host.data;
    (0..15).for_each(|at| _ = host.place(1, &Script::read(0, 1, [data + at * 512, 0])));
    host.ring(1);
    assert_eq!(host.board.in_flight(), 2);
    for _ in 0..15 {
        assert_eq!(host.wait(1).status, 0);
    }
    assert_eq!(host.board.counters().deepest, 2);
    host.assert_clean();
}

#[test]
fn an_identifier_in_use_is_caught_and_refused() {
    let mut host = Host::up(config());
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    host.pair(1).next_id = 0;
    host.submit(1, Script::read(0, 1, [data + 512, 0]));
    let statuses = [host.wait(1).status, host.wait(1).status];
    assert!(statuses.contains(&0) && statuses.contains(&3));
    host.assert_only("cid-in-use");
}

#[test]
fn an_entry_that_is_not_published_before_its_doorbell_is_caught() {
    let mut host = Host::up(config());
    let data = host.data;
    host.place(1, &Script::read(0, 1, [data, 0]));
    host.bar.write32(0x1008, 1);
    host.assert_only("memory-not-published");
}

#[test]
fn memory_freed_while_a_command_or_a_queue_may_reach_it_is_caught() {
    let mut host = Host::up(config());
    let page = host.memory(4096);
    host.submit(1, Script::read(0, 1, [page, 0]));
    host.pool.release(page, 4096);
    host.assert_only("memory-freed-in-flight");
    let mut host = Host::up(config());
    let queue = host.pair(1).completions;
    host.pool.release(queue, 256);
    host.assert_only("memory-freed-in-flight");
}

#[test]
fn planned_faults_hit_the_command_they_name() {
    let faults = vec![
        Fault::Swallowed(0),
        Fault::Delayed { command: 1, delay_ns: 5_000_000 },
        Fault::CompletionUnknown(2),
        Fault::Status { command: 3, half_word: 0xf507 },
        Fault::DoorbellsLost(1),
    ];
    let mut host = Host::up(ControllerConfig { faults, ..config() });
    let data = host.data;
    let read = Script::read(0, 1, [data, 0]);
    host.submit(1, read);
    assert_eq!((host.wait_for(1, 10_000_000), host.board.io_commands()), (None, 0));
    host.bar.write32(0x1008, 1);
    assert_eq!((host.wait_for(1, 10_000_000), host.board.in_flight()), (None, 1));
    let other = Script::read(0, 1, [data + 512, 0]);
    host.submit(1, other);
    assert_eq!(host.wait_for(1, 4_000_000), None);
    assert_eq!(host.wait(1).status, 0);
    host.submit(1, other);
    assert_eq!(host.wait(1).id, 0xfffe);
    host.submit(1, other);
    assert_eq!(host.wait(1).half_word, 0xf506);
    host.assert_clean();
}
