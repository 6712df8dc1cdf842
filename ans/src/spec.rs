//! Facts about the blocks around ANS: offsets, bits and values, each with its source. No behaviour.

use core::time::Duration;

use hal::Register;

pub use fields::*;

mod fields {
    #![expect(missing_docs, reason = "what the macro makes beside the fields cannot carry any")]

    use tock_registers::register_bitfields;

    register_bitfields! { u32,
        /// One power-state word of the power manager (Linux pmgr-pwrstate.c, m1n1 pmgr.c).
        pub PowerState [
            /// The device is held in reset. Effective only while it is powered and clocked.
            RESET OFFSET(31) NUMBITS(1) [],
            /// Hardware may gate the device by itself.
            AUTO_ENABLE OFFSET(28) NUMBITS(1) [],
            /// The device's bus access is quiesced.
            DEV_DISABLE OFFSET(10) NUMBITS(1) [],
            /// History: the clock was gated. Never written back as 1 (Linux, U-Boot); how a write acts is not documented.
            WAS_CLKGATED OFFSET(9) NUMBITS(1) [],
            /// History: the power was gated. As above.
            WAS_PWRGATED OFFSET(8) NUMBITS(1) [],
            /// The present state.
            ACTUAL OFFSET(4) NUMBITS(4) [],
            /// The requested state.
            TARGET OFFSET(0) NUMBITS(4) []
        ],
        /// CPU_CONTROL of the coprocessor. The other bits are unknown and kept.
        pub CpuControl [
            /// The core runs (Linux apple.c, m1n1 asc.c, U-Boot).
            RUN OFFSET(4) NUMBITS(1) []
        ],
        /// CONFIG of a version 2 SART entry (Linux sart.c, m1n1, U-Boot).
        pub SartConfig2 [
            /// 0: unused. 0xff: everything allowed. The single bits are not known.
            FLAGS OFFSET(24) NUMBITS(8) [],
            /// Pages of 4 KiB.
            SIZE OFFSET(0) NUMBITS(24) []
        ],
        /// CONFIG of a version 3 SART entry: the flags alone. Its size has a word of its own, in pages of 4 KiB.
        pub SartConfig3 [
            /// As in version 2.
            FLAGS OFFSET(0) NUMBITS(8) []
        ]
    }
}

/// TARGET and ACTUAL of a device that is powered and clocked (Linux, m1n1, U-Boot).
pub const POWER_ACTIVE: u32 = 0xf;

/// How long the reset of a device is held: m1n1's 10 us; Linux holds 1 to 2 us.
pub const RESET_HOLD: Duration = Duration::from_micros(10);

/// CPU_CONTROL in the coprocessor's block (Linux apple.c, m1n1 asc.c, U-Boot).
pub const CPU_CONTROL: Register<CpuControl::Register> = Register::at(0x44);

/// BOOT_STATUS in the NVMe block (Linux apple.c, m1n1 nvme.c, U-Boot, OpenBSD).
pub const BOOT_STATUS: Register = Register::at(0x1300);

/// BOOT_STATUS once the firmware is ready.
pub const BOOT_STATUS_READY: u32 = 0xde71_ce55;

/// Entries of a SART (Linux sart.c, m1n1, U-Boot).
pub const SART_ENTRIES: usize = 16;

/// CONFIG of entry `index`.
pub const fn sart_config(index: usize) -> Register {
    Register::at(4 * index)
}

/// PADDR of entry `index`: the address in pages of 4 KiB.
pub const fn sart_address(index: usize) -> Register {
    Register::at(0x40 + 4 * index)
}

/// SIZE of entry `index`, version 3 only.
pub const fn sart_size(index: usize) -> Register {
    Register::at(0x80 + 4 * index)
}

/// The flags that let everything pass.
pub const SART_ALLOW: u32 = 0xff;

/// The unit of SART addresses and sizes, as a shift: 4 KiB.
pub const SART_PAGE_SHIFT: u32 = 12;

/// Width of a physical address that a version 2 SART can hold, in bits (Linux sart.c).
pub const SART_2_ADDRESS_BITS: u32 = 36;

/// The same for version 3.
pub const SART_3_ADDRESS_BITS: u32 = 42;

/// The largest entry of a version 2 SART, in pages.
pub const SART_2_PAGES: u64 = 0xff_ffff;

/// The largest entry of a version 3 SART, in pages.
pub const SART_3_PAGES: u64 = 0x3fff_ffff;

/// Bytes of each block that the drivers reach: up to the last register that they know.
pub mod span {
    /// The NVMe block, up to TCB_STAT.
    pub const NVME: u64 = 0x2_8124;
    /// The coprocessor's block, up to CPU_CONTROL.
    pub const COPROCESSOR: u64 = 0x48;
    /// The mailbox, up to I2A_RECV1.
    pub const MAILBOX: u64 = 0x840;
    /// The SART, up to the last SIZE word.
    pub const SART: u64 = 0xc0;
}

/// Strings of the device tree (Linux bindings and `t8103.dtsi`).
pub mod compatible {
    /// Controllers that this driver knows. U-Boot matches the same two; M1 Pro and later and M2 list the second as well.
    pub const NVME: [&str; 2] = ["apple,t8103-nvme-ans2", "apple,nvme-ans2"];
    /// The controller of A11: ring queues, no NVMMU, another SART. Not supported.
    pub const NVME_A11: &str = "apple,t8015-nvme-ans2";
    /// Mailboxes with the registers of ASC version 4.
    pub const MAILBOX: [&str; 2] = ["apple,asc-mailbox-v4", "apple,t8103-asc-mailbox"];
    /// SARTs of version 2.
    pub const SART_2: [&str; 1] = ["apple,t8103-sart"];
    /// SARTs of version 3.
    pub const SART_3: [&str; 2] = ["apple,t6000-sart", "apple,t8112-sart"];
    /// Power domains. Newer chips list the t8103 one alone as their fallback.
    pub const POWER_DOMAIN: [&str; 2] = ["apple,pmgr-pwrstate", "apple,t8103-pmgr-pwrstate"];
}
