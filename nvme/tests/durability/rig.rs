//! A controller that is up, on a model, with the wire between them.

use core::time::Duration;
use std::rc::Rc;

use hal::{Clock, DmaPool, Instant, Platform};
use nvme::{Access, Config, Controller, Error};
use sim::nvme::store::{MemoryStore, Store};
use sim::pcie::{Board, ControllerConfig, NamespaceConfig, Pool, Timings, Window};

use crate::checker::{BLOCK, BLOCKS};
use crate::meddler::{Bug, Meddler, SharedWire, Wire};

/// The model's platform, with a clock that may be wrong.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bench;

impl Platform for Bench {
    type Window = Window;
    type Pool = Pool;
    type Clock = Watch;
}

/// The board's clock, or one at half its speed.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    clock: sim::pcie::Clock,
    half: bool,
}

impl Clock for Watch {
    fn now(&self) -> Instant {
        let now = self.clock.now().as_nanos();
        Instant::from_nanos(if self.half { now / 2 } else { now })
    }

    fn relax(&self) {
        self.clock.relax();
    }
}

pub(crate) type Driver = Controller<Bench, Meddler<Bench>>;

/// The model with its media and the wire to it.
#[derive(Debug)]
pub(crate) struct Rig {
    pub(crate) board: Board,
    pub(crate) stores: Vec<MemoryStore>,
    pub(crate) wire: SharedWire,
    pub(crate) config: Config,
}

impl Rig {
    /// A model with that many namespaces of [`BLOCKS`] blocks.
    pub(crate) fn new(namespaces: u32, change: impl FnOnce(&mut ControllerConfig)) -> Self {
        let stores: Vec<_> = (0..namespaces).map(|_| MemoryStore::new((BLOCKS * BLOCK) as u64)).collect();
        let on = |(id, store): (u32, &MemoryStore)| NamespaceConfig::on(id, BLOCK as u32, store.share());
        let mut model = ControllerConfig {
            namespaces: (1..).zip(&stores).map(on).collect(),
            timings: Timings { ready: 10_000, shutdown: 20_000, ..Timings::default() },
            shadow_doorbells: false,
            ..ControllerConfig::new()
        };
        change(&mut model);
        let mut config = Config::default();
        (config.admin, config.depth, config.transfer) = (Duration::from_millis(50), 16, 16 * BLOCK);
        Self { board: Board::new(model), stores, wire: Rc::default(), config }
    }

    /// Brings the controller up, with a bug that is sown.
    pub(crate) fn enable(&self) -> Result<Driver, Error> {
        let half = self.wire.borrow().bug == Some(Bug::DeferredTooLong);
        let clock = Watch { clock: self.board.clock(), half };
        let (window, pool, wire) = (self.board.bar(), self.board.pool(), Rc::clone(&self.wire));
        Controller::enable(window, pool, clock, self.config.clone(), wire, &mut |_| ()).map_err(|failure| failure.error)
    }

    /// The same, with every block armed for writing.
    pub(crate) fn up(&self) -> Driver {
        let mut driver = self.enable().unwrap();
        arm(&mut driver);
        self.wire.borrow_mut().sent.clear();
        driver
    }

    /// The power is back after a cut: the memory that the old driver had is free.
    pub(crate) fn power_on(&self) {
        self.board.plan_cut(None);
        self.board.power_on();
        self.board.pool().reclaim();
    }

    /// How many commands were sent since the wire was cleared for which `which` holds.
    pub(crate) fn count(&self, which: impl Fn(&crate::meddler::Sent) -> bool) -> usize {
        self.wire.borrow().sent.iter().filter(|sent| which(sent)).count()
    }

    pub(crate) fn wire(&self) -> std::cell::RefMut<'_, Wire> {
        self.wire.borrow_mut()
    }

    /// What the medium holds.
    pub(crate) fn durable(&self, namespace: u32, lba: u64) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        self.stores[namespace as usize - 1].read_at(lba * BLOCK as u64, &mut block).unwrap();
        block
    }

    /// Fails if the driver broke a rule of the model.
    pub(crate) fn assert_clean(&self) {
        assert_eq!(self.board.violations(), []);
    }
}

/// Arms every block of every namespace for writing.
pub(crate) fn arm(driver: &mut Driver) {
    let all: Vec<_> = driver.namespaces().iter().map(|namespace| (namespace.id, namespace.blocks)).collect();
    for (id, blocks) in all {
        driver.set_access(id, Access::ReadWrite { first: 0, blocks }).unwrap();
    }
}
