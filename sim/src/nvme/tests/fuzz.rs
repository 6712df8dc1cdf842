//! Hostile drivers: whatever is written where, the model stays up and bounded.

use super::*;

/// Offsets at which something happens, more often than by pure chance.
const OFFSETS: [u64; 24] = [
    0x0c, 0x10, 0x14, 0x24, 0x28, 0x2c, 0x30, 0x34, 0x1000, 0x1004, 0x1008, 0x100c, 0x1210, 0x1300, 0x24008, 0x24908,
    0x2490c, 0x24910, 0x28100, 0x28108, 0x28110, 0x28118, 0x28120, 0x1c,
];

fn storm(seed: u64, accesses: u64, prepared: bool) -> Bench {
    let mut bench = Bench::new();
    if prepared {
        bench.ready(64);
    }
    let mut chance = Random::new(seed);
    for _ in 0..accesses {
        let offset = match chance.below(8) {
            0 => chance.below(0x4_0000),
            _ => OFFSETS[bits::size(chance.below(24))],
        };
        let size = [4, 4, 4, 4, 4, 8, 2, 1][bits::size(chance.below(8))];
        let value = match chance.below(4) {
            0 => chance.next(),
            1 => RAM + (chance.below(0x40) << 12),
            2 => 0x0046_0000 | chance.below(2),
            _ => chance.below(70),
        };
        match chance.below(4) {
            0 => drop(bench.act(|block, ctx| block.read(ctx, offset, size))),
            _ => bench.act(|block, ctx| block.write(ctx, offset, size, value)),
        }
        if chance.below(16) == 0 {
            bench.pass(chance.below(10_000_000));
        }
    }
    bench
}

#[test]
fn a_million_random_accesses_leave_the_model_up_and_say_the_same_each_time() {
    let bench = storm(1, 1_000_000, false);
    assert!(!bench.record.violations.is_empty());
    let (one, two) = (storm(2, 20_000, true), storm(2, 20_000, true));
    assert_eq!(one.record.violations, two.record.violations);
    assert_eq!(one.now, two.now);
}

#[test]
fn random_commands_leave_the_model_up_and_a_good_driver_works_afterwards() {
    let mut bench = Bench::up();
    let mut chance = Random::new(3);
    let pointer = |chance: &mut Random| match chance.below(4) {
        0 => chance.next(),
        1 => 0,
        2 => DATA + chance.below(0x10_0000),
        _ => DATA + (chance.below(0x100) << 12),
    };
    for _ in 0..50_000 {
        let tag = bits::low8(chance.below(64));
        let queue = if chance.below(4) == 0 { Admin } else { Io };
        let small = |chance: &mut Random| {
            if chance.below(4) == 0 { bits::low32(chance.next()) } else { bits::low32(chance.below(300)) }
        };
        let script = Script {
            opcode: if chance.below(8) == 0 { bits::low8(chance.next()) } else { bits::low8(chance.below(12)) },
            namespace: if chance.below(8) == 0 { bits::low32(chance.next()) } else { bits::low32(chance.below(4)) },
            prp: [pointer(&mut chance), pointer(&mut chance)],
            dwords: [(); 6].map(|()| small(&mut chance)),
        };
        // Neither queue is taken away, so that commands keep running.
        if queue == Admin && matches!(script.opcode, 0 | 4) {
            continue;
        }
        let address = DATA + chance.below(0x10_0000);
        bench.put(address, &chance.next().to_le_bytes());
        bench.submit(queue, tag, script);
        bench.pass(chance.below(1_000_000));
        bench.invalidate(tag);
        let heads = [chance.below(64), chance.below(64)];
        bench.write(0x1004, bits::low32(heads[0]));
        bench.write(0x100c, bits::low32(heads[1]));
    }
    assert!(bench.block.counters().commands["read"] > 1000);
    bench.act(|block, ctx| block.reset(ctx));
    bench.record.violations.clear();
    bench.ready(64);
    assert_eq!(bench.run(Io, 0, Script::read(0, 1, [DATA, 0])).status, 0);
    bench.finish();
    bench.assert_clean();
}
