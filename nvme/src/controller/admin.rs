//! Admin commands: one at a time, awaited.

use core::time::Duration;

use hal::{Platform, poll_until};

use super::Controller;
use crate::error::{CommandError, Fault, PassThroughError};
use crate::request::AdminCommand;
use crate::spec::PAGE;
use crate::spec::command::{SubmissionEntry, admin, feature};
use crate::transport::{Queue, Retired, Transport};

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Sends an admin command that asks for something (Identify, Get Log Page, Get Features), or sets a feature without data,
    /// and copies the first bytes of its data out, at most 4096. Gives the command's result.
    ///
    /// A write cache that is changed or read by this is noticed as if [`Controller::set_write_cache`] had done it.
    ///
    /// # Errors
    /// [`PassThroughError`]. Whatever else changes the controller is refused, the number of queues too: it could delete the
    /// queues that this type lives by. So is an Identify structure that the controller is known to fail on, and a log page longer than the memory.
    pub fn pass_through(&mut self, command: AdminCommand, data: &mut [u8]) -> Result<u32, PassThroughError> {
        let AdminCommand { opcode, namespace, dwords } = command;
        let [tenth, eleventh, ..] = dwords;
        let fits = match opcode {
            admin::IDENTIFY => tenth & 0xff <= T::LAST_IDENTIFY_STRUCTURE,
            // The number of dwords is zero-based, its high half in the next word.
            admin::GET_LOG_PAGE => eleventh & 0xffff == 0 && ((tenth >> 16) as usize) < PAGE / 4,
            admin::GET_FEATURES => true,
            admin::SET_FEATURES => tenth & 0xff != u32::from(feature::QUEUES),
            _ => false,
        };
        if !fits {
            return Err(PassThroughError::Refused { opcode });
        }
        let prp1 = self.page.address();
        let entry = SubmissionEntry { opcode, namespace, prp1, dwords, ..SubmissionEntry::default() };
        // What an earlier command left is none of the caller's business.
        self.page.clear();
        let cache = tenth & 0xff == u32::from(feature::WRITE_CACHE);
        if opcode == admin::SET_FEATURES && cache {
            // Whatever becomes of it, nothing is taken for durable until the feature was read again.
            self.cache.enabled = None;
        }
        let result = self.admin(entry);
        // Bits 10:8 zero ask for the current value.
        if opcode == admin::GET_FEATURES && cache && tenth & 0x700 == 0 {
            self.cache_was_read(result.ok());
        }
        let result = result.map_err(PassThroughError::Command)?;
        if opcode == admin::SET_FEATURES && cache {
            self.read_cache().map_err(PassThroughError::Command)?;
        }
        self.page.read_bytes(0, data);
        Ok(result)
    }

    /// Sends an admin command and awaits its result.
    pub(super) fn admin(&mut self, entry: SubmissionEntry) -> Result<u32, CommandError> {
        self.admin_within(entry, self.config.admin)
    }

    /// Sends an admin command and awaits its result for at most `limit`. Asynchronous events that come meanwhile are kept.
    pub(super) fn admin_within(&mut self, entry: SubmissionEntry, limit: Duration) -> Result<u32, CommandError> {
        if self.admin_lost {
            return Err(CommandError::Dead(self.fault.unwrap_or(Fault::Gone)));
        }
        let tag = self.transport.tags(Queue::Admin).trailing_zeros();
        self.transport.place(&self.window, Queue::Admin, tag, entry);
        self.transport.ring(&self.window, Queue::Admin);
        let (transport, window, counters) = (&mut self.transport, &self.window, &mut self.counters);
        let events = &mut self.events;
        let answer = poll_until(&self.clock, limit, || {
            let mut answer: Option<Retired> = None;
            let outstanding = 1 << tag | events.outstanding();
            let batch = transport.reap(window, Queue::Admin, outstanding, |retired| {
                if retired.tag == tag {
                    answer = Some(retired);
                } else {
                    events.happened(retired);
                }
            });
            counters.unknown_completions += u64::from(batch.unknown);
            answer
        });
        let retired = answer.map_err(|late| {
            self.admin_lost = true;
            self.counters.time_outs += 1;
            self.fault = Some(Fault::TimedOut { tag, waited: late.waited });
            CommandError::TimedOut { tag, waited: late.waited }
        })?;
        if retired.invalidation_failed {
            self.counters.failed_invalidations += 1;
            return Err(CommandError::InvalidationFailed { tag });
        }
        if retired.status.is_success() { Ok(retired.result) } else { Err(CommandError::Status(retired.status)) }
    }
}
