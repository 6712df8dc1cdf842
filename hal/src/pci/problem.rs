//! Why a function or a bridge cannot be used.

use core::fmt;

use super::Address;

/// What is wrong with one function. The rest of the bus is not the worse for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The function, or the bridge behind which nothing can be reached.
    pub address: Address,
    /// Why it cannot be used.
    pub reason: Reason,
}

/// Why a function or a bridge cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A bridge, and no bus number is left.
    NoBusNumber,
    /// A bridge behind too many others.
    TooDeep {
        /// The most buses below one another.
        limit: usize,
    },
    /// A bridge that does not keep the bus numbers written to it.
    NumbersNotTaken {
        /// Primary, secondary and subordinate bus from bit 0 up, 8 bits each.
        wrote: u32,
        /// What was read back.
        seen: u32,
    },
    /// The class is wanted, but the header is not that of an endpoint.
    Header {
        /// The header type, which should be 0.
        seen: u32,
    },
    /// Base address register 0 is not there, so the function has no registers.
    NoRegisters,
    /// Base address register 0 is in I/O space.
    InputOutput,
    /// A base address register is reserved, or asks for a size that is no power of two or no address has.
    BadRegister {
        /// The register, 0 to 5.
        index: u8,
        /// What it holds after all ones were written.
        mask: u64,
    },
    /// No window of the host that the function can use has room for a base address register.
    NoRoom {
        /// The register, 0 to 5.
        index: u8,
        /// The bytes it asks for.
        size: u64,
    },
    /// A base address register does not keep the address written to it.
    AddressNotTaken {
        /// The register, 0 to 5.
        index: u8,
        /// The address.
        address: u64,
        /// What was read back.
        seen: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pci {}: {}", self.address, self.reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoBusNumber => write!(f, "no bus number is left for what is behind this bridge"),
            Self::TooDeep { limit } => write!(f, "bridge on the last of {limit} buses below one another"),
            Self::NumbersNotTaken { wrote, seen } => {
                write!(f, "bridge was given bus numbers {wrote:#08x} and has {seen:#08x}")
            }
            Self::Header { seen } => write!(f, "header type {seen} where 0 was awaited"),
            Self::NoRegisters => write!(f, "base address register 0 is missing"),
            Self::InputOutput => write!(f, "base address register 0 is in I/O space"),
            Self::BadRegister { index, mask } => {
                write!(f, "base address register {index} makes no sense: mask {mask:#x}")
            }
            Self::NoRoom { index, size } => {
                write!(f, "no window has room for the {size:#x} bytes of base address register {index}")
            }
            Self::AddressNotTaken { index, address, seen } => {
                write!(f, "base address register {index} was given {address:#x} and has {seen:#x}")
            }
        }
    }
}

impl core::error::Error for Problem {}
