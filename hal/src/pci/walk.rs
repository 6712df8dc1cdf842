//! The walk over all buses of a host.

use heapless::Vec;
use tock_registers::interfaces::{Readable as _, Writeable as _};

use super::bar::{Bar, Wish};
use super::bridge::Bridge;
use super::function::Function;
use super::problem::{Problem, Reason};
use super::room::Room;
use super::space::{Address, Class, Functions, Host, Space};
use super::spec::{self, BRIDGE_REGISTERS, COMMAND, ENDPOINT_REGISTERS};
use crate::Mmio;
use crate::fdt::{CpuAddress, PciHost, Region};

/// The most buses below one another, that of the host counted. A switch has two, a root port one.
pub const DEPTH: usize = 16;

/// The most problems that are kept.
pub const PROBLEMS: usize = 16;

/// What [`enumerate`] found.
#[derive(Debug)]
pub struct Enumeration<M, const N: usize> {
    /// The functions of the wanted class that can be used, in the order of the walk. Their owner may take them out.
    pub functions: Vec<Function<M>, N>,
    /// Functions of the wanted class that were left alone since there are `N` others.
    pub left_out: usize,
    /// What cannot be used, and why: the first ones.
    pub problems: Vec<Problem, PROBLEMS>,
    /// Problems that found no place in the list.
    pub problems_left_out: usize,
    host: Host<M>,
    last: u8,
}

/// Finds the functions of class `wanted` below `host`, whose enhanced configuration space is `window`, and gives them
/// addresses. At most `N` are kept; those beyond are counted and keep what they have.
///
/// Bounded: no bus is walked twice, and for each of its 256 functions there are at most some 100 accesses.
pub fn enumerate<M: Mmio + Copy, const N: usize>(window: M, host: &PciHost, wanted: Class) -> Enumeration<M, N> {
    let (first, last) = (*host.buses.start(), *host.buses.end());
    let spaces = Host { window, first };
    let found = Enumeration {
        functions: Vec::new(),
        left_out: 0,
        problems: Vec::new(),
        problems_left_out: 0,
        host: spaces,
        last: first,
    };
    let mut walk = Walk { found, rooms: Room::of(host), wanted, last };
    walk.all();
    walk.found
}

impl<M: Mmio + Copy, const N: usize> Enumeration<M, N> {
    /// How many buses there are.
    pub fn buses(&self) -> usize {
        usize::from(self.last.saturating_sub(self.host.first)) + 1
    }

    /// Takes back all that the walk and [`Function::enable`] gave: no function of the host decodes an address or masters the
    /// bus any more, and bridges are not numbered. For the end, when all drivers have stopped their devices.
    pub fn close(&self) {
        for bus in (self.host.first..=self.last).rev() {
            quiet(self.host.functions(bus));
        }
    }
}

/// Has no function of a bus decode an address or master the bus, and closes the bridges there to all accesses. What is so
/// already is not written to.
fn quiet<M: Mmio + Copy>(functions: Functions<M>) {
    for space in functions {
        let command = spec::COMMAND.of(&space);
        if command.any_matching_bits_set(COMMAND::IO::SET + COMMAND::MEMORY::SET + COMMAND::MASTER::SET) {
            command.set(COMMAND::INTERRUPT_DISABLE::SET.value);
        }
        // Numbers of an earlier owner would make two bridges answer for one bus.
        if space.is_bridge() && spec::BUSES.of(&space).get() != 0 {
            spec::BUSES.of(&space).set(0);
        }
    }
}

/// What a bus lets its functions use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// The host's own bus: any window.
    Host,
    /// Bridges that all pass prefetchable memory with 64-bit addresses. Plain memory behind them has 32.
    Wide,
    /// A bridge on the way does not.
    Narrow,
}

/// A bus that is being walked.
struct Level<M> {
    functions: Functions<M>,
    /// The way there from the bus above.
    bridge: Option<Bridge<M>>,
    reach: Reach,
    /// How many functions had been found before.
    found: usize,
}

struct Walk<M, const N: usize> {
    found: Enumeration<M, N>,
    rooms: [Room; 2],
    wanted: Class,
    /// The last bus number there is.
    last: u8,
}

impl<M: Mmio + Copy, const N: usize> Walk<M, N> {
    fn all(&mut self) {
        let mut path = Vec::<Level<M>, DEPTH>::new();
        let mut next = Some(self.level(self.found.host.first, None, Reach::Host));
        loop {
            // There is a place for it: no bus is entered from the last one of a full path.
            if let Some(level) = next.take() {
                let _ = path.push(level);
            }
            let full = path.is_full();
            let Some(level) = path.last_mut() else { return };
            match level.functions.next() {
                Some(space) if space.is_bridge() => next = self.enter(space, level.reach, full),
                Some(space) => self.visit(space, level.reach),
                None => {
                    if let Some(level) = path.pop() {
                        let above = path.last().map_or(Reach::Host, |above| above.reach);
                        self.leave(&level, above);
                    }
                }
            }
        }
    }

    fn level(&self, bus: u8, bridge: Option<Bridge<M>>, reach: Reach) -> Level<M> {
        let functions = self.found.host.functions(bus);
        quiet(functions);
        Level { functions, bridge, reach, found: self.found.functions.len() }
    }

    fn enter(&mut self, space: Space<M>, reach: Reach, full: bool) -> Option<Level<M>> {
        let address = space.address;
        if full {
            self.report(address, Reason::TooDeep { limit: DEPTH });
            return None;
        }
        let Some(bus) = self.found.last.checked_add(1).filter(|bus| *bus <= self.last) else {
            self.report(address, Reason::NoBusNumber);
            return None;
        };
        match Bridge::open(space, bus, self.last, &mut self.rooms) {
            Ok(bridge) => {
                self.found.last = bus;
                let wide = reach != Reach::Narrow && bridge.is_wide();
                Some(self.level(bus, Some(bridge), if wide { Reach::Wide } else { Reach::Narrow }))
            }
            Err(reason) => {
                self.report(address, reason);
                None
            }
        }
    }

    /// Closes the bridge to a bus that was walked, which is on a bus with `reach`.
    fn leave(&mut self, level: &Level<M>, reach: Reach) {
        let Some(bridge) = &level.bridge else { return };
        let mut closed = bridge.close(level.functions.bus, self.found.last, &mut self.rooms);
        if self.found.functions.len() > level.found {
            // What has the bridge pass memory accesses also has it decode its own registers.
            closed = closed.and_then(|()| self.place(&bridge.space, BRIDGE_REGISTERS, reach)).map(|_| bridge.pass());
        }
        if let Err(reason) = closed {
            // Nothing behind it can be reached.
            self.found.functions.truncate(level.found);
            self.report(bridge.space.address, reason);
        }
    }

    fn visit(&mut self, space: Space<M>, reach: Reach) {
        if !space.is_of(self.wanted) {
            return;
        }
        if self.found.functions.is_full() {
            self.found.left_out += 1;
            return;
        }
        match self.endpoint(&space, reach) {
            Ok(registers) => {
                let _ = self.found.functions.push(Function::new(space, registers));
            }
            Err(reason) => self.report(space.address, reason),
        }
    }

    fn endpoint(&mut self, space: &Space<M>, reach: Reach) -> Result<Region<CpuAddress>, Reason> {
        match space.header_type() {
            spec::ENDPOINT => {}
            seen => return Err(Reason::Header { seen }),
        }
        match (Bar { space, index: 0, count: ENDPOINT_REGISTERS }).wish()? {
            Wish::Memory { .. } => {}
            Wish::InputOutput => return Err(Reason::InputOutput),
            Wish::Nothing => return Err(Reason::NoRegisters),
        }
        self.place(space, ENDPOINT_REGISTERS, reach)?.ok_or(Reason::NoRegisters)
    }

    /// Gives addresses to all of a function's `count` base address registers for memory, since one bit has all of them
    /// decoded, or to none. Those for I/O, which stay off, get none. The result is what register 0 decodes.
    fn place(&mut self, space: &Space<M>, count: u8, reach: Reach) -> Result<Option<Region<CpuAddress>>, Reason> {
        let marks = self.rooms.each_ref().map(Room::mark);
        let placed = self.place_each(space, count, reach);
        if placed.is_err() {
            for (room, mark) in self.rooms.iter_mut().zip(marks) {
                room.back_to(mark);
            }
        }
        placed
    }

    fn place_each(&mut self, space: &Space<M>, count: u8, reach: Reach) -> Result<Option<Region<CpuAddress>>, Reason> {
        let mut registers = None;
        let mut index = 0;
        while index < count {
            let bar = Bar { space, index, count };
            index += 1;
            let Wish::Memory { size, wide, prefetchable } = bar.wish()? else { continue };
            index += u8::from(wide);
            let high = wide && (reach == Reach::Host || reach == Reach::Wide && prefetchable);
            let usable = |room: &&mut Room| prefetchable || room.takes_plain();
            let [low_room, high_room] = &mut self.rooms;
            let taken = Some(high_room).filter(|_| high).filter(usable).and_then(|room| room.take(size));
            let taken = taken.or_else(|| Some(low_room).filter(usable)?.take(size));
            let (address, region) = taken.ok_or(Reason::NoRoom { index: bar.index, size })?;
            bar.place(address.0, wide)?;
            if bar.index == 0 {
                registers = Some(region);
            }
        }
        Ok(registers)
    }

    fn report(&mut self, address: Address, reason: Reason) {
        if self.found.problems.push(Problem { address, reason }).is_err() {
            self.found.problems_left_out += 1;
        }
    }
}
