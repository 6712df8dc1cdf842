//! What survives a power cut.

use super::*;

/// The first byte of a block, on the medium itself.
fn durable(store: &MemoryStore, block: u64) -> u8 {
    let mut byte = [0];
    store.read_at(block * 4096, &mut byte).unwrap();
    byte[0]
}

fn write(bench: &mut Bench, block: u64, value: u8) {
    bench.put(DATA, &[value; 4096]);
    assert_eq!(bench.run(Io, 1, Script::write(block, 1, [DATA, 0])).status, 0);
}

fn read(bench: &mut Bench, block: u64) -> u8 {
    assert_eq!(bench.run(Io, 2, Script::read(block, 1, [DATA + 0x1000, 0])).status, 0);
    bench.get(DATA + 0x1000, 1)[0]
}

fn bench(store: &MemoryStore) -> Bench {
    let mut bench = Bench::with(store, &[]);
    bench.ready(64);
    bench
}

#[test]
fn a_write_is_lost_by_a_power_cut_and_kept_by_a_flush() {
    let store = MemoryStore::new(1 << 20);
    let mut bench = bench(&store);
    write(&mut bench, 5, 1);
    assert_eq!((read(&mut bench, 5), durable(&store, 5)), (1, 0));
    assert_eq!(bench.run(Io, 0, Script::flush()).status, 0);
    assert_eq!(durable(&store, 5), 1);
    write(&mut bench, 5, 2);
    write(&mut bench, 6, 2);
    assert_eq!(bench.act(|block, ctx| block.cut_power(ctx)), 2);
    assert_eq!((durable(&store, 5), durable(&store, 6)), (1, 0));
    bench.ready(64);
    assert_eq!(read(&mut bench, 5), 1);
    bench.finish();
    bench.assert_clean();
}

#[test]
fn a_flush_covers_the_writes_that_had_completed_before_it_only() {
    let store = MemoryStore::new(1 << 20);
    let mut bench = bench(&store);
    write(&mut bench, 5, 1);
    bench.submit(Io, 0, Script::flush());
    write(&mut bench, 5, 2);
    write(&mut bench, 6, 2);
    assert_eq!(durable(&store, 5), 0);
    assert_eq!(read(&mut bench, 5), 2);
    bench.wait(Io);
    bench.pass(20_000_000);
    assert_eq!((durable(&store, 5), durable(&store, 6)), (1, 0));
    assert_eq!(read_after_flush(&mut bench), 2);
}

/// Takes the flush's completion first.
fn read_after_flush(bench: &mut Bench) -> u8 {
    assert_eq!(bench.wait(Io).id, 0);
    bench.step(Io);
    assert_eq!(bench.invalidate(0), 0);
    bench.write_head(Io);
    read(bench, 5)
}

#[test]
fn a_normal_shutdown_makes_everything_durable() {
    let store = MemoryStore::new(1 << 20);
    let mut bench = bench(&store);
    write(&mut bench, 5, 1);
    bench.finish();
    assert_eq!(durable(&store, 5), 1);
    bench.assert_clean();
}

#[test]
fn forced_unit_access_and_a_disabled_cache_write_through() {
    let store = MemoryStore::new(1 << 20);
    let mut bench = bench(&store);
    write(&mut bench, 5, 1);
    bench.put(DATA, &[2; 4096]);
    let mut forced = Script::write(5, 1, [DATA, 0]);
    forced.dwords[2] |= 1 << 30;
    assert_eq!(bench.run(Io, 1, forced).status, 0);
    assert_eq!((durable(&store, 5), read(&mut bench, 5)), (2, 2));
    write(&mut bench, 6, 3);
    // Switching the cache off makes durable what it holds.
    assert_eq!(bench.run(Admin, 0, Script::admin(9, 6, 0)).status, 0);
    assert_eq!(durable(&store, 6), 3);
    write(&mut bench, 7, 4);
    assert_eq!(durable(&store, 7), 4);
}

#[test]
fn a_controller_reset_enables_the_cache_again_and_keeps_what_is_in_it() {
    let store = MemoryStore::new(1 << 20);
    let mut bench = bench(&store);
    write(&mut bench, 5, 1);
    assert_eq!(bench.run(Admin, 0, Script::admin(9, 6, 0)).status, 0);
    bench.delete_queues();
    bench.write(0x14, 0x0046_0000);
    bench.pass(10_000_000);
    bench.enable();
    bench.create(64);
    assert_eq!(bench.run(Admin, 0, Script::admin(0x0a, 6, 0)).result, 1);
    assert_eq!(read(&mut bench, 5), 1);
}

#[test]
fn write_zeroes_and_dataset_management_run_and_are_bounded() {
    let store = MemoryStore::patterned(1 << 20, 3);
    let mut bench = bench(&store);
    let zeroes = |first| Script { opcode: 8, prp: [0, 0], ..Script::write(first, 4, [0, 0]) };
    assert_eq!(bench.run(Io, 0, zeroes(8)).status, 0);
    assert_eq!(read(&mut bench, 11), 0);
    assert_eq!(bench.run(Io, 0, zeroes(253)).status, 0x80);
    let mut range = [0; 16];
    range[4] = 2;
    range[8] = 254;
    let discard = Script { opcode: 9, namespace: 1, prp: [DATA, 0], dwords: [0, 4, 0, 0, 0, 0] };
    bench.put(DATA, &range);
    assert_eq!(bench.run(Io, 0, discard).status, 0);
    range[4] = 3;
    bench.put(DATA, &range);
    assert_eq!(bench.run(Io, 0, discard).status, 0x80);
    bench.assert_clean();
}

#[test]
fn a_protected_store_refuses_every_write_and_serves_reads() {
    let store = MemoryStore::new(1 << 20);
    let mut bench = Bench::with(&store.protected(), &[]);
    bench.ready(64);
    for script in [Script::write(0, 1, [DATA, 0]), Script { opcode: 8, ..Script::write(0, 1, [0, 0]) }] {
        assert_eq!(bench.run(Io, 1, script).status, 0x20);
    }
    assert_eq!(read(&mut bench, 0), 0);
    assert_eq!(bench.run(Io, 0, Script::flush()).status, 0);
    bench.finish();
    bench.assert_clean();
}

#[test]
fn a_flush_takes_17_milliseconds_and_a_read_about_80_microseconds() {
    let mut bench = Bench::up();
    let start = bench.now;
    bench.run(Io, 0, Script::flush());
    assert!((17_000_000..17_020_000).contains(&(bench.now - start)));
    let start = bench.now;
    bench.run(Io, 0, Script::read(0, 1, [DATA, 0]));
    assert!((80_000..140_000).contains(&(bench.now - start)));
}
