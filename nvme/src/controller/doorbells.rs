//! Doorbell buffers: given to the controller, taken back by a reset, and watched.

use hal::Platform;

use super::Controller;
use crate::error::{CommandError, Error, Step};
use crate::spec::command::SubmissionEntry;
use crate::transport::{DoorbellCounters, ShadowDoorbells, Transport};

/// How doorbells of IO queues are rung now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoorbellState {
    /// The controller knows Doorbell Buffer Config (OACS bit 8).
    pub supported: bool,
    /// What the owner wants.
    pub wanted: ShadowDoorbells,
    /// The controller has the buffers: doorbells go there first.
    pub shadowed: bool,
    /// How they were rung so far.
    pub counters: DoorbellCounters,
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// How doorbells are rung.
    pub fn doorbells(&self) -> DoorbellState {
        DoorbellState {
            supported: self.identity.doorbell_buffers,
            wanted: self.transport.shadow_doorbells(),
            shadowed: self.transport.doorbell_buffers_bound(),
            counters: self.transport.doorbell_counters(),
        }
    }

    /// Turns shadow doorbells on or off. Commands in flight are awaited first; their ends are kept for [`Controller::poll`].
    ///
    /// On: the IO queues are deleted and created anew, because only an empty queue agrees with cleared pages. A controller that
    /// does not know them, or refuses, is driven by registers as before ([`Controller::doorbells`] tells). Off: the
    /// controller is reset, since nothing else takes the pages back from it.
    ///
    /// # Errors
    /// [`Error`]: the controller may be without queues then; reset it or shut it down.
    pub fn set_shadow_doorbells(&mut self, wanted: ShadowDoorbells) -> Result<(), Error> {
        self.drain()?;
        self.transport.want_shadow_doorbells(wanted);
        if self.transport.doorbell_buffers_bound() {
            return self.reset();
        }
        if wanted == ShadowDoorbells::Off || !self.identity.doorbell_buffers {
            return Ok(());
        }
        let result = self.delete_queues().and_then(|()| self.recreate_queues());
        self.up_or_at_fault(result)
    }

    /// Whether commands that were submitted wait for one doorbell, and completion entries are given back in batches (as at
    /// first), or each has a register write of its own: to measure what batches are worth. ANS has nothing to batch.
    pub fn set_batching(&mut self, on: bool) {
        self.ring();
        self.transport.set_batching(on);
    }

    /// Gives the controller cleared buffers. One that refuses them is driven by registers; only a controller that no longer
    /// answers is an error.
    pub(super) fn give_doorbell_buffers(&mut self) -> Result<(), Error> {
        let Some(buffers) = self.transport.doorbell_buffers() else {
            hal::warn!("doorbells too far apart for a doorbell buffer of one page");
            return Ok(());
        };
        match self.admin(SubmissionEntry::doorbell_buffers(buffers.shadow, buffers.event_index)) {
            Ok(_) => self.transport.bind_doorbell_buffers(),
            Err(CommandError::Status(status)) => {
                hal::warn!("the controller refuses doorbell buffers: {}", hal::log::Shown(&status));
            }
            Err(error) => return Err(Error::Command { step: Step::DoorbellBuffers, error }),
        }
        Ok(())
    }

    /// Rings pairs again that have had commands for a whole period and completed none, where the controller looks at shadow
    /// doorbells: it may have gone to sleep on an old one. A pair that is merely slow does not mind.
    pub(super) fn wake_stalled(&mut self) {
        let shadowed = self.transport.doorbell_buffers_bound();
        for (index, pair) in (0u16..).zip(&mut self.pairs) {
            // A pair that was idle at the last look has waited for less than a period.
            let waits = pair.slots.any_in_flight().then_some(pair.batches);
            let stalled = waits.is_some() && waits == pair.waited;
            pair.waited = waits;
            if stalled && shadowed {
                hal::warn!("no completion on queue pair {} for long: ringing again", index);
                self.transport.ring_again(&self.window, index);
            }
        }
    }
}
