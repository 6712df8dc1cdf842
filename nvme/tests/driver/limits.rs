//! What is refused before anything is sent, and what is split.

use hal::DmaRegion;
use nvme::{Access, BlockError, Buffer, Config, Operation, Request, SubmitError};

use crate::fake::{Board, Nvme};

fn refuse(controller: &mut Nvme, namespace: u32, operation: Operation, buffer: Option<Buffer<Board>>) -> SubmitError {
    let given = buffer.is_some();
    let refused = controller.submit(Request { namespace, operation, buffer }).unwrap_err();
    assert_eq!(refused.buffer.is_some(), given, "the buffer comes back");
    refused.error
}

#[test]
fn nothing_is_sent_for_a_request_that_makes_no_sense() {
    let board = Board::new();
    let mut controller = board.enable();
    board.take_log();
    let buffer = |bytes| Some(Buffer::new(&board, bytes).unwrap());
    let read = |lba, count| Operation::Read { lba, count };
    let blocks = 4096;
    for (operation, bytes, error) in [
        (read(0, 0), 4096, SubmitError::NoBlocks),
        (read(4096, 1), 4096, SubmitError::OutOfRange { lba: 4096, count: 1, blocks }),
        (read(4095, 2), 8192, SubmitError::OutOfRange { lba: 4095, count: 2, blocks }),
        (read(u64::MAX, 1), 4096, SubmitError::OutOfRange { lba: u64::MAX, count: 1, blocks }),
        (read(u64::MAX, 2), 8192, SubmitError::OutOfRange { lba: u64::MAX, count: 2, blocks }),
        (read(0, 2), 8191, SubmitError::BufferTooShort { needed: 8192, given: 8191 }),
        (read(0, 257), 4096, SubmitError::TooManyBlocks { count: 257, most: 256 }),
        (read(0, u32::MAX), 4096, SubmitError::TooManyBlocks { count: u32::MAX, most: 256 }),
        (Operation::Write { lba: 0, count: 1, force_unit_access: false }, 4096, SubmitError::ReadOnly),
    ] {
        assert_eq!(refuse(&mut controller, 1, operation, buffer(bytes)), error);
    }
    assert_eq!(refuse(&mut controller, 1, read(0, 1), None), SubmitError::BufferTooShort { needed: 4096, given: 0 });
    for namespace in [0, 2, 4, u32::MAX] {
        let error = refuse(&mut controller, namespace, Operation::Flush, None);
        assert_eq!(error, SubmitError::UnknownNamespace { namespace });
        assert_eq!(controller.set_access(namespace, Access::ReadOnly), Err(error));
    }
    let odd = Buffer::part(DmaRegion::new(&board, 8192, 4096).unwrap(), 2, 4096).unwrap();
    let address = odd.address();
    assert_eq!(refuse(&mut controller, 1, read(0, 1), Some(odd)), SubmitError::Misaligned { address });
    assert_eq!(board.take_log(), []);
}

#[test]
fn a_part_outside_its_region_is_refused() {
    let board = Board::new();
    for (offset, length) in [(0, 4097), (4096, 1), (1, usize::MAX), (usize::MAX, 1)] {
        let region = DmaRegion::new(&board, 4096, 4096).unwrap();
        assert_eq!(Buffer::part(region, offset, length).unwrap_err().size(), 4096);
    }
}

#[test]
fn only_the_armed_blocks_of_the_armed_namespace_are_written() {
    let board = Board::new();
    let mut controller = board.enable();
    controller.set_access(1, Access::ReadWrite { first: 10, blocks: 2 }).unwrap();
    let block = [1; 2 * 4096];
    for (lba, bytes) in [(9, 1), (9, 2), (11, 2), (12, 1), (0, 1)] {
        let result = controller.write(1, lba, &block[..bytes * 4096]);
        assert_eq!(result, Err(BlockError::Submit(SubmitError::ReadOnly)), "{bytes} blocks at {lba}");
    }
    assert_eq!(controller.write(3, 10, &block[..512]), Err(BlockError::Submit(SubmitError::ReadOnly)));
    controller.write(1, 10, &block).unwrap();
    controller.set_access(1, Access::ReadOnly).unwrap();
    assert!(controller.write(1, 10, &block).is_err());
    let written: Vec<u64> = board.with(|machine| machine.namespaces[&1].content.keys().copied().collect());
    assert_eq!(written, [10, 11]);
}

#[test]
fn blocking_calls_want_whole_blocks_inside_the_namespace() {
    let board = Board::new();
    let mut controller = board.enable();
    let length = |length| BlockError::Length { length, block_size: 4096 };
    assert_eq!(controller.read(1, 0, &mut [0; 100]), Err(length(100)));
    assert_eq!(controller.read(1, 0, &mut [0; 4097]), Err(length(4097)));
    assert_eq!(controller.read(1, 0, &mut []), Err(SubmitError::NoBlocks.into()));
    let out = SubmitError::OutOfRange { lba: u64::MAX, count: 1, blocks: 4096 };
    assert_eq!(controller.read(1, u64::MAX, &mut [0; 4096]), Err(out.into()));
}

/// Every MDTS with both block sizes: a read of 2 MiB arrives whole, in as many commands as the limit asks for.
#[test]
fn a_read_is_split_by_the_least_of_all_limits() {
    const LENGTH: usize = 2 << 20;
    for (mdts, configured, most) in [
        (0, 1 << 20, 1 << 20),
        (1, 1 << 20, 8192),
        (5, 1 << 20, 128 << 10),
        (8, 1 << 20, 1 << 20),
        (9, 1 << 20, 1 << 20),
        (255, 1 << 20, 1 << 20),
        (64, 1 << 20, 1 << 20),
        (8, 4096, 4096),
        (0, 100, 4096),
        (0, 4 << 20, 2 << 20),
    ] {
        for (namespace, block) in [(1, 4096), (3, 512)] {
            let board = Board::new();
            board.with(|machine| {
                machine.mdts = mdts;
                let model = machine.namespaces.get_mut(&namespace).unwrap();
                (model.size, model.capacity) = (8192, 8192);
                for lba in 0..8192u64 {
                    model.content.insert(lba, vec![(lba % 253) as u8; block]);
                }
            });
            let mut config = Config::default();
            config.transfer = configured;
            let mut controller = board.try_enable(config).unwrap();
            let mut seen = vec![0; LENGTH];
            controller.read(namespace, 5, &mut seen).unwrap();
            let right = |(at, part): (usize, &[u8])| part.iter().all(|byte| *byte == ((at + 5) % 253) as u8);
            assert!(seen.chunks(block).enumerate().all(right), "MDTS {mdts}, blocks of {block}");
            let commands = board.with(|machine| machine.commands.iter().filter(|c| c.io).count());
            assert_eq!(commands, LENGTH.div_ceil(most), "MDTS {mdts}, configured {configured}, blocks of {block}");
            controller.shutdown().unwrap();
            board.assert_as_found();
        }
    }
}
