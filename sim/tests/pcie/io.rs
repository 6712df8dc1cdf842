//! The NVM command set: data, pointers, limits and the write cache.

use hal::DmaPool;
use sim::nvme::store::{MemoryStore, Store};
use sim::pcie::{ControllerConfig, Fault, NamespaceConfig, Optional, WriteCache};

use crate::host::{DATA_BYTES, Host, Script};

fn config() -> ControllerConfig {
    ControllerConfig::new()
}

fn blocks_of(block_size: u32) -> ControllerConfig {
    ControllerConfig { namespaces: vec![NamespaceConfig::new(1, block_size, 64 << 20)], ..config() }
}

/// A list page that leads to pages of the data buffer, one entry a page.
fn list(host: &Host, at: u64, pages: &[u64]) {
    host.put(at, &pages.iter().flat_map(|page| page.to_le_bytes()).collect::<Vec<_>>());
}

#[test]
fn every_block_size_reads_back_what_was_written() {
    for shift in 9..=16 {
        let size = 1_u32 << shift;
        let mut host = Host::up(blocks_of(size));
        let (data, bytes) = (host.data, size as usize);
        let prp = match bytes {
            ..=4096 => [data, 0],
            8192 => [data, data + 4096],
            _ => [data, data + 0x8_0000],
        };
        list(&host, data + 0x8_0000, &(1..16).map(|page| data + page * 4096).collect::<Vec<_>>());
        let content: Vec<u8> = (0..bytes).map(|at| (at % 251) as u8).collect();
        host.put(data, &content);
        assert_eq!(host.io(Script::write(3, 1, prp)).status, 0);
        host.put(data, &vec![0; bytes]);
        assert_eq!(host.io(Script::read(3, 1, prp)).status, 0);
        assert_eq!(host.get(data, bytes), content);
        host.assert_clean();
    }
}

#[test]
fn lists_chain_where_more_than_one_entry_remains_and_not_where_one_does() {
    // A list page holds 512 entries; the first page is PRP1's.
    for pages in [2_u64, 3, 512, 513, 514, 1024] {
        let mut host = Host::up(ControllerConfig { mdts: 0, ..blocks_of(4096) });
        let (buffer, lists) = (host.memory((pages * 4096) as usize), host.memory(16384));
        let data: Vec<u64> = (1..pages).map(|page| buffer + page * 4096).collect();
        let second = match data.as_slice() {
            [only] => *only,
            all if all.len() <= 512 => {
                list(&host, lists, all);
                lists
            }
            all => {
                list(&host, lists, &all[..511]);
                list(&host, lists + 511 * 8, &[lists + 8192]);
                list(&host, lists + 8192, &all[511..]);
                lists
            }
        };
        host.put(buffer, &vec![7; (pages * 4096) as usize]);
        assert_eq!(host.io(Script::write(0, pages as u32, [buffer, second])).status, 0, "{pages}");
        host.put(buffer, &vec![0; (pages * 4096) as usize]);
        assert_eq!(host.io(Script::read(0, pages as u32, [buffer, second])).status, 0, "{pages}");
        assert!(host.get(buffer, (pages * 4096) as usize).iter().all(|byte| *byte == 7));
        host.assert_clean();
    }
}

#[test]
fn offsets_are_allowed_in_the_first_pointer_and_in_that_to_a_list() {
    let mut host = Host::up(config());
    let data = host.data;
    list(&host, data + 0x8_0008, &[data + 0x1000, data + 0x2000]);
    assert_eq!(host.io(Script::read(0, 17, [data + 0xe00, data + 0x8_0008])).status, 0);
    assert_eq!(host.io(Script::read(0, 1, [data + 4, 0])).status, 0);
    assert_eq!(host.io(Script::read(0, 8, [data + 0x800, data + 0x1000])).status, 0);
    host.assert_clean();
}

#[test]
fn wrong_pointers_are_caught_and_fail() {
    let wrong: [(u32, [u64; 2], &str, u16); 8] = [
        (1, [2, 0], "prp-offset", 0x13),
        (1, [0x800, 0x1000], "prp2-reserved", 0),
        (16, [0, 0x1200], "prp-offset", 0x13),
        (16, [0x200, 0x1000], "prp-missing", 0x02),
        (24, [0, 0x8_0004], "prp-offset", 0x13),
        (24, [0, 0x8_0000], "prp-missing", 0x02),
        (24, [0, 0x8_0100], "prp-offset", 0x13),
        (24, [0, 0x4000_0000_0000], "dma-fault", 0x04),
    ];
    for (blocks, prp, rule, status) in wrong {
        let mut host = Host::up(config());
        let data = host.data;
        host.put(data + 0x8_0100, &[1; 64]);
        let second = if blocks == 1 && prp[1] == 0 { 0 } else { data + prp[1] };
        assert_eq!(host.io(Script::read(0, blocks, [data + prp[0], second])).status, status, "{prp:x?}");
        host.assert_only(rule);
    }
    let mut host = Host::up(config());
    assert_eq!(host.io(Script::read(0, 1, [0, 0])).status, 0x02);
    host.assert_only("prp-missing");
}

#[test]
fn a_list_or_data_that_changes_in_flight_is_caught() {
    let mut host = Host::up(config());
    let data = host.data;
    list(&host, data + 0x8_0000, &[data + 0x1000, data + 0x2000]);
    host.submit(1, Script::read(0, 24, [data, data + 0x8_0000]));
    list(&host, data + 0x8_0000, &[data + 0x3000, data + 0x2000]);
    host.wait(1);
    host.assert_only("prp-list-changed-in-flight");
    let mut host = Host::up(config());
    let data = host.data;
    host.submit(1, Script::write(0, 1, [data, 0]));
    host.put(data, &[1]);
    host.wait(1);
    host.assert_only("buffer-changed-in-flight");
    let mut host = Host::up(config());
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    host.submit(1, Script::read(1, 1, [data + 256, 0]));
    host.assert_only("buffer-in-flight");
}

#[test]
fn data_read_unobserved_and_data_over_a_queue_are_caught() {
    let mut host = Host::up(config());
    let data = host.data;
    host.submit(1, Script::read(0, 1, [data, 0]));
    host.board.pass(1_000_000);
    host.pool.read(data, &mut [0; 512]);
    host.assert_only("memory-not-observed");
    let mut host = Host::up(config());
    let queue = host.pair(1).completions;
    host.submit(1, Script::read(0, 1, [queue + 0x80, 0]));
    host.assert_only("buffer-over-queue");
}

#[test]
fn transfers_end_at_the_limit_and_no_limit_is_none() {
    let status = |mdts, blocks: u32| {
        let mut host = Host::up(ControllerConfig { mdts, ..config() });
        let (data, lists) = (host.data, host.memory(4096));
        list(&host, lists, &(1..256).map(|page| data + page * 4096).collect::<Vec<_>>());
        let second = if blocks > 16 { lists } else { data + 4096 };
        let entry = host.io(Script::read(0, blocks, [data, second]));
        host.assert_clean();
        entry.status
    };
    assert_eq!((status(1, 16), status(1, 17), status(5, 256), status(5, 257)), (0, 2, 0, 2));
    assert_eq!(status(0, (DATA_BYTES / 512) as u32), 0);
}

#[test]
fn blocks_beyond_the_end_fail_even_where_the_sum_overflows() {
    let mut host = Host::up(config());
    let (data, end) = (host.data, (16 << 20) / 512);
    assert_eq!(host.io(Script::read(end - 1, 1, [data, 0])).status, 0);
    for (first, count) in [(end, 1), (end - 1, 2), (u64::MAX, 1), (u64::MAX, 2), (u64::MAX - 1, 1)] {
        for opcode in [1, 2, 5, 8, 12] {
            assert_eq!(host.io(Script::io(opcode, first, count, [data, 0])).status, 0x80, "{opcode} {first:#x}");
        }
    }
    assert_eq!(host.io(Script::read(0, 0x1_0000, [data, 0])).status, 0x80);
    for namespace in [0, 2, 0xffff_ffff] {
        assert_eq!(host.io(Script { namespace, ..Script::read(0, 1, [data, 0]) }).status, 0x0b);
    }
    host.assert_clean();
}

#[test]
fn unknown_commands_fused_ones_and_scatter_lists_fail() {
    let optional =
        Optional { compare: false, dataset_management: false, write_zeroes: false, verify: false, save_select: true };
    let mut host = Host::up(ControllerConfig { optional, ..config() });
    for opcode in [0x04, 0x05, 0x08, 0x09, 0x0c, 0x19, 0x80] {
        assert_eq!(host.io(Script { opcode, ..Script::flush() }).status, 0x01, "{opcode:#x}");
    }
    for flags in [0x01, 0x40] {
        let data = host.data;
        assert_eq!(host.io(Script { flags, ..Script::read(0, 1, [data, 0]) }).status, 0x02);
    }
    host.assert_clean();
}

#[test]
fn compare_tells_equal_from_different() {
    let mut host = Host::up(config());
    let data = host.data;
    host.put(data, &[3; 1024]);
    assert_eq!(host.io(Script::write(4, 2, [data, 0])).status, 0);
    assert_eq!(host.io(Script::io(5, 4, 2, [data, 0])).status, 0);
    host.put(data + 1023, &[4]);
    assert_eq!(host.io(Script::io(5, 4, 2, [data, 0])).status, 0x285);
    assert_eq!(host.io(Script::io(12, 4, 2, [0, 0])).status, 0);
    host.assert_clean();
}

#[test]
fn zeroed_and_deallocated_blocks_read_as_zero_and_their_neighbours_as_before() {
    for (deallocated_zeroes, after) in [(true, 0), (false, 9)] {
        let one = NamespaceConfig { deallocated_zeroes, ..NamespaceConfig::new(1, 512, 1 << 20) };
        let mut host = Host::up(ControllerConfig { namespaces: vec![one], ..config() });
        let data = host.data;
        host.put(data, &[9; 4096]);
        assert_eq!(host.io(Script::write(0, 8, [data, 0])).status, 0);
        assert_eq!(host.io(Script::io(8, 1, 2, [0, 0])).status, 0);
        let ranges: Vec<u8> = [(4_u64, 1_u32), (6, 1)]
            .iter()
            .flat_map(|(first, count)| [0; 4].into_iter().chain(count.to_le_bytes()).chain(first.to_le_bytes()))
            .collect();
        host.put(data, &ranges);
        let manage = Script { dwords: [1, 4, 0, 0, 0, 0], ..Script::io(9, 0, 1, [data, 0]) };
        assert_eq!(host.io(manage).status, 0);
        assert_eq!(host.io(Script::read(0, 8, [data, 0])).status, 0);
        let blocks: Vec<u8> = host.get(data, 4096).chunks(512).map(|block| block[0]).collect();
        assert_eq!(blocks, [9, 0, 0, 9, after, 9, after, 9]);
        host.put(data + 8, &u64::MAX.to_le_bytes());
        assert_eq!(host.io(manage).status, 0x80);
        host.assert_clean();
    }
}

#[test]
fn a_write_protected_namespace_reads_and_says_so() {
    let one = NamespaceConfig { read_only: true, ..NamespaceConfig::new(1, 512, 1 << 20) };
    let two = NamespaceConfig::on(2, 512, MemoryStore::patterned(1 << 20, 1).protected().share());
    let mut host = Host::up(ControllerConfig { namespaces: vec![one, two], ..config() });
    let data = host.data;
    for namespace in [1, 2] {
        let page = host.page(|page| Script::identify(0, namespace, page), 4096);
        assert_eq!(page[99], 1);
        for opcode in [1, 8, 9] {
            assert_eq!(host.io(Script { namespace, ..Script::io(opcode, 0, 1, [data, 0]) }).status, 0x20);
        }
        for opcode in [0, 2] {
            assert_eq!(host.io(Script { namespace, ..Script::io(opcode, 0, 1, [data, 0]) }).status, 0);
        }
    }
    host.assert_clean();
}

#[test]
fn a_flush_of_all_namespaces_does_what_the_controller_says() {
    let all = Script { namespace: 0xffff_ffff, ..Script::flush() };
    for (broadcast, status) in [(0, 0), (2, 0x0b), (3, 0)] {
        let write_cache = WriteCache { broadcast, ..WriteCache::default() };
        let namespaces = vec![NamespaceConfig::new(1, 512, 1 << 20), NamespaceConfig::new(2, 512, 1 << 20)];
        let mut host = Host::up(ControllerConfig { write_cache, namespaces, ..config() });
        let data = host.data;
        assert_eq!(host.io(Script { namespace: 2, ..Script::write(0, 1, [data, 0]) }).status, 0);
        assert_eq!(host.io(all).status, status);
        assert_eq!(host.board.cut_power(), usize::from(status != 0));
        host.assert_clean();
    }
}

/// What a power cut leaves of a block that was written over after `before` and treated as `act` says.
fn survives(write_cache: WriteCache, act: impl FnOnce(&mut Host)) -> bool {
    let store = MemoryStore::new(1 << 20);
    let namespaces = vec![NamespaceConfig::on(1, 512, store.share())];
    let mut host = Host::up(ControllerConfig { write_cache, namespaces, ..config() });
    let data = host.data;
    host.put(data, &[8; 512]);
    act(&mut host);
    host.board.cut_power();
    host.assert_clean();
    let mut block = [0; 512];
    store.read_at(0, &mut block).unwrap();
    block == [8; 512]
}

#[test]
fn a_power_cut_takes_what_is_not_flushed_forced_or_written_through() {
    let (on, off) = (WriteCache::default(), WriteCache { enabled: false, ..WriteCache::default() });
    let write = |host: &mut Host| {
        let data = host.data;
        assert_eq!(host.io(Script::write(0, 1, [data, 0])).status, 0);
    };
    assert!(!survives(on, write));
    assert!(survives(off, write));
    assert!(survives(on, |host| {
        write(host);
        assert_eq!(host.io(Script::flush()).status, 0);
    }));
    assert!(survives(on, |host| {
        let data = host.data;
        let forced = Script { dwords: [0, 0, 1 << 30, 0, 0, 0], ..Script::write(0, 1, [data, 0]) };
        assert_eq!(host.io(forced).status, 0);
    }));
    assert!(survives(on, |host| {
        write(host);
        host.shut_down();
    }));
    assert!(survives(on, |host| {
        write(host);
        assert_eq!(host.admin(Script::admin(9, 6, 0)).status, 0);
    }));
    assert!(!survives(on, |host| {
        let data = host.data;
        // A flush covers what had completed when it was fetched.
        host.place(1, &Script::flush());
        host.place(1, &Script::write(0, 1, [data, 0]));
        host.ring(1);
        assert_eq!((host.wait(1).status, host.wait(1).status), (0, 0));
    }));
    assert!(!survives(on, |host| {
        write(host);
        host.board.add_fault(Fault::FlushError);
        assert_eq!(host.io(Script::flush()).half_word, 0x500);
    }));
}

#[test]
fn a_reset_brings_the_default_of_the_write_cache_back() {
    assert!(!survives(WriteCache::default(), |host| {
        assert_eq!(host.admin(Script::admin(9, 6, 0)).status, 0);
        host.reset();
        host.enable(0);
        host.wait_status(1, 1);
        host.create_pair(1, 16);
        let data = host.data;
        assert_eq!(host.io(Script::write(0, 1, [data, 0])).status, 0);
    }));
}

#[test]
fn switching_the_write_cache_under_load_loses_nothing_that_was_acknowledged_while_it_was_off() {
    let store = MemoryStore::new(1 << 20);
    let namespaces = vec![NamespaceConfig::on(1, 512, store.share())];
    let mut host = Host::up(ControllerConfig { namespaces, ..config() });
    let data = host.data;
    host.put(data, &[6; 512]);
    let (mut safe, mut enabled) = (Vec::new(), true);
    for block in 0..60 {
        let first = host.submit(1, Script::write(2 * block, 1, [data, 0]));
        host.submit(1, Script::write(2 * block + 1, 1, [data, 0]));
        enabled ^= true;
        // The answer comes while the writes are in flight, or after them.
        assert_eq!(host.admin(Script::admin(9, 6, enabled.into())).status, 0);
        let before: Vec<_> = [host.wait(1), host.wait(1)].into();
        if !enabled {
            safe.extend(before.iter().map(|entry| 2 * block + u64::from(entry.id != first)));
        }
    }
    host.board.cut_power();
    let mut block = [0; 512];
    for number in &safe {
        store.read_at(number * 512, &mut block).unwrap();
        assert_eq!(block, [6; 512], "block {number}");
    }
    assert_eq!(safe.len(), 60);
    host.assert_clean();
}

#[test]
fn media_errors_hit_their_block_and_their_direction() {
    let faults = vec![Fault::ReadError(5), Fault::WriteError(6)];
    let mut host = Host::up(ControllerConfig { faults, ..config() });
    let data = host.data;
    let statuses = [(2, 4, 1), (2, 4, 2), (2, 6, 1), (1, 5, 1), (1, 5, 2), (8, 6, 1), (5, 5, 1)]
        .map(|(opcode, first, count)| host.io(Script::io(opcode, first, count, [data, 0])).half_word);
    assert_eq!(statuses, [0, 0x502, 0, 0, 0x500, 0x500, 0x502]);
    host.assert_clean();
}

#[test]
fn every_flag_of_a_status_reaches_the_host() {
    for flags in 0..16_u16 {
        let half_word = flags << 12 | 0x0504;
        let mut host = Host::up(ControllerConfig { faults: vec![Fault::Status { command: 0, half_word }], ..config() });
        let data = host.data;
        assert_eq!(host.io(Script::read(0, 1, [data, 0])).half_word, half_word);
    }
}
