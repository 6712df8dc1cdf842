//! Completion status (NVMe base specification, "Status Field").

use std::fmt;

/// The status half-word of a completion entry without its phase bit: code 8:1, type 11:9, "do not retry" 15.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(u16);

/// Every error here repeats itself if the same command is sent again.
const DO_NOT_RETRY: u16 = 1 << 15;

impl Status {
    pub(crate) const SUCCESS: Self = Self(0);
    pub(crate) const INVALID_OPCODE: Self = Self::new(0, 0x01);
    pub(crate) const INVALID_FIELD: Self = Self::new(0, 0x02);
    pub(crate) const DATA_TRANSFER_ERROR: Self = Self::new(0, 0x04);
    pub(crate) const INTERNAL_ERROR: Self = Self::new(0, 0x06);
    pub(crate) const QUEUE_DELETED: Self = Self::new(0, 0x08);
    pub(crate) const INVALID_NAMESPACE: Self = Self::new(0, 0x0b);
    pub(crate) const INVALID_PRP_OFFSET: Self = Self::new(0, 0x13);
    pub(crate) const WRITE_PROTECTED: Self = Self::new(0, 0x20);
    pub(crate) const LBA_OUT_OF_RANGE: Self = Self::new(0, 0x80);
    pub(crate) const COMPLETION_QUEUE_INVALID: Self = Self::new(1, 0x00);
    pub(crate) const INVALID_QUEUE_IDENTIFIER: Self = Self::new(1, 0x01);
    pub(crate) const INVALID_QUEUE_SIZE: Self = Self::new(1, 0x02);
    pub(crate) const INVALID_VECTOR: Self = Self::new(1, 0x08);
    pub(crate) const INVALID_LOG_PAGE: Self = Self::new(1, 0x09);
    pub(crate) const INVALID_QUEUE_DELETION: Self = Self::new(1, 0x0c);
    pub(crate) const FEATURE_NOT_SAVEABLE: Self = Self::new(1, 0x0d);
    pub(crate) const WRITE_FAULT: Self = Self::new(2, 0x80);
    pub(crate) const UNRECOVERED_READ: Self = Self::new(2, 0x81);

    /// The error of that type (0 to 7) and code, not to be retried.
    const fn new(kind: u8, code: u8) -> Self {
        Self((code as u16) << 1 | (kind as u16 & 7) << 9 | DO_NOT_RETRY)
    }

    /// Bits 15:1 of the half-word; bit 0 is 0.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status type {} code {:#04x}", self.0 >> 9 & 7, self.0 >> 1 & 0xff)
    }
}
