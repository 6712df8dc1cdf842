//! What can be wrong with a device tree.

use core::fmt::{self, Write};

use dtoolkit::error::FdtParseError;

/// The characters of a name that a [`Label`] keeps.
const KEPT: usize = 40;

/// A name out of a device tree, cut where it is too long to keep.
#[derive(Clone, PartialEq, Eq)]
pub struct Label(heapless::String<KEPT>);

impl Label {
    /// Keeps the start of `name`.
    pub fn new(name: &str) -> Self {
        let mut label = heapless::String::new();
        for character in name.chars() {
            if label.push(character).is_err() {
                break;
            }
        }
        Self(label)
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name comes from outside: its control characters must not reach a terminal.
        for character in self.0.chars() {
            match character {
                ' '..='~' => f.write_char(character)?,
                _ => write!(f, "{}", character.escape_unicode())?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Why a device tree did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FdtError {
    /// The blob does not start with the magic number of a tree.
    NotATree {
        /// The first word.
        seen: u32,
    },
    /// The blob ends before the tree does.
    Truncated {
        /// Bytes that would be needed.
        needed: usize,
        /// Bytes that there are.
        present: usize,
    },
    /// `dtoolkit` finds the tree malformed.
    Invalid(FdtParseError),
    /// A token, value or name of the tree makes no sense. (`dtoolkit` had stumbled over a mere name before.)
    Malformed {
        /// The offset of its token in the tree, in bytes.
        offset: usize,
    },
    /// The tree has more nodes than the lent index has slots.
    TooManyNodes {
        /// The slots.
        limit: usize,
    },
    /// The tree has nodes below too many others.
    TooDeep {
        /// The most nodes on the way from the root, both ends counted.
        limit: usize,
    },
    /// There is no such node, or it is disabled.
    NoNode {
        /// Its path or `compatible` string.
        wanted: Label,
    },
    /// The node has no such property, or the property has no such element.
    NotFound {
        /// The node.
        node: Label,
        /// The property.
        property: &'static str,
    },
    /// The property's value does not have the form that its name calls for.
    BadProperty {
        /// The node.
        node: Label,
        /// The property.
        property: &'static str,
    },
    /// The property names a node that is not there.
    BadPhandle {
        /// The node.
        node: Label,
        /// The property.
        property: &'static str,
        /// The number that belongs to no node.
        phandle: u32,
    },
    /// A bus above the node does not pass the address on to the processor.
    NotTranslatable {
        /// The bus whose `ranges` is missing or does not hold the address.
        bus: Label,
        /// The address on that bus.
        address: u64,
    },
}

impl fmt::Display for FdtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotATree { seen } => {
                write!(f, "device tree: begins with {seen:#010x}, which is not its magic number")
            }
            Self::Truncated { needed, present } => write!(f, "device tree: needs {needed} bytes of {present}"),
            Self::Invalid(error) => write!(f, "device tree: {error}"),
            Self::Malformed { offset } => {
                write!(f, "device tree: token, value or name at offset {offset} makes no sense")
            }
            Self::TooManyNodes { limit } => write!(f, "device tree: more than {limit} nodes"),
            Self::TooDeep { limit } => write!(f, "device tree: more than {limit} nodes below one another"),
            Self::NoNode { wanted } => write!(f, "device tree: no enabled node {wanted}"),
            Self::NotFound { node, property } => write!(f, "device tree: {node}: {property} is missing"),
            Self::BadProperty { node, property } => write!(f, "device tree: {node}: {property} is malformed"),
            Self::BadPhandle { node, property, phandle } => {
                write!(f, "device tree: {node}: {property} names phandle {phandle:#x}, which no node has")
            }
            Self::NotTranslatable { bus, address } => {
                write!(f, "device tree: {bus}: ranges does not pass on address {address:#x}")
            }
        }
    }
}

impl core::error::Error for FdtError {}
