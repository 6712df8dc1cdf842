//! Load on the disk, and what it came to.

use hal::Platform;
use nvme::transport::DoorbellCounters;

use super::{Monitor, controller};
use crate::command::Span;
use crate::reason::Reason;
use crate::{load, microseconds, stream};

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    pub(super) fn random_read(&mut self, count: u64, depth: u64, plain: bool) -> Result<(), Reason> {
        self.inside(Span { first: 0, count: 1 })?;
        if !self.marks.told {
            // One block beforehand, so that its mark does not fall into the measured part.
            let Self { storage, selected, marks, scratch, .. } = self;
            stream::blocks(
                controller(*storage, *selected)?,
                selected.namespace,
                Span { first: 0, count: 1 },
                scratch,
                &mut |_| {
                    marks.first_block();
                    Ok(())
                },
            )?;
        }
        let controller = controller(self.storage, self.selected)?;
        let writes = |counters: DoorbellCounters| counters.tail_writes + counters.head_writes;
        let before = controller.doorbells().counters;
        controller.set_batching(!plain);
        let report = controller.random_reads(self.selected.namespace, (count, depth), self.marks.mark);
        controller.set_batching(true);
        let after = controller.doorbells().counters;
        // ANS counts none: there is nothing to be spared.
        let rung = (after != before).then(|| writes(after) - writes(before));
        self.report(report?, rung)
    }

    pub(super) fn soak(&mut self, count: u64) -> Result<(), Reason> {
        self.inside(Span { first: 0, count: 1 })?;
        let report = load::soak(self.storage, (self.selected.controller, self.selected.namespace), count)?;
        self.report(report, None)
    }

    /// One line, with the doorbell writes for each read if they were counted.
    fn report(&mut self, report: load::Report, rung: Option<u64>) -> Result<(), Reason> {
        let micros = microseconds(report.took).max(1);
        write!(
            self.out,
            "{} reads, {} bytes, in {micros} us: {} reads per second",
            report.reads,
            report.bytes,
            report.reads.saturating_mul(1_000_000) / micros
        )
        .map_err(Reason::new)?;
        if let Some(rung) = rung {
            let thousandths = rung.saturating_mul(1000) / report.reads.max(1);
            write!(self.out, ", {}.{:03} doorbell writes per read", thousandths / 1000, thousandths % 1000)
                .map_err(Reason::new)?;
        }
        writeln!(self.out).map_err(Reason::new)
    }
}
