//! Flattened device trees from a boot loader that need not be right.
//!
//! The crate `dtoolkit` checks the blob, walks it and decodes its values. What is added here is what drivers need beyond
//! that: an index of the nodes (parent, phandle, `compatible`) in memory that the caller lends, because `dtoolkit` would
//! walk a whole tree of 60 KB anew for each phandle; references with their arguments; addresses that say on which bus they
//! count; and errors that name node and property.
//!
//! Nothing here panics on any blob, and every walk is bounded by the number and depth of the indexed nodes.
//! Source of the format: Devicetree Specification 0.4, chapters 2 and 5.

mod address;
mod error;
mod node;
mod open;
mod pci;
mod reference;
#[cfg(test)]
mod tests;

use dtoolkit::FdtStringListIterator;
use dtoolkit::fdt::FdtNode;

pub use address::{BusAddress, CpuAddress, Region};
pub use error::{FdtError, Label};
pub use node::{Node, Strings};
pub use pci::{PCI_WINDOWS, PciHost, PciSpace, PciWindow};
pub use reference::{ARGUMENTS, Reference, References};

const MAGIC: u32 = 0xd00d_feed;

/// One node in the index that [`Tree::open`] makes.
#[derive(Clone, Debug)]
pub struct Slot<'b> {
    node: Option<FdtNode<'b>>,
    compatible: Option<FdtStringListIterator<'b>>,
    phandle: u32,
    parent: u16,
}

impl Slot<'_> {
    /// A slot that nothing was written to yet, to build the array that is lent to [`Tree::open`].
    pub const EMPTY: Self = Self { node: None, compatible: None, phandle: 0, parent: 0 };
}

/// A device tree and the index of its nodes.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'b> {
    root: FdtNode<'b>,
    slots: &'b [Slot<'b>],
}

impl<'b> Tree<'b> {
    /// The size in bytes that a tree's header claims, from its first eight bytes: for a boot loader's bare pointer.
    ///
    /// # Errors
    /// [`FdtError::Truncated`] with fewer bytes, [`FdtError::NotATree`] for any other magic number.
    pub fn total_size(header: &[u8]) -> Result<usize, FdtError> {
        let short = FdtError::Truncated { needed: 8, present: header.len() };
        let (magic, rest) = header.split_first_chunk::<4>().ok_or(short.clone())?;
        let (size, _) = rest.split_first_chunk::<4>().ok_or(short)?;
        match u32::from_be_bytes(*magic) {
            MAGIC => Ok(u32::from_be_bytes(*size) as usize),
            seen => Err(FdtError::NotATree { seen }),
        }
    }

    /// Checks the blob and indexes its nodes in `slots`, one for each node (an M1's tree has about 500). The blob may be
    /// longer than the tree.
    ///
    /// # Errors
    /// [`FdtError`] when the blob is no tree, is cut off, contradicts itself, has more nodes than `slots` or nests them too
    /// deeply.
    pub fn open(blob: &'b [u8], slots: &'b mut [Slot<'b>]) -> Result<Self, FdtError> {
        let size = Self::total_size(blob)?;
        let short = FdtError::Truncated { needed: size, present: blob.len() };
        let root = open::check(blob.get(..size).ok_or(short)?)?.root();
        let used = open::index(root, slots)?;
        Ok(Self { root, slots: slots.get(..used).unwrap_or_default() })
    }

    /// The root node.
    pub fn root(&self) -> Node<'_> {
        Node { tree: self, slot: 0, inner: self.root }
    }

    /// All nodes, each before its children.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..self.slots.len()).filter_map(|slot| self.node(slot))
    }

    fn node(&self, slot: usize) -> Option<Node<'_>> {
        Some(Node { tree: self, slot, inner: self.slots.get(slot)?.node? })
    }

    /// The first node that is enabled and compatible with any of `names`.
    ///
    /// # Errors
    /// [`FdtError::NoNode`], with the first of the names.
    pub fn compatible(&self, names: &[&str]) -> Result<Node<'_>, FdtError> {
        self.nodes()
            .find(|node| names.iter().any(|name| node.is_compatible(name)) && node.is_enabled())
            .ok_or_else(|| FdtError::NoNode { wanted: Label::new(names.first().copied().unwrap_or_default()) })
    }

    /// The node with this phandle, enabled or not. Zero and all ones are no phandles.
    pub fn phandle(&self, phandle: u32) -> Option<Node<'_>> {
        let valid = phandle != 0 && phandle != u32::MAX;
        self.node(self.slots.iter().position(|slot| valid && slot.phandle == phandle)?)
    }

    /// The node at a path from the root, or from an alias. A component without unit address matches any.
    ///
    /// # Errors
    /// [`FdtError::NoNode`] with the path.
    pub fn path(&self, path: &str) -> Result<Node<'_>, FdtError> {
        let missing = || FdtError::NoNode { wanted: Label::new(path) };
        if let Some(path) = path.strip_prefix('/') {
            return self.root().descendant(path).ok_or_else(missing);
        }
        let (alias, rest) = path.split_once('/').unwrap_or((path, ""));
        let aliases = self.root().descendant("aliases").ok_or_else(missing)?;
        // An alias is a full path, never another alias: no circle to guard against.
        let base = aliases.text(alias).and_then(|base| base.strip_prefix('/')).ok_or_else(missing)?;
        self.root().descendant(base).and_then(|base| base.descendant(rest)).ok_or_else(missing)
    }

    /// The kernel command line, `/chosen` `bootargs`.
    pub fn boot_arguments(&self) -> Option<&str> {
        self.root().descendant("chosen")?.text("bootargs")
    }

    /// The console's node, `/chosen` `stdout-path` without its options.
    ///
    /// # Errors
    /// [`FdtError::NoNode`] when there is no `/chosen` or the path leads nowhere, [`FdtError::NotFound`] without the
    /// property.
    pub fn standard_output(&self) -> Result<Node<'_>, FdtError> {
        let path = self.path("/chosen")?.string("stdout-path")?;
        self.path(path.split(':').next().unwrap_or_default())
    }
}
