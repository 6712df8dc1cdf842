//! Storage on models, for tests: ANS on the model of an M1, and a standard controller on PCI Express.

use ans::power::{Domain, Domains};
use ans::sart::Version;
use ans::{Ans, Hardware};
use hal::fdt::Label;
use nvme::transport::pcie::PcieConfig;
use nvme::{Config, Controller, ShadowDoorbells};
use sim::MachineConfig;
use sim::host::{self, HostPlatform};
use sim::pcie::{self, ControllerConfig};

use crate::bootargs::Writable;
use crate::monitor::Monitor;
use crate::storage::{PciStorage, Place, Storage};

/// ANS, up, as a T8103's device tree describes it: ans2 and apcie_st under apcie and ans2.
pub(crate) fn apple(board: &host::Board) -> Ans<HostPlatform> {
    let domain = |name: &str, offset, parents: &[usize]| Domain {
        name: Label::new(name),
        block: 0,
        offset,
        parents: heapless::Vec::from_slice(parents).unwrap(),
        always_on: false,
    };
    let domains = [domain("ans2", 0x3f0, &[]), domain("apcie", 0x348, &[]), domain("apcie_st", 0x418, &[1, 0])];
    let hardware = Hardware {
        nvme: board.window("nvme"),
        coprocessor: board.window("asc"),
        mailbox: board.window("mailbox"),
        sart: board.window("sart"),
        sart_version: Version::Two,
        domains: Domains::new(heapless::Vec::from_iter([board.window("pmgr")]), heapless::Vec::from_iter(domains))
            .unwrap(),
        attached: heapless::Vec::from_iter([0, 2]),
        reset: 0,
        pool: board.pool(),
        clock: board.clock(),
    };
    Ans::start(hardware, ans::Config::default(), &mut |_, _| ()).unwrap()
}

/// Controllers on PCI Express, up, in that order.
pub(crate) fn standard(boards: &[pcie::Board], shadow: ShadowDoorbells) -> PciStorage<pcie::HostPlatform> {
    let mut storage = PciStorage::new();
    for (device, board) in (1..).zip(boards) {
        let mut config = Config::default();
        config.queue_pairs = 2;
        let controller =
            Controller::enable(board.bar(), board.pool(), board.clock(), config, PcieConfig::new(shadow), &mut |_| ());
        let address = hal::pci::Address { bus: 0, device, function: 0 };
        let place = Place::Pci { address, vendor: 0x1b36, device: 0x10 };
        storage.controllers.push((place, controller.unwrap())).unwrap();
    }
    storage
}

/// A standard controller with these namespaces, of 4096-byte blocks unless they say otherwise, changed as the test wants it.
pub(crate) fn controller(change: impl FnOnce(&mut ControllerConfig)) -> pcie::Board {
    let mut config = ControllerConfig::new();
    config.namespaces = vec![pcie::NamespaceConfig::new(1, 4096, 16 << 20)];
    change(&mut config);
    pcie::Board::new(config)
}

/// ANS on a machine, changed as the test wants it.
pub(crate) fn machine(change: impl FnOnce(&mut MachineConfig)) -> host::Board {
    let mut config = MachineConfig::default();
    change(&mut config);
    host::Board::new(config)
}

/// What the monitor prints for lines, and how the last one ended: the first that fails ends it.
pub(crate) fn monitor<P: hal::Platform<Clock: Clone>>(
    storage: &mut dyn Storage<Platform = P>,
    writable: Option<Writable>,
    lines: &[&str],
) -> (String, Result<(), String>) {
    let mut out = String::new();
    let mut mark = |_: &'static str| ();
    let mut scratch = vec![0; 128 << 10];
    let mut monitor = Monitor::new(storage, &mut out, &mut mark, &mut scratch);
    let armed = writable.map_or(Ok(()), |writable| monitor.arm(writable));
    let result = armed.and_then(|()| lines.iter().try_for_each(|line| monitor.line(line).map(drop)));
    (out, result.map_err(|reason| reason.to_string()))
}
