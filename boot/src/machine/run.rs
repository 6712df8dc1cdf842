//! The run: discovery, bring-up, the job, shutdown.

use aarch64_cpu::registers::{CurrentEL, Readable};
use boot::quote::Quoted;
use boot::reason::Reason;
use boot::step;
use hal::fdt::{CpuAddress, Slot, Tree};
use spin::{Mutex, MutexGuard};

use super::translation::Mapper;
use super::{board, console, critical, exception, image};

/// Room for the index of a device tree; an M1's has about 500 nodes, an M1 Ultra's more than twice that.
const NODES: usize = 2048;
static SLOTS: Mutex<[Slot; NODES]> = Mutex::new([Slot::EMPTY; NODES]);

/// Everything from the device tree to the last command.
pub(crate) fn run(blob: &'static [u8], mapper: &mut Mapper, level: u64) -> Result<(), Reason> {
    // Once in a run: the tree's index stays for good.
    let slots = MutexGuard::leak(SLOTS.lock());
    let tree = Tree::open(blob, slots).map_err(Reason::new)?;
    board::find_console(&tree, mapper)?;
    #[cfg(feature = "log")]
    super::logger::install();
    exception::report_from_now_on();
    critical::unmask_system_errors();
    introduce(&tree, level);
    board::find_power(&tree, mapper)?;
    step::enter("looking for the storage");
    Err(Reason::new("no storage yet"))
}

/// The first lines: version, processor, machine, memory.
fn introduce(tree: &Tree<'_>, level: u64) {
    let kept = match (level, CurrentEL.get() >> 2) {
        (2, 2) => "EL2 with VHE",
        (2, 1) => "EL2 without VHE, now at EL1",
        _ => "EL1",
    };
    console::line(format_args!("anvil {}, entered at {kept}, image at {:#x}", env!("CARGO_PKG_VERSION"), image::start()));
    let root = tree.root();
    let model = root.string("model").unwrap_or("unnamed");
    console::line(format_args!("machine: {} ({})", Quoted(model), Shown(root.strings("compatible"))));
    if let Ok(memory) = tree.path("/memory").and_then(|node| node.reg(0)) {
        let CpuAddress(address) = memory.address;
        console::line(format_args!("memory: {} MiB at {address:#x}", memory.size >> 20));
    }
}

/// Strings in one line.
struct Shown<'t>(hal::fdt::Strings<'t>);

impl core::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        for (index, string) in self.0.clone().take(8).enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { ", " }, string.escape_debug())?;
        }
        Ok(())
    }
}
