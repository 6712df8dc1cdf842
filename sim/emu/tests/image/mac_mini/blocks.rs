//! What hangs on the SoC's bus.

use super::part::{Part, handle};
use super::{pcie, points, power};

/// One plain block: name and base, size, `compatible`, interrupts from, how many, domains, whether it is disabled.
type Block = (&'static str, u64, u64, &'static [&'static str], u32, u32, &'static [&'static str], bool);

const DART: &[&str] = &["apple,t8103-dart"];
const MAILBOX: &[&str] = &["apple,t8103-asc-mailbox", "apple,asc-mailbox-v4"];
const UART: &[&str] = &["apple,s5l-uart"];
const SPI: &[&str] = &["apple,t8103-spi", "apple,spi"];
const PINS: &[&str] = &["apple,t8103-pinctrl", "apple,pinctrl"];
const FREQUENCY: &[&str] = &["apple,t8103-cluster-cpufreq", "apple,cluster-cpufreq"];
const PWM: &[&str] = &["apple,t8103-fpwm", "apple,s5l-fpwm"];
const USB: &[&str] = &["apple,t8103-dwc3", "apple,dwc3", "snps,dwc3"];

const BLOCKS: [Block; 55] = [
    ("performance-controller", 0x2_10e2_0000, 0x1000, FREQUENCY, 0, 0, &[], false),
    ("performance-controller", 0x2_11e2_0000, 0x1000, FREQUENCY, 0, 0, &[], false),
    ("iommu", 0x2_2c0f_4000, 0x4000, &["apple,t8103-isp-dart"], 543, 1, &["isp_sys"], true),
    ("isp", 0x2_2a00_0000, 0x200_0000, &["apple,t8103-isp", "apple,isp"], 569, 1, &["isp_sys", "isp_stage0"], true),
    ("iommu", 0x2_3130_4000, 0x4000, DART, 448, 1, &["disp0_cpu0"], true),
    ("iommu", 0x2_3130_c000, 0x4000, DART, 448, 1, &["disp0_cpu0"], true),
    ("mbox", 0x2_31c0_8000, 0x4000, MAILBOX, 443, 4, &["disp0_cpu0"], true),
    ("dcp", 0x2_31c0_0000, 0x4000, &["apple,t8103-dcp", "apple,dcp"], 0, 0, &["disp0_cpu0"], true),
    ("iommu", 0x2_3500_4000, 0x4000, DART, 635, 1, &["sio_cpu"], false),
    ("pwm", 0x2_3504_4000, 0x4000, PWM, 0, 0, &["fpwm1"], true),
    ("pwm", 0x2_3504_0000, 0x4000, PWM, 0, 0, &["fpwm0"], true),
    ("spi", 0x2_3510_0000, 0x4000, SPI, 614, 1, &["spi0"], true),
    ("spi", 0x2_3510_4000, 0x4000, SPI, 615, 1, &["spi1"], false),
    ("spi", 0x2_3510_8000, 0x4000, SPI, 616, 1, &["spi2"], true),
    ("spi", 0x2_3510_c000, 0x4000, SPI, 617, 1, &["spi3"], true),
    ("serial", 0x2_3520_8000, 0x1000, UART, 607, 1, &["uart2"], true),
    ("serial", 0x2_3520_0000, 0x1000, UART, 605, 1, &["uart0"], false),
    ("serial", 0x2_3520_c000, 0x1000, UART, 608, 1, &["uart3"], true),
    ("mbox", 0x2_3640_8000, 0x4000, MAILBOX, 640, 4, &["sio_cpu"], false),
    ("sio", 0x2_3640_0000, 0x8000, &["apple,t8103-sio", "apple,sio"], 0, 0, &["sio_cpu"], false),
    ("dma-controller", 0x2_3820_0000, 0x3_4000, &["apple,t8103-admac", "apple,admac"], 626, 1, &["sio_adma"], false),
    ("i2s", 0x2_3840_0000, 0x1_8000, &["apple,t8103-mca", "apple,mca"], 619, 6, &["audio_p"], false),
    ("clock-controller", 0x2_3b04_4000, 0x1_4000, &["apple,t8103-nco", "apple,nco"], 0, 0, &[], false),
    ("pinctrl", 0x2_3c10_0000, 0x10_0000, PINS, 190, 7, &["gpio"], false),
    ("pinctrl", 0x2_3d1f_0000, 0x4000, PINS, 330, 7, &["nub_gpio"], false),
    ("spmi", 0x2_3d0d_9300, 0x100, &["apple,t8103-spmi", "apple,spmi"], 343, 1, &["nub_spmi0"], false),
    ("watchdog", 0x2_3d2b_0000, 0x4000, &["apple,t8103-wdt", "apple,wdt"], 338, 1, &[], false),
    ("mbox", 0x2_3e40_8000, 0x4000, MAILBOX, 400, 4, &[], false),
    ("pinctrl", 0x2_3e82_0000, 0x4000, PINS, 391, 7, &[], false),
    ("mbox", 0x2_4a40_8000, 0x4000, MAILBOX, 272, 4, &["aop_cpu"], true),
    ("iommu", 0x2_4a80_8000, 0x4000, DART, 267, 1, &["aop_base"], true),
    ("pinctrl", 0x2_4a82_0000, 0x4000, PINS, 268, 7, &["aop_base"], false),
    ("mbox", 0x2_5e40_8000, 0x4000, MAILBOX, 520, 4, &["sep"], true),
    ("sep", 0x2_5e40_0000, 0x6c000, &["apple,sep"], 0, 0, &["sep"], true),
    ("iommu", 0x2_6a00_8000, 0x4000, DART, 500, 1, &["ane_sys"], true),
    ("npu", 0x2_6b00_0000, 0x200_0000, &["apple,t8103-ane", "apple,ane"], 502, 1, &["ane_sys", "ane_engine0"], true),
    ("iommu", 0x2_7101_0000, 0x4000, DART, 541, 1, &["avd_sys"], true),
    ("video-codec", 0x2_6910_0000, 0x10_0000, &["apple,t8103-avd"], 537, 1, &["avd_sys"], true),
    ("jpeg", 0x2_7a00_0000, 0x4000, &["apple,t8103-jpeg"], 566, 1, &["jpg"], true),
    ("iommu", 0x3_82f0_0000, 0x4000, DART, 781, 1, &["atc_usb0"], false),
    ("iommu", 0x3_82f8_0000, 0x4000, DART, 781, 1, &["atc_usb0"], false),
    ("usb", 0x3_8228_0000, 0x10_0000, USB, 777, 1, &["atc_usb0"], false),
    ("phy", 0x3_8300_0000, 0x4_c000, &["apple,t8103-atcphy"], 0, 0, &["atc_usb0"], false),
    ("iommu", 0x5_02f0_0000, 0x4000, DART, 861, 1, &["atc_usb1"], false),
    ("iommu", 0x5_02f8_0000, 0x4000, DART, 861, 1, &["atc_usb1"], false),
    ("usb", 0x5_0228_0000, 0x10_0000, USB, 857, 1, &["atc_usb1"], false),
    ("phy", 0x5_0300_0000, 0x4_c000, &["apple,t8103-atcphy"], 0, 0, &["atc_usb1"], false),
    ("pmp", 0x2_3bc0_0000, 0x4000, &["apple,t8103-pmp"], 480, 4, &["pmp"], true),
    ("mipi-dsi", 0x2_2820_0000, 0x4000, &["apple,t8103-dsi"], 410, 1, &["mipi_dsi"], true),
    ("display-pipe", 0x2_2820_4000, 0x4000, &["apple,t8103-display-pipe"], 411, 1, &["dispdfr_be"], true),
    ("iommu", 0x2_2830_4000, 0x4000, DART, 412, 1, &["dispdfr_be"], true),
    ("scaler", 0x2_7b00_0000, 0x4000, &["apple,t8103-scaler"], 570, 1, &["msr"], true),
    ("crypto", 0x2_3500_8000, 0x4000, &["apple,t8103-aes"], 640, 1, &["aes"], true),
    ("rng", 0x2_3501_c000 + 0x1_0000, 0x4000, &["apple,t8103-trng"], 0, 0, &[], true),
    ("bridge", 0x2_0000_0000, 0x4000, &["apple,t8103-dcs"], 0, 0, &["dcs0", "dcs1"], true),
];

pub(super) fn soc() -> Part {
    let [mini, main] = power::managers();
    let bus = Part::new("soc")
        .text("compatible", &["apple,t8103-soc", "simple-bus"])
        .bus(2, 2)
        .flag("nonposted-mmio")
        .flag("ranges")
        .with(graphics())
        // Before what it needs, as its address has it: every reference of it leads on.
        .with(storage())
        .with_all(BLOCKS.iter().map(plain))
        .with(mini)
        .with_all((0..5).map(two_wire))
        .with(
            Part::new("mbox@277408000")
                .text("compatible", MAILBOX)
                .wide("reg", &[0x2_7740_8000, 0x4000])
                .irqs(&[583, 584, 585, 586])
                .text("interrupt-names", &["send-empty", "send-not-empty", "recv-empty", "recv-not-empty"])
                .cells("#mbox-cells", &[0])
                .power(&["ans2"])
                .label("ans-mailbox"),
        )
        .with(
            Part::new("iommu@27bc50000")
                .text("compatible", &["apple,t8103-sart"])
                .wide("reg", &[0x2_7bc5_0000, 0x1_0000])
                .power(&["ans2"])
                .label("sart"),
        )
        .with(main)
        .with(controller())
        .with(management())
        .with(fuses());
    bus.with_all(pcie::nodes())
}

fn plain(&(name, base, size, compatible, line, count, domains, disabled): &Block) -> Part {
    let part = Part::new(format!("{name}@{base:x}")).text("compatible", compatible).wide("reg", &[base, size]);
    let part = part.power(domains).label(&format!("{name}@{base:x}"));
    let part = if count > 0 { part.irqs(&(line..line + count).collect::<Vec<_>>()) } else { part };
    let part = match name {
        "iommu" => part.cells("#iommu-cells", &[1]),
        "mbox" => part.cells("#mbox-cells", &[0]),
        "pinctrl" => pins(part, base),
        "serial" => part.cells("reg-io-width", &[4]).to("clocks", &["clkref", "clkref"]),
        "i2s" => part.cells("#sound-dai-cells", &[1]).label("mca"),
        "usb" => part
            .cells("iommus", &[handle(&format!("iommu@{:x}", base + 0xc8_0000)), 0])
            .text("dr_mode", &["otg"])
            .flag("usb-role-switch"),
        _ => part,
    };
    if disabled { part.disabled() } else { part }
}

fn pins(part: Part, base: u64) -> Part {
    let group = |number: u32| {
        Part::new(format!("group{number}-pins"))
            .cells("pinmux", &[1 << 16 | (2 * number), 1 << 16 | (2 * number + 1)])
            .label(&format!("pins-{base:x}-{number}"))
    };
    part.flag("gpio-controller")
        .cells("#gpio-cells", &[2])
        .cells("apple,npins", &[212])
        .cells("gpio-ranges", &[handle(&format!("pinctrl@{base:x}")), 0, 0, 212])
        .flag("interrupt-controller")
        .cells("#interrupt-cells", &[2])
        .with_all((0..10).map(group))
}

fn controller() -> Part {
    let affinity = |(number, cluster): (u32, &str)| {
        let cores: Vec<_> = (0..4).map(|core| format!("{cluster}-core{core}")).collect();
        Part::new(format!("{cluster}-core-pmu-affinity"))
            .cells("apple,fiq-index", &[number])
            .to("cpus", &cores.iter().map(String::as_str).collect::<Vec<_>>())
    };
    Part::new("interrupt-controller@23b100000")
        .text("compatible", &["apple,t8103-aic", "apple,aic"])
        .cells("#interrupt-cells", &[3])
        .flag("interrupt-controller")
        .wide("reg", &[0x2_3b10_0000, 0x8000])
        .power(&["aic"])
        .label("interrupts")
        .with(Part::new("affinities").with_all([(4, "e"), (5, "p")].map(affinity)))
}

fn storage() -> Part {
    Part::new("nvme@27bcc0000")
        .text("compatible", &["apple,t8103-nvme-ans2", "apple,nvme-ans2"])
        .wide("reg", &[0x2_7bcc_0000, 0x4_0000, 0x2_7740_0000, 0x4000])
        .text("reg-names", &["nvme", "ans"])
        .irqs(&[590])
        .to("mboxes", &["ans-mailbox"])
        .to("apple,sart", &["sart"])
        .power(&["ans2", "apcie_st"])
        .text("power-domain-names", &["ans", "apcie0"])
        .to("resets", &["ans2"])
}

/// The GPU, whose tuning has the long names.
fn graphics() -> Part {
    let gpu = Part::new("gpu@206400000")
        .text("compatible", &["apple,agx-t8103", "apple,agx-g13g"])
        .wide("reg", &[0x2_0640_0000, 0x4_0000, 0x2_0400_0000, 0x100_0000])
        .text("reg-names", &["asc", "sgx"])
        .irqs(&[575, 563])
        .power(&["gfx"])
        .to("operating-points-v2", &["gpu-points"])
        .to("memory-region", &["uat-handoff-memory", "uat-pagetables-memory"]);
    let tuning = [
        "apple,avg-power-filter-tc-ms",
        "apple,avg-power-min-duty-cycle",
        "apple,fast-die0-integral-gain",
        "apple,fast-die0-proportional-gain",
        "apple,perf-boost-ctl-steps",
        "apple,perf-filter-drop-threshold",
        "apple,perf-filter-time-constant2",
        "apple,ppm-filter-time-constant-ms",
        "apple,power-zone-filter-and-target-offsets",
    ];
    tuning.into_iter().fold(gpu, |gpu, name| gpu.cells(name, &[5])).with(points("opp-table-2", "gpu-points", 7))
}

/// I2C; on the first one sit the two USB-C controllers, with the deepest nodes of the tree.
fn two_wire(number: u32) -> Part {
    let base = 0x2_3501_0000 + 0x4000 * u64::from(number);
    let part = Part::new(format!("i2c@{base:x}"))
        .text("compatible", &["apple,t8103-i2c", "apple,i2c"])
        .wide("reg", &[base, 0x4000])
        .to("clocks", &["clkref"])
        .irqs(&[627 + number])
        .to("pinctrl-0", &[&format!("pins-23c100000-{}", number % 4)])
        .bus(1, 0)
        .power(&[&format!("i2c{number}")]);
    match number {
        0 => part.with_all([0x3f, 0x38].map(type_c)),
        2 => part
            .with(Part::new("codec@48").text("compatible", &["cirrus,cs42l83"]).cells("reg", &[0x48]).label("speaker")),
        3 | 4 => part.disabled(),
        _ => part,
    }
}

fn type_c(address: u32) -> Part {
    let port = |number: u32| {
        let end = |here: &str, there: &str| {
            Part::new("endpoint")
                .to("remote-endpoint", &[&format!("{there}-{address}-{number}")])
                .label(&format!("{here}-{address}-{number}"))
        };
        Part::new(format!("port@{number}")).cells("reg", &[number]).with(end("connector", "phy"))
    };
    Part::new(format!("hpm@{address:x}"))
        .text("compatible", &["apple,cd321x"])
        .cells("reg", &[address])
        .cells("interrupts", &[106, 8])
        .to("interrupt-parent", &["pinctrl@23c100000"])
        .with(
            Part::new("connector")
                .text("compatible", &["usb-c-connector"])
                .text("data-role", &["dual"])
                .with(Part::new("ports").bus(1, 0).with_all((0..3).map(port))),
        )
}

/// The system management controller, whose mailbox looks like that of ANS.
fn management() -> Part {
    let part = |name: &str| Part::new(name).text("compatible", &[&format!("apple,smc-{name}")]);
    Part::new("smc@23e400000")
        .text("compatible", &["apple,t8103-smc", "apple,smc"])
        .wide("reg", &[0x2_3e40_0000, 0x4000, 0x2_3fe0_0000, 0x10_0000])
        .text("reg-names", &["smc", "sram"])
        .to("mboxes", &["mbox@23e408000"])
        .with_all(["gpio", "hwmon", "reboot", "rtc", "hid"].map(part))
}

/// Fuses, with cells of single bits.
fn fuses() -> Part {
    let cell = |number: u32| {
        Part::new(format!("efuse@{:x},{}", 0x480 + 4 * number, number % 8))
            .cells("reg", &[0x480 + 4 * number, 4])
            .cells("bits", &[number % 8, 5])
            .label(&format!("fuse{number}"))
    };
    Part::new("efuse@23d2bc000")
        .text("compatible", &["apple,t8103-efuses", "apple,efuses"])
        .wide("reg", &[0x2_3d2b_c000, 0x1000])
        .bus(1, 1)
        .with_all((0..40).map(cell))
}
