//! Why the storage was not found in a device tree.

use core::fmt;

use hal::fdt::{FdtError, Label, Node};

/// A block of ANS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// The NVMe block.
    Nvme,
    /// The coprocessor's block.
    Coprocessor,
    /// The mailbox.
    Mailbox,
    /// The SART.
    Sart,
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nvme => "NVMe controller",
            Self::Coprocessor => "coprocessor",
            Self::Mailbox => "mailbox",
            Self::Sart => "SART",
        })
    }
}

/// What is wrong with the tree, as far as the storage goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DiscoveryError {
    /// A node or property is missing or malformed.
    Tree(FdtError),
    /// A block of a kind that this driver does not know.
    Unknown {
        /// Which block.
        block: Block,
        /// Its node.
        node: Label,
        /// The first string of `compatible`.
        compatible: Label,
    },
    /// A block that the storage needs is disabled.
    Disabled {
        /// Its node.
        node: Label,
    },
    /// A block is too small for its registers.
    TooSmall {
        /// Which block.
        block: Block,
        /// Its bytes.
        size: u64,
        /// Bytes that its registers take.
        needed: u64,
    },
    /// A node that is named as a power domain is none.
    NotADomain {
        /// The node.
        node: Label,
    },
    /// A power domain is its own ancestor.
    Circle {
        /// The domain.
        node: Label,
    },
    /// A power domain's word lies outside of its power manager.
    OutsideBlock {
        /// The domain.
        node: Label,
        /// Its offset.
        offset: u64,
        /// The power manager's bytes.
        size: u64,
    },
    /// The reset is not one of a domain that the storage switches on.
    ResetWithoutPower {
        /// The reset's node.
        node: Label,
    },
    /// More of something than this driver has room for.
    TooMany {
        /// Of what.
        what: &'static str,
    },
}

impl DiscoveryError {
    pub(super) fn unknown(block: Block, node: &Node<'_>) -> Self {
        let compatible = Label::new(node.strings("compatible").next().unwrap_or_default());
        Self::Unknown { block, node: node.label(), compatible }
    }
}

impl From<FdtError> for DiscoveryError {
    fn from(error: FdtError) -> Self {
        Self::Tree(error)
    }
}

impl fmt::Display for DiscoveryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(error) => error.fmt(f),
            Self::Unknown { block, node, compatible } => {
                write!(f, "device tree: {node}: {block} of unknown kind \"{compatible}\"")
            }
            Self::Disabled { node } => write!(f, "device tree: {node} is disabled, and the storage needs it"),
            Self::TooSmall { block, size, needed } => {
                write!(f, "device tree: {block} of {size:#x} bytes, its registers take {needed:#x}")
            }
            Self::NotADomain { node } => write!(f, "device tree: {node} is named as a power domain and is none"),
            Self::Circle { node } => write!(f, "device tree: power domain {node} is its own ancestor"),
            Self::OutsideBlock { node, offset, size } => {
                write!(f, "device tree: power domain {node} at {offset:#x} of a block of {size:#x} bytes")
            }
            Self::ResetWithoutPower { node } => {
                write!(f, "device tree: reset {node} belongs to no power domain of the storage")
            }
            Self::TooMany { what } => write!(f, "device tree: too many {what}"),
        }
    }
}

impl core::error::Error for DiscoveryError {}
