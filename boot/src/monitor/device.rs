//! A namespace as the GPT crates see a disk: to be read.

use core::fmt;

use gpt_disk_io::BlockIo;
use gpt_disk_io::gpt_disk_types::{BlockSize, Lba};
use hal::Platform;
use nvme::BlockError;

use super::{Marks, missing};
use crate::any::AnyController;
use crate::reason::Reason;

/// A namespace behind the trait of `gpt_disk_io`.
pub(super) struct Device<'m, 'a, P: Platform> {
    controller: &'m mut dyn AnyController<P>,
    namespace: u32,
    blocks: u64,
    marks: &'m mut Marks<'a>,
    block_size: BlockSize,
}

impl<'m, 'a, P: Platform> Device<'m, 'a, P> {
    /// Lends the controller, if its namespace is there and has a block size that a partition table can have.
    pub(super) fn new(
        controller: &'m mut dyn AnyController<P>,
        id: u32,
        marks: &'m mut Marks<'a>,
    ) -> Result<Self, Reason> {
        let Some(namespace) = controller.namespace(id) else { return Err(missing(controller, id)) };
        let (size, blocks) = (namespace.block_size(), namespace.blocks);
        match BlockSize::new(size) {
            Some(block_size) => Ok(Self { controller, namespace: id, blocks, marks, block_size }),
            None => Err(Reason::new(format_args!("no partition table can have blocks of {size} bytes"))),
        }
    }
}

/// How a call fails.
#[derive(Debug)]
pub(super) enum DeviceError {
    Block {
        first: u64,
        error: BlockError,
    },
    /// Nothing here writes.
    ReadOnly,
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block { first, error } => write!(f, "block {first}: {error}"),
            Self::ReadOnly => f.write_str("the disk is only read"),
        }
    }
}

impl<P: Platform> BlockIo for Device<'_, '_, P> {
    type Error = DeviceError;

    fn block_size(&self) -> BlockSize {
        self.block_size
    }

    fn num_blocks(&mut self) -> Result<u64, DeviceError> {
        Ok(self.blocks)
    }

    fn read_blocks(&mut self, start: Lba, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let first = start.to_u64();
        self.controller.read(self.namespace, first, bytes).map_err(|error| DeviceError::Block { first, error })?;
        self.marks.first_block();
        Ok(())
    }

    fn write_blocks(&mut self, _: Lba, _: &[u8]) -> Result<(), DeviceError> {
        Err(DeviceError::ReadOnly)
    }

    fn flush(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}
