//! Calls that wait, built from submit and poll.

use hal::Platform;

use super::Controller;
use crate::buffer::Buffer;
use crate::error::{BlockError, CommandError, SubmitError};
use crate::identity::Namespace;
use crate::request::{Completion, Operation, Request, Ticket};
use crate::transport::Transport;

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Reads from block `lba` of a namespace on, as many blocks as fill `bytes`; in several commands where one may not
    /// move that much. Ends of other commands that arrive meanwhile are kept for [`Controller::poll`].
    ///
    /// # Errors
    /// [`BlockError`]; the content of `bytes` is undefined then.
    pub fn read(&mut self, namespace: u32, lba: u64, bytes: &mut [u8]) -> Result<(), BlockError> {
        let namespace = self.usable(namespace, lba, bytes.len())?;
        let chunk = self.chunk(&namespace, bytes.len());
        let mut buffer = Buffer::new(&self.pool, chunk).map_err(BlockError::Memory)?;
        let mut lba = lba;
        for part in bytes.chunks_mut(chunk) {
            let count = namespace.blocks_in(part.len());
            buffer = self.run(namespace.id, Operation::Read { lba, count }, buffer)?;
            buffer.read_bytes(0, part);
            lba += u64::from(count);
        }
        Ok(())
    }

    /// Writes `bytes`, which are whole blocks, from block `lba` of a namespace on. The blocks have to be armed
    /// ([`Controller::set_access`]) all of them, or none is written. Durable only after a flush.
    ///
    /// # Errors
    /// [`BlockError`]; after a failed command some blocks may be written.
    pub fn write(&mut self, namespace: u32, lba: u64, bytes: &[u8]) -> Result<(), BlockError> {
        self.write_blocks(namespace, lba, bytes, false)
    }

    pub(super) fn write_blocks(
        &mut self,
        namespace: u32,
        lba: u64,
        bytes: &[u8],
        force_unit_access: bool,
    ) -> Result<(), BlockError> {
        let namespace = self.usable(namespace, lba, bytes.len())?;
        if !namespace.may_write(lba, (bytes.len() >> namespace.block_shift) as u64) {
            return Err(SubmitError::ReadOnly.into());
        }
        let chunk = self.chunk(&namespace, bytes.len());
        let mut buffer = Buffer::new(&self.pool, chunk).map_err(BlockError::Memory)?;
        let mut lba = lba;
        for part in bytes.chunks(chunk) {
            let count = namespace.blocks_in(part.len());
            buffer.write_bytes(0, part);
            buffer = self.run(namespace.id, Operation::Write { lba, count, force_unit_access }, buffer)?;
            lba += u64::from(count);
        }
        Ok(())
    }

    /// Makes durable what was written before, as the namespace's [`crate::FlushPolicy`] says: strict and coalesce await a device
    /// flush, deferred answers at once. Where nothing can be lost ([`Controller::cache_mode`]) none is sent.
    ///
    /// # Errors
    /// [`BlockError`]: nothing is known about what is durable.
    pub fn flush(&mut self, namespace: u32) -> Result<(), BlockError> {
        self.complete(Request { namespace, operation: Operation::Flush, buffer: None })?.result?;
        Ok(())
    }

    /// Makes `count` blocks read as zeroes, in several commands where one may not name that many. The blocks have to be armed
    /// all of them, or none is changed. Durable only after a flush.
    ///
    /// # Errors
    /// [`BlockError`]; after a failed command some blocks may be zeroes.
    pub fn write_zeroes(&mut self, namespace: u32, lba: u64, count: u64) -> Result<(), BlockError> {
        self.in_parts(namespace, lba, count, 1 << 16, |lba, count| Operation::WriteZeroes { lba, count })
    }

    /// Tells that the content of `count` blocks is no longer needed, in several commands where one may not name that many.
    /// The blocks have to be armed all of them, or none is changed.
    ///
    /// # Errors
    /// [`BlockError`]; after a failed command some blocks may be discarded.
    pub fn discard(&mut self, namespace: u32, lba: u64, count: u64) -> Result<(), BlockError> {
        self.in_parts(namespace, lba, count, u32::MAX, |lba, count| Operation::Discard { lba, count })
    }

    /// Commands without data over armed blocks, at most `most` in each.
    fn in_parts(
        &mut self,
        id: u32,
        lba: u64,
        count: u64,
        most: u32,
        operation: impl Fn(u64, u32) -> Operation,
    ) -> Result<(), BlockError> {
        let namespace = *self.namespace(id).ok_or(SubmitError::UnknownNamespace { namespace: id })?;
        if count == 0 {
            return Err(SubmitError::NoBlocks.into());
        }
        if lba >= namespace.blocks || count > namespace.blocks - lba {
            return Err(SubmitError::OutOfRange { lba, count, blocks: namespace.blocks }.into());
        }
        if !namespace.may_write(lba, count) {
            return Err(SubmitError::ReadOnly.into());
        }
        let (mut lba, mut left) = (lba, count);
        while left != 0 {
            let part = u32::try_from(left).map_or(most, |left| left.min(most));
            let request = Request { namespace: id, operation: operation(lba, part), buffer: None };
            self.complete(request)?.result?;
            lba += u64::from(part);
            left -= u64::from(part);
        }
        Ok(())
    }

    /// The namespace, if `length` bytes from `lba` on are whole blocks inside it, and at least one.
    fn usable(&self, id: u32, lba: u64, length: usize) -> Result<Namespace, BlockError> {
        let namespace = *self.namespace(id).ok_or(SubmitError::UnknownNamespace { namespace: id })?;
        let block_size = namespace.block_size();
        if !length.is_multiple_of(block_size as usize) {
            return Err(BlockError::Length { length, block_size });
        }
        let count = (length >> namespace.block_shift) as u64;
        if count == 0 {
            return Err(SubmitError::NoBlocks.into());
        }
        if lba >= namespace.blocks || count > namespace.blocks - lba {
            return Err(SubmitError::OutOfRange { lba, count, blocks: namespace.blocks }.into());
        }
        Ok(namespace)
    }

    /// Bytes of one command.
    fn chunk(&self, namespace: &Namespace, length: usize) -> usize {
        length.min((namespace.most_blocks as usize) << namespace.block_shift)
    }

    fn run(
        &mut self,
        namespace: u32,
        operation: Operation,
        buffer: Buffer<P::Pool>,
    ) -> Result<Buffer<P::Pool>, BlockError> {
        let completion = self.complete(Request { namespace, operation, buffer: Some(buffer) })?;
        completion.result?;
        // Only a time-out keeps the buffer, and that is no success.
        completion.buffer.ok_or(BlockError::Command(CommandError::Reset))
    }

    /// Submits, waiting for a free tag if need be, and awaits the end.
    pub(super) fn complete(&mut self, request: Request<P::Pool>) -> Result<Completion<P::Pool>, BlockError> {
        let Request { namespace, operation, mut buffer } = request;
        let mut wait = self.begin_wait();
        let ticket = loop {
            match self.submit(Request { namespace, operation, buffer }) {
                Ok(ticket) => break ticket,
                Err(refused) if refused.error == SubmitError::Busy && self.any_in_flight() => {
                    buffer = refused.buffer;
                    self.look(&mut wait);
                }
                Err(refused) => return Err(refused.error.into()),
            }
        };
        self.await_ticket(ticket)
    }

    /// Awaits the end of a command.
    pub(super) fn await_ticket(&mut self, ticket: Ticket) -> Result<Completion<P::Pool>, BlockError> {
        let mut wait = self.begin_wait();
        loop {
            let pair = self.pairs.get_mut(usize::from(ticket.queue_pair()));
            if let Some(completion) = pair.and_then(|pair| pair.slots.take(ticket)) {
                return Ok(completion);
            }
            self.look(&mut wait);
        }
    }
}
