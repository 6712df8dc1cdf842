//! The board: the controller with memory, and `hal`'s traits on both.

use hal::Platform;

use super::{Controller, Counters, Cut, Fault, registers};
use crate::host::{BoardOf, ClockOf, PoolOf, WindowOf};
use crate::record::Violation;

/// Where BAR0 of the controller is.
pub const BAR0: u64 = 0x1000_0000;

/// A controller with its memory. Cheap to clone: clones are the same board.
pub type Board = BoardOf<Controller>;
/// A window of registers of a [`Board`].
pub type Window = WindowOf<Controller>;
/// The DMA memory of a [`Board`].
pub type Pool = PoolOf<Controller>;
/// The time of a [`Board`].
pub type Clock = ClockOf<Controller>;

impl Board {
    /// The window of BAR0.
    pub fn bar(&self) -> Window {
        self.window(registers::NAME)
    }

    /// What the controller did so far.
    pub fn counters(&self) -> Counters {
        self.0.borrow().model.counters().clone()
    }

    /// Oddities that are no failure.
    pub fn notes(&self) -> Vec<Violation> {
        use crate::host::Model;
        self.0.borrow().model.record().notes.clone()
    }

    /// Plans one more thing to go wrong, from now on.
    pub fn add_fault(&self, fault: Fault) {
        self.0.borrow_mut().model.add_fault(fault);
    }

    /// Nothing goes wrong any more; what already went wrong stays.
    pub fn clear_faults(&self) {
        self.0.borrow_mut().model.clear_faults();
    }

    /// IO commands fetched so far: the number of the next one, for faults that name one.
    pub fn io_commands(&self) -> u64 {
        self.0.borrow().model.io_commands()
    }

    /// Flushes fetched so far: the number of the next one, for faults that name one.
    pub fn flushes(&self) -> u64 {
        self.0.borrow().model.flushes()
    }

    /// Commands in flight, without asynchronous event requests.
    pub fn in_flight(&self) -> usize {
        self.0.borrow().model.in_flight()
    }

    /// The power fails and comes back; gives the number of blocks that were lost in the write cache (each version of a block
    /// counts, with [`super::Loss::Subset`]).
    pub fn cut_power(&self) -> usize {
        let inner = &mut *self.0.borrow_mut();
        inner.model.cut_power(&mut inner.ram)
    }

    /// Plans a power cut, or none. The power stays off then, and registers read as all ones, until [`Board::power_on`].
    pub fn plan_cut(&self, cut: Option<Cut>) {
        self.0.borrow_mut().model.plan_cut(cut);
    }

    /// When the power failed by plan, in nanoseconds; none while it is on.
    pub fn cut_at(&self) -> Option<u64> {
        self.0.borrow().model.cut_at()
    }

    /// The power comes back; what survived is on the medium.
    pub fn power_on(&self) {
        self.0.borrow_mut().model.power_on();
    }

    /// Another host of the same controller turns the write cache on or off; nobody is told.
    pub fn change_write_cache(&self, enabled: bool) {
        let inner = &mut *self.0.borrow_mut();
        inner.model.change_write_cache(&mut inner.ram, enabled);
    }

    /// Whether the write cache is in use now.
    pub fn write_cache_enabled(&self) -> bool {
        self.0.borrow().model.write_cache_enabled()
    }

    /// The temperature becomes that, in kelvin; at the threshold or above that is an event, if the host asked for it.
    pub fn set_temperature(&self, kelvin: u16) {
        let inner = &mut *self.0.borrow_mut();
        inner.model.set_temperature(&mut inner.ram, kelvin);
    }

    /// A namespace becomes write protected, or writable again, which is an event, if the host asked for it.
    pub fn set_read_only(&self, namespace: u32, read_only: bool) {
        let inner = &mut *self.0.borrow_mut();
        inner.model.set_read_only(&mut inner.ram, namespace, read_only);
    }

    /// The level of the interrupt line.
    pub fn interrupt(&self) -> bool {
        let inner = &mut *self.0.borrow_mut();
        inner.model.interrupt(&mut inner.ram)
    }
}

/// The platform of a [`Board`].
#[derive(Clone, Copy, Debug)]
pub struct HostPlatform;

impl Platform for HostPlatform {
    type Window = Window;
    type Pool = Pool;
    type Clock = Clock;
}
