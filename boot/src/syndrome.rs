//! The exception syndrome register in words.

use core::fmt;

/// A value of `ESR_ELx` (Arm ARM, D19.2.37).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Syndrome(u64);

const INSTRUCTION_ABORT: [u64; 2] = [0x20, 0x21];
const DATA_ABORT: [u64; 2] = [0x24, 0x25];
const PROGRAM_COUNTER_ALIGNMENT: u64 = 0x22;
const SERROR: u64 = 0x2f;

impl Syndrome {
    /// Takes the register's value.
    pub const fn new(value: u64) -> Self {
        Self(value)
    }

    /// The register's value.
    pub const fn raw(self) -> u64 {
        self.0
    }

    /// The exception class, bits 31:26.
    const fn class(self) -> u64 {
        self.0 >> 26 & 0x3f
    }

    fn is_abort(self) -> bool {
        INSTRUCTION_ABORT.contains(&self.class()) || DATA_ABORT.contains(&self.class())
    }

    /// Whether `FAR_ELx` holds the faulting address: for aborts unless FnV (bit 10) says otherwise, and for a misaligned
    /// program counter.
    pub fn has_address(self) -> bool {
        self.class() == PROGRAM_COUNTER_ALIGNMENT || (self.is_abort() && self.0 >> 10 & 1 == 0)
    }

    fn class_name(self) -> &'static str {
        match self.class() {
            0x00 => "unknown reason",
            0x01 => "trapped WFI or WFE",
            0x07 => "floating point access",
            0x0a => "trapped instruction",
            0x0d => "branch target",
            0x0e => "illegal execution state",
            0x15 => "SVC",
            0x16 => "HVC",
            0x17 => "SMC",
            0x18 => "trapped system register access",
            0x1c => "pointer authentication",
            0x20 => "instruction abort from a lower level",
            0x21 => "instruction abort",
            0x22 => "misaligned program counter",
            0x24 => "data abort from a lower level",
            0x25 => "data abort",
            0x26 => "misaligned stack pointer",
            0x2f => "system error",
            0x30..=0x37 => "debug event",
            0x3c => "BRK",
            _ => "reserved exception class",
        }
    }

    /// The fault status code of an abort, bits 5:0.
    fn fault_name(self) -> &'static str {
        match self.0 & 0x3f {
            0x00 => "address size fault, level 0",
            0x01 => "address size fault, level 1",
            0x02 => "address size fault, level 2",
            0x03 => "address size fault, level 3",
            0x04 => "translation fault, level 0",
            0x05 => "translation fault, level 1",
            0x06 => "translation fault, level 2",
            0x07 => "translation fault, level 3",
            0x08 => "access flag fault, level 0",
            0x09 => "access flag fault, level 1",
            0x0a => "access flag fault, level 2",
            0x0b => "access flag fault, level 3",
            0x0c => "permission fault, level 0",
            0x0d => "permission fault, level 1",
            0x0e => "permission fault, level 2",
            0x0f => "permission fault, level 3",
            0x10 => "synchronous external abort",
            0x13..=0x17 => "synchronous external abort on a table walk",
            0x18 => "synchronous parity or ECC error",
            0x1b..=0x1f => "synchronous parity or ECC error on a table walk",
            0x21 => "alignment fault",
            0x30 => "TLB conflict",
            0x31 => "unsupported atomic update",
            0x34 => "lockdown fault",
            0x35 => "unsupported exclusive or atomic access",
            _ => "fault of unknown status",
        }
    }
}

impl fmt::Display for Syndrome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.class_name())?;
        if DATA_ABORT.contains(&self.class()) {
            // WnR, bit 6.
            f.write_str(if self.0 >> 6 & 1 == 1 { " on a write" } else { " on a read" })?;
        }
        if self.is_abort() {
            write!(f, ", {}", self.fault_name())?;
        } else if self.class() == SERROR {
            // What an implementation put there is not for us to name: the 25 syndrome bits as they are.
            write!(f, " (syndrome {:#x})", self.0 & 0x1ff_ffff)?;
        } else if self.class_name().starts_with("reserved") {
            write!(f, " {:#x}", self.class())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_abort_names_direction_and_fault() {
        let write = Syndrome::new(0x25 << 26 | 1 << 25 | 1 << 6 | 0x07);
        assert_eq!(write.to_string(), "data abort on a write, translation fault, level 3");
        assert!(write.has_address());
        let read = Syndrome::new(0x25 << 26 | 1 << 25 | 0x10);
        assert_eq!(read.to_string(), "data abort on a read, synchronous external abort");
    }

    #[test]
    fn an_address_that_the_processor_did_not_record_is_not_shown() {
        assert!(!Syndrome::new(0x25 << 26 | 1 << 10 | 0x10).has_address());
        assert!(!Syndrome::new(0x2f << 26).has_address());
        assert!(Syndrome::new(0x22 << 26).has_address());
    }

    #[test]
    fn a_system_error_shows_its_syndrome_bits() {
        assert_eq!(Syndrome::new(0x2f << 26 | 0x1234).to_string(), "system error (syndrome 0x1234)");
    }

    #[test]
    fn every_class_and_fault_has_words() {
        for class in 0..64u64 {
            for fault in 0..64u64 {
                assert!(!Syndrome::new(class << 26 | fault).to_string().is_empty());
            }
        }
        assert_eq!(Syndrome::new(0x3f << 26).to_string(), "reserved exception class 0x3f");
    }
}
