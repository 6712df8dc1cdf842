//! The blocks around the controller.

use ans::spec;
use sim::facts::{apple, asc, mailbox, pmgr, sart, tree};

use crate::compare::{File, rows};

pub(crate) fn files() -> Vec<File> {
    let last = sart::STRIDE * (sart::ENTRIES as u64 - 1);
    let rows = rows![
        spec::PowerState::RESET => pmgr::RESET,
        spec::PowerState::AUTO_ENABLE => pmgr::AUTO_ENABLE,
        spec::PowerState::DEV_DISABLE => pmgr::DEV_DISABLE,
        spec::PowerState::WAS_CLKGATED => pmgr::WAS_CLKGATED,
        spec::PowerState::WAS_PWRGATED => pmgr::WAS_PWRGATED,
        spec::PowerState::ACTUAL => pmgr::PS_ACTUAL,
        spec::PowerState::TARGET => pmgr::PS_TARGET,
        spec::POWER_ACTIVE => pmgr::ACTIVE,
        spec::RESET_HOLD => pmgr::RESET_HELD_NS,
        spec::CpuControl::RUN => asc::RUN,
        spec::CPU_CONTROL => asc::CPU_CONTROL,
        spec::BOOT_STATUS => apple::BOOT_STATUS,
        spec::BOOT_STATUS_READY => apple::BOOT_STATUS_READY,
        spec::SartConfig2::FLAGS => sart::V2_FLAGS,
        spec::SartConfig2::SIZE => sart::V2_SIZE,
        spec::SartConfig3::FLAGS => sart::V3_FLAGS,
        spec::SART_ENTRIES => sart::ENTRIES,
        spec::sart_config(0) => sart::CONFIG,
        spec::sart_config(15) => sart::CONFIG + last,
        spec::sart_address(0) => sart::PADDR,
        spec::sart_address(15) => sart::PADDR + last,
        spec::sart_size(0) => sart::SIZE,
        spec::sart_size(15) => sart::SIZE + last,
        spec::SART_ALLOW => sart::ALLOW,
        spec::SART_PAGE_SHIFT => sart::PAGE_SHIFT,
        spec::SART_2_ADDRESS_BITS => sart::V2_ADDRESS_WIDTH,
        spec::SART_3_ADDRESS_BITS => sart::V3_ADDRESS_WIDTH,
        // The largest size is what fits in the field.
        spec::SART_2_PAGES => sart::V2_SIZE.mask(),
        spec::SART_3_PAGES => sart::V3_SIZE.mask(),
        // A window ends behind the last register that the drivers know.
        spec::span::NVME => apple::NVMMU_TCB_STAT + 4,
        spec::span::COPROCESSOR => asc::CPU_CONTROL + 4,
        spec::span::MAILBOX => mailbox::I2A_RECV1 + 8,
        spec::span::SART => sart::SIZE + last + 4,
        spec::compatible::NVME => tree::NVME,
        spec::compatible::NVME_A11 => tree::NVME_A11,
        spec::compatible::MAILBOX => tree::MAILBOX,
        spec::compatible::SART_2 => tree::SART_V2,
        spec::compatible::SART_3 => tree::SART_V3,
        spec::compatible::POWER_DOMAIN => tree::POWER_DOMAIN,
    ];
    let path = "ans/src/spec.rs";
    vec![File { path, module: "spec", text: include_str!("../../src/spec.rs"), rows }]
}
