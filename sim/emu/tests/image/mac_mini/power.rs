//! The two power managers with all their domains.

use super::part::Part;

/// Domains in a row: label (with a number behind it, if there are several), offset of the first, how many, parents.
type Row = (&'static str, u32, u32, &'static [&'static str]);

/// The main block. Those around ANS stand where `pmgr-reset.md` section 4.1 has them; the others are where there is room.
const MAIN: [Row; 66] = [
    ("sbr", 0x100, 1, &[]),
    ("aic", 0x108, 1, &[]),
    ("dwi", 0x110, 1, &[]),
    ("soc_spmi", 0x118, 3, &[]),
    ("gpio", 0x130, 1, &[]),
    ("pms_busif", 0x138, 1, &[]),
    ("pms", 0x140, 1, &["pms_busif"]),
    ("pms_fpwm", 0x148, 5, &["pms"]),
    ("soc_dpe", 0x170, 1, &[]),
    ("pmgr_soc_ocla", 0x178, 1, &[]),
    ("ispsens", 0x180, 4, &[]),
    ("pcie_ref", 0x1a0, 1, &[]),
    ("aft", 0x1a8, 1, &[]),
    ("devc0_ivdmc", 0x1b0, 1, &[]),
    ("imx", 0x1b8, 1, &[]),
    ("sio_busif", 0x1c0, 1, &[]),
    ("sio", 0x1c8, 1, &["sio_busif"]),
    ("sio_cpu", 0x1d0, 1, &["sio"]),
    ("fpwm", 0x1d8, 3, &["sio"]),
    ("i2c", 0x1f0, 5, &["sio"]),
    ("spi_p", 0x218, 1, &["sio"]),
    ("uart_p", 0x220, 1, &["sio"]),
    ("audio_p", 0x228, 1, &["sio"]),
    ("sio_adma", 0x230, 1, &["sio", "pms"]),
    ("aes", 0x238, 1, &["sio"]),
    ("spi", 0x240, 4, &["spi_p"]),
    ("uart_n", 0x268, 1, &["uart_p"]),
    ("uart", 0x270, 9, &["uart_p"]),
    ("mca", 0x2b8, 6, &["audio_p", "sio_adma"]),
    ("dpa", 0x2e8, 5, &["audio_p"]),
    ("mcc", 0x310, 1, &[]),
    ("dcs", 0x318, 6, &[]),
    ("apcie", 0x348, 1, &["imx", "pcie_ref"]),
    ("rmx", 0x350, 1, &[]),
    ("mmx", 0x358, 1, &[]),
    ("disp0_fe", 0x360, 1, &["rmx"]),
    ("disp0_cpu0", 0x368, 1, &["disp0_fe"]),
    ("dispext_fe", 0x370, 1, &["rmx"]),
    ("dispext_cpu0", 0x378, 1, &["dispext_fe"]),
    ("dispdfr_fe", 0x380, 1, &["rmx"]),
    ("dispdfr_be", 0x388, 1, &["dispdfr_fe"]),
    ("mipi_dsi", 0x390, 1, &["dispdfr_be"]),
    ("jpg", 0x398, 1, &["mmx"]),
    ("msr", 0x3a0, 1, &["mmx"]),
    ("pmp", 0x3a8, 1, &[]),
    ("pms_sram", 0x3b0, 1, &[]),
    ("isp_sys", 0x3b8, 1, &["rmx"]),
    ("venc_sys", 0x3c0, 1, &["mmx"]),
    ("avd_sys", 0x3c8, 1, &["mmx"]),
    ("apcie_gp", 0x3e8, 1, &["apcie"]),
    ("ans2", 0x3f0, 1, &[]),
    ("gfx", 0x3f8, 1, &[]),
    ("sep", 0x400, 1, &[]),
    ("ane_sys", 0x408, 1, &[]),
    ("ane_sys_cpu", 0x410, 1, &["ane_sys"]),
    ("apcie_st", 0x418, 1, &["apcie", "ans2"]),
    ("venc_dma", 0x8000, 1, &["venc_sys"]),
    ("venc_pipe", 0x8008, 2, &["venc_dma"]),
    ("venc_me", 0x8018, 2, &["venc_dma"]),
    ("disp0_be", 0x8028, 1, &["disp0_fe"]),
    ("dispext_be", 0x8030, 1, &["dispext_fe"]),
    ("isp_stage", 0x8038, 4, &["isp_sys"]),
    ("ane_engine", 0x8058, 7, &["ane_sys"]),
    ("atc_common", 0x8090, 2, &[]),
    ("atc_pcie", 0x80a0, 2, &["rmx"]),
    ("atc_usb", 0x80b0, 2, &["usb_aon0", "usb_aon1"]),
];

/// The block that stays powered in sleep.
const MINI: [Row; 16] = [
    ("debug", 0x58, 1, &[]),
    ("nub_spmi0", 0x60, 1, &[]),
    ("nub_spmi1", 0x68, 1, &[]),
    ("nub_aon", 0x70, 1, &[]),
    ("nub_gpio", 0x80, 1, &["nub_aon"]),
    ("nub_fabric", 0xa8, 1, &[]),
    ("nub_sram", 0xb0, 1, &[]),
    ("debug_usb", 0xb8, 1, &["debug"]),
    ("debug_auth", 0xc0, 1, &["debug"]),
    ("usb_aon", 0xc8, 2, &[]),
    ("msg", 0xe0, 1, &[]),
    ("aop_cpu", 0x4000, 1, &[]),
    ("aop_filter", 0x4008, 1, &["aop_cpu"]),
    ("aop_base", 0x4010, 1, &[]),
    ("aop_shim", 0x4018, 1, &["aop_base"]),
    ("aop_uart", 0x4020, 3, &["aop_base"]),
];

/// Domains that nothing may switch off.
const ALWAYS_ON: [&str; 8] = ["sbr", "aic", "dwi", "mcc", "nub_aon", "nub_fabric", "nub_sram", "msg"];

fn block(name: &str, label: &str, base: u64, size: u64, rows: &[Row]) -> Part {
    Part::new(name)
        .text("compatible", &["apple,t8103-pmgr", "apple,pmgr", "syscon", "simple-mfd"])
        .bus(1, 1)
        .wide("reg", &[base, size])
        .label(label)
        .with_all(rows.iter().flat_map(|row| (0..row.2).map(move |number| domain(row, number))))
}

fn domain(&(label, first, count, parents): &Row, number: u32) -> Part {
    let offset = first + 8 * number;
    let label = if count == 1 { label.to_owned() } else { format!("{label}{number}") };
    let part = Part::new(format!("power-controller@{offset:x}"))
        .text("compatible", &["apple,t8103-pmgr-pwrstate", "apple,pmgr-pwrstate"])
        .cells("reg", &[offset, 4])
        .cells("#power-domain-cells", &[0])
        .cells("#reset-cells", &[0])
        .text("label", &[&label])
        .power(parents)
        .label(&label);
    if ALWAYS_ON.contains(&label.as_str()) { part.flag("apple,always-on") } else { part }
}

/// The small one first: what looks for a domain's block must not take the first that it finds.
pub(super) fn managers() -> [Part; 2] {
    [
        block("power-management@23d280000", "pmgr_mini", 0x2_3d28_0000, 0x8000, &MINI),
        block("power-management@23b700000", "pmgr", 0x2_3b70_0000, 0x1_4000, &MAIN),
    ]
}
