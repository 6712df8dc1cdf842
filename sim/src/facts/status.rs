//! Status of a completion (NVMe base specification).

use super::Bits;

/// Half-word: phase.
pub const PHASE: Bits = Bits::one(0);
/// Half-word: code.
pub const SC: Bits = Bits::at(8, 1);
/// Half-word: type.
pub const SCT: Bits = Bits::at(11, 9);
/// Half-word: which delay to wait before a retry.
pub const CRD: Bits = Bits::at(13, 12);
/// Half-word: the error log knows more.
pub const MORE: Bits = Bits::one(14);
/// Half-word: do not retry.
pub const DNR: Bits = Bits::one(15);

/// A type and a code of that type.
pub type TypeAndCode = (u8, u8);

/// Success.
pub const SUCCESS: TypeAndCode = (0, 0x00);
/// Invalid opcode.
pub const INVALID_OPCODE: TypeAndCode = (0, 0x01);
/// Invalid field.
pub const INVALID_FIELD: TypeAndCode = (0, 0x02);
/// Command identifier conflict.
pub const CID_CONFLICT: TypeAndCode = (0, 0x03);
/// Data transfer error.
pub const DATA_TRANSFER_ERROR: TypeAndCode = (0, 0x04);
/// Internal error.
pub const INTERNAL_ERROR: TypeAndCode = (0, 0x06);
/// Aborted by request.
pub const ABORTED: TypeAndCode = (0, 0x07);
/// Aborted, submission queue deleted.
pub const QUEUE_DELETED: TypeAndCode = (0, 0x08);
/// Invalid namespace or format.
pub const INVALID_NAMESPACE: TypeAndCode = (0, 0x0b);
/// Command sequence error.
pub const SEQUENCE_ERROR: TypeAndCode = (0, 0x0c);
/// Invalid PRP offset.
pub const INVALID_PRP_OFFSET: TypeAndCode = (0, 0x13);
/// Namespace write protected.
pub const WRITE_PROTECTED: TypeAndCode = (0, 0x20);
/// LBA out of range.
pub const LBA_OUT_OF_RANGE: TypeAndCode = (0, 0x80);
/// Completion queue invalid.
pub const COMPLETION_QUEUE_INVALID: TypeAndCode = (1, 0x00);
/// Queue identifier invalid.
pub const INVALID_QUEUE_IDENTIFIER: TypeAndCode = (1, 0x01);
/// Queue size invalid.
pub const INVALID_QUEUE_SIZE: TypeAndCode = (1, 0x02);
/// Abort limit exceeded.
pub const ABORT_LIMIT: TypeAndCode = (1, 0x03);
/// Asynchronous event request limit exceeded.
pub const EVENT_LIMIT: TypeAndCode = (1, 0x05);
/// Invalid interrupt vector.
pub const INVALID_VECTOR: TypeAndCode = (1, 0x08);
/// Invalid log page.
pub const INVALID_LOG_PAGE: TypeAndCode = (1, 0x09);
/// Invalid queue deletion.
pub const INVALID_QUEUE_DELETION: TypeAndCode = (1, 0x0c);
/// Feature not saveable.
pub const FEATURE_NOT_SAVEABLE: TypeAndCode = (1, 0x0d);
/// Write fault.
pub const WRITE_FAULT: TypeAndCode = (2, 0x80);
/// Unrecovered read error.
pub const UNRECOVERED_READ: TypeAndCode = (2, 0x81);
/// Compare failure.
pub const COMPARE_FAILURE: TypeAndCode = (2, 0x85);

/// The statuses that the models give, with the words of the reference.
pub const NAMES: [(TypeAndCode, &str); 25] = [
    (SUCCESS, "success"),
    (INVALID_OPCODE, "invalid opcode"),
    (INVALID_FIELD, "invalid field"),
    (CID_CONFLICT, "command identifier conflict"),
    (DATA_TRANSFER_ERROR, "data transfer error"),
    (INTERNAL_ERROR, "internal error"),
    (ABORTED, "aborted by request"),
    (QUEUE_DELETED, "aborted, submission queue deleted"),
    (INVALID_NAMESPACE, "invalid namespace or format"),
    (SEQUENCE_ERROR, "command sequence error"),
    (INVALID_PRP_OFFSET, "invalid PRP offset"),
    (WRITE_PROTECTED, "namespace write protected"),
    (LBA_OUT_OF_RANGE, "LBA out of range"),
    (COMPLETION_QUEUE_INVALID, "completion queue invalid"),
    (INVALID_QUEUE_IDENTIFIER, "queue identifier invalid"),
    (INVALID_QUEUE_SIZE, "queue size invalid"),
    (ABORT_LIMIT, "abort limit exceeded"),
    (EVENT_LIMIT, "asynchronous event limit exceeded"),
    (INVALID_VECTOR, "invalid interrupt vector"),
    (INVALID_LOG_PAGE, "invalid log page"),
    (INVALID_QUEUE_DELETION, "invalid queue deletion"),
    (FEATURE_NOT_SAVEABLE, "feature not saveable"),
    (WRITE_FAULT, "write fault"),
    (UNRECOVERED_READ, "unrecovered read error"),
    (COMPARE_FAILURE, "compare failure"),
];

/// All codes that the reference knows: of each type the runs of them, first and last.
pub const KNOWN: [(u8, &[(u8, u8)]); 4] = [
    (0, &[(0x00, 0x15), (0x18, 0x1d), (0x20, 0x22), (0x80, 0x84)]),
    (1, &[(0x00, 0x03), (0x05, 0x0a), (0x0c, 0x0f), (0x14, 0x14), (0x80, 0x82)]),
    (2, &[(0x80, 0x87)]),
    (3, &[(0x00, 0x03), (0x60, 0x60), (0x70, 0x71)]),
];
