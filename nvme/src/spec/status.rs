//! The status of a completed command, decoded and named.

use core::fmt;

/// The 15 bits of status of a completion, without the phase bit.
///
/// Bits 7:0 are the code, 10:8 the type, 12:11 the retry delay, 13 More, 14 Do Not Retry.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status(u16);

impl Status {
    /// Success.
    pub const SUCCESS: Self = Self(0);
    /// Generic: invalid namespace or format.
    pub const INVALID_NAMESPACE: Self = Self(0x0b);

    /// The status in the upper half-word of a completion's last word; its phase bit is dropped.
    pub const fn from_half_word(half_word: u16) -> Self {
        Self(half_word >> 1)
    }

    /// Whether the command succeeded: type and code both zero. A command-specific code 0 is an error.
    pub const fn is_success(self) -> bool {
        self.0 & 0x7ff == 0
    }

    /// Whether a field of the command was refused: what a controller answers to what it does not know.
    pub const fn is_invalid_field(self) -> bool {
        self.0 & 0x7ff == 0x02
    }

    /// The code, which means something only together with the type.
    pub const fn code(self) -> u8 {
        (self.0 & 0xff) as u8
    }

    /// The type: 0 generic, 1 command specific, 2 media, 3 path, 7 vendor.
    pub const fn kind(self) -> u8 {
        (self.0 >> 8 & 0b111) as u8
    }

    /// Which of the controller's three delays to wait before a retry; 0 is none.
    pub const fn retry_delay(self) -> u8 {
        (self.0 >> 11 & 0b11) as u8
    }

    /// More is told in the error log page.
    pub const fn more(self) -> bool {
        self.0 >> 13 & 1 != 0
    }

    /// The same command would fail again.
    pub const fn do_not_retry(self) -> bool {
        self.0 >> 14 & 1 != 0
    }

    /// The specification's name for type and code, or that of the type when the code is not known.
    pub const fn name(self) -> &'static str {
        match self.kind() {
            0 => generic(self.code()),
            1 => specific(self.code()),
            2 => media(self.code()),
            3 => path(self.code()),
            7 => "vendor specific",
            _ => "reserved status type",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (type {}, code {:#04x}", self.name(), self.kind(), self.code())?;
        if self.retry_delay() != 0 {
            write!(f, ", retry delay {}", self.retry_delay())?;
        }
        if self.more() {
            f.write_str(", more in the error log")?;
        }
        if self.do_not_retry() {
            f.write_str(", do not retry")?;
        }
        f.write_str(")")
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const fn generic(code: u8) -> &'static str {
    match code {
        0x00 => "success",
        0x01 => "invalid opcode",
        0x02 => "invalid field",
        0x03 => "command identifier conflict",
        0x04 => "data transfer error",
        0x05 => "aborted, power loss",
        0x06 => "internal error",
        0x07 => "aborted by request",
        0x08 => "aborted, submission queue deleted",
        0x09 => "aborted, fused command failed",
        0x0a => "aborted, fused command missing",
        0x0b => "invalid namespace or format",
        0x0c => "command sequence error",
        0x0d => "invalid SGL segment descriptor",
        0x0e => "invalid number of SGL descriptors",
        0x0f => "invalid SGL data length",
        0x10 => "invalid SGL metadata length",
        0x11 => "invalid SGL descriptor type",
        0x12 => "invalid use of controller memory buffer",
        0x13 => "invalid PRP offset",
        0x14 => "atomic write unit exceeded",
        0x15 => "operation denied",
        0x18 => "inconsistent host identifier format",
        0x19 => "keep-alive timer expired",
        0x1a => "invalid keep-alive timeout",
        0x1b => "aborted, preempt and abort",
        0x1c => "sanitize failed",
        0x1d => "sanitize in progress",
        0x20 => "namespace write protected",
        0x21 => "command interrupted",
        0x22 => "transient transport error",
        0x80 => "LBA out of range",
        0x81 => "capacity exceeded",
        0x82 => "namespace not ready",
        0x83 => "reservation conflict",
        0x84 => "format in progress",
        _ => "generic status",
    }
}

const fn specific(code: u8) -> &'static str {
    match code {
        0x00 => "completion queue invalid",
        0x01 => "queue identifier invalid",
        0x02 => "queue size invalid",
        0x03 => "abort limit exceeded",
        0x05 => "asynchronous event limit exceeded",
        0x06 => "invalid firmware slot",
        0x07 => "invalid firmware image",
        0x08 => "invalid interrupt vector",
        0x09 => "invalid log page",
        0x0a => "invalid format",
        0x0c => "invalid queue deletion",
        0x0d => "feature not saveable",
        0x0e => "feature not changeable",
        0x0f => "feature not namespace specific",
        0x14 => "overlapping range",
        0x80 => "conflicting attributes",
        0x81 => "invalid protection information",
        0x82 => "write to a read-only range",
        _ => "command specific status",
    }
}

const fn media(code: u8) -> &'static str {
    match code {
        0x80 => "write fault",
        0x81 => "unrecovered read error",
        0x82 => "guard check error",
        0x83 => "application tag check error",
        0x84 => "reference tag check error",
        0x85 => "compare failure",
        0x86 => "access denied",
        0x87 => "deallocated or unwritten block",
        _ => "media or data integrity error",
    }
}

const fn path(code: u8) -> &'static str {
    match code {
        0x00 => "internal path error",
        0x01 => "access persistently lost",
        0x02 => "access inaccessible",
        0x03 => "access in transition",
        0x60 => "controller path error",
        0x70 => "host path error",
        0x71 => "aborted by host",
        _ => "path error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn half_word(kind: u16, code: u16) -> u16 {
        (kind << 8 | code) << 1
    }

    #[test]
    fn the_phase_bit_is_no_part_of_the_status() {
        let status = Status::from_half_word(0x0005);
        assert_eq!((status.kind(), status.code(), status.name()), (0, 2, "invalid field"));
        assert!(Status::from_half_word(1).is_success());
    }

    #[test]
    fn a_command_specific_code_zero_is_no_success() {
        let status = Status::from_half_word(half_word(1, 0));
        assert!(!status.is_success());
        assert_eq!(status.name(), "completion queue invalid");
    }

    #[test]
    fn every_flag_is_decoded_from_its_own_bit() {
        for (bit, more, do_not_retry, delay) in
            [(12, false, false, 1), (13, false, false, 2), (14, true, false, 0), (15, false, true, 0)]
        {
            let status = Status::from_half_word(1 << bit);
            assert_eq!((status.more(), status.do_not_retry(), status.retry_delay()), (more, do_not_retry, delay));
            assert!(status.is_success(), "a flag alone is no error");
        }
    }

    #[test]
    fn type_and_code_together_make_the_name() {
        for (kind, code, name) in [
            (0, 0x01, "invalid opcode"),
            (0, 0x13, "invalid PRP offset"),
            (0, 0x80, "LBA out of range"),
            (0, 0x7f, "generic status"),
            (1, 0x01, "queue identifier invalid"),
            (1, 0x0c, "invalid queue deletion"),
            (2, 0x81, "unrecovered read error"),
            (2, 0x00, "media or data integrity error"),
            (3, 0x70, "host path error"),
            (5, 0x00, "reserved status type"),
            (7, 0x42, "vendor specific"),
        ] {
            let status = Status::from_half_word(half_word(kind, code));
            assert_eq!(status.name(), name, "type {kind}, code {code:#x}");
            assert!(!status.is_success());
        }
    }

    #[test]
    fn a_status_prints_its_name_and_its_flags() {
        let status = Status::from_half_word(half_word(0, 0x80) | 1 << 15 | 1 << 14);
        assert_eq!(status.to_string(), "LBA out of range (type 0, code 0x80, more in the error log, do not retry)");
    }
}
