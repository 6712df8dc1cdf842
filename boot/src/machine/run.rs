//! The run: discovery, bring-up, the job, shutdown.

use core::fmt::{self, Display};
use core::time::Duration;

use aarch64_cpu::registers::{CurrentEL, Readable};
use ans::discovery::Description;
use ans::{Ans, Config, Hardware, Stage};
use boot::bootargs::{self, BootArguments, Writable};
use boot::monitor::{Monitor, Next};
use boot::quote::Quoted;
use boot::reason::Reason;
use boot::step;
use boot::storage::Storage;
use hal::Platform;
use hal::fdt::{CpuAddress, Node, Slot, Tree};
use hal::physical::{Coherency, PhysicalPool, PhysicalWindow};
use hal::time::GenericTimer;
use spin::{Mutex, MutexGuard};

use super::translation::Mapper;
use super::{board, clock, console, critical, exception, image, pci};

/// The words of the pool's page map, 64 pages each: 8 MiB, as the linker script has it.
pub(super) const POOL_WORDS: usize = 32;
static POOL: Mutex<Option<PhysicalPool<POOL_WORDS>>> = Mutex::new(None);

/// Room for the index of a device tree; an M1's has about 500 nodes, an M1 Ultra's more than twice that.
const NODES: usize = 2048;
static SLOTS: Mutex<[Slot; NODES]> = Mutex::new([Slot::EMPTY; NODES]);

/// Partition entries, and data on its way to the console.
static SCRATCH: Mutex<[u8; 128 << 10]> = Mutex::new([0; 128 << 10]);

/// Lines of commands (a string list), and whether someone at the console is asked for more.
const COMMANDS: &str = "anvil,commands";
const INTERACTIVE: &str = "anvil,interactive";
/// The blocks that may be written, as in the boot arguments; all of them if it says nothing.
const ALLOW_WRITE: &str = "anvil,allow-write";
/// The milliseconds for which flushes of the disk may be deferred, as in the boot arguments.
const DEFER_FLUSHES: &str = "anvil,defer-flushes";

/// Real registers, real memory, real time.
pub(super) struct Machine;

impl Platform for Machine {
    type Window = PhysicalWindow;
    type Pool = &'static PhysicalPool<POOL_WORDS>;
    type Clock = GenericTimer;
}

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
    if let Ok(host) = tree.compatible(&[pci::HOST]) {
        return pci::run(&tree, &host, mapper);
    }
    let hardware = find_storage(&tree, mapper)?;
    step::enter("bringing up the storage");
    let mut ans = bring_up(hardware)?;
    let job = work(&tree, &mut ans);
    step::enter("shutting down the storage");
    // What failed first is the reason; a failed shutdown behind it is in the log.
    job.and(take_down(ans))
}

// The four parts are functions of their own, and stay so: each moves values of several KiB, and one frame for all of them
// is most of a stack.

#[inline(never)]
fn bring_up(hardware: Hardware<Machine>) -> Result<Ans<Machine>, Reason> {
    Ans::start(hardware, Config::default(), &mut passed).map_err(Reason::new)
}

#[inline(never)]
fn take_down(ans: Ans<Machine>) -> Result<(), Reason> {
    match ans.shutdown(&mut passed) {
        Ok(_) => Ok(()),
        Err(failure) => {
            hal::error!("shutdown: {}", hal::log::Shown(&failure));
            Err(Reason::during("shutdown", failure))
        }
    }
}

/// Finds ANS in the tree and maps its blocks.
#[inline(never)]
fn find_storage(tree: &Tree<'_>, mapper: &mut Mapper) -> Result<Hardware<Machine>, Reason> {
    let failed = |error: &dyn Display| Reason::during("discovery", error);
    let description = Description::find(tree).map_err(|error| failed(&error))?;
    let pool = pool();
    let mut refused = None;
    let hardware = description.hardware(pool, clock::get(), |region| {
        board::window(mapper, region).unwrap_or_else(|error| {
            refused = Some(error);
            board::no_window()
        })
    });
    match refused {
        Some(error) => Err(failed(&error)),
        None => hardware.map_err(|error| failed(&error)),
    }
}

/// The DMA memory of the whole run.
pub(super) fn pool() -> &'static PhysicalPool<POOL_WORDS> {
    let range = image::pool();
    // SAFETY: the linker script keeps this range for the pool alone, `Mapper::with_image` mapped it as memory at its own
    // address, and this is done once in a run.
    let pool = unsafe { PhysicalPool::new(range.start, range.len(), Coherency::Coherent) };
    // For good, as the tree's index.
    MutexGuard::leak(POOL.lock()).insert(pool)
}

/// The commands of the device tree and of the boot arguments, then those of someone at the console; without any, the main job.
#[inline(never)]
pub(super) fn work(tree: &Tree<'_>, storage: &mut dyn Storage<Platform = Machine>) -> Result<(), Reason> {
    let chosen = tree.path("/chosen").ok();
    let has = |name| chosen.as_ref().is_some_and(|chosen: &Node<'_>| chosen.property(name).is_some());
    let text = chosen.as_ref().and_then(|chosen| chosen.string("bootargs").ok()).unwrap_or_default();
    let arguments = BootArguments::parse(text).map_err(Reason::new)?;
    let writable = match chosen.as_ref().filter(|_| has(ALLOW_WRITE)) {
        // Without a range it means all blocks.
        Some(chosen) => match chosen.string(ALLOW_WRITE) {
            Ok("") | Err(_) => Some(Writable::All),
            Ok(range) => Some(Writable::parse(range).ok_or_else(|| {
                Reason::new(format_args!("{ALLOW_WRITE}: {} is neither all nor FIRST..LAST", Quoted(range)))
            })?),
        },
        None => arguments.writable,
    };
    let deferral = match chosen.as_ref().filter(|_| has(DEFER_FLUSHES)) {
        Some(chosen) => {
            let text = chosen.string(DEFER_FLUSHES).unwrap_or_default();
            Some(bootargs::delay(text).ok_or_else(|| {
                Reason::new(format_args!("{DEFER_FLUSHES}: {} is not 1 to 60000 milliseconds", Quoted(text)))
            })?)
        }
        None => arguments.deferral,
    };
    let interactive = has(INTERACTIVE) || arguments.interactive;

    let mut scratch = SCRATCH.lock();
    let mut out = console::Output;
    let mut mark = |name: &'static str| console::line(format_args!("mark: {name}"));
    let mut monitor = Monitor::new(storage, &mut out, &mut mark, scratch.as_mut_slice());
    if let Some(writable) = writable {
        monitor.arm(writable)?;
    }
    if let Some(delay) = deferral {
        monitor.arm_deferral(delay)?;
    }
    let mut lines = chosen.iter().flat_map(|chosen| chosen.strings(COMMANDS)).chain(arguments.commands()).peekable();
    if lines.peek().is_none() && !interactive {
        return monitor.main_job();
    }
    for line in lines {
        if monitor.line(line)? == Next::Shutdown {
            return Ok(());
        }
    }
    if interactive { monitor.interact(console::received) } else { Ok(()) }
}

/// Says that a stage was passed: for a person at the console, and for whoever measures the run.
fn passed(stage: Stage, took: Duration) {
    step::passed(stage.name());
    console::line(format_args!("stage: {stage} ({} us)", boot::microseconds(took)));
}

/// The first lines: version, processor, machine, memory.
fn introduce(tree: &Tree<'_>, level: u64) {
    let kept = match (level, CurrentEL.get() >> 2) {
        (2, 2) => "EL2 with VHE",
        (2, 1) => "EL2 without VHE, now at EL1",
        _ => "EL1",
    };
    console::line(format_args!(
        "anvil {}, entered at {kept}, image at {:#x}",
        env!("CARGO_PKG_VERSION"),
        image::start()
    ));
    let root = tree.root();
    let model = root.string("model").unwrap_or("unnamed");
    console::line(format_args!("machine: {} ({})", Quoted(model), Listed(root.strings("compatible"))));
    if let Ok(memory) = tree.path("/memory").and_then(|node| node.reg(0)) {
        let CpuAddress(address) = memory.address;
        console::line(format_args!("memory: {} MiB at {address:#x}", memory.size >> 20));
    }
}

/// Strings in one line.
struct Listed<'t>(hal::fdt::Strings<'t>);

impl Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, string) in self.0.clone().take(8).enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { ", " }, Quoted(string))?;
        }
        Ok(())
    }
}
