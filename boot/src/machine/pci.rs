//! NVMe on PCI Express, on a machine where no firmware has touched the bus.

use boot::reason::Reason;
use boot::step;
use boot::storage::{CONTROLLERS, PciStorage, Place};
use hal::fdt::{Node, Tree};
use hal::pci::{self, Class, Enumeration, Function};
use hal::physical::PhysicalWindow;
use nvme::transport::pcie::PcieConfig;
use nvme::{Config, Controller, ShadowDoorbells};
use spin::{Mutex, MutexGuard};

use super::run::{self, Machine};
use super::translation::Mapper;
use super::{board, clock, console};

/// The host bridge of QEMU's `virt`, and of machines like it.
pub(super) const HOST: &str = "pci-host-ecam-generic";
/// Mass storage, non-volatile memory, NVM Express (PCI Code and ID Assignment Specification).
const NVME: Class = Class { base: 0x01, sub: 0x08, interface: 0x02 };
/// IO queue pairs of each controller. One processor needs one; the second shows that there can be more.
const QUEUE_PAIRS: u16 = 2;

type Functions<'w> = Enumeration<&'w PhysicalWindow, CONTROLLERS>;

/// Not on the stack: the account of a controller's commands is some 10 KiB for each queue pair.
static STORAGE: Mutex<PciStorage<Machine>> = Mutex::new(PciStorage::new());

/// The whole run, from the host bridge to the last command.
pub(super) fn run(tree: &Tree<'_>, host: &Node<'_>, mapper: &mut Mapper) -> Result<(), Reason> {
    let failed = |error: &dyn core::fmt::Display| Reason::during("pci", error);
    let host = host.pci_host().map_err(|error| failed(&error))?;
    let configuration = board::window(mapper, host.configuration).map_err(|error| failed(&error))?;
    let mut found: Functions<'_> = pci::enumerate(&configuration, &host, NVME);
    for problem in &found.problems {
        hal::warn!("{}", hal::log::Shown(problem));
    }
    if found.left_out != 0 {
        hal::warn!("{} NVMe controllers are left out: at most {} are driven", found.left_out, CONTROLLERS);
    }
    step::enter("bringing up the storage");
    let mut storage = STORAGE.lock();
    let first = bring_up(&mut found, mapper, &mut storage);
    // A function that cannot be used is among the problems. One too many is not: it stands behind those that are driven.
    storage.missing += found.problems.len();
    let job = match (storage.controllers.is_empty(), first) {
        (true, Some(reason)) => Err(reason),
        (true, None) => Err(Reason::new(match found.problems.first() {
            Some(problem) => Reason::new(format_args!("no usable NVMe controller: {problem}")),
            None => Reason::new("no NVMe controller on the PCI bus"),
        })),
        // One that failed is in the log; the others are there to be used.
        (false, _) => run::work(tree, &mut *storage),
    };
    step::enter("shutting down the storage");
    let down = take_down(&mut storage);
    found.close();
    job.and(down)
}

/// Brings up what was found, and gives the first reason why one did not come up.
#[inline(never)]
fn bring_up(
    found: &mut Functions<'_>,
    mapper: &mut Mapper,
    storage: &mut MutexGuard<'_, PciStorage<Machine>>,
) -> Option<Reason> {
    let pool = run::pool();
    let mut first = None;
    for function in &mut found.functions {
        let place = Place::Pci { address: function.address(), vendor: function.vendor(), device: function.device() };
        console::line(format_args!("nvme: {place}"));
        if let Err(reason) = enable(function, place, mapper, pool, storage) {
            storage.missing += 1;
            let reason = Reason::during("nvme", format_args!("{place}: {reason}"));
            hal::error!("{}", hal::log::Shown(&reason));
            first.get_or_insert(reason);
        }
    }
    first
}

/// Puts the controller where it stays, in this function alone: it has some 28 KiB, and every move of it costs the stack as much.
#[inline(never)]
fn enable(
    function: &mut Function<&PhysicalWindow>,
    place: Place,
    mapper: &mut Mapper,
    pool: <Machine as hal::Platform>::Pool,
    storage: &mut PciStorage<Machine>,
) -> Result<(), Reason> {
    let window = board::window(mapper, function.registers()).map_err(Reason::new)?;
    function.enable().map_err(Reason::new)?;
    let mut config = Config::default();
    config.queue_pairs = QUEUE_PAIRS;
    let transport = PcieConfig::new(ShadowDoorbells::BeforeQueues);
    let enabled = Controller::enable(window, pool, clock::get(), config, transport, &mut |stage| {
        console::line(format_args!("stage: nvme {stage}"));
    });
    match enabled {
        // There is room: no more functions are found than that.
        Ok(controller) => drop(storage.controllers.push((place, controller))),
        Err(failure) => {
            // The bus takes the memory back from a controller that would not go down.
            let _ = function.disable();
            return Err(Reason::new(failure));
        }
    }
    Ok(())
}

/// Shuts every controller down, whatever becomes of the others; the first failure is the reason.
#[inline(never)]
fn take_down(storage: &mut PciStorage<Machine>) -> Result<(), Reason> {
    let mut first = Ok(());
    while let Some((place, controller)) = storage.controllers.pop() {
        if let Err(failure) = controller.shutdown() {
            let reason = Reason::during("shutdown", format_args!("{place}: {failure}"));
            hal::error!("{}", hal::log::Shown(&reason));
            first = first.and(Err(reason));
        }
    }
    first
}
