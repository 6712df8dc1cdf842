//! A namespace as the GPT crates see a disk: to be read.

use core::fmt;

use gpt_disk_io::BlockIo;
use gpt_disk_io::gpt_disk_types::{BlockSize, Lba};
use nvme::{BlockDevice, BlockError};

use super::Marks;
use crate::reason::Reason;

/// A block device behind the trait of `gpt_disk_io`.
pub(super) struct Device<'m, 'a, D> {
    device: D,
    marks: &'m mut Marks<'a>,
    block_size: BlockSize,
}

impl<'m, 'a, D: BlockDevice> Device<'m, 'a, D> {
    /// Lends the device, if its block size is one that a partition table can have.
    pub(super) fn new(device: D, marks: &'m mut Marks<'a>) -> Result<Self, Reason> {
        let size = device.block_size();
        match BlockSize::new(size) {
            Some(block_size) => Ok(Self { device, marks, block_size }),
            None => Err(Reason::new(format_args!("no partition table can have blocks of {size} bytes"))),
        }
    }
}

/// How a call fails.
#[derive(Debug)]
pub(super) enum DeviceError {
    Block(BlockError),
    /// Nothing here writes.
    ReadOnly,
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(error) => error.fmt(f),
            Self::ReadOnly => f.write_str("the disk is only read"),
        }
    }
}

impl<D: BlockDevice<Error = BlockError>> BlockIo for Device<'_, '_, D> {
    type Error = DeviceError;

    fn block_size(&self) -> BlockSize {
        self.block_size
    }

    fn num_blocks(&mut self) -> Result<u64, DeviceError> {
        Ok(self.device.block_count())
    }

    fn read_blocks(&mut self, start: Lba, bytes: &mut [u8]) -> Result<(), DeviceError> {
        self.device.read(start.to_u64(), bytes).map_err(DeviceError::Block)?;
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
