//! What changes the disk, or makes changes last: only within the blocks that were armed at start.

use hal::{Clock, Platform};
use nvme::{BlockError, Identity};

use super::{Armed, Monitor, controller};
use crate::any::AnyController;
use crate::command::Span;
use crate::reason::Reason;
use crate::{microseconds, operations};

/// A call of the controller that changes a span of a namespace.
type Change<P> = fn(&mut dyn AnyController<P>, u32, u64, u64) -> Result<(), BlockError>;

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    pub(super) fn flush(&mut self) -> Result<(), Reason> {
        let id = self.selected.namespace;
        let controller = self.controller()?;
        let began = controller.clock().now();
        controller.flush(id).map_err(|error| Reason::new(format_args!("namespace {id}: {error}")))?;
        let took = controller.clock().now().since(began);
        writeln!(self.out, "flushed in {} us", microseconds(took)).map_err(Reason::new)
    }

    pub(super) fn trim(&mut self, span: Span) -> Result<(), Reason> {
        self.change(
            span,
            ("trimmed", "dataset management"),
            |identity| identity.discard,
            |controller, id, lba, count| controller.discard(id, lba, count),
        )
    }

    pub(super) fn zero(&mut self, span: Span) -> Result<(), Reason> {
        self.change(
            span,
            ("zeroed", "write zeroes"),
            |identity| identity.write_zeroes,
            |controller, id, lba, count| controller.write_zeroes(id, lba, count),
        )
    }

    fn change(
        &mut self,
        span: Span,
        (done, command): (&str, &str),
        has: fn(&Identity) -> bool,
        change: Change<P>,
    ) -> Result<(), Reason> {
        self.inside(span)?;
        if !has(self.controller()?.identity()) {
            return Err(Reason::new(format_args!("the controller does not have the command {command}")));
        }
        self.must_be_armed(span)?;
        let Span { first, count } = span;
        let id = self.selected.namespace;
        let controller = self.controller()?;
        let began = controller.clock().now();
        change(controller, id, first, count)
            .map_err(|error| Reason::new(format_args!("{count} blocks from {first}: {error}")))?;
        let took = controller.clock().now().since(began);
        writeln!(self.out, "{done} {count} blocks from {first} in {} us", microseconds(took)).map_err(Reason::new)
    }

    /// Refuses a span that was not armed at start; it lies on the disk.
    fn must_be_armed(&self, span: Span) -> Result<(), Reason> {
        let last = span.first.saturating_add(span.count - 1);
        match self.armed {
            Some(Armed { disk, first, last: end }) if disk == self.selected && span.first >= first && last <= end => {
                Ok(())
            }
            Some(armed) => Err(Reason::new(format_args!(
                "{} blocks from {} on are not all armed: {armed} are (--rw=FIRST..LAST arms others)",
                span.count, span.first
            ))),
            None => {
                Err(Reason::new("nothing is armed for writes: --rw or --rw=FIRST..LAST arms the disk or blocks of it"))
            }
        }
    }

    pub(super) fn operations(&mut self, first: u64) -> Result<(), Reason> {
        let span = Span { first, count: operations::BLOCKS };
        self.inside(span)?;
        self.must_be_armed(span)?;
        let Self { storage, selected, out, scratch, .. } = self;
        operations::run(controller(*storage, *selected)?, selected.namespace, first, scratch, *out)
    }
}
