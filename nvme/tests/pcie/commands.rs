//! What each command does, and what is refused before it is sent.

use nvme::{Access, BlockDevice, BlockError, CommandError, Operation, Request, ShadowDoorbells, SubmitError};
use sim::pcie::{ControllerConfig, Fault, NamespaceConfig, Optional};

use crate::rig::{Driver, arm, buffer, pattern, up};

fn run(driver: &mut Driver, operation: Operation, data: Option<&[u8]>) -> Result<(), CommandError> {
    let buffer = data.map(|data| {
        let buffer = buffer(driver, data.len());
        buffer.write_bytes(0, data);
        buffer
    });
    let had = buffer.is_some();
    driver.submit(Request { namespace: 1, operation, buffer }).unwrap();
    let completion = driver.wait().unwrap();
    assert_eq!(completion.buffer.is_some(), had);
    completion.result
}

fn content(driver: &mut Driver, lba: u64, blocks: usize) -> Vec<u8> {
    let mut bytes = vec![0; blocks * 512];
    driver.read(1, lba, &mut bytes).unwrap();
    bytes
}

#[test]
fn compare_tells_equal_from_different() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    let mut data = pattern(3, 20 * 512);
    driver.write(1, 10, &data).unwrap();
    let compare = Operation::Compare { lba: 10, count: 20 };
    assert_eq!(run(&mut driver, compare, Some(&data)), Ok(()));
    data[20 * 512 - 1] ^= 1;
    match run(&mut driver, compare, Some(&data)) {
        Err(CommandError::Status(status)) => assert_eq!((status.kind(), status.code()), (2, 0x85)),
        other => panic!("{other:?}"),
    }
    assert_eq!(driver.counters().others, 2);
    rig.down(driver);
}

#[test]
fn a_forced_write_is_durable_when_it_ends_and_another_only_after_a_flush() {
    for (force_unit_access, lost) in [(true, 0), (false, 8)] {
        let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
        arm(&mut driver, 1);
        let write = Operation::Write { lba: 64, count: 8, force_unit_access };
        run(&mut driver, write, Some(&pattern(1, 4096))).unwrap();
        assert_eq!(rig.board.cut_power(), lost);
        drop(driver);
        rig.clean();
    }
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    driver.write(1, 64, &pattern(1, 4096)).unwrap();
    driver.flush(1).unwrap();
    assert_eq!((driver.counters().flushes, driver.counters().flush_time), (1, driver.counters().longest_flush));
    assert!(driver.counters().flush_time >= std::time::Duration::from_millis(1));
    assert_eq!(rig.board.cut_power(), 0);
    drop(driver);
    rig.clean();
}

#[test]
fn a_shutdown_makes_everything_durable() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    driver.write(1, 64, &pattern(1, 4096)).unwrap();
    rig.down(driver);
    assert_eq!(rig.board.cut_power(), 0);
}

#[test]
fn zeroed_and_discarded_blocks_read_as_zeroes_and_their_neighbours_stay() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::AfterQueues);
    arm(&mut driver, 1);
    let data = pattern(9, 100 * 512);
    for discards in [false, true] {
        driver.write(1, 0, &data).unwrap();
        match discards {
            false => driver.write_zeroes(1, 7, 50).unwrap(),
            true => driver.discard(1, 7, 50).unwrap(),
        }
        let read = content(&mut driver, 0, 100);
        assert!(read[..7 * 512] == data[..7 * 512] && read[57 * 512..] == data[57 * 512..]);
        assert!(read[7 * 512..57 * 512].iter().all(|byte| *byte == 0));
    }
    rig.down(driver);
}

#[test]
fn more_blocks_than_one_command_can_zero_are_zeroed_in_several_and_discarded_in_one() {
    const BLOCKS: u64 = 65536 * 2 + 17;
    let namespaces = vec![NamespaceConfig::new(1, 512, BLOCKS * 512)];
    let (rig, mut driver) = up(ControllerConfig { namespaces, ..ControllerConfig::new() }, ShadowDoorbells::Off);
    arm(&mut driver, 1);
    let data = pattern(2, 512);
    for lba in [0, 65535, 65536, BLOCKS - 1] {
        driver.write(1, lba, &data).unwrap();
    }
    driver.write_zeroes(1, 0, BLOCKS).unwrap();
    assert_eq!(rig.ran("write-zeroes"), 3);
    for lba in [0, 65535, 65536, BLOCKS - 1] {
        assert!(content(&mut driver, lba, 1).iter().all(|byte| *byte == 0));
        driver.write(1, lba, &data).unwrap();
    }
    driver.discard(1, 1, BLOCKS - 1).unwrap();
    assert_eq!(rig.ran("dataset-management"), 1);
    assert!(content(&mut driver, BLOCKS - 1, 1).iter().all(|byte| *byte == 0));
    assert!(content(&mut driver, 0, 1) == data);
    rig.down(driver);
}

#[test]
fn many_discards_in_flight_each_name_their_own_blocks() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    let data = pattern(4, 256 * 512);
    driver.write(1, 0, &data).unwrap();
    for index in 0..64 {
        let operation = Operation::Discard { lba: index * 4, count: 2 };
        driver.submit(Request { namespace: 1, operation, buffer: None }).unwrap();
    }
    while let Some(completion) = driver.wait() {
        completion.result.unwrap();
    }
    let read = content(&mut driver, 0, 256);
    for (index, (now, before)) in read.chunks(512).zip(data.chunks(512)).enumerate() {
        let gone = index % 4 < 2;
        assert!(if gone { now.iter().all(|byte| *byte == 0) } else { now == before }, "block {index}");
    }
    rig.down(driver);
}

#[test]
fn what_the_controller_does_not_have_is_refused_and_not_sent() {
    let none = Optional { compare: false, dataset_management: false, write_zeroes: false, ..Optional::default() };
    let (rig, mut driver) = up(ControllerConfig { optional: none, ..ControllerConfig::new() }, ShadowDoorbells::Off);
    arm(&mut driver, 1);
    let before = rig.ran_all();
    for (operation, opcode) in [
        (Operation::Compare { lba: 0, count: 1 }, 0x05),
        (Operation::WriteZeroes { lba: 0, count: 1 }, 0x08),
        (Operation::Discard { lba: 0, count: 1 }, 0x09),
    ] {
        let request = Request { namespace: 1, operation, buffer: Some(buffer(&driver, 512)) };
        let refused = driver.submit(request).unwrap_err();
        assert_eq!((refused.error, refused.buffer.is_some()), (SubmitError::Unsupported { opcode }, true));
    }
    assert_eq!(driver.discard(1, 0, 4), Err(SubmitError::Unsupported { opcode: 9 }.into()));
    driver.ring();
    assert_eq!((rig.ran_all(), rig.board.counters().submission_doorbells), (before, 0));
    rig.down(driver);
}

#[test]
fn no_refused_request_puts_anything_on_the_wire() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    let blocks = driver.namespaces()[0].blocks;
    driver.set_access(1, Access::ReadWrite { first: 100, blocks: 10 }).unwrap();
    let before = rig.ran_all();
    let write = |lba, count| Operation::Write { lba, count, force_unit_access: false };
    let outside = |lba, count: u32| SubmitError::OutOfRange { lba, count: u64::from(count), blocks };
    let cases = [
        (1, Operation::Read { lba: 0, count: 0 }, Some(512), SubmitError::NoBlocks),
        (1, Operation::Read { lba: blocks, count: 1 }, Some(512), outside(blocks, 1)),
        (1, Operation::Read { lba: blocks - 1, count: 2 }, Some(1024), outside(blocks - 1, 2)),
        (1, Operation::Read { lba: u64::MAX, count: 2 }, Some(1024), outside(u64::MAX, 2)),
        (
            1,
            Operation::Read { lba: 0, count: 2 },
            Some(1023),
            SubmitError::BufferTooShort { needed: 1024, given: 1023 },
        ),
        (1, Operation::Read { lba: 0, count: 2 }, None, SubmitError::BufferTooShort { needed: 1024, given: 0 }),
        (1, Operation::Compare { lba: 0, count: 1 }, None, SubmitError::BufferTooShort { needed: 512, given: 0 }),
        (0, Operation::Read { lba: 0, count: 1 }, Some(512), SubmitError::UnknownNamespace { namespace: 0 }),
        (2, Operation::Flush, None, SubmitError::UnknownNamespace { namespace: 2 }),
        (u32::MAX, Operation::Flush, None, SubmitError::UnknownNamespace { namespace: u32::MAX }),
        (1, write(99, 1), Some(512), SubmitError::ReadOnly),
        (1, write(109, 2), Some(1024), SubmitError::ReadOnly),
        (1, write(u64::MAX, 1), Some(512), SubmitError::ReadOnly),
        (1, Operation::WriteZeroes { lba: 110, count: 1 }, None, SubmitError::ReadOnly),
        (1, Operation::WriteZeroes { lba: 105, count: 0 }, None, SubmitError::NoBlocks),
        (1, Operation::Discard { lba: 95, count: 10 }, None, SubmitError::ReadOnly),
        (1, Operation::Discard { lba: 105, count: 0 }, None, SubmitError::NoBlocks),
        (1, Operation::Discard { lba: 105, count: u32::MAX }, None, SubmitError::ReadOnly),
    ];
    for (namespace, operation, bytes, error) in cases {
        let buffer = bytes.map(|bytes| buffer(&driver, bytes));
        let given = buffer.is_some();
        let refused = driver.submit(Request { namespace, operation, buffer }).unwrap_err();
        assert_eq!((refused.error, refused.buffer.is_some()), (error, given), "{operation:?}");
    }
    assert_eq!(driver.write(1, 105, &[0; 512 * 6]), Err(SubmitError::ReadOnly.into()));
    assert_eq!(driver.write_zeroes(1, 105, 6), Err(SubmitError::ReadOnly.into()));
    assert_eq!(
        driver.discard(1, 105, u64::MAX),
        Err(SubmitError::OutOfRange { lba: 105, count: u64::MAX, blocks }.into())
    );
    let uneven = BlockError::Length { length: 100, block_size: 512 };
    assert_eq!(driver.read(1, 0, &mut [0; 100]), Err(uneven));
    driver.ring();
    assert_eq!((rig.ran_all(), rig.board.counters().submission_doorbells, driver.in_flight()), (before, 0, 0));
    rig.down(driver);
}

#[test]
fn a_buffer_that_does_not_lie_on_a_word_is_refused() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::Off);
    for offset in [1, 2, 3, 5] {
        let region = hal::DmaRegion::new(driver.pool(), 4096, 4096).unwrap();
        let buffer = Some(nvme::Buffer::part(region, offset, 512).unwrap());
        let request = Request { namespace: 1, operation: Operation::Read { lba: 0, count: 1 }, buffer };
        assert!(matches!(driver.submit(request).unwrap_err().error, SubmitError::Misaligned { .. }));
    }
    assert_eq!(rig.ran("read"), 0);
    rig.down(driver);
}

#[test]
fn a_failed_command_gives_its_status_and_its_buffer_and_the_next_one_works() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    for fault in [Fault::ReadError(5), Fault::WriteError(6), Fault::FlushError] {
        rig.board.add_fault(fault);
    }
    let write = Operation::Write { lba: 6, count: 1, force_unit_access: false };
    for (operation, data, expected) in [
        (Operation::Read { lba: 4, count: 3 }, Some([0; 1536].as_slice()), (2, 0x81)),
        (write, Some([0; 512].as_slice()), (2, 0x80)),
        (Operation::Flush, None, (2, 0x80)),
    ] {
        match run(&mut driver, operation, data) {
            Err(CommandError::Status(status)) => {
                assert_eq!((status.kind(), status.code()), expected);
            }
            other => panic!("{operation:?}: {other:?}"),
        }
    }
    assert_eq!(driver.fault(), None);
    run(&mut driver, Operation::Read { lba: 7, count: 1 }, Some(&[0; 512])).unwrap();
    rig.down(driver);
}

#[test]
fn a_device_of_blocks_moves_what_its_controller_does() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    assert!(driver.device(1).unwrap().read_only());
    arm(&mut driver, 1);
    let mut disk = driver.device(1).unwrap();
    assert_eq!((disk.block_size(), disk.block_count(), disk.read_only()), (512, 32768, false));
    let data = pattern(6, 2048);
    disk.write(9, &data).unwrap();
    disk.flush().unwrap();
    let mut read = vec![0; 2048];
    disk.read(9, &mut read).unwrap();
    assert!(read == data);
    disk.discard(9, 4).unwrap();
    disk.read(9, &mut read).unwrap();
    assert!(read.iter().all(|byte| *byte == 0));
    rig.down(driver);
}
