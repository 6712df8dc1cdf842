//! Enumeration of buses that behave.

use std::collections::BTreeSet;

use super::*;
use crate::fdt::{BusAddress, CpuAddress, PciHost, PciSpace, PciWindow, Region};

mod fake;
mod hostile;
mod rooms;

use fake::{FakeBus, FakeFunction, FakeHost, MEMORY};

const NVME: Class = Class { base: 1, sub: 8, interface: 2 };

/// Windows at other addresses for the processor than on the bus, so that neither passes for the other.
const LOW: PciWindow = memory(PciSpace::Memory32, 0x1000_0000, 0x2eff_0000, 0x5000_0000);
const HIGH: PciWindow = memory(PciSpace::Memory64, 0x80_0000_0000, 0x80_0000_0000, 0xc0_0000_0000);

const fn memory(space: PciSpace, bus: u64, size: u64, processor: u64) -> PciWindow {
    PciWindow {
        space,
        prefetchable: false,
        bus: Region { address: BusAddress(bus), size },
        processor: CpuAddress(processor),
    }
}

fn host_with(windows: &[PciWindow]) -> PciHost {
    PciHost {
        configuration: Region { address: CpuAddress(0x40_1000_0000), size: 0x1000_0000 },
        buses: 0..=255,
        windows: windows.iter().copied().collect(),
    }
}

fn host() -> PciHost {
    host_with(&[LOW, HIGH])
}

fn bus(functions: impl IntoIterator<Item = (u8, FakeFunction)>) -> FakeBus {
    functions.into_iter().map(|(device, function)| (device << 3, function)).collect()
}

fn places<const N: usize>(found: &Enumeration<&FakeHost, N>) -> Vec<(String, u16, u64)> {
    let place = |each: &Function<&FakeHost>| (each.address().to_string(), each.device(), each.registers().address.0);
    found.functions.iter().map(place).collect()
}

fn problems<const N: usize>(found: &Enumeration<&FakeHost, N>) -> Vec<String> {
    found.problems.iter().map(ToString::to_string).collect()
}

/// Where the bus has what the processor finds at `address`.
fn on_bus(address: u64) -> u64 {
    let windows = [LOW, HIGH];
    let inside = |window: &&PciWindow| (window.processor.0..window.processor.0 + window.bus.size).contains(&address);
    let window = windows.iter().rfind(inside).expect("in a window");
    address - window.processor.0 + window.bus.address.0
}

/// Enables each function alone, and finds that it alone answers in its registers and comes to memory.
fn each_works<const N: usize>(fake: &FakeHost, found: &mut Enumeration<&FakeHost, N>) {
    for function in &mut found.functions {
        let Region { address, size } = function.registers();
        let ends = [address.0, address.0 + size - 1].map(on_bus);
        assert!(ends.iter().all(|end| fake.answering(*end).is_empty()), "before it is enabled");
        function.enable().expect("it takes the bits");
        for end in ends {
            assert_eq!(fake.answering(end), [function.device()], "{}", function.address());
        }
        assert!(!fake.answering(ends[1] + 1).contains(&function.device()));
        assert_eq!(fake.masters(), [function.device()]);
        function.disable().expect("it takes the bits");
        assert!(ends.iter().all(|end| fake.answering(*end).is_empty()), "after it is disabled");
        assert_eq!(fake.masters(), []);
    }
}

#[test]
fn functions_on_the_hosts_bus_get_addresses_in_the_wide_window() {
    let fake = FakeHost::new(bus([
        (0, FakeFunction::other(8)),
        (1, FakeFunction::nvme(0x10)),
        (2, FakeFunction::other(9)),
        (31, FakeFunction::nvme(0x11)),
    ]));
    let mut found = enumerate::<_, 4>(&fake, &host(), NVME);
    let expected = [("00:01.0", 0x10, 0xc0_0000_0000), ("00:1f.0", 0x11, 0xc0_0000_4000)];
    assert_eq!(places(&found), expected.map(|(place, device, at)| (place.into(), device, at)));
    assert_eq!(found.functions[0].registers().size, 0x4000);
    assert_eq!(found.functions[0].vendor(), 0x1b36);
    assert_eq!((found.left_out, found.problems.len(), found.buses()), (0, 0, 1));
    each_works(&fake, &mut found);
}

#[test]
fn a_function_of_another_class_is_not_written_to() {
    let fake = FakeHost::new(bus([(0, FakeFunction::other(8)), (1, FakeFunction::nvme(0x10))]));
    enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!(*fake.written.borrow(), BTreeSet::from([1 << 3]));
}

#[test]
fn a_function_that_still_answers_where_windows_are_dealt_out_anew_is_made_quiet() {
    let left_on = FakeFunction::other(8).word(1, 0x2010_0007, 0x407).word(4, 0x1000_0000, 0xffff_0000);
    let fake = FakeHost::new(bus([(0, left_on), (1, FakeFunction::bare(0x10).memory32(0, 0x4000))]));
    let mut found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!(fake.bus[&0].command(), 1 << 10);
    assert_eq!(fake.bus[&0].get(4), 0x1000_0000, "its address is its own");
    each_works(&fake, &mut found);
}

#[test]
fn nothing_is_found_where_nothing_is() {
    let empty = FakeHost::new(FakeBus::new());
    let found = enumerate::<_, 4>(&empty, &host(), NVME);
    assert_eq!((found.functions.len(), found.left_out, found.problems.len(), found.buses()), (0, 0, 0, 1));
    let port = FakeFunction::bridge(1, bus([(0, FakeFunction::other(8))]));
    let fake = FakeHost::new(bus([(1, port)]));
    let found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!((found.functions.len(), found.problems.len(), found.buses()), (0, 0, 2));
    let port = &fake.bus[&8];
    assert_eq!(port.command() & 7, 0, "nothing passes without need");
    assert_eq!([7, 8, 9, 10, 11, 12].map(|word| port.get(word)), [0xf0, 0xfff0, 0x1_fff1, u32::MAX, 0, 0]);
}

#[test]
fn a_function_behind_a_root_port_gets_the_ports_window() {
    let port = FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(0x10))]));
    let fake = FakeHost::new(bus([(1, FakeFunction::other(8)), (2, port), (3, FakeFunction::nvme(0x11))]));
    let mut found = enumerate::<_, 4>(&fake, &host(), NVME);
    let expected = [("01:00.0", 0x10, 0x5000_0000), ("00:03.0", 0x11, 0xc0_0000_0000)];
    assert_eq!(places(&found), expected.map(|(place, device, at)| (place.into(), device, at)));
    let port = &fake.bus[&16];
    assert_eq!(port.get(6), 0x01_01_00);
    assert_eq!(port.get(8), 0x1000_1000, "one granule at 0x1000_0000");
    assert_eq!([9, 10, 11].map(|word| port.get(word)), [0x1_fff1, u32::MAX, 0], "closed");
    assert_eq!(port.get(1), 0x2010_0406, "and no error is cleared unseen");
    each_works(&fake, &mut found);
}

#[test]
fn functions_behind_nested_bridges_are_found() {
    let leaf = |port, device| FakeFunction::bridge(port, bus([(0, FakeFunction::nvme(device))]));
    let up = FakeFunction::bridge(2, bus([(0, leaf(3, 0x10)), (1, leaf(4, 0x11)), (2, FakeFunction::other(8))]));
    let root = FakeFunction::bridge(1, bus([(0, up)]));
    let fake = FakeHost::new(bus([(1, root), (2, leaf(5, 0x12)), (3, FakeFunction::nvme(0x13))]));
    let mut found = enumerate::<_, 8>(&fake, &host(), NVME);
    let expected = [
        ("03:00.0", 0x10, 0x5000_0000),
        ("04:00.0", 0x11, 0x5010_0000),
        ("05:00.0", 0x12, 0x5020_0000),
        ("00:03.0", 0x13, 0xc0_0000_0000),
    ];
    assert_eq!(places(&found), expected.map(|(place, device, at)| (place.into(), device, at)));
    assert_eq!((problems(&found), found.buses()), (vec![], 6));
    let root = &fake.bus[&8];
    let up = &root.behind.as_ref().expect("a bridge")[&0];
    assert_eq!([root.get(6), up.get(6), fake.bus[&16].get(6)], [0x04_01_00, 0x04_02_01, 0x05_05_00]);
    assert_eq!([root.get(8), up.get(8)], [0x1010_1000; 2], "around both");
    each_works(&fake, &mut found);
}

#[test]
fn all_functions_of_a_device_are_found_and_none_of_a_device_that_has_one() {
    let mut functions = bus([(1, FakeFunction::nvme(0x10).several()), (2, FakeFunction::nvme(0x20))]);
    functions.insert(1 << 3 | 3, FakeFunction::nvme(0x13));
    functions.insert(1 << 3 | 7, FakeFunction::nvme(0x17));
    functions.insert(2 << 3 | 1, FakeFunction::nvme(0x21));
    functions.insert(3 << 3 | 1, FakeFunction::nvme(0x31));
    let fake = FakeHost::new(functions);
    let found = enumerate::<_, 8>(&fake, &host(), NVME);
    let names: Vec<_> = places(&found).into_iter().map(|(place, ..)| place).collect();
    assert_eq!(names, ["00:01.0", "00:01.3", "00:01.7", "00:02.0"]);
}

#[test]
fn the_first_bus_need_not_be_bus_0() {
    let port = FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(0x10))]));
    let mut fake = FakeHost::new(bus([(0, FakeFunction::nvme(0x11)), (1, port)]));
    fake.first = 0x40;
    let host = PciHost { buses: 0x40..=0x41, ..host() };
    let mut found = enumerate::<_, 4>(&fake, &host, NVME);
    let names: Vec<_> = places(&found).into_iter().map(|(place, ..)| place).collect();
    assert_eq!(names, ["40:00.0", "41:00.0"]);
    each_works(&fake, &mut found);
}

#[test]
fn closing_takes_back_what_was_given() {
    let port = FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(0x10))]));
    let fake = FakeHost::new(bus([(0, FakeFunction::nvme(0x11)), (1, port)]));
    let mut found = enumerate::<_, 4>(&fake, &host(), NVME);
    for function in &mut found.functions {
        function.enable().expect("it takes the bits");
    }
    let mut masters = fake.masters();
    masters.sort_unstable();
    assert_eq!(masters, [0x10, 0x11]);
    found.close();
    let port = &fake.bus[&8];
    let behind = &port.behind.as_ref().expect("a bridge")[&0];
    assert_eq!([fake.bus[&0].command(), behind.command(), port.command()], [1 << 10; 3]);
    assert_eq!(port.get(6), 0);
}
