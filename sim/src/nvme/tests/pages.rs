//! Data pointers and block ranges.

use super::*;
use crate::nvme::store::pattern;

/// What blocks `first..first + count` of the test's disk hold.
fn expected(first: u64, count: u64) -> Vec<u8> {
    let mut bytes = vec![0; bits::size(4096 * count)];
    for (block, chunk) in (first..).zip(bytes.chunks_mut(4096)) {
        pattern(1, block, chunk);
    }
    bytes
}

/// Writes a list of `pages` at `at`, chained wherever it reaches the end of a page with more than one entry to go.
fn list(bench: &mut Bench, mut at: u64, pages: &[u64]) {
    let mut next_page = LISTS + 0x1_0000;
    for (index, page) in pages.iter().enumerate() {
        if at % 4096 == 4088 && index + 1 < pages.len() {
            bench.put(at, &next_page.to_le_bytes());
            at = next_page;
            next_page += 4096;
        }
        bench.put(at, &page.to_le_bytes());
        at += 8;
    }
}

#[test]
fn one_page_two_pages_and_a_list_hold_the_blocks_in_order() {
    let mut bench = Bench::up();
    assert_eq!(bench.run(Io, 0, Script::read(3, 1, [DATA, 0])).status, 0);
    assert_eq!(bench.get(DATA, 4096), expected(3, 1));
    assert_eq!(bench.run(Io, 0, Script::read(4, 2, [DATA, DATA + 0x5000])).status, 0);
    assert_eq!([bench.get(DATA, 4096), bench.get(DATA + 0x5000, 4096)].concat(), expected(4, 2));
    // Backwards, so that the order of the list is what counts.
    let pages: Vec<_> = (0..255).rev().map(|page| DATA + 0x10_0000 + page * 4096).collect();
    for list_offset in [0, 0x100, 0xff8, 0xff0, 0x808] {
        list(&mut bench, LISTS + list_offset, &pages);
        assert_eq!(bench.run(Io, 0, Script::read(100, 256, [DATA, LISTS + list_offset])).status, 0);
        let mut bytes = bench.get(DATA, 4096);
        pages.iter().for_each(|page| bytes.extend(bench.get(*page, 4096)));
        assert_eq!(bytes, expected(100, 256), "list at offset {list_offset:#x}");
    }
    bench.assert_clean();
}

#[test]
fn the_first_pointer_may_have_an_offset() {
    let mut bench = Bench::up();
    assert_eq!(bench.run(Io, 0, Script::read(3, 1, [DATA + 0xb40, DATA + 0x1000])).status, 0);
    assert_eq!(bench.get(DATA + 0xb40, 4096), expected(3, 1));
    list(&mut bench, LISTS, &[DATA + 0x1000, DATA + 0x2000]);
    assert_eq!(bench.run(Io, 0, Script::read(3, 2, [DATA + 4, LISTS])).status, 0);
    assert_eq!(bench.get(DATA + 4, 8192), expected(3, 2));
    bench.assert_clean();
}

#[test]
fn an_offset_where_none_is_allowed_fails_and_is_caught() {
    let cases: [(Script, u64); 5] = [
        (Script::read(0, 1, [DATA + 2, DATA + 0x1000]), 0),
        (Script::read(0, 2, [DATA, DATA + 0x1008]), 0),
        (Script::read(0, 3, [DATA, LISTS + 4]), 0),
        (Script::read(0, 3, [DATA, LISTS]), DATA + 0x1010),
        (Script::read(0, 4, [DATA, LISTS + 0xff8]), DATA + 8),
    ];
    for (script, entry) in cases {
        let mut bench = Bench::up();
        bench.put(script.prp[1] & !7, &entry.to_le_bytes());
        assert_eq!(bench.run(Io, 0, script).status, 0x13);
        assert_eq!(bench.broken(), ["prp-offset"]);
    }
}

#[test]
fn a_missing_pointer_fails_and_is_caught() {
    // The second is m1n1's: a block count of one in a field that counts from zero.
    for script in [Script::read(0, 1, [0, 0]), Script::read(0, 2, [DATA, 0]), Script::read(0, 3, [DATA, LISTS])] {
        let mut bench = Bench::up();
        assert_eq!(bench.run(Io, 0, script).status, 0x02);
        assert_eq!(bench.broken(), ["prp-missing"]);
        assert_eq!(bench.get(DATA, 4096), vec![0; 4096]);
    }
}

#[test]
fn a_second_pointer_without_a_use_is_caught() {
    let mut bench = Bench::up();
    assert_eq!(bench.run(Io, 0, Script::read(0, 1, [DATA, DATA + 0x1000])).status, 0);
    assert_eq!(bench.broken(), ["prp2-reserved"]);
}

#[test]
fn a_list_that_leads_to_itself_ends() {
    let mut bench = Bench::up();
    let last = LISTS + 0xff8;
    bench.put(last, &LISTS.to_le_bytes());
    for slot in 0..511 {
        bench.put(LISTS + 8 * slot, &(DATA + 4096 * (slot % 256)).to_le_bytes());
    }
    assert_eq!(bench.run(Io, 0, Script::read(0, 256, [DATA + 0x20_0000, last])).status, 0);
}

#[test]
fn transfers_beyond_the_limit_fail() {
    let mut bench = Bench::up();
    list(&mut bench, LISTS, &[DATA; 256]);
    assert_eq!(bench.run(Io, 0, Script::read(0, 257, [DATA, LISTS])).status, 0x02);
    assert_eq!(bench.run(Io, 0, Script::read(0, 0x1_0000, [DATA, LISTS])).status, 0x80);
    bench.assert_clean();
}

#[test]
fn blocks_beyond_the_end_fail_even_where_the_sum_overflows() {
    let mut bench = Bench::up();
    let blocks = (64 << 20) / 4096;
    assert_eq!(bench.run(Io, 0, Script::read(blocks - 1, 1, [DATA, 0])).status, 0);
    for (first, count) in [(blocks, 1), (blocks - 1, 2), (u64::MAX, 1), (u64::MAX, 2), (u64::MAX - 1, 1)] {
        assert_eq!(bench.run(Io, 0, Script::read(first, count, [DATA, DATA + 0x1000])).status, 0x80);
        assert_eq!(bench.run(Io, 0, Script::write(first, count, [DATA, DATA + 0x1000])).status, 0x80);
    }
    for namespace in [0, 9, 0xffff_ffff] {
        let script = Script { namespace, ..Script::read(0, 1, [DATA, 0]) };
        assert_eq!(bench.run(Io, 0, script).status, 0x0b);
    }
    bench.assert_clean();
}

#[test]
fn unknown_io_commands_fused_ones_and_scatter_lists_fail() {
    let mut bench = Bench::up();
    for opcode in [0x04, 0x05, 0x0c, 0x19, 0x80] {
        let script = Script { opcode, namespace: 1, ..Script::default() };
        assert_eq!(bench.run(Io, 0, script).status, 0x01, "{opcode:#x}");
    }
    for flags in [0x01, 0x40] {
        let script = Script::read(0, 1, [DATA, 0]);
        let mut entry = script.entry(0);
        entry[1] = flags;
        bench.place(Io, 0, &entry, &script.block(0));
        bench.ring(Io, 0);
        assert_eq!(bench.wait(Io).status, 0x02);
        bench.step(Io);
        bench.invalidate(0);
        bench.write_head(Io);
    }
    bench.assert_clean();
}
