//! What a power cut leaves, where it may leave any part.

use std::collections::BTreeSet;

use hal::{Clock, Mmio};
use sim::nvme::store::{MemoryStore, Store};
use sim::pcie::{ControllerConfig, Cut, Fault, Loss, NamespaceConfig, WriteCache};

use crate::host::{Host, Script};

/// A host on a store, of a controller with that seed which loses a subset.
fn host(seed: u64, awupf: u16, change: impl FnOnce(&mut ControllerConfig)) -> (Host, MemoryStore) {
    let store = MemoryStore::new(1 << 20);
    let namespaces = vec![NamespaceConfig::on(1, 512, store.share())];
    let write_cache = WriteCache { loss: Loss::Subset, ..WriteCache::default() };
    let mut config = ControllerConfig { seed, awupf, write_cache, namespaces, ..ControllerConfig::new() };
    change(&mut config);
    (Host::up(config), store)
}

fn fill(host: &Host, value: u8) -> u64 {
    host.put(host.data, &[value; 4096]);
    host.data
}

fn write(host: &mut Host, first: u64, count: u32, value: u8) {
    let data = fill(host, value);
    assert_eq!(host.io(Script::write(first, count, [data, 0])).status, 0);
}

/// The first byte of each of the first blocks, on the medium.
fn durable<const BLOCKS: usize>(store: &MemoryStore) -> [u8; BLOCKS] {
    std::array::from_fn(|block| {
        let mut bytes = [0; 512];
        store.read_at(block as u64 * 512, &mut bytes).unwrap();
        assert_eq!(bytes, [bytes[0]; 512], "a block is never torn");
        bytes[0]
    })
}

/// What is left over many seeds.
fn left<const BLOCKS: usize>(awupf: u16, act: impl Fn(&mut Host)) -> BTreeSet<[u8; BLOCKS]> {
    let run = |seed| {
        let (mut host, store) = host(seed, awupf, |_| ());
        act(&mut host);
        host.board.cut_power();
        host.assert_clean();
        durable(&store)
    };
    (0..200).map(run).collect()
}

#[test]
fn of_each_block_any_version_since_the_durable_one_may_survive_in_any_order() {
    let all = left::<2>(0, |host| {
        write(host, 0, 1, 1);
        assert_eq!(host.io(Script::flush()).status, 0);
        write(host, 0, 1, 2);
        write(host, 1, 1, 3);
        write(host, 0, 1, 4);
    });
    let expected = [1, 2, 4].into_iter().flat_map(|first| [[first, 0], [first, 3]]);
    assert_eq!(all, expected.collect());
}

#[test]
fn a_write_that_awupf_covers_is_all_or_nothing_and_a_longer_one_any_of_its_blocks() {
    assert_eq!(left::<2>(1, |host| write(host, 0, 2, 7)), [[0, 0], [7, 7]].into());
    assert_eq!(left::<2>(0, |host| write(host, 0, 2, 7)), [[0, 0], [0, 7], [7, 0], [7, 7]].into());
}

#[test]
fn a_write_under_way_is_torn_alike_forced_or_not() {
    for forced in [0, 1 << 30] {
        let act = |host: &mut Host| {
            let data = fill(host, 7);
            let mut script = Script::write(0, 2, [data, 0]);
            script.dwords[2] |= forced;
            host.submit(1, script);
        };
        assert_eq!(left::<2>(1, act), [[0, 0], [7, 7]].into());
        assert_eq!(left::<2>(0, act), [[0, 0], [0, 7], [7, 0], [7, 7]].into());
    }
}

#[test]
fn what_was_flushed_forced_or_written_through_survives_whatever_came_before_and_after() {
    let flushed = left::<1>(0, |host| {
        write(host, 0, 1, 1);
        write(host, 0, 1, 2);
        assert_eq!(host.io(Script::flush()).status, 0);
    });
    assert_eq!(flushed, [[2]].into());
    let forced = left::<1>(0, |host| {
        write(host, 0, 1, 1);
        let data = fill(host, 2);
        let script = Script { dwords: [0, 0, 1 << 30, 0, 0, 0], ..Script::write(0, 1, [data, 0]) };
        assert_eq!(host.io(script).status, 0);
    });
    assert_eq!(forced, [[2]].into());
    let through = left::<2>(0, |host| {
        write(host, 0, 1, 1);
        assert_eq!(host.admin(Script::admin(9, 6, 0)).status, 0);
        write(host, 1, 1, 2);
    });
    assert_eq!(through, [[1, 2]].into());
    let other = left::<1>(0, |host| {
        write(host, 0, 1, 1);
        host.board.change_write_cache(false);
    });
    assert_eq!(other, [[1]].into());
}

#[test]
fn a_reset_loses_nothing_and_one_that_turns_the_cache_off_writes_it_back() {
    for enabled in [false, true] {
        let (mut host, store) = host(3, 0, |config| config.write_cache.enabled = enabled);
        assert_eq!(host.admin(Script::admin(9, 6, 1)).status, 0);
        write(&mut host, 0, 1, 1);
        host.reset();
        assert_eq!(durable::<1>(&store), [u8::from(!enabled)]);
        host.enable(0);
        host.wait_status(1, 1);
        host.create_pair(1, 16);
        assert_eq!(host.admin(Script::admin(0x0a, 6, 0)).result, u32::from(enabled));
        assert_eq!(host.io(Script::flush()).status, 0);
        assert_eq!(durable::<1>(&store), [1]);
    }
}

#[test]
fn a_cut_comes_after_so_many_events_or_at_a_moment_and_leaves_the_power_off() {
    let (mut host, _) = host(1, 0, |_| ());
    host.board.plan_cut(Some(Cut::AfterEvents(2)));
    let data = fill(&host, 1);
    host.submit(1, Script::write(0, 1, [data, 0]));
    assert_eq!(host.board.cut_at(), None, "the doorbell was the first event");
    host.board.pass(1_000_000);
    let cut = host.board.cut_at().unwrap();
    assert_eq!(host.bar.read32(0x1c), u32::MAX);
    host.board.power_on();
    assert_eq!((host.board.cut_at(), host.bar.read32(0x1c)), (None, 0));
    host.board.plan_cut(Some(Cut::At(cut + 5_000_000)));
    host.board.pass(10_000_000);
    assert_eq!(host.board.cut_at(), Some(cut + 5_000_000));
}

#[test]
fn the_atomic_write_unit_over_a_power_failure_stands_in_identify() {
    let (mut host, _) = host(1, 7, |_| ());
    let page = host.data;
    assert_eq!(host.admin(Script::identify(1, 0, page)).status, 0);
    assert_eq!(host.get(page + 526, 4), [7, 0, 7, 0]);
}

#[test]
fn a_namespace_without_a_cache_says_so_from_version_2_on_and_writes_through() {
    for (version, status) in [(0x0002_0000, 0), (0x0001_0400, 2)] {
        let (mut host, store) = host(1, 0, |config| {
            config.version = version;
            config.namespaces[0].no_cache = true;
        });
        write(&mut host, 0, 1, 1);
        assert_eq!(durable::<1>(&store), [1]);
        let page = host.data;
        assert_eq!(host.admin(Script::identify(8, 1, page)).status, status);
        assert!(status != 0 || host.get(page, 1) == [1 << 5]);
    }
}

#[test]
fn features_and_flushes_go_wrong_as_planned() {
    let (mut host, store) = host(1, 0, |config| {
        config.faults.extend([Fault::FlushFails(1), Fault::FlushDelayed { flush: 2, delay_ns: 8_000_000 }]);
    });
    assert_eq!([0, 1].map(|_| host.io(Script::flush()).half_word), [0, 0x500]);
    let before = host.board.clock().now().as_nanos();
    assert_eq!(host.io(Script::flush()).half_word, 0);
    assert!(host.board.clock().now().as_nanos() - before >= 8_000_000);
    assert_eq!(host.board.flushes(), 3);
    host.board.clear_faults();
    host.board.add_fault(Fault::WriteCacheStuck);
    assert_eq!(host.admin(Script::admin(9, 6, 0)).status, 0);
    assert!(host.board.write_cache_enabled());
    host.board.clear_faults();
    host.board.add_fault(Fault::SetFeatureFailsAfter { feature: 6, half_word: 0x0c });
    assert_eq!(host.admin(Script::admin(9, 6, 0)).status, 6);
    assert!(!host.board.write_cache_enabled());
    host.board.add_fault(Fault::GetFeatureReads { feature: 6, value: 0xdead });
    assert_eq!(host.admin(Script::admin(0x0a, 6, 0)).result, 0xdead);
    host.board.clear_faults();
    host.board.add_fault(Fault::GetFeatureFails { feature: 6, half_word: 0x0e });
    assert_eq!(host.admin(Script::admin(0x0a, 6, 0)).status, 7);
    assert_eq!(durable::<1>(&store), [0]);
}
