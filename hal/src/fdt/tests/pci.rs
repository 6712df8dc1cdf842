//! PCI host bridges.

use super::*;

/// `reg`, `bus-range` and `ranges` as QEMU 7.2 writes them for `-machine virt` (read with `dumpdtb`).
const CONFIGURATION: [u32; 4] = [0x40, 0x1000_0000, 0, 0x1000_0000];
const PORTS: [u32; 7] = [0x0100_0000, 0, 0, 0, 0x3eff_0000, 0, 0x1_0000];
const LOW: [u32; 7] = [0x0200_0000, 0, 0x1000_0000, 0, 0x1000_0000, 0, 0x2eff_0000];
const HIGH: [u32; 7] = [0x0300_0000, 0x80, 0, 0x80, 0, 0x80, 0];

fn bridge(reg: &[u32], buses: Option<&[u32]>, ranges: &[&[u32]]) -> DeviceTreeNode {
    let mut properties = vec![
        ("compatible", text("pci-host-ecam-generic\0")),
        ("device_type", text("pci\0")),
        ("#address-cells", cells(&[3])),
        ("#size-cells", cells(&[2])),
        ("#interrupt-cells", cells(&[1])),
        ("reg", cells(reg)),
        ("dma-coherent", vec![]),
    ];
    properties.extend(buses.map(|buses| ("bus-range", cells(buses))));
    if !ranges.is_empty() {
        properties.push(("ranges", cells(&ranges.concat())));
    }
    node("pcie@10000000", &properties, vec![])
}

/// QEMU's `virt`, as far as it matters here.
pub(super) fn virt() -> Vec<u8> {
    build(&wide(), vec![bridge(&CONFIGURATION, Some(&[0, 0xff]), &[&PORTS, &LOW, &HIGH])])
}

fn read(blob: &[u8]) -> Result<PciHost, FdtError> {
    let mut slots;
    let tree = open!(blob, slots);
    tree.compatible(&["pci-host-ecam-generic"]).and_then(|node| node.pci_host())
}

fn read_one(reg: &[u32], buses: Option<&[u32]>, ranges: &[&[u32]]) -> Result<PciHost, FdtError> {
    read(&build(&wide(), vec![bridge(reg, buses, ranges)]))
}

fn bad(node: &str, property: &'static str) -> Result<PciHost, FdtError> {
    Err(FdtError::BadProperty { node: Label::new(node), property })
}

fn window(space: PciSpace, bus: u64, size: u64, processor: u64) -> PciWindow {
    PciWindow {
        space,
        prefetchable: false,
        bus: Region { address: BusAddress(bus), size },
        processor: CpuAddress(processor),
    }
}

#[test]
fn qemus_host_has_its_windows() {
    let host = read(&virt()).expect("a good tree");
    assert_eq!(host.configuration, Region { address: CpuAddress(0x40_1000_0000), size: 0x1000_0000 });
    assert_eq!(host.buses, 0..=255);
    let expected = [
        window(PciSpace::InputOutput, 0, 0x1_0000, 0x3eff_0000),
        window(PciSpace::Memory32, 0x1000_0000, 0x2eff_0000, 0x1000_0000),
        window(PciSpace::Memory64, 0x80_0000_0000, 0x80_0000_0000, 0x80_0000_0000),
    ];
    assert_eq!(host.windows, expected);
}

#[test]
fn qemus_host_below_4_gib_has_16_buses_and_no_wide_window() {
    let host = read_one(&[0, 0x3f00_0000, 0, 0x100_0000], Some(&[0, 0xf]), &[&PORTS, &LOW]).expect("a good tree");
    assert_eq!(host.configuration, Region { address: CpuAddress(0x3f00_0000), size: 0x100_0000 });
    assert_eq!((host.buses, host.windows.len()), (0..=15, 2));
}

#[test]
fn there_are_no_more_buses_than_configuration_space_holds() {
    let four = [0, 0x3f00_0000, 0, 0x4f_ffff];
    let buses = |range: Option<&[u32]>| read_one(&four, range, &[]).map(|host| host.buses);
    assert_eq!(buses(None), Ok(0..=3));
    assert_eq!(buses(Some(&[0x40, 0xff])), Ok(0x40..=0x43));
    assert_eq!(buses(Some(&[0x40, 0x41])), Ok(0x40..=0x41));
    assert_eq!(buses(Some(&[0xfe, 0xff])), Ok(0xfe..=0xff));
    assert_eq!(read_one(&[0, 0x3f00_0000, 0, 0xf_ffff], None, &[]), bad("pcie@10000000", "reg"));
}

#[test]
fn a_bus_range_that_is_none_is_said() {
    for buses in [&[][..], &[0], &[1, 0], &[0, 256], &[0, 1, 2], &[0, 1, 2, 3]] {
        assert_eq!(read_one(&CONFIGURATION, Some(buses), &[]), bad("pcie@10000000", "bus-range"), "{buses:?}");
    }
}

#[test]
fn windows_are_translated_by_the_buses_above_and_keep_their_flags() {
    let mut bus = wide();
    bus.push(("ranges", cells(&[0, 0, 4, 0, 1, 0])));
    let prefetchable = [0x4300_0000, 1, 0, 0, 0x4000_0000, 0, 0x1000_0000];
    let small_configuration = [0, 0x1000_0000, 0, 0x10_0000];
    let host = bridge(&small_configuration, None, &[&prefetchable]);
    let host = read(&build(&wide(), vec![node("soc", &bus, vec![host])])).expect("a good tree");
    assert_eq!(host.configuration.address, CpuAddress(0x4_1000_0000));
    let expected = window(PciSpace::Memory64, 0x1_0000_0000, 0x1000_0000, 0x4_4000_0000);
    assert_eq!(host.windows, [PciWindow { prefetchable: true, ..expected }]);
    let outside = bridge(&small_configuration, None, &[&HIGH]);
    let refused = read(&build(&wide(), vec![node("soc", &bus, vec![outside])]));
    assert_eq!(refused, Err(FdtError::NotTranslatable { bus: Label::new("soc"), address: 0x80_0000_0000 }));
}

#[test]
fn windows_that_make_no_sense_are_said() {
    let on_bus = [0x0300_0000, u32::MAX, u32::MAX, 0, 0, 0, 2];
    let for_the_processor = [0x0300_0000, 0, 0, u32::MAX, u32::MAX, 0, 2];
    let many = [&LOW[..]; PCI_WINDOWS + 1];
    let cut = [&LOW[..], &HIGH[..6]];
    for ranges in [&[&on_bus[..]][..], &[&for_the_processor], &many, &cut] {
        assert_eq!(read_one(&CONFIGURATION, None, ranges), bad("pcie@10000000", "ranges"), "{ranges:x?}");
    }
    assert_eq!(read_one(&CONFIGURATION, None, &many[1..]).map(|host| host.windows.len()), Ok(PCI_WINDOWS));
}

#[test]
fn cell_counts_other_than_those_of_pci_are_said() {
    let counts = |address: u32, size: u32| {
        let properties = [
            ("compatible", text("pci-host-ecam-generic\0")),
            ("#address-cells", cells(&[address])),
            ("#size-cells", cells(&[size])),
            ("reg", cells(&CONFIGURATION)),
        ];
        read(&build(&wide(), vec![node("pcie", &properties, vec![])]))
    };
    assert_eq!(counts(3, 2).map(|host| host.windows.len()), Ok(0));
    assert_eq!(counts(2, 2), bad("pcie", "#address-cells"));
    assert_eq!(counts(u32::MAX, 2), bad("pcie", "#address-cells"));
    assert_eq!(counts(3, 1), bad("pcie", "#size-cells"));
}
