//! What the layers above see: a device of blocks.

use hal::Platform;

use crate::controller::Controller;
use crate::error::{BlockError, SubmitError};
use crate::identity::{Access, Namespace};
use crate::transport::Transport;

/// A device of equal blocks, addressed with 64 bits. Every call waits for its end.
pub trait BlockDevice {
    /// How a call fails.
    type Error: core::error::Error;

    /// The block size in bytes, a power of two.
    fn block_size(&self) -> u32;

    /// How many blocks there are.
    fn block_count(&self) -> u64;

    /// Whether no block can be written.
    fn read_only(&self) -> bool;

    /// Reads whole blocks from `lba` on until `bytes` is full.
    ///
    /// # Errors
    /// The content of `bytes` is undefined then.
    fn read(&mut self, lba: u64, bytes: &mut [u8]) -> Result<(), Self::Error>;

    /// Writes whole blocks from `lba` on. They are durable only after [`BlockDevice::flush`].
    ///
    /// # Errors
    /// Some blocks may have been written then.
    fn write(&mut self, lba: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Makes durable what was written before.
    ///
    /// # Errors
    /// Nothing is known about what is durable then.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Tells that the content of blocks is no longer needed.
    ///
    /// # Errors
    /// A device without the command says so.
    fn discard(&mut self, lba: u64, count: u64) -> Result<(), Self::Error>;
}

/// One namespace of a controller, for as long as it is borrowed.
pub struct NamespaceHandle<'c, P: Platform, T: Transport<P>> {
    controller: &'c mut Controller<P, T>,
    namespace: Namespace,
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// A block device on namespace `id`, with the access that [`Controller::set_access`] armed.
    ///
    /// # Errors
    /// [`SubmitError::UnknownNamespace`].
    pub fn device(&mut self, id: u32) -> Result<NamespaceHandle<'_, P, T>, SubmitError> {
        match self.namespace(id).copied() {
            Some(namespace) => Ok(NamespaceHandle { controller: self, namespace }),
            None => Err(SubmitError::UnknownNamespace { namespace: id }),
        }
    }
}

impl<P: Platform, T: Transport<P>> BlockDevice for NamespaceHandle<'_, P, T> {
    type Error = BlockError;

    fn block_size(&self) -> u32 {
        self.namespace.block_size()
    }

    fn block_count(&self) -> u64 {
        self.namespace.blocks
    }

    fn read_only(&self) -> bool {
        self.namespace.access == Access::ReadOnly
    }

    fn read(&mut self, lba: u64, bytes: &mut [u8]) -> Result<(), BlockError> {
        self.controller.read(self.namespace.id, lba, bytes)
    }

    fn write(&mut self, lba: u64, bytes: &[u8]) -> Result<(), BlockError> {
        self.controller.write(self.namespace.id, lba, bytes)
    }

    fn flush(&mut self) -> Result<(), BlockError> {
        self.controller.flush(self.namespace.id)
    }

    fn discard(&mut self, lba: u64, count: u64) -> Result<(), BlockError> {
        self.controller.discard(self.namespace.id, lba, count)
    }
}
