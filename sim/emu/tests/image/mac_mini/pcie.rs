//! PCIe: three address cells, `ranges` with windows, root ports with functions below them.

use super::part::{Part, handle};

pub(super) fn nodes() -> Vec<Part> {
    let dart = |number: u32| {
        let base = 0x6_8100_8000 + u64::from(number) * 0x100_0000;
        Part::new(format!("iommu@{base:x}"))
            .text("compatible", &["apple,t8103-dart"])
            .wide("reg", &[base, 0x4000])
            .cells("#iommu-cells", &[1])
            .irqs(&[696 + 3 * number])
            .power(&["apcie_gp"])
            .label(&format!("pcie-dart{number}"))
    };
    (0..3).map(dart).chain([bridge()]).collect()
}

fn bridge() -> Part {
    let functions = [("wifi", 0x14e4), ("usb", 0x1b73), ("ethernet", 0x14e4)];
    let maps = (0..3).flat_map(|port| [port << 8, handle(&format!("pcie-dart{port}")), 1, 1]).collect::<Vec<_>>();
    Part::new("pcie@690000000")
        .text("compatible", &["apple,t8103-pcie", "apple,pcie"])
        .text("device_type", &["pci"])
        .wide("reg", &[0x6_9000_0000, 0x100_0000, 0x6_8000_0000, 0x10_0000, 0x6_8100_0000, 0x4000])
        .text("reg-names", &["config", "rc", "port0"])
        .irqs(&[695, 698, 701])
        .flag("msi-controller")
        .cells("msi-ranges", &[handle("interrupts"), 0, 704, 4, 32])
        .cells("iommu-map", &maps)
        .cells("bus-range", &[0, 3])
        .bus(3, 2)
        .cells(
            "ranges",
            &[
                [0x4300_0000, 6, 0xa000_0000, 6, 0xa000_0000, 0, 0x2000_0000],
                [0x0200_0000, 0, 0xc000_0000, 6, 0xc000_0000, 0, 0x4000_0000],
            ]
            .concat(),
        )
        .power(&["apcie_gp"])
        .with_all((0..3u8).zip(functions).map(|(last, (name, vendor))| {
            let number = u32::from(last);
            let function = Part::new(format!("{name}@0,0"))
                .text("compatible", &[&format!("pci{vendor:x},4425")])
                .cells("reg", &[(number + 1) << 16, 0, 0, 0, 0])
                .bytes("local-mac-address", vec![0, 0x10, 0x18, 0, 0, last]);
            Part::new(format!("pci@{number},0"))
                .text("device_type", &["pci"])
                .cells("reg", &[number << 11, 0, 0, 0, 0])
                .cells("reset-gpios", &[handle("pinctrl@23c100000"), 152 + number, 1])
                .bus(3, 2)
                .flag("ranges")
                .flag("interrupt-controller")
                .cells("#interrupt-cells", &[1])
                .with(function)
        }))
}
