//! PRP entries against the reference walker.

use hal::{DmaPool, DmaRegion};
use nvme::prp::{self, PageSize};

use crate::fake::Board;

/// Describes and walks, and checks that the spans are the memory that was asked for.
fn check(board: &Board, list: &DmaRegion<Board>, address: u64, length: usize) {
    let before = [0xa5; 64];
    list.write(0, &before);
    let prps = prp::describe(PageSize::SMALLEST, address, length, list, 0);
    board.publish();
    let spans = board.with(|machine| machine.walk(prps.first, prps.second, length));
    let mut next = address;
    for (at, length) in &spans {
        assert_eq!(*at, next);
        next += *length as u64;
    }
    assert_eq!(next, address + length as u64);
    board.assert_clean();
    // Of two pages or fewer nothing goes through the list.
    let mut after = [0; 64];
    list.read_bytes(0, &mut after);
    assert_eq!(after == before, PageSize::SMALLEST.touched((address % 4096) as usize, length) <= 2);
}

#[test]
fn a_list_chains_only_where_more_than_one_entry_remains() {
    let board = Board::new();
    for pages in [1usize, 2, 3, 255, 256, 511, 512, 513, 514, 515, 1022, 1023, 1024, 1025, 1026, 1534, 1535, 1536, 2049]
    {
        for offset in [0u64, 0x10, 0x800, 0xff8] {
            let length = pages * 4096;
            let list = DmaRegion::new(&board, PageSize::SMALLEST.list_pages(length) * 4096, 4096).unwrap();
            check(&board, &list, 0x9_0000_0000 + offset, length);
        }
    }
}

#[test]
fn lists_are_as_long_as_their_entries_need() {
    // Entries: one page more than the length may be touched, less the one in the command.
    for (entries, pages) in
        [(1, 1), (511, 1), (512, 1), (513, 2), (1022, 2), (1023, 2), (1024, 3), (1533, 3), (1534, 3)]
    {
        assert_eq!(PageSize::SMALLEST.list_pages(entries * 4096), pages, "{entries} entries");
    }
}

proptest::proptest! {
    #[test]
    fn any_span_is_described_as_the_walker_reads_it(offset in 0u64..1024, length in 1usize..(5 << 20)) {
        let board = Board::new();
        let list = DmaRegion::new(&board, PageSize::SMALLEST.list_pages(length) * 4096, 4096).unwrap();
        check(&board, &list, 0x9_0000_0000 + offset * 4, length);
    }
}
