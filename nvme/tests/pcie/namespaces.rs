//! Namespaces: found by list or one by one, and left out with a reason.

use nvme::{Access, Deallocated, ShadowDoorbells, SubmitError, Unusable};
use sim::pcie::{Board, ControllerConfig, NamespaceConfig};

use crate::rig::{Driver, Rig, Seen, arm, pattern, settings, up};

fn with(namespaces: Vec<NamespaceConfig>) -> ControllerConfig {
    ControllerConfig { namespaces, ..ControllerConfig::new() }
}

fn ids(driver: &Driver) -> Vec<u32> {
    driver.namespaces().iter().map(|namespace| namespace.id).collect()
}

fn one_and_three() -> Vec<NamespaceConfig> {
    vec![NamespaceConfig::new(1, 512, 1 << 20), NamespaceConfig::new(3, 4096, 2 << 20)]
}

#[test]
fn namespaces_one_and_three_are_found_by_list_without_a_list_and_before_lists() {
    let listed = with(one_and_three());
    let broken = ControllerConfig { active_list: false, ..with(one_and_three()) };
    let old = ControllerConfig { version: 0x0001_0000, ..with(one_and_three()) };
    let older_middle = ControllerConfig { version: 0x0001_0200, ..with(one_and_three()) };
    // Identify commands: the controller, the list, then two for each namespace, or one where there are no descriptors.
    for (config, identifies) in [(listed, 2 + 4), (broken, 2 + 6), (old, 1 + 3), (older_middle, 2 + 2)] {
        let (rig, mut driver) = up(config, ShadowDoorbells::BeforeQueues);
        assert_eq!(ids(&driver), [1, 3]);
        assert_eq!(rig.ran("identify"), identifies);
        assert!(driver.left_out().is_empty());
        assert_eq!((driver.namespaces()[1].blocks, driver.namespaces()[1].block_size()), (512, 4096));
        for id in [1, 3] {
            arm(&mut driver, id);
            driver.write(id, 5, &pattern(id.into(), 8192)).unwrap();
        }
        let mut read = vec![0; 8192];
        driver.read(1, 5, &mut read).unwrap();
        assert!(read == pattern(1, 8192));
        assert_eq!(driver.read(2, 0, &mut read), Err(SubmitError::UnknownNamespace { namespace: 2 }.into()));
        rig.down(driver);
    }
}

#[test]
fn more_namespaces_than_are_kept_leave_the_first_ones() {
    let config = with((1..=40).map(|id| NamespaceConfig::new(id, 512, 4096)).collect());
    let (rig, driver) = up(config, ShadowDoorbells::BeforeQueues);
    assert_eq!(ids(&driver), (1..=16).collect::<Vec<_>>());
    rig.down(driver);
}

#[test]
fn namespaces_behind_many_unusable_ones_are_found() {
    let namespace = |id| NamespaceConfig { zoned: id <= 40, ..NamespaceConfig::new(id, 512, 4096) };
    let (rig, driver) = up(with((1..=43).map(namespace).collect()), ShadowDoorbells::BeforeQueues);
    assert_eq!(ids(&driver), [41, 42, 43]);
    rig.down(driver);
}

#[test]
fn without_a_list_identifiers_are_tried_up_to_the_owner_s_limit() {
    let namespaces = vec![NamespaceConfig::new(2, 512, 4096), NamespaceConfig::new(60, 512, 4096)];
    let rig = Rig::new(ControllerConfig { version: 0x0001_0000, ..with(namespaces) });
    let driver = rig.enable(settings(|config| config.scan = 10), ShadowDoorbells::Off);
    assert_eq!(ids(&driver), [2]);
    assert_eq!(rig.ran("identify"), 11);
    rig.down(driver);
}

#[test]
fn a_zoned_namespace_is_left_out_by_what_it_is() {
    let zoned = NamespaceConfig { zoned: true, ..NamespaceConfig::new(2, 4096, 1 << 20) };
    let (rig, mut driver) = up(with(vec![NamespaceConfig::new(1, 512, 1 << 20), zoned]), ShadowDoorbells::Off);
    assert_eq!(ids(&driver), [1]);
    assert_eq!(driver.left_out(), [(2, Unusable::CommandSet { identifier: 2 })]);
    assert_eq!(driver.left_out()[0].1.to_string(), "of the zoned command set");
    assert!(driver.device(2).is_err());
    assert_eq!(driver.read(2, 0, &mut [0; 4096]), Err(SubmitError::UnknownNamespace { namespace: 2 }.into()));
    rig.down(driver);
}

#[test]
fn a_write_protected_namespace_can_be_read_and_not_armed() {
    let protected = NamespaceConfig { read_only: true, ..NamespaceConfig::new(1, 512, 1 << 20) };
    let (rig, mut driver) = up(with(vec![protected]), ShadowDoorbells::BeforeQueues);
    assert!(driver.namespaces()[0].write_protected);
    let all = Access::ReadWrite { first: 0, blocks: 2048 };
    assert_eq!(driver.set_access(1, all), Err(SubmitError::WriteProtected { namespace: 1 }));
    assert_eq!(driver.set_access(1, Access::ReadOnly), Ok(()));
    driver.read(1, 0, &mut [0; 1024]).unwrap();
    assert_eq!(driver.write(1, 0, &[0; 512]), Err(SubmitError::ReadOnly.into()));
    assert_eq!(rig.ran("write"), 0);
    rig.down(driver);
}

#[test]
fn a_namespace_that_became_write_protected_in_a_reset_is_not_armed_any_more() {
    let (rig, mut driver) = up(ControllerConfig::new(), ShadowDoorbells::BeforeQueues);
    arm(&mut driver, 1);
    rig.board.set_read_only(1, true);
    driver.reset().unwrap();
    assert_eq!(driver.namespaces()[0].access, Access::ReadOnly);
    assert_eq!(driver.write(1, 0, &[0; 512]), Err(SubmitError::ReadOnly.into()));
    rig.down(driver);
}

#[test]
fn what_deallocated_blocks_read_as_is_told() {
    for (deallocated_zeroes, told) in [(true, Deallocated::Zeroes), (false, Deallocated::Unknown)] {
        let namespace = NamespaceConfig { deallocated_zeroes, ..NamespaceConfig::new(1, 512, 1 << 20) };
        let (rig, driver) = up(with(vec![namespace]), ShadowDoorbells::Off);
        assert_eq!(driver.namespaces()[0].deallocated, told);
        rig.down(driver);
    }
}

/// Brings up with the data of Identify changed before the driver looks at it.
fn meddled(config: ControllerConfig, meddle: impl FnMut(&Board, Seen) + 'static) -> (Rig, Driver) {
    let rig = Rig::new(config);
    rig.tap.borrow_mut().meddle = Some(Box::new(meddle));
    let driver = rig.enable(nvme::Config::default(), ShadowDoorbells::BeforeQueues);
    (rig, driver)
}

fn words(list: &[u32]) -> Vec<u8> {
    list.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn a_list_that_does_not_ascend_ends_where_it_breaks() {
    for (list, found) in [
        (vec![1, 3, 2, 3], vec![1, 3]),
        (vec![1, 1, 3], vec![1]),
        (vec![3, 1], vec![3]),
        (vec![1, u32::MAX, 3], vec![1]),
        (vec![0, 1, 3], vec![]),
    ] {
        let (rig, driver) = meddled(with(one_and_three()), move |board, seen| {
            if seen.opcode == 0x06 && seen.tenth & 0xff == 2 {
                board.poke(seen.prp1, &words(&list));
            }
        });
        assert_eq!(ids(&driver), found);
        rig.down(driver);
    }
}

#[test]
fn a_list_that_never_ends_is_not_followed_for_ever() {
    let (rig, driver) = meddled(with(one_and_three()), |board, seen| {
        if seen.opcode == 0x06 && seen.tenth & 0xff == 2 {
            let from = seen.namespace.max(1000) + 1;
            board.poke(seen.prp1, &words(&(from..from + 1024).collect::<Vec<_>>()));
        }
    });
    assert!(driver.namespaces().is_empty());
    assert!(rig.ran("identify") < 3000, "{}", rig.ran("identify"));
    rig.down(driver);
}

#[test]
fn a_format_that_the_driver_cannot_use_is_left_out_by_what_it_is() {
    let format = |bytes: [u8; 4]| move |board: &Board, at: u64| board.poke(at + 128, &bytes);
    type Change = Box<dyn Fn(&Board, u64)>;
    let cases: [(Change, Unusable); 6] = [
        (Box::new(format([8, 0, 9, 0])), Unusable::Metadata { bytes: 8 }),
        (Box::new(format([0, 2, 12, 0])), Unusable::Metadata { bytes: 512 }),
        (Box::new(format([0, 0, 8, 0])), Unusable::BlockSize { shift: 8 }),
        (Box::new(format([0, 0, 17, 0])), Unusable::BlockSize { shift: 17 }),
        (Box::new(format([0, 0, 255, 0])), Unusable::BlockSize { shift: 255 }),
        (Box::new(|board: &Board, at| board.poke(at, &[0xff; 16])), Unusable::TooLarge { blocks: u64::MAX }),
    ];
    for (change, reason) in cases {
        let (rig, driver) = meddled(with(one_and_three()), move |board, seen| {
            if seen.opcode == 0x06 && seen.tenth & 0xff == 0 && seen.namespace == 1 {
                change(board, seen.prp1);
            }
        });
        assert_eq!((ids(&driver), driver.left_out()), (vec![3], [(1, reason)].as_slice()));
        rig.down(driver);
    }
}

#[test]
fn a_namespace_is_as_large_as_what_can_be_addressed_of_it() {
    let (rig, mut driver) = meddled(ControllerConfig::new(), |board, seen| {
        if seen.opcode == 0x06 && seen.tenth & 0xff == 0 {
            // NSZE, NCAP, NUSE.
            for (offset, blocks) in [(0, 1000u64), (8, 900), (16, 12)] {
                board.poke(seen.prp1 + offset, &blocks.to_le_bytes());
            }
        }
    });
    assert_eq!(driver.namespaces()[0].blocks, 1000);
    driver.read(1, 999, &mut [0; 512]).unwrap();
    driver.read(1, 1000, &mut [0; 512]).unwrap_err();
    rig.down(driver);
}
