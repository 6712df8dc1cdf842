//! Names of the registers, for the counters of a run's report.

/// The register's name as the reference has it; none where the reference knows no register.
pub(crate) fn register(block: &str, offset: u64) -> Option<String> {
    let indexed = |name: &str, base: u64| Some(format!("{name}[{}]", (offset - base) / 4));
    let name = match (block, offset) {
        ("sart", 0..0x40) => return indexed("SART_CONFIG", 0),
        ("sart", 0x40..0x80) => return indexed("SART_PADDR", 0x40),
        ("sart", 0x80..0xc0) => return indexed("SART_SIZE", 0x80),
        ("asc", 0x44) => "ASC_CPU_CONTROL",
        ("asc", 0x48) => "ASC_CPU_STATUS",
        ("mailbox", 0x110) => "MAILBOX_A2I_CONTROL",
        ("mailbox", 0x114) => "MAILBOX_I2A_CONTROL",
        ("mailbox", 0x800) => "MAILBOX_A2I_SEND0",
        ("mailbox", 0x808) => "MAILBOX_A2I_SEND1",
        ("mailbox", 0x830) => "MAILBOX_I2A_RECV0",
        ("mailbox", 0x838) => "MAILBOX_I2A_RECV1",
        ("nvme", _) => crate::nvme::register_name(offset)?,
        ("uart", 0x00) => "UART_ULCON",
        ("uart", 0x04) => "UART_UCON",
        ("uart", 0x08) => "UART_UFCON",
        ("uart", 0x10) => "UART_UTRSTAT",
        ("uart", 0x18) => "UART_UFSTAT",
        ("uart", 0x20) => "UART_UTXH",
        ("uart", 0x24) => "UART_URXH",
        ("wdt", 0x0c) => "WDT_WD0_CONTROL",
        ("wdt", 0x10) => "WDT_WD1_CURRENT",
        ("wdt", 0x14) => "WDT_WD1_BITE",
        ("wdt", 0x1c) => "WDT_WD1_CONTROL",
        ("aic", 0x2004) => "AIC_EVENT",
        ("aic", 0x4100..0x4180) => return indexed("AIC_MASK_SET", 0x4100),
        ("aic", 0x4180..0x4200) => return indexed("AIC_MASK_CLR", 0x4180),
        _ => return None,
    };
    Some(name.into())
}
