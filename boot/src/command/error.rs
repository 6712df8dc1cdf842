//! Lines that are no commands.

use core::fmt;

use crate::quote::Quoted;

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError<'a> {
    /// No command has that name.
    Unknown(&'a str),
    /// Too few or too many words behind the name.
    Usage(&'static str),
    /// A word that should be a number.
    NotANumber(&'static str, &'a str),
    /// A number beyond 64 bits.
    TooLarge(&'static str, &'a str),
    /// A count of zero.
    Zero(&'static str),
    /// A number that is not in this range.
    OutOfRange(&'static str, &'a str, &'static str),
}

impl fmt::Display for ParseError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "unknown command {} (help lists the commands)", Quoted(name)),
            Self::Usage(usage) => write!(f, "usage: {usage}"),
            Self::NotANumber(name, word) => write!(f, "{name}: {} is not a number", Quoted(word)),
            Self::TooLarge(name, word) => write!(f, "{name}: {} is too large", Quoted(word)),
            Self::Zero(name) => write!(f, "{name}: a count of 0 asks for nothing"),
            Self::OutOfRange(name, word, range) => write!(f, "{name}: {} is not {range}", Quoted(word)),
        }
    }
}
