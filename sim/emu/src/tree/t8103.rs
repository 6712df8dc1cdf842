//! The nodes of a T8103 as far as the models go (Linux t8103.dtsi and t8103-pmgr.dtsi; `adt-fdt.md` section 4).

use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};

use super::strings;
use crate::memory::RAM;

/// Handles by which nodes name each other.
mod handle {
    pub(super) const AIC: u32 = 1;
    pub(super) const CLOCK: u32 = 2;
    pub(super) const MAILBOX: u32 = 3;
    pub(super) const SART: u32 = 4;
    pub(super) const CORE: u32 = 5;
    /// Power domains take theirs from here on, in the order of the list below.
    pub(super) const DOMAINS: u32 = 0x10;
}

/// Power domains: label, register offset, parents, always on.
///
/// `pmgr-reset.md` section 4.1 gives the domains around ANS; for imx, pcie_ref and the UART's it gives no offsets, and
/// those here are free words of the block, which the model shows as domains that are on.
const DOMAINS: [(&str, u64, &[&str], bool); 9] = [
    ("aic", 0x108, &[], true),
    ("imx", 0x1b8, &[], true),
    ("pcie_ref", 0x320, &[], false),
    ("uart_p", 0x220, &[], false),
    ("uart0", 0x270, &["uart_p"], false),
    ("apcie", 0x348, &["imx", "pcie_ref"], false),
    ("apcie_gp", 0x3e8, &["apcie"], false),
    ("ans2", 0x3f0, &[], false),
    ("apcie_st", 0x418, &["apcie", "ans2"], false),
];

/// Interrupt types and flags of the controller's cells.
const IRQ: u32 = 0;
const FIQ: u32 = 1;
const LEVEL_HIGH: u32 = 4;
/// Numbers of the timers among the FIQs: hypervisor and guest, physical and virtual.
const TIMERS: [u32; 4] = [0, 1, 2, 3];

fn node(name: &str, properties: Vec<(&str, Vec<u8>)>) -> DeviceTreeNode {
    let mut node = DeviceTreeNode::new_unchecked(name);
    for (name, value) in properties {
        node.add_property(DeviceTreeProperty::new_unchecked(name, value));
    }
    node
}

fn cells(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

/// Addresses and sizes of two cells each.
fn ranges(values: &[u64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_be_bytes()).collect()
}

fn text(value: &str) -> Vec<u8> {
    strings([value])
}

fn empty() -> Vec<u8> {
    Vec::new()
}

/// The handle of a domain; 0, which no node has, for a label that is not in the list.
fn domain(label: &str) -> u32 {
    (handle::DOMAINS..).zip(DOMAINS).find(|(_, (name, ..))| *name == label).map_or(0, |(number, _)| number)
}

fn domains(labels: &[&str]) -> Vec<u8> {
    cells(&labels.iter().map(|label| domain(label)).collect::<Vec<_>>())
}

/// The whole tree for a machine with that many bytes of RAM.
pub(super) fn tree(ram: u64) -> DeviceTree {
    let mut root = node(
        "",
        vec![
            ("compatible", strings(["apple,j274", "apple,t8103", "apple,arm-platform"])),
            ("model", text("Apple Mac mini (M1, 2020)")),
            ("interrupt-parent", cells(&[handle::AIC])),
            ("#address-cells", cells(&[2])),
            ("#size-cells", cells(&[2])),
        ],
    );
    root.add_child(node("aliases", vec![("serial0", text("/soc/serial@235200000"))]));
    root.add_child(node("chosen", vec![("stdout-path", text("serial0")), ("bootargs", text(""))]));
    root.add_child(cpus());
    root.add_child(node("memory@800000000", vec![("device_type", text("memory")), ("reg", ranges(&[RAM, ram]))]));
    root.add_child(node(
        "timer",
        vec![
            ("compatible", text("arm,armv8-timer")),
            ("interrupts", TIMERS.into_iter().flat_map(|number| cells(&[FIQ, number, LEVEL_HIGH])).collect()),
            ("interrupt-names", strings(["phys", "virt", "hyp-phys", "hyp-virt"])),
        ],
    ));
    root.add_child(node(
        "clock-ref",
        vec![
            ("compatible", text("fixed-clock")),
            ("#clock-cells", cells(&[0])),
            ("clock-frequency", cells(&[24_000_000])),
            ("clock-output-names", text("clkref")),
            ("phandle", cells(&[handle::CLOCK])),
        ],
    ));
    root.add_child(soc());
    let mut tree = DeviceTree::new();
    tree.root = root;
    tree
}

fn cpus() -> DeviceTreeNode {
    let mut cpus = node("cpus", vec![("#address-cells", cells(&[2])), ("#size-cells", cells(&[0]))]);
    cpus.add_child(node(
        "cpu@0",
        vec![
            ("compatible", text("apple,icestorm")),
            ("device_type", text("cpu")),
            ("reg", ranges(&[0])),
            ("enable-method", text("spin-table")),
            ("cpu-release-addr", ranges(&[0])),
            ("phandle", cells(&[handle::CORE])),
        ],
    ));
    cpus
}

fn soc() -> DeviceTreeNode {
    let mut soc = node(
        "soc",
        vec![
            ("compatible", text("simple-bus")),
            ("#address-cells", cells(&[2])),
            ("#size-cells", cells(&[2])),
            ("ranges", empty()),
            ("nonposted-mmio", empty()),
        ],
    );
    soc.add_child(node(
        "interrupt-controller@23b100000",
        vec![
            ("compatible", strings(["apple,t8103-aic", "apple,aic"])),
            ("#interrupt-cells", cells(&[3])),
            ("interrupt-controller", empty()),
            ("reg", ranges(&[0x2_3b10_0000, 0x8000])),
            ("power-domains", domains(&["aic"])),
            ("phandle", cells(&[handle::AIC])),
        ],
    ));
    soc.add_child(pmgr());
    soc.add_child(node(
        "serial@235200000",
        vec![
            ("compatible", text("apple,s5l-uart")),
            ("reg", ranges(&[0x2_3520_0000, 0x1000])),
            ("reg-io-width", cells(&[4])),
            ("interrupt-parent", cells(&[handle::AIC])),
            ("interrupts", cells(&[IRQ, 605, LEVEL_HIGH])),
            ("clocks", cells(&[handle::CLOCK, handle::CLOCK])),
            ("clock-names", strings(["uart", "clk_uart_baud0"])),
            ("power-domains", domains(&["uart0"])),
        ],
    ));
    soc.add_child(node(
        "watchdog@23d2b0000",
        vec![
            ("compatible", strings(["apple,t8103-wdt", "apple,wdt"])),
            ("reg", ranges(&[0x2_3d2b_0000, 0x4000])),
            ("clocks", cells(&[handle::CLOCK])),
            ("interrupt-parent", cells(&[handle::AIC])),
            ("interrupts", cells(&[IRQ, 338, LEVEL_HIGH])),
        ],
    ));
    add_storage(&mut soc);
    soc
}

fn pmgr() -> DeviceTreeNode {
    let mut pmgr = node(
        "power-management@23b700000",
        vec![
            ("compatible", strings(["apple,t8103-pmgr", "apple,pmgr", "syscon", "simple-mfd"])),
            ("#address-cells", cells(&[1])),
            ("#size-cells", cells(&[1])),
            ("reg", ranges(&[0x2_3b70_0000, 0x1_4000])),
        ],
    );
    for (label, offset, parents, always_on) in DOMAINS {
        let mut controller = node(
            &format!("power-controller@{offset:x}"),
            vec![
                ("compatible", strings(["apple,t8103-pmgr-pwrstate", "apple,pmgr-pwrstate"])),
                ("reg", [offset, 4].iter().flat_map(|cell| cell.to_be_bytes().into_iter().skip(4)).collect()),
                ("#power-domain-cells", cells(&[0])),
                ("#reset-cells", cells(&[0])),
                ("label", text(label)),
                ("phandle", cells(&[domain(label)])),
            ],
        );
        if !parents.is_empty() {
            controller.add_property(DeviceTreeProperty::new_unchecked("power-domains", domains(parents)));
        }
        if always_on {
            controller.add_property(DeviceTreeProperty::new_unchecked("apple,always-on", empty()));
        }
        pmgr.add_child(controller);
    }
    pmgr
}

fn add_storage(soc: &mut DeviceTreeNode) {
    soc.add_child(node(
        "mbox@277408000",
        vec![
            ("compatible", strings(["apple,t8103-asc-mailbox", "apple,asc-mailbox-v4"])),
            ("reg", ranges(&[0x2_7740_8000, 0x4000])),
            ("interrupt-parent", cells(&[handle::AIC])),
            ("interrupts", (583..587).flat_map(|line| cells(&[IRQ, line, LEVEL_HIGH])).collect()),
            ("interrupt-names", strings(["send-empty", "send-not-empty", "recv-empty", "recv-not-empty"])),
            ("#mbox-cells", cells(&[0])),
            ("power-domains", domains(&["ans2"])),
            ("phandle", cells(&[handle::MAILBOX])),
        ],
    ));
    soc.add_child(node(
        "iommu@27bc50000",
        vec![
            ("compatible", text("apple,t8103-sart")),
            ("reg", ranges(&[0x2_7bc5_0000, 0x1_0000])),
            ("power-domains", domains(&["ans2"])),
            ("phandle", cells(&[handle::SART])),
        ],
    ));
    soc.add_child(node(
        "nvme@27bcc0000",
        vec![
            ("compatible", strings(["apple,t8103-nvme-ans2", "apple,nvme-ans2"])),
            ("reg", ranges(&[0x2_7bcc_0000, 0x4_0000, 0x2_7740_0000, 0x4000])),
            ("reg-names", strings(["nvme", "ans"])),
            ("interrupt-parent", cells(&[handle::AIC])),
            ("interrupts", cells(&[IRQ, 590, LEVEL_HIGH])),
            ("mboxes", cells(&[handle::MAILBOX])),
            ("apple,sart", cells(&[handle::SART])),
            ("power-domains", domains(&["ans2", "apcie_st"])),
            ("power-domain-names", strings(["ans", "apcie0"])),
            ("resets", domains(&["ans2"])),
        ],
    ));
}
