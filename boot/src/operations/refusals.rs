//! What the driver refuses before anything is sent, whatever the controller.

use hal::Platform;
use nvme::{Access, Buffer, Operation};

use super::outcome::Outcome;
use super::{BLOCKS, Entry, List};

impl<'a, P: Platform> List<'a, P> {
    pub(super) const REFUSALS: &'a [Entry<'a, P>] = &[
        ("write while nothing is armed", Self::unarmed),
        ("write beyond what is armed", |list| list.refused(write(list.first + BLOCKS - 1, 2), 2)),
        ("write no blocks", |list| list.refused(write(list.first, 0), 1)),
        ("read no blocks", |list| list.refused(read(list.first, 0), 1)),
        ("read beyond the end", |list| list.refused(read(list.namespace.blocks - 1, 2), 2)),
        ("read where the count wraps", |list| list.refused(read(u64::MAX, 2), 2)),
        ("read more than one command may move", |list| list.refused(read(0, list.limit().saturating_add(1)), 1)),
        ("read into too short a buffer", |list| list.refused(read(list.first, 2), 1)),
        ("read without a buffer", |list| list.must_refuse(list.id(), read(list.first, 1), None)),
        ("read into a misaligned buffer", |list| {
            let buffer = list.buffer_at(2, 1)?;
            list.must_refuse(list.id(), read(list.first, 1), Some(buffer))
        }),
        ("read namespace 0", |list| {
            let buffer = list.buffer(1)?;
            list.must_refuse(0, read(list.first, 1), Some(buffer))
        }),
        ("flush every namespace at once", |list| list.must_refuse(u32::MAX, Operation::Flush, None)),
    ];

    /// Submits, with a buffer of so many blocks, what must not be sent.
    fn refused(&mut self, operation: Operation, blocks: u32) -> Result<Outcome, Outcome> {
        let buffer = self.buffer(blocks)?;
        self.must_refuse(self.id(), operation, Some(buffer))
    }

    fn must_refuse(
        &mut self,
        namespace: u32,
        operation: Operation,
        buffer: Option<Buffer<P::Pool>>,
    ) -> Result<Outcome, Outcome> {
        let outcome = self.send_to(namespace, operation, buffer).map_or_else(|outcome| outcome, |_| Outcome::Done);
        Ok(outcome.if_only(|outcome| matches!(outcome, Outcome::Refused(_)), "it was sent"))
    }

    fn unarmed(&mut self) -> Result<Outcome, Outcome> {
        self.arm(Access::ReadOnly)?;
        let outcome = self.refused(write(self.first, 1), 1);
        self.arm(Access::ReadWrite { first: self.first, blocks: BLOCKS })?;
        outcome
    }

    fn arm(&mut self, access: Access) -> Result<(), Outcome> {
        self.controller.set_access(self.namespace.id, access).map_err(Outcome::Refused)
    }
}

const fn read(lba: u64, count: u32) -> Operation {
    Operation::Read { lba, count }
}

const fn write(lba: u64, count: u32) -> Operation {
    Operation::Write { lba, count, force_unit_access: false }
}
