//! Admin commands: one at a time, awaited.

use hal::{Platform, poll_until};

use super::Controller;
use crate::error::{CommandError, Fault};
use crate::spec::command::SubmissionEntry;
use crate::transport::{Queue, Retired, Transport};

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Sends an admin command and awaits its result.
    pub(super) fn admin(&mut self, entry: SubmissionEntry) -> Result<u32, CommandError> {
        if self.admin_lost {
            return Err(CommandError::Dead(self.fault.unwrap_or(Fault::Gone)));
        }
        let tag = self.transport.tags(Queue::Admin).trailing_zeros();
        self.transport.submit(&self.window, Queue::Admin, tag, entry);
        let (transport, window, counters) = (&mut self.transport, &self.window, &mut self.counters);
        let answer = poll_until(&self.clock, self.config.admin, || {
            let mut answer: Option<Retired> = None;
            let batch = transport.reap(window, Queue::Admin, 1 << tag, |retired| answer = Some(retired));
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
