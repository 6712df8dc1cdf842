//! Sizes: pages, lists of pages, transfers, blocks, queues and the distance of doorbells.

use hal::DmaRegion;
use nvme::{Buffer, Error, Operation, Request, ShadowDoorbells, Unusable};
use sim::pcie::{Capabilities, ControllerConfig, NamespaceConfig};

use crate::rig::{Driver, Rig, arm, buffer, pattern, settings, stream, up};

fn paged(page_min: u8) -> ControllerConfig {
    let capabilities = Capabilities { page_min, page_max: page_min.max(4), ..Capabilities::default() };
    let namespaces = vec![NamespaceConfig::new(1, 512, 20 << 20)];
    ControllerConfig { capabilities, mdts: 0, namespaces, ..ControllerConfig::new() }
}

/// A buffer whose first byte lies `offset` bytes into a page.
fn at(driver: &Driver, offset: usize, length: usize) -> Buffer<sim::pcie::Pool> {
    let region = DmaRegion::new(driver.pool(), offset + length, driver.page_size()).unwrap();
    Buffer::part(region, offset, length).unwrap()
}

#[test]
fn transfers_of_every_shape_of_list_arrive_with_every_page_size() {
    for page_min in 0..=2 {
        let rig = Rig::new(paged(page_min));
        let mut driver = rig.enable(settings(|config| config.transfer = 16 << 20), ShadowDoorbells::BeforeQueues);
        let page = driver.page_size();
        assert_eq!(page, 4096 << page_min);
        arm(&mut driver, 1);
        let offsets = [0x10, 512, page - 512, 4, page - 4, 0x800, page / 2, page - 8];
        for (pages, offset) in [1, 2, 3, 511, 512, 513, 1023, 1025].into_iter().zip(offsets) {
            let bytes = pages * page;
            if bytes > 16 << 20 {
                continue;
            }
            let (data, count) = (pattern(bytes as u64, bytes), (bytes / 512) as u32);
            for offset in [offset, 0] {
                let out = at(&driver, offset, bytes);
                out.write_bytes(0, &data);
                let lba = (pages % 7) as u64;
                let write = Operation::Write { lba, count, force_unit_access: false };
                driver.submit(Request { namespace: 1, operation: write, buffer: Some(out) }).unwrap();
                driver.wait().unwrap().result.unwrap();
                let back = Some(at(&driver, page - 4 - offset / 4 * 4, bytes));
                let read = Operation::Read { lba, count };
                driver.submit(Request { namespace: 1, operation: read, buffer: back }).unwrap();
                let completion = driver.wait().unwrap();
                completion.result.unwrap();
                let mut read = vec![0; bytes];
                completion.buffer.unwrap().read_bytes(0, &mut read);
                assert!(read == data, "{pages} pages at {offset}");
            }
        }
        rig.down(driver);
    }
}

#[test]
fn a_page_that_is_larger_than_any_host_gives_away_is_refused_before_anything_is_taken() {
    let rig = Rig::new(paged(5));
    let failure = rig.try_enable(nvme::Config::default(), ShadowDoorbells::Off, &mut |_| ()).unwrap_err();
    assert_eq!(failure.error, Error::PageSize { smallest: 5 });
    assert!(rig.board.log().iter().all(|access| !access.write));
    assert_eq!(rig.board.pool_pages(), (0, 0));
    rig.clean();
}

#[test]
fn queues_are_as_long_as_the_controller_allows_and_full_at_one_less() {
    for (queue_entries, depth) in
        [(1, 1), (2, 2), (3, 3), (7, 7), (62, 62), (63, 63), (64, 64), (1023, 64), (65535, 64)]
    {
        for shadow in [ShadowDoorbells::Off, ShadowDoorbells::BeforeQueues] {
            let capabilities = Capabilities { queue_entries, ..Capabilities::default() };
            let (rig, mut driver) = up(ControllerConfig { capabilities, ..ControllerConfig::new() }, shadow);
            assert_eq!(driver.depth(), depth);
            stream(&mut driver, 0, 300, depth, 11);
            assert_eq!(rig.board.counters().queue_full, 0);
            rig.down(driver);
        }
    }
}

#[test]
fn a_queue_of_one_entry_is_too_short_and_refused() {
    let capabilities = Capabilities { queue_entries: 0, ..Capabilities::default() };
    let rig = Rig::new(ControllerConfig { capabilities, ..ControllerConfig::new() });
    let failure = rig.try_enable(nvme::Config::default(), ShadowDoorbells::Off, &mut |_| ()).unwrap_err();
    assert!(matches!(failure.error, Error::Transport(_)), "{failure}");
    rig.nothing_left();
    rig.clean();
}

#[test]
fn the_owner_s_depth_holds_where_the_controller_allows_more() {
    for depth in [0, 1, 5, 64, 1000] {
        let rig = Rig::new(ControllerConfig::new());
        let mut driver = rig.enable(settings(|config| config.depth = depth), ShadowDoorbells::BeforeQueues);
        assert_eq!(driver.depth(), u32::from(depth.clamp(1, 64)));
        let depth = driver.depth();
        stream(&mut driver, 0, 200, depth, 2);
        rig.down(driver);
    }
}

#[test]
fn doorbells_are_found_at_every_distance() {
    for doorbell_stride in 0..=5 {
        for shadow in [ShadowDoorbells::Off, ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues] {
            let capabilities = Capabilities { doorbell_stride, ..Capabilities::default() };
            let rig = Rig::new(ControllerConfig { capabilities, ..ControllerConfig::new() });
            let mut driver = rig.enable(settings(|config| config.queue_pairs = 4), shadow);
            assert_eq!(driver.doorbells().shadowed, shadow != ShadowDoorbells::Off);
            for index in 0..4 {
                stream(&mut driver, index, 100, 7, 3);
            }
            rig.down(driver);
        }
    }
}

#[test]
fn doorbells_too_far_apart_for_a_page_of_them_are_all_rung() {
    let capabilities = Capabilities { doorbell_stride: 9, ..Capabilities::default() };
    let config = ControllerConfig { capabilities, ..ControllerConfig::new() };
    let (rig, mut driver) = up(config, ShadowDoorbells::BeforeQueues);
    assert!(!driver.doorbells().shadowed);
    stream(&mut driver, 0, 100, 7, 3);
    assert_eq!(rig.ran("doorbell-buffer-config"), 0);
    rig.down(driver);
}

#[test]
fn what_one_command_moves_is_cut_to_what_the_controller_takes() {
    const LENGTH: usize = 300 << 10;
    for block_size in [512, 4096] {
        for (mdts, most) in [(0, 1 << 20), (1, 8 << 10), (5, 128 << 10), (7, 512 << 10), (8, 1 << 20), (255, 1 << 20)] {
            let namespaces = vec![NamespaceConfig::new(1, block_size, 1 << 20)];
            let config = ControllerConfig { mdts, namespaces, ..ControllerConfig::new() };
            let (rig, mut driver) = up(config, ShadowDoorbells::BeforeQueues);
            assert_eq!((driver.identity().mdts, driver.identity().transfer), (mdts, most));
            arm(&mut driver, 1);
            let data = pattern(u64::from(mdts), LENGTH);
            driver.write(1, 3, &data).unwrap();
            let mut read = vec![0; LENGTH];
            driver.read(1, 3, &mut read).unwrap();
            assert!(read == data);
            let commands = LENGTH.div_ceil(most) as u64;
            assert_eq!((rig.ran("write"), rig.ran("read")), (commands, commands), "{mdts} {block_size}");
            // One block more than fits is refused, and not sent.
            let count = (most as u32) / block_size + 1;
            let too_long = Some(buffer(&driver, count as usize * block_size as usize));
            let request = Request { namespace: 1, operation: Operation::Read { lba: 0, count }, buffer: too_long };
            let refused = driver.submit(request).unwrap_err();
            assert_eq!(refused.error, nvme::SubmitError::TooManyBlocks { count, most: count - 1 });
            drop(refused);
            assert_eq!(rig.ran("read"), commands);
            rig.down(driver);
        }
    }
}

#[test]
fn blocks_of_every_size_are_read_and_written_and_one_too_large_for_a_command_is_left_out() {
    for shift in 9..=16 {
        let namespaces = vec![NamespaceConfig::new(1, 1 << shift, 4 << 20)];
        let (rig, mut driver) = up(ControllerConfig { namespaces, ..ControllerConfig::new() }, ShadowDoorbells::Off);
        assert_eq!(
            (driver.namespaces()[0].block_size(), driver.namespaces()[0].blocks),
            (1 << shift, (4 << 20) >> shift)
        );
        arm(&mut driver, 1);
        let data = pattern(shift, 3 << shift);
        driver.write(1, 1, &data).unwrap();
        let mut read = vec![0; data.len()];
        driver.read(1, 1, &mut read).unwrap();
        assert!(read == data);
        rig.down(driver);
    }
    let namespaces = vec![NamespaceConfig::new(1, 16384, 1 << 20), NamespaceConfig::new(2, 8192, 1 << 20)];
    let config = ControllerConfig { mdts: 1, namespaces, ..ControllerConfig::new() };
    let (rig, driver) = up(config, ShadowDoorbells::Off);
    assert_eq!(driver.left_out(), [(1, Unusable::BlockSize { shift: 14 })]);
    assert_eq!(driver.namespaces().iter().map(|namespace| namespace.id).collect::<Vec<_>>(), [2]);
    rig.down(driver);
}
