//! Names of the registers, for the counters of a run's report.

use crate::facts::{asc, mailbox, sart};

/// Behind the last word of a SART.
const SART_END: u64 = sart::SIZE + sart::STRIDE * sart::ENTRIES as u64;

/// The register's name as the reference has it; none where the reference knows no register.
pub(crate) fn register(block: &str, offset: u64) -> Option<String> {
    let indexed = |name: &str, base: u64| Some(format!("{name}[{}]", (offset - base) / 4));
    let name = match (block, offset) {
        ("sart", sart::CONFIG..sart::PADDR) => return indexed("SART_CONFIG", sart::CONFIG),
        ("sart", sart::PADDR..sart::SIZE) => return indexed("SART_PADDR", sart::PADDR),
        ("sart", sart::SIZE..SART_END) => return indexed("SART_SIZE", sart::SIZE),
        ("asc", asc::CPU_CONTROL) => "ASC_CPU_CONTROL",
        ("asc", asc::CPU_STATUS) => "ASC_CPU_STATUS",
        ("mailbox", mailbox::A2I_CONTROL) => "MAILBOX_A2I_CONTROL",
        ("mailbox", mailbox::I2A_CONTROL) => "MAILBOX_I2A_CONTROL",
        ("mailbox", mailbox::A2I_SEND0) => "MAILBOX_A2I_SEND0",
        ("mailbox", mailbox::A2I_SEND1) => "MAILBOX_A2I_SEND1",
        ("mailbox", mailbox::I2A_RECV0) => "MAILBOX_I2A_RECV0",
        ("mailbox", mailbox::I2A_RECV1) => "MAILBOX_I2A_RECV1",
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
