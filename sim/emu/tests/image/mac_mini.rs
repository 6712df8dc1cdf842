//! A device tree of the shape that an M1 Mac mini's has (Linux t8103.dtsi and t8103-j274.dts; `adt-fdt.md` section 4).
//!
//! Written for these tests: kinds, nesting, number and order of the nodes are a real tree's, and what ANS needs is exact; other
//! blocks' numbers only look real. What makes it harder than the generated tree: two power managers with all domains, five
//! mailboxes of one kind, references to nodes further on, phandles in no order, long property names, nodes eight deep,
//! buses of three address cells, the memory of another machine.

mod blocks;
mod part;
mod pcie;
mod power;

use dtoolkit::memreserve::MemoryReservation;
use dtoolkit::model::DeviceTree;

use part::Part;
pub(crate) use part::handle;

/// The path of each node that the storage hangs on.
pub(crate) const NVME: &str = "/soc/nvme@27bcc0000";
pub(crate) const SART: &str = "/soc/iommu@27bc50000";
pub(crate) const MAILBOX: &str = "/soc/mbox@277408000";
pub(crate) const ANS2: &str = "/soc/power-management@23b700000/power-controller@3f0";

/// The tree of a machine with that much memory.
pub(crate) fn tree(memory: u64) -> DeviceTree {
    let root = Part::new("")
        .bus(2, 2)
        .to("interrupt-parent", &["interrupts"])
        .text("compatible", &["apple,j274", "apple,t8103", "apple,arm-platform"])
        .text("model", &["Apple Mac mini (M1, 2020)"])
        .text("serial-number", &["C02EXAMPLE00"])
        .with(aliases())
        .with(
            Part::new("chosen")
                .bus(2, 2)
                .flag("ranges")
                .text("stdout-path", &["serial0"])
                .text("bootargs", &["earlycon console=ttySAC0,115200 root=LABEL=root rw"])
                .text("asahi,m1n1-stage2-version", &["v1.4.0"])
                .with(framebuffer()),
        )
        .with_all(processors())
        .with_all(["e-core", "p-core"].map(counters))
        .with(
            Part::new("timer")
                .text("compatible", &["arm,armv8-timer"])
                .to("interrupt-parent", &["interrupts"])
                .text("interrupt-names", &["phys", "virt", "hyp-phys", "hyp-virt"])
                .cells("interrupts", &[1, 2, 4, 1, 3, 4, 1, 0, 4, 1, 1, 4]),
        )
        .with_all([("clkref", 24_000_000), ("clk_120m", 120_000_000), ("clk_200m", 200_000_000)].map(clock))
        .with(reserved(memory))
        .with(blocks::soc())
        .with(Part::new("memory@800000000").text("device_type", &["memory"]).wide("reg", &[0x8_0000_0000, memory]))
        .with(sound());
    let mut tree = DeviceTree::new();
    tree.root = root.done();
    tree.memory_reservations.push(MemoryReservation::new(0x8_0140_0000, 0x4_0000));
    tree
}

fn aliases() -> Part {
    let part = Part::new("aliases")
        .text("serial0", &["/soc/serial@235200000"])
        .text("serial2", &["/soc/serial@235208000"])
        .text("ethernet0", &["/soc/pcie@690000000/pci@2,0/ethernet@0,0"])
        .text("wifi0", &["/soc/pcie@690000000/pci@0,0/wifi@0,0"])
        .text("nvme", &[NVME]);
    (0..5u32).fold(part, |part, number| {
        part.text(&format!("i2c{number}"), &[&format!("/soc/i2c@{:x}", 0x2_3501_0000u64 + 0x4000 * u64::from(number))])
    })
}

fn framebuffer() -> Part {
    Part::new("framebuffer@bdb8d4000")
        .text("compatible", &["apple,simple-framebuffer", "simple-framebuffer"])
        .wide("reg", &[0xb_db8d_4000, 0x7e_9000])
        .cells("width", &[1920])
        .cells("height", &[1080])
        .cells("stride", &[7680])
        .text("format", &["x2r10g10b10"])
        .power(&["disp0_cpu0", "dispext_cpu0"])
        .disabled()
}

/// Processors, their map, their operating points.
fn processors() -> [Part; 3] {
    let kinds = [("apple,icestorm", 0x000, 714, "e"), ("apple,firestorm", 0x1_0100, 1024, "p")];
    let core = |kind: usize, number: u32| {
        let (compatible, first, capacity, cluster) = kinds[kind];
        Part::new(format!("cpu@{:x}", first + number))
            .text("compatible", &[compatible])
            .text("device_type", &["cpu"])
            .cells("reg", &[0, first + number])
            .text("enable-method", &["spin-table"])
            .wide("cpu-release-addr", &[0x8_0100_0000 + 8 * u64::from(number)])
            .to("operating-points-v2", &[&format!("{cluster}-points")])
            .to("next-level-cache", &[&format!("{cluster}-cache")])
            .cells("capacity-dmips-mhz", &[capacity])
            .label(&format!("{cluster}-core{number}"))
    };
    let cluster = |kind: usize| {
        let (.., cluster) = kinds[kind];
        let cores =
            (0..4).map(|number| Part::new(format!("core{number}")).to("cpu", &[&format!("{cluster}-core{number}")]));
        Part::new(format!("cluster{kind}")).with_all(cores)
    };
    let cache = |cluster: &str| {
        Part::new(format!("l2-cache-{cluster}"))
            .text("compatible", &["cache"])
            .cells("cache-level", &[2])
            .flag("cache-unified")
            .label(&format!("{cluster}-cache"))
    };
    let cpus = Part::new("cpus")
        .bus(2, 0)
        .with(Part::new("cpu-map").with_all([0, 1].map(cluster)))
        .with_all((0..8).map(|number| core(usize::from(number > 3), number % 4)))
        .with_all(["e", "p"].map(cache));
    [cpus, points("opp-table-0", "e-points", 5), points("opp-table-1", "p-points", 15)]
}

/// Operating points.
fn points(name: &str, label: &str, count: u32) -> Part {
    let point = |number: u32| {
        Part::new(format!("opp{number:02}"))
            .wide("opp-hz", &[600_000_000 + 200_000_000 * u64::from(number)])
            .cells("opp-level", &[number + 1])
            .cells("clock-latency-ns", &[7500])
    };
    Part::new(name)
        .text("compatible", &["operating-points-v2"])
        .flag("opp-shared")
        .label(label)
        .with_all((0..count).map(point))
}

fn counters(kind: &str) -> Part {
    let name = if kind == "e-core" { "icestorm" } else { "firestorm" };
    Part::new(format!("pmu-{kind}"))
        .text("compatible", &[&format!("apple,{name}-pmu")])
        .to("interrupt-parent", &["interrupts"])
        .cells("interrupts", &[1, 4, 4])
}

fn clock((label, rate): (&str, u32)) -> Part {
    Part::new(format!("clock-{}", label.replace('_', "-")))
        .text("compatible", &["fixed-clock"])
        .cells("#clock-cells", &[0])
        .cells("clock-frequency", &[rate])
        .text("clock-output-names", &[label])
        .label(label)
}

/// Memory that firmware keeps, near the end of it all.
fn reserved(memory: u64) -> Part {
    let region = |(label, below_end, size): (&str, u64, u64)| {
        let base = 0x8_0000_0000 + memory - below_end;
        Part::new(format!("{label}@{base:x}"))
            .text("compatible", &["apple,asc-mem"])
            .wide("reg", &[base, size])
            .flag("no-map")
            .label(&format!("{label}-memory"))
    };
    Part::new("reserved-memory").bus(2, 2).flag("ranges").with_all(
        [
            ("dcp-text", 0x2a00_0000, 0x40_0000),
            ("dcp-data", 0x2980_0000, 0xc0_0000),
            ("region-ans", 0x2800_0000, 0x80_0000),
            ("region-sio", 0x2700_0000, 0x4_0000),
            ("uat-handoff", 0x2600_0000, 0x4000),
            ("uat-pagetables", 0x2500_0000, 0x4000),
            ("framebuffer", 0x2472_c000, 0x7e_9000),
            ("smc-sram", 0x2300_0000, 0x4000),
        ]
        .map(region),
    )
}

fn sound() -> Part {
    let link = |number: u32| {
        Part::new(format!("dai-link@{number}"))
            .cells("reg", &[number])
            .text("link-name", &[if number == 0 { "Speaker" } else { "Headphones Jack" }])
            .with(Part::new("cpu").cells("sound-dai", &[handle("mca"), number]))
            .with(Part::new("codec").to("sound-dai", &["speaker"]))
    };
    Part::new("sound")
        .text("compatible", &["apple,j274-macaudio", "apple,macaudio"])
        .text("model", &["Mac mini J274"])
        .bus(1, 0)
        .with_all((0..2).map(link))
}
