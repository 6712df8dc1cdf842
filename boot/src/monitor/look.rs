//! Blocks as they are: partitions, a dump, a digest.

use hal::Platform;
use sha2::{Digest, Sha256};

use super::device::Device;
use super::{Monitor, controller, missing};
use crate::command::Span;
use crate::dump::Dump;
use crate::reason::Reason;
use crate::{gpt, stream};

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    pub(super) fn gpt(&mut self) -> Result<(), Reason> {
        let Self { storage, selected, out, marks, scratch, .. } = self;
        let mut disk = Device::new(controller(*storage, *selected)?, selected.namespace, marks)?;
        gpt::list(&mut disk, scratch, *out).map_err(Reason::new)
    }

    /// The block size, if all of the span is on the disk.
    pub(super) fn inside(&mut self, span: Span) -> Result<u64, Reason> {
        let id = self.selected.namespace;
        let controller = self.controller()?;
        let Some(disk) = controller.namespace(id) else { return Err(missing(controller, id)) };
        let blocks = disk.blocks;
        if span.first >= blocks || span.count > blocks - span.first {
            return Err(Reason::new(format_args!(
                "{} blocks from {} on reach beyond the end: the disk has {blocks}",
                span.count, span.first
            )));
        }
        Ok(u64::from(disk.block_size()))
    }

    pub(super) fn read(&mut self, span: Span) -> Result<(), Reason> {
        let block_size = self.inside(span)?;
        let Self { storage, selected, out, marks, scratch, .. } = self;
        let mut dump = Dump::starting_at(span.first * block_size);
        stream::blocks(controller(*storage, *selected)?, selected.namespace, span, scratch, &mut |bytes| {
            marks.first_block();
            dump.add(bytes, *out).map_err(Reason::new)
        })?;
        dump.end(*out).map_err(Reason::new)
    }

    pub(super) fn sha256(&mut self, span: Span) -> Result<(), Reason> {
        self.inside(span)?;
        let Self { storage, selected, out, marks, scratch, .. } = self;
        let mut hash = Sha256::new();
        stream::blocks(controller(*storage, *selected)?, selected.namespace, span, scratch, &mut |bytes| {
            marks.first_block();
            hash.update(bytes);
            Ok(())
        })?;
        for byte in hash.finalize() {
            write!(out, "{byte:02x}").map_err(Reason::new)?;
        }
        writeln!(out, "  {} blocks from {}", span.count, span.first).map_err(Reason::new)
    }
}
