//! What changes the disk: only within the blocks that were armed at start.

use hal::{Clock, Platform};
use nvme::{BlockError, Identity};

use super::{Armed, Monitor, controller};
use crate::any::AnyController;
use crate::command::{Span, Write};
use crate::reason::Reason;
use crate::{length, microseconds, operations};

/// A call of the controller that changes a span of a namespace.
type Change<P> = fn(&mut dyn AnyController<P>, u32, u64, u64) -> Result<(), BlockError>;

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
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

    /// Fills blocks with the pattern of [`Write`].
    pub(super) fn write(&mut self, Write { span, byte, durable }: Write) -> Result<(), Reason> {
        let block_size = length(self.inside(span)?);
        self.must_be_armed(span)?;
        let Span { first, count } = span;
        let Self { storage, selected, scratch, .. } = self;
        let controller = controller(*storage, *selected)?;
        let began = controller.clock().now();
        let most = (scratch.len() / block_size).max(1) as u64;
        let mut done = 0;
        while done < count {
            let part = most.min(count - done);
            let lba = first + done;
            let Some(bytes) = scratch.get_mut(..length(part) * block_size) else {
                return Err(Reason::new(format_args!("there is no memory for a block of {block_size} bytes")));
            };
            for (number, block) in (lba..).zip(bytes.chunks_exact_mut(block_size)) {
                pattern(block, number, byte);
            }
            let written = match durable {
                true => controller.write_durable(selected.namespace, lba, bytes),
                false => controller.write(selected.namespace, lba, bytes),
            };
            written.map_err(|error| Reason::new(format_args!("{part} blocks from {lba}: {error}")))?;
            done += part;
        }
        let took = microseconds(controller.clock().now().since(began));
        let worth = if durable { ", durable" } else { "" };
        writeln!(self.out, "wrote {count} blocks from {first} in {took} us{worth}").map_err(Reason::new)
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

/// The block's number and eight bytes, over and over.
fn pattern(block: &mut [u8], number: u64, byte: u8) {
    for (at, word) in block.chunks_exact_mut(size_of::<u64>()).enumerate() {
        word.copy_from_slice(&if at % 2 == 0 { number.to_le_bytes() } else { [byte; 8] });
    }
}
