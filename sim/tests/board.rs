//! The board: what its memory checks, its console, its watchdog, and its record of accesses.

use hal::{Clock, DmaPool, DmaRegion, Mmio};
use sim::host::plain::{IO, Plain, Plan, entry, tcb};
use sim::host::{Access, Board, Pool};
use sim::{AnsState, MachineConfig};

fn board() -> Board {
    Board::new(MachineConfig::new(AnsState::Stopped))
}

#[test]
fn a_region_freed_twice_is_caught() {
    let board = board();
    let pool = board.pool();
    let address = pool.reserve(4096, 4096).unwrap();
    pool.release(address, 4096);
    pool.release(address, 4096);
    assert!(board.broke("memory-freed-twice"));
}

#[test]
fn a_write_to_memory_that_is_free_is_caught() {
    let board = board();
    let pool = board.pool();
    let address = pool.reserve(4096, 4096).unwrap();
    pool.write(address, &[1; 64]);
    assert_eq!(board.violations(), []);
    pool.release(address, 4096);
    pool.write(address, &[1; 64]);
    assert!(board.broke("memory-not-owned"));
}

#[test]
fn quarantined_memory_is_out_of_use_until_it_is_reclaimed() {
    let board = board();
    let pool: Pool = board.pool();
    DmaRegion::new(&pool, 8192, 4096).unwrap().quarantine();
    assert_eq!(board.pool_pages(), (2, 2));
    pool.reclaim();
    assert_eq!(board.pool_pages(), (0, 0));
}

#[test]
fn the_console_collects_bytes_and_gives_typed_ones() {
    let board = board();
    let uart = board.window("uart");
    for byte in *b"hello" {
        assert_ne!(uart.read32(0x10) & 2, 0);
        uart.write32(0x20, byte.into());
    }
    assert_eq!(board.report().console, b"hello");
    assert_eq!(uart.read32(0x10) & 1, 0);
    board.type_in(b"a");
    assert_eq!((uart.read32(0x10) & 1, uart.read32(0x24), uart.read32(0x10) & 1), (1, u32::from(b'a'), 0));
}

#[test]
fn the_watchdog_resets_the_machine_when_it_bites_and_not_when_it_is_fed_or_off() {
    let bite = |feed: bool, control: u32| {
        let board = board();
        let watchdog = board.window("wdt");
        watchdog.write32(0x14, 24_000);
        watchdog.write32(0x10, 0);
        watchdog.write32(0x1c, control);
        board.pass(900_000);
        if feed {
            watchdog.write32(0x10, 0);
        }
        board.pass(900_000);
        board.report().watchdog.map(|(unit, _)| unit)
    };
    assert_eq!(bite(false, 4), Some(1));
    assert_eq!(bite(true, 4), None);
    assert_eq!(bite(false, 0), None);
}

#[test]
fn accesses_are_logged_and_counted_by_name() {
    let board = board();
    board.window("wdt").write32(0x1c, 0);
    let log = board.log();
    assert_eq!(log, [Access { time_ns: 100, write: true, block: "wdt", offset: 0x1c, size: 4, value: 0 }]);
    assert_eq!(board.report().mmio["WDT_WD1_CONTROL"].writes, 1);
    board.clear_log();
    assert_eq!(board.log(), []);
}

#[test]
fn a_hole_and_an_access_beyond_its_window_are_caught() {
    let board = board();
    board.window_at(0x2_0000_0000, 16).read32(0);
    assert!(board.broke("external-abort"));
    board.window("wdt").read32(0x4000);
    assert!(board.broke("outside-window"));
}

#[test]
fn relaxing_lets_time_pass_to_the_next_event_but_never_far() {
    let board = board();
    let clock = board.clock();
    let start = clock.now().as_nanos();
    clock.relax();
    assert_eq!(clock.now().as_nanos() - start, 1_000_000);
    board.window("pmgr").write32(0x3f0, 0xf);
    let start = clock.now().as_nanos();
    clock.relax();
    assert_eq!(clock.now().as_nanos() - start, 5_000);
}

/// A driver with its queues up, and a page for data.
#[cfg(test)]
fn up() -> (Plain, u64) {
    let mut driver = Plain::new(&board(), Plan::default());
    driver.up().unwrap();
    let page = driver.memory(4096).unwrap();
    driver.pool.publish();
    (driver, page)
}

#[test]
fn an_entry_that_is_not_published_before_its_doorbell_is_caught() {
    let (mut driver, page) = up();
    let entry = entry(0x02, 2, 1, [page, 0], [0; 3]);
    driver.place(IO, 2, &entry, &tcb(&entry, 2, 1)).unwrap();
    let slot = driver.queue(IO).unwrap().submission + 2 * 64;
    driver.pool.write(slot, &entry);
    driver.ring(IO, 2);
    assert!(driver.board.broke("memory-not-published"));
}

#[test]
fn data_that_is_read_without_observing_it_is_caught() {
    let (mut driver, page) = up();
    let entry = entry(0x02, 2, 1, [page, 0], [0; 3]);
    driver.place(IO, 2, &entry, &tcb(&entry, 2, 1)).unwrap();
    driver.ring(IO, 2);
    driver.board.pass(1_000_000);
    assert_eq!(driver.board.violations(), []);
    driver.pool.read(page, &mut [0; 4096]);
    assert!(driver.board.broke("memory-not-observed"));
}

#[test]
fn memory_that_is_freed_while_its_command_is_in_flight_is_caught_then_and_at_the_late_access() {
    let (mut driver, page) = up();
    let entry = entry(0x02, 2, 1, [page, 0], [0; 3]);
    driver.place(IO, 2, &entry, &tcb(&entry, 2, 1)).unwrap();
    driver.ring(IO, 2);
    driver.pool.release(page, 4096);
    assert!(driver.board.broke("memory-freed-in-flight"));
    driver.board.pass(1_000_000);
    assert!(driver.board.broke("memory-freed-in-use"));
}
