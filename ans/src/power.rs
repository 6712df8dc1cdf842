//! Power domains of the power manager, with their parents, and the reset of a device.
//!
//! [`Domains`] is a table in which parents stand before their children. A domain is switched on for its first user and put
//! back as it was found after its last: the blocks of ANS share one domain with each other, and perhaps with what ran
//! before us, so gating one blindly would take registers away from under somebody.

mod error;

use core::time::Duration;

use hal::fdt::Label;
use hal::{Clock, Mmio, Register, poll_until};
use heapless::Vec;
use tock_registers::fields::FieldValue;
use tock_registers::interfaces::{Readable, Writeable};

use crate::spec::{self, PowerState};

pub use error::PowerError;

/// The most domains that a table holds: the M1's NVMe needs six.
pub const DOMAINS: usize = 16;
/// The most power-manager blocks that a table's domains may lie in.
pub const BLOCKS: usize = 4;
/// The most parents of one domain.
pub const PARENTS: usize = 4;

/// One power domain: where its word lies, and what it hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    /// What to call it.
    pub name: Label,
    /// Which block its word lies in: an index into the table's blocks.
    pub block: usize,
    /// The word's offset in that block, in bytes.
    pub offset: usize,
    /// Indices of its parents, each smaller than its own.
    pub parents: Vec<usize, PARENTS>,
    /// The system needs it: it is switched on when it was off, and never off.
    pub always_on: bool,
}

struct Entry {
    domain: Domain,
    users: u32,
    found: u32,
}

/// The power domains that a device needs, with all their parents.
pub struct Domains<W: Mmio> {
    blocks: Vec<W, BLOCKS>,
    table: Vec<Entry, DOMAINS>,
}

impl<W: Mmio> Domains<W> {
    /// A table over the windows of its power-manager blocks. Nothing is switched.
    ///
    /// # Errors
    /// [`PowerError::Table`] when a domain names a block that is not there, or a parent that does not stand before it.
    pub fn new(blocks: Vec<W, BLOCKS>, domains: Vec<Domain, DOMAINS>) -> Result<Self, PowerError> {
        let mut table = Vec::new();
        for (index, domain) in domains.into_iter().enumerate() {
            if domain.block >= blocks.len() || domain.parents.iter().any(|parent| *parent >= index) {
                return Err(PowerError::Table { index });
            }
            // Both lists have the same capacity.
            let _ = table.push(Entry { domain, users: 0, found: 0 });
        }
        Ok(Self { blocks, table })
    }

    /// Switches a domain on for one more user, its parents first.
    ///
    /// `limit` bounds the wait for each domain. On an error everything that this call switched is as it was.
    ///
    /// # Errors
    /// [`PowerError`] naming the domain and its last word.
    pub fn acquire(&mut self, clock: &impl Clock, index: usize, limit: Duration) -> Result<(), PowerError> {
        let needed = self.with_parents(index)?;
        for next in members(needed) {
            if let Err(error) = self.acquire_one(clock, next, limit) {
                let before = needed & ((1 << next) - 1);
                for done in members(before).rev() {
                    // The first error is the one to tell.
                    let _ = self.release_one(clock, done, limit);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// Ends one use of a domain and of its parents, the domain first. After its last use a domain is as it was found.
    ///
    /// # Errors
    /// The first [`PowerError`]; the other domains are put back all the same.
    pub fn release(&mut self, clock: &impl Clock, index: usize, limit: Duration) -> Result<(), PowerError> {
        let needed = self.with_parents(index)?;
        let mut result = Ok(());
        for next in members(needed).rev() {
            result = result.and(self.release_one(clock, next, limit));
        }
        result
    }

    /// Asserts a device's reset: bus access off, then reset, each its own write.
    ///
    /// Resets are synchronous, so the device is first made fully active, without automatic gating. The caller makes sure
    /// that no firmware runs on it.
    ///
    /// # Errors
    /// [`PowerError::TimedOut`] when the device did not become active; nothing is reset then.
    pub fn assert_reset(&self, clock: &impl Clock, index: usize, limit: Duration) -> Result<(), PowerError> {
        self.switch(clock, index, spec::POWER_ACTIVE, limit)?;
        self.update(index, PowerState::DEV_DISABLE::SET)?;
        self.update(index, PowerState::RESET::SET)
    }

    /// Deasserts a device's reset: reset off, then bus access on, never the other way round; then automatic gating as
    /// after [`Domains::acquire`].
    ///
    /// # Errors
    /// [`PowerError::Unknown`] when there is no such domain.
    pub fn deassert_reset(&self, index: usize) -> Result<(), PowerError> {
        self.update(index, PowerState::RESET::CLEAR)?;
        self.update(index, PowerState::DEV_DISABLE::CLEAR)?;
        self.update(index, PowerState::AUTO_ENABLE::SET)
    }

    /// A domain's word as it reads now.
    pub fn word(&self, index: usize) -> Option<u32> {
        self.read(index).ok()
    }

    /// A domain and all that it hangs on, as a set of bits. Parents have smaller indices, so one pass downwards finds them.
    fn with_parents(&self, index: usize) -> Result<u32, PowerError> {
        self.entry(index)?;
        let mut needed = 1u32 << index;
        for (child, entry) in self.table.iter().enumerate().rev() {
            if needed >> child & 1 != 0 {
                needed |= entry.domain.parents.iter().fold(0, |parents, parent| parents | 1 << parent);
            }
        }
        Ok(needed)
    }

    fn acquire_one(&mut self, clock: &impl Clock, index: usize, limit: Duration) -> Result<(), PowerError> {
        let word = self.read(index)?;
        let first = self.entry(index)?.users == 0;
        if first {
            let switched = self
                .switch(clock, index, spec::POWER_ACTIVE, limit)
                .and_then(|()| self.update(index, PowerState::AUTO_ENABLE::SET));
            if let Err(error) = switched {
                let _ = self.restore(clock, index, word, limit);
                return Err(error);
            }
        }
        if let Some(entry) = self.table.get_mut(index) {
            entry.users += 1;
            if first {
                entry.found = word;
            }
        }
        Ok(())
    }

    fn release_one(&mut self, clock: &impl Clock, index: usize, limit: Duration) -> Result<(), PowerError> {
        let Some(entry) = self.table.get_mut(index) else { return Err(PowerError::Unknown { index }) };
        let last = entry.users == 1;
        entry.users = entry.users.saturating_sub(1);
        let found = entry.found;
        if last { self.restore(clock, index, found, limit) } else { Ok(()) }
    }

    /// Requests a state and waits until the device is really in it. TARGET alone proves nothing: with automatic gating a
    /// device may be off under an active target, and the first access to it then hangs the bus. So gating goes off first.
    fn switch(&self, clock: &impl Clock, index: usize, target: u32, limit: Duration) -> Result<(), PowerError> {
        self.update(index, PowerState::AUTO_ENABLE::CLEAR + PowerState::TARGET.val(target))?;
        self.wait(clock, index, target, limit)
    }

    /// Puts back the state and the automatic gating that `found` tells of.
    fn restore(&self, clock: &impl Clock, index: usize, found: u32, limit: Duration) -> Result<(), PowerError> {
        let target = PowerState::TARGET.read(found);
        let gating = PowerState::AUTO_ENABLE.read(found);
        if self.entry(index)?.domain.always_on && target != spec::POWER_ACTIVE {
            return Ok(());
        }
        self.update(index, PowerState::AUTO_ENABLE.val(gating) + PowerState::TARGET.val(target))?;
        // Under automatic gating the hardware chooses the state.
        if gating == 0 { self.wait(clock, index, target, limit) } else { Ok(()) }
    }

    fn wait(&self, clock: &impl Clock, index: usize, target: u32, limit: Duration) -> Result<(), PowerError> {
        let mut word = self.read(index)?;
        let reached = poll_until(clock, limit, || {
            word = self.read(index).unwrap_or(word);
            (PowerState::ACTUAL.read(word) == target).then_some(())
        });
        match reached {
            Ok(()) => Ok(()),
            Err(timed_out) => Err(PowerError::TimedOut {
                domain: self.entry(index)?.domain.name.clone(),
                wanted: target,
                word,
                waited: timed_out.waited,
            }),
        }
    }

    /// Changes fields of a word. The history flags are written as 0 each time: a set one is never written back.
    fn update(&self, index: usize, change: FieldValue<u32, PowerState::Register>) -> Result<(), PowerError> {
        let history = PowerState::WAS_CLKGATED::CLEAR + PowerState::WAS_PWRGATED::CLEAR;
        let word = self.read(index)?;
        let (window, register) = self.register(index)?;
        register.of(window).set((change + history).modify(word));
        Ok(())
    }

    fn read(&self, index: usize) -> Result<u32, PowerError> {
        let (window, register) = self.register(index)?;
        Ok(register.of(window).get())
    }

    fn register(&self, index: usize) -> Result<(&W, Register<PowerState::Register>), PowerError> {
        let domain = &self.entry(index)?.domain;
        let window = self.blocks.get(domain.block).ok_or(PowerError::Unknown { index })?;
        Ok((window, Register::at(domain.offset)))
    }

    fn entry(&self, index: usize) -> Result<&Entry, PowerError> {
        self.table.get(index).ok_or(PowerError::Unknown { index })
    }
}

/// The indices in a set of bits, ascending.
fn members(set: u32) -> impl DoubleEndedIterator<Item = usize> {
    (0..DOMAINS).filter(move |index| set >> index & 1 != 0)
}

#[cfg(test)]
mod tests;
