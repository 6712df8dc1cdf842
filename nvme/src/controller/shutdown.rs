//! Taking a controller down, in the order that every firmware accepts.

use hal::Platform;
use tock_registers::interfaces::{Readable, Writeable};

use super::{Controller, Pair, Parts};
use crate::error::{Error, Failure, Step};
use crate::spec::command::{SubmissionEntry, admin};
use crate::spec::registers::{self, CC, CSTS};
use crate::transport::{Queue, Transport};

/// The longest shutdown that a controller may ask for, in microseconds. Linux caps RTD3E likewise.
const LONGEST_SHUTDOWN: u32 = 60_000_000;

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Awaits what is in flight, deletes the queues, shuts the controller down and disables it. Ends of commands that were
    /// not polled are lost, their buffers freed.
    ///
    /// The queues go first, because firmware of macOS 12.1 complains if EN is cleared while they exist; EN is cleared
    /// although the controller was shut down, because it cannot be once the coprocessor stopped (m1n1, Linux).
    ///
    /// # Errors
    /// [`Failure`] with the first error; the steps after it were done all the same. Memory that the controller may still
    /// reach is in quarantine.
    pub fn shutdown(self) -> Result<Parts<P>, Failure<P>> {
        match self.take_down() {
            (parts, Ok(())) => Ok(parts),
            (parts, Err(error)) => Err(Failure { error, parts }),
        }
    }

    /// Gives the parts back without touching a register, for a controller whose coprocessor crashed or stopped: its
    /// registers do not answer. All memory that it could reach is in quarantine.
    pub fn abandon(self) -> Parts<P> {
        Parts { window: self.window, pool: self.pool, clock: self.clock }
    }

    /// The whole way down from any state: what was not reached is not undone.
    pub(super) fn take_down(mut self) -> (Parts<P>, Result<(), Error>) {
        let mut first = Ok(());
        let mut note = |result: Result<(), Error>| {
            if first.is_ok() {
                first = result;
            }
        };
        if self.answers() {
            note(self.drain());
            // What nobody polled for is lost, and holds no tag that a flush may need.
            self.pairs.iter_mut().for_each(|pair| while pair.slots.next().is_some() {});
            note(self.settle_all().map_err(|error| Error::Flush { step: Step::Flush, error }));
            note(self.delete_queues());
            note(self.notify());
        }
        let down = self.disable();
        note(down);
        let Self { window, pool, clock, transport, page, pairs, .. } = self;
        if down.is_ok() {
            for Pair { mut slots, lists, .. } in pairs {
                slots.reset();
                lists.free();
            }
            transport.release();
            page.free();
        }
        // Otherwise each of them goes into quarantine as it is dropped here.
        (Parts { window, pool, clock }, first)
    }

    /// Whether the controller is there, ready, and not at a fatal error: only then is it worth sending it something.
    pub(super) fn answers(&self) -> bool {
        let status = registers::STATUS.of(&self.window).extract();
        status.get() != registers::ALL_ONES && status.is_set(CSTS::RDY) && !status.is_set(CSTS::CFS)
    }

    /// Awaits the commands in flight; each has its own limit.
    pub(super) fn drain(&mut self) -> Result<(), Error> {
        let mut wait = self.begin_wait();
        while self.any_in_flight() && self.fault.is_none() {
            self.look(&mut wait);
        }
        match self.fault {
            Some(fault) => Err(Error::Fault { step: Step::Drain, fault }),
            None => Ok(()),
        }
    }

    /// Deletes the IO queues that exist, of each pair the submission queue first.
    pub(super) fn delete_queues(&mut self) -> Result<(), Error> {
        for index in 0..self.granted {
            let (at, identifier) = (usize::from(index), Queue::Io(index).identifier());
            if self.pairs.get(at).is_some_and(|pair| pair.submission) {
                let entry = SubmissionEntry::delete_queue(admin::DELETE_SUBMISSION_QUEUE, identifier);
                self.step(Step::DeleteSubmissionQueue, entry)?;
                self.pairs.iter_mut().skip(at).take(1).for_each(|pair| pair.submission = false);
            }
            if self.pairs.get(at).is_some_and(|pair| pair.completion) {
                let entry = SubmissionEntry::delete_queue(admin::DELETE_COMPLETION_QUEUE, identifier);
                self.step(Step::DeleteCompletionQueue, entry)?;
                self.pairs.iter_mut().skip(at).take(1).for_each(|pair| pair.completion = false);
            }
        }
        Ok(())
    }

    /// Tells the controller that power may go, and awaits that its caches are empty.
    fn notify(&mut self) -> Result<(), Error> {
        let configuration = registers::CONFIGURATION.of(&self.window);
        let mut value = configuration.extract();
        value.modify(CC::SHN::Normal);
        configuration.set(value.get());
        let reported = u64::from(self.identity.shutdown_microseconds.min(LONGEST_SHUTDOWN));
        let limit = self.config.shutdown.max(core::time::Duration::from_micros(reported));
        self.await_status(Step::Shutdown, limit, CSTS::SHST::Complete)
    }
}
