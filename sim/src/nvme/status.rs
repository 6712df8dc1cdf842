//! Completion status (NVMe base specification, "Status Field").

use std::fmt;

use crate::facts::status::{self as facts, TypeAndCode};

/// The status half-word of a completion entry without its phase bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status(u16);

impl Status {
    pub(crate) const SUCCESS: Self = Self::of(facts::SUCCESS);
    pub(crate) const CID_CONFLICT: Self = Self::error(facts::CID_CONFLICT);
    pub(crate) const ABORTED: Self = Self::of(facts::ABORTED);
    pub(crate) const SEQUENCE_ERROR: Self = Self::error(facts::SEQUENCE_ERROR);
    pub(crate) const ABORT_LIMIT: Self = Self::error(facts::ABORT_LIMIT);
    pub(crate) const EVENT_LIMIT: Self = Self::error(facts::EVENT_LIMIT);
    pub(crate) const COMPARE_FAILURE: Self = Self::error(facts::COMPARE_FAILURE);
    pub(crate) const INVALID_OPCODE: Self = Self::error(facts::INVALID_OPCODE);
    pub(crate) const INVALID_FIELD: Self = Self::error(facts::INVALID_FIELD);
    pub(crate) const DATA_TRANSFER_ERROR: Self = Self::error(facts::DATA_TRANSFER_ERROR);
    pub(crate) const INTERNAL_ERROR: Self = Self::error(facts::INTERNAL_ERROR);
    pub(crate) const QUEUE_DELETED: Self = Self::error(facts::QUEUE_DELETED);
    pub(crate) const INVALID_NAMESPACE: Self = Self::error(facts::INVALID_NAMESPACE);
    pub(crate) const INVALID_PRP_OFFSET: Self = Self::error(facts::INVALID_PRP_OFFSET);
    pub(crate) const WRITE_PROTECTED: Self = Self::error(facts::WRITE_PROTECTED);
    pub(crate) const LBA_OUT_OF_RANGE: Self = Self::error(facts::LBA_OUT_OF_RANGE);
    pub(crate) const COMPLETION_QUEUE_INVALID: Self = Self::error(facts::COMPLETION_QUEUE_INVALID);
    pub(crate) const INVALID_QUEUE_IDENTIFIER: Self = Self::error(facts::INVALID_QUEUE_IDENTIFIER);
    pub(crate) const INVALID_QUEUE_SIZE: Self = Self::error(facts::INVALID_QUEUE_SIZE);
    pub(crate) const INVALID_VECTOR: Self = Self::error(facts::INVALID_VECTOR);
    pub(crate) const INVALID_LOG_PAGE: Self = Self::error(facts::INVALID_LOG_PAGE);
    pub(crate) const INVALID_QUEUE_DELETION: Self = Self::error(facts::INVALID_QUEUE_DELETION);
    pub(crate) const FEATURE_NOT_SAVEABLE: Self = Self::error(facts::FEATURE_NOT_SAVEABLE);
    pub(crate) const WRITE_FAULT: Self = Self::error(facts::WRITE_FAULT);
    pub(crate) const UNRECOVERED_READ: Self = Self::error(facts::UNRECOVERED_READ);

    const fn of((kind, code): TypeAndCode) -> Self {
        Self(((facts::SCT.put(kind as u64) | facts::SC.put(code as u64)) & 0xffff) as u16)
    }

    /// An error, which repeats itself if the same command is sent again.
    const fn error(kind: TypeAndCode) -> Self {
        Self(Self::of(kind).0 | (facts::DNR.mask() & 0xffff) as u16)
    }

    /// The half-word as given; its phase bit is dropped.
    pub(crate) const fn from_bits(half_word: u16) -> Self {
        Self(half_word & !1)
    }

    /// The same, but a second try may succeed.
    pub(crate) const fn retryable(self) -> Self {
        Self(self.0 & !((facts::DNR.mask() & 0xffff) as u16))
    }

    /// The status code type.
    pub(crate) const fn kind(self) -> u64 {
        facts::SCT.of(self.0 as u64)
    }

    /// Bits 15:1 of the half-word; bit 0 is 0.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = u64::from(self.0);
        write!(f, "status type {} code {:#04x}", facts::SCT.of(word), facts::SC.of(word))
    }
}
