//! The board: console, power and identity, from the device tree.

use boot::reason::Reason;
use hal::fdt::{CpuAddress, Node, Region, Tree};
use hal::physical::PhysicalWindow;

use super::console::{self, Uart};
use super::end::{self, Conduit, Off};
use super::image;
use super::translation::{Kind, MapError, Mapper};

const UARTS: [(&str, Uart); 2] = [("apple,s5l-uart", Uart::S5l), ("arm,pl011", Uart::Pl011)];
const WATCHDOG: &str = "apple,wdt";
/// Versions that have SYSTEM_OFF at its standard number.
const PSCI: [&str; 2] = ["arm,psci-1.0", "arm,psci-0.2"];

/// Maps device registers for the rest of the run.
pub(crate) fn window(mapper: &mut Mapper, region: Region<CpuAddress>) -> Result<PhysicalWindow, MapError> {
    let CpuAddress(address) = region.address;
    mapper.map(address..address.saturating_add(region.size), Kind::Device)?;
    // SAFETY: mapped as a device just now, at its own address and for good; each block of the tree is one device, whose
    // driver is the only one to be given the window.
    Ok(unsafe { PhysicalWindow::new(address as usize, region.size as usize) })
}

/// A window without registers.
pub(crate) const fn no_window() -> PhysicalWindow {
    // SAFETY: no access to an empty window touches anything.
    unsafe { PhysicalWindow::new(0, 0) }
}

/// Installs the console that `/chosen` names, or else the first UART of a kind that is known.
pub(crate) fn find_console(tree: &Tree<'_>, mapper: &mut Mapper) -> Result<(), Reason> {
    let chosen = tree.standard_output().ok().and_then(|node| known(&node).map(|uart| (node, uart)));
    let found = chosen
        .or_else(|| UARTS.iter().find_map(|(name, uart)| tree.compatible(&[name]).ok().map(|node| (node, *uart))));
    let Some((node, uart)) = found else {
        return Err(Reason::new("console: no apple,s5l-uart or arm,pl011 node in the device tree"));
    };
    let region = node.reg(0).map_err(|error| Reason::during("console", error))?;
    console::install(uart, window(mapper, region).map_err(|error| Reason::during("console", error))?);
    Ok(())
}

fn known(node: &Node<'_>) -> Option<Uart> {
    UARTS.iter().find_map(|(name, uart)| node.is_compatible(name).then_some(*uart))
}

/// Finds the way to turn the machine off. Without one the run ends in a loop.
pub(crate) fn find_power(tree: &Tree<'_>, mapper: &mut Mapper) -> Result<(), Reason> {
    if let Ok(node) = tree.compatible(&[WATCHDOG]) {
        let region = node.reg(0).map_err(|error| Reason::during("watchdog", error))?;
        end::install(Off::Watchdog(window(mapper, region).map_err(|error| Reason::during("watchdog", error))?));
        return Ok(());
    }
    let conduit = tree.compatible(&PSCI).and_then(|node| node.string("method")).ok().and_then(|method| match method {
        "hvc" => Some(Conduit::Hypervisor),
        "smc" => Some(Conduit::SecureMonitor),
        _ => None,
    });
    match conduit {
        Some(conduit) => end::install(Off::Psci(conduit)),
        None => hal::warn!("no apple,wdt node and no usable PSCI: the machine stays on at the end"),
    }
    Ok(())
}

/// T8103's fixed places (AsahiLinux docs, memmap; Linux t8103.dtsi).
mod t8103 {
    pub(super) const MEMORY: u64 = 0x8_0000_0000;
    pub(super) const MEMORY_END: u64 = MEMORY + (64 << 30);
    pub(super) const UART: u64 = 0x2_3520_0000;
    pub(super) const WATCHDOG: u64 = 0x2_3d2b_0000;
    pub(super) const BLOCK: u64 = 0x4000;
    /// MIDR_EL1 part numbers of its processors, Icestorm and Firestorm (m1n1 `src/midr.h`).
    pub(super) const PARTS: [u64; 2] = [0x22, 0x23];
}

/// QEMU `virt`'s fixed places (hw/arm/virt.c).
mod virt {
    pub(super) const MEMORY: u64 = 0x4000_0000;
    pub(super) const MEMORY_END: u64 = MEMORY + (255 << 30);
    pub(super) const UART: u64 = 0x0900_0000;
    pub(super) const BLOCK: u64 = 0x1000;
}

/// MIDR_EL1 implementer number of Apple.
const APPLE: u64 = 0x61;

/// Installs what is still missing of console and power without the device tree, where that is none or is broken there: by
/// where memory is and what the processor says it is. A machine that is neither of the two known ones stays silent.
pub(crate) fn fall_back(mapper: &mut Mapper) {
    use aarch64_cpu::registers::{CurrentEL, MIDR_EL1, Readable};
    let (silent, stays_on) = (!console::is_installed(), !end::is_installed());
    let place = image::start() as u64;
    let (implementer, part) = (MIDR_EL1.read(MIDR_EL1::Implementer), MIDR_EL1.read(MIDR_EL1::PartNum));
    let mut block = |address, size| window(mapper, Region { address: CpuAddress(address), size });
    if (t8103::MEMORY..t8103::MEMORY_END).contains(&place) && (implementer != APPLE || t8103::PARTS.contains(&part)) {
        if silent && let Ok(uart) = block(t8103::UART, t8103::BLOCK) {
            console::install(Uart::S5l, uart);
        }
        if stays_on && let Ok(watchdog) = block(t8103::WATCHDOG, t8103::BLOCK) {
            end::install(Off::Watchdog(watchdog));
        }
    } else if (virt::MEMORY..virt::MEMORY_END).contains(&place) && implementer != APPLE {
        if silent && let Ok(uart) = block(virt::UART, virt::BLOCK) {
            console::install(Uart::Pl011, uart);
        }
        if stays_on {
            let conduit = if CurrentEL.get() >> 2 == 2 { Conduit::SecureMonitor } else { Conduit::Hypervisor };
            end::install(Off::Psci(conduit));
        }
    }
}
