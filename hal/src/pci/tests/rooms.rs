//! What is dealt out of the host's windows, and what is given back.

use super::*;

fn narrow(device: u16) -> FakeFunction {
    FakeFunction::bare(device).memory32(0, 0x4000)
}

fn addresses<const N: usize>(found: &Enumeration<&FakeHost, N>) -> Vec<u64> {
    places(found).into_iter().map(|(.., at)| at).collect()
}

#[test]
fn prefetchable_memory_behind_bridges_is_wide_only_if_all_of_them_are() {
    let drive = |device| FakeFunction::nvme(device).memory64(2, 0x400_0000, true);
    let port = |device| FakeFunction::bridge(1, bus([(0, drive(device))]));
    let behind_narrow = FakeFunction::bridge(2, bus([(0, port(0x12))])).narrow();
    let fake = FakeHost::new(bus([(1, port(0x10)), (2, port(0x11).narrow()), (3, behind_narrow)]));
    let mut found = enumerate::<_, 8>(&fake, &host(), NVME);
    assert_eq!(problems(&found), Vec::<String>::new());
    assert_eq!(fake.bus[&8].get(8), 0x1000_1000);
    assert_eq!([9, 10, 11].map(|word| fake.bus[&8].get(word)), [0x03f1_0001, 0x80, 0x80]);
    assert_eq!(fake.bus[&16].get(8), 0x17f0_1010, "both registers, the larger at a multiple of its size");
    assert_eq!([9, 10, 11].map(|word| fake.bus[&24].get(word)), [0xfff0, u32::MAX, 0], "closed");
    each_works(&fake, &mut found);
}

#[test]
fn a_register_of_more_than_4_gib_is_placed_and_its_upper_half_is_no_register_of_its_own() {
    let fake =
        FakeHost::new(bus([(0, FakeFunction::nvme(0x10)), (1, FakeFunction::bare(0x11).memory64(0, 8 << 30, true))]));
    let mut found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!(addresses(&found), [0xc0_0000_0000, 0xc2_0000_0000]);
    each_works(&fake, &mut found);
}

#[test]
fn bridges_that_lead_to_nothing_cost_no_room() {
    let port = FakeFunction::bridge(1, bus([(0, FakeFunction::other(8))]));
    let stuck = FakeFunction::bridge(2, FakeBus::new()).word(6, 0, 0xff);
    let fake = FakeHost::new(bus([(0, narrow(0x10)), (1, port), (2, stuck), (3, narrow(0x11))]));
    let found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!(addresses(&found), [0x5000_0000, 0x5000_4000]);
}

#[test]
fn a_bridges_own_registers_get_addresses_outside_its_window() {
    let port = FakeFunction::bridge(1, bus([(0, FakeFunction::nvme(0x10))])).memory64(0, 0x100, false);
    let fake = FakeHost::new(bus([(1, port)]));
    let found = enumerate::<_, 4>(&fake, &host(), NVME);
    assert_eq!([4, 5].map(|word| fake.bus[&8].get(word)), [4, 0x80]);
    assert_eq!(fake.answering(0x80_0000_0000), [1]);
    assert_eq!(found.functions.len(), 1);
}

#[test]
fn without_a_wide_window_all_registers_are_below_4_gib() {
    let fake = FakeHost::new(bus([(0, FakeFunction::nvme(0x10)), (1, narrow(0x11))]));
    let found = enumerate::<_, 4>(&fake, &host_with(&[LOW]), NVME);
    assert_eq!(addresses(&found), [0x5000_0000, 0x5000_4000]);
}

#[test]
fn registers_with_side_effects_are_not_placed_where_may_be_prefetched() {
    let wide = PciWindow { prefetchable: true, ..HIGH };
    let drive = FakeFunction::nvme(0x10).memory64(2, 0x1_0000, true);
    let fake = FakeHost::new(bus([(0, drive)]));
    let found = enumerate::<_, 4>(&fake, &host_with(&[wide, LOW]), NVME);
    assert_eq!(addresses(&found), [0x5000_0000]);
    assert_eq!([4, 5, 6, 7].map(|word| fake.bus[&0].get(word)), [0x1000_0004, 0, 0x0000_000c, 0x80]);
}

#[test]
fn of_two_windows_that_without_prefetching_is_taken() {
    let prefetchable = memory(PciSpace::Memory32, 0x4000_0000, 0x1000_0000, 0x9000_0000);
    let windows = [PciWindow { prefetchable: true, ..prefetchable }, LOW];
    let fake = FakeHost::new(bus([(0, narrow(0x10))]));
    assert_eq!(addresses(&enumerate::<_, 4>(&fake, &host_with(&windows), NVME)), [0x5000_0000]);
}

#[test]
fn address_0_of_the_bus_is_given_to_nobody() {
    let from_zero = memory(PciSpace::Memory32, 0, 0x10_0000, 0x5000_0000);
    let fake = FakeHost::new(bus([(0, narrow(0x10))]));
    assert_eq!(addresses(&enumerate::<_, 4>(&fake, &host_with(&[from_zero]), NVME)), [0x5000_4000]);
}

#[test]
fn a_window_of_32_bit_addresses_ends_at_4_gib() {
    let across = memory(PciSpace::Memory32, 0xffe0_0000, 0x40_0000, 0x5000_0000);
    let drive = |device| FakeFunction::bare(device).memory32(0, 0x20_0000);
    let fake = FakeHost::new(bus([(0, drive(0x10)), (1, drive(0x11))]));
    let found = enumerate::<_, 4>(&fake, &host_with(&[across]), NVME);
    assert_eq!(addresses(&found), [0x5000_0000]);
    assert!(matches!(found.problems[0].reason, Reason::NoRoom { index: 0, size: 0x20_0000 }));
}

#[test]
fn functions_beyond_the_list_are_counted_and_left_alone() {
    let fake = FakeHost::new(bus((0..5).map(|device| (device, FakeFunction::nvme(0x10 + u16::from(device))))));
    let found = enumerate::<_, 3>(&fake, &host(), NVME);
    assert_eq!((found.functions.len(), found.left_out), (3, 2));
    assert_eq!(*fake.written.borrow(), BTreeSet::from([0, 1 << 3, 2 << 3]));
}
