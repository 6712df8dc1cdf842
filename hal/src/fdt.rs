//! Flattened device trees from a boot loader that need not be right.
//!
//! [`Tree::open`] goes over the blob once and writes an index of its nodes (place, parent, phandle, `compatible`) into memory
//! that the caller lends. After that, finding a node looks at the index only, and reading a property at that one node: a
//! tree of an M1 has some 60 KB, and walking it anew for each phandle would cost more than the rest of the bring-up. For the
//! same reason, and because it refuses whole trees for one name of more than 31 characters, the crate `dtoolkit` is not
//! used here; it builds the trees of the tests and is the second opinion there.
//!
//! Nothing here panics on any blob. There is no recursion, and every walk is bounded by the number of indexed nodes.
//! Source of the format: Devicetree Specification 0.4, chapters 2 and 5.

mod address;
mod error;
mod node;
mod reference;
#[cfg(test)]
mod tests;

use zerocopy::FromBytes;

pub use address::{BusAddress, CpuAddress, Region};
pub use error::{FdtError, Label};
pub use node::{Cells, Node, Strings};
pub use reference::{ARGUMENTS, Reference, References};

const MAGIC: u32 = 0xd00d_feed;
const HEADER_WORDS: usize = 10;
/// The version of the format; a newer one says with which it is still compatible.
const VERSION: u32 = 17;

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

/// One node in the index that [`Tree::open`] makes.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The word of the structure block that follows the node's `BEGIN_NODE`: its name.
    name: usize,
    /// The words of the `compatible` value; empty without one.
    compatible: (usize, usize),
    phandle: u32,
    parent: u16,
    /// The slot after the node's last descendant.
    end: u16,
}

impl Slot {
    /// A slot that nothing was written to yet, to build the array that is lent to [`Tree::open`].
    pub const EMPTY: Self = Self { name: 0, compatible: (0, 0), phandle: 0, parent: 0, end: 0 };
}

/// A device tree and the index of its nodes.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'b> {
    structure: &'b [u32],
    strings: &'b [u8],
    slots: &'b [Slot],
}

impl<'b> Tree<'b> {
    /// The size in bytes that a tree's header claims, from its first eight bytes: for a boot loader's bare pointer.
    ///
    /// # Errors
    /// [`FdtError::Truncated`] with fewer bytes, [`FdtError::NotATree`] for any other magic number.
    pub fn total_size(header: &[u8]) -> Result<usize, FdtError> {
        let short = FdtError::Truncated { part: "header", needed: 8, present: header.len() };
        let (magic, rest) = header.split_first_chunk::<4>().ok_or(short.clone())?;
        let (size, _) = rest.split_first_chunk::<4>().ok_or(short)?;
        match u32::from_be_bytes(*magic) {
            MAGIC => Ok(u32::from_be_bytes(*size) as usize),
            seen => Err(FdtError::NotATree { seen }),
        }
    }

    /// Checks the blob and indexes its nodes in `slots`, one for each node (an M1's tree has about 500). The blob starts at
    /// a multiple of four (the specification says eight) and may be longer than the tree.
    ///
    /// # Errors
    /// [`FdtError`] when the blob is no tree, is cut off, contradicts itself or has more nodes than `slots`.
    pub fn open(blob: &'b [u8], slots: &'b mut [Slot]) -> Result<Self, FdtError> {
        let size = Self::total_size(blob)?;
        let short = FdtError::Truncated { part: "blob", needed: size, present: blob.len() };
        let blob = blob.get(..size).ok_or(short)?;
        let (header, _) = <[u32]>::ref_from_prefix_with_elems(blob, HEADER_WORDS).map_err(|_| {
            if blob.as_ptr().cast::<u32>().is_aligned() {
                FdtError::Truncated { part: "header", needed: HEADER_WORDS * 4, present: size }
            } else {
                FdtError::Misaligned
            }
        })?;
        let field = |word: usize| header.get(word).map_or(0, |value| u32::from_be(*value) as usize);
        let (version, compatible) = (field(5), field(6));
        if !(compatible..=version).contains(&(VERSION as usize)) {
            return Err(FdtError::Unsupported { version, compatible });
        }
        let block = |part, offset: usize, size: usize| {
            let end = offset.saturating_add(size);
            blob.get(offset..end).ok_or(FdtError::Truncated { part, needed: end, present: blob.len() })
        };
        let structure = block("structure block", field(2), field(9) & !3)?;
        let structure = <[u32]>::ref_from_bytes(structure).map_err(|_| FdtError::Misaligned)?;
        let strings = block("strings block", field(3), field(8))?;
        let used = index(structure, strings, slots)?;
        Ok(Self { structure, strings, slots: slots.get(..used).unwrap_or_default() })
    }

    /// The root node.
    pub fn root(&self) -> Node<'_> {
        Node::new(self, 0)
    }

    /// All nodes, each before its children.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..self.slots.len()).map(|slot| Node::new(self, slot))
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
        let slot = self.slots.iter().position(|slot| valid && slot.phandle == phandle)?;
        Some(Node::new(self, slot))
    }

    /// The node at a path from the root, or from an alias. A component without unit address matches any.
    ///
    /// # Errors
    /// [`FdtError::NoNode`] with the path.
    pub fn path(&self, path: &str) -> Result<Node<'_>, FdtError> {
        let missing = || FdtError::NoNode { wanted: Label::new(path) };
        if let Some(path) = path.strip_prefix('/') {
            return self.descend(path).ok_or_else(missing);
        }
        let (alias, rest) = path.split_once('/').unwrap_or((path, ""));
        let aliases = self.descend("aliases").ok_or_else(missing)?;
        // An alias is a full path, never another alias: no circle to guard against.
        let base = aliases.text(alias).and_then(|base| base.strip_prefix('/')).ok_or_else(missing)?;
        self.descend(base).and_then(|base| base.descendant(rest)).ok_or_else(missing)
    }

    fn descend(&self, path: &str) -> Option<Node<'_>> {
        self.root().descendant(path)
    }

    /// The kernel command line, `/chosen` `bootargs`.
    pub fn boot_arguments(&self) -> Option<&str> {
        self.descend("chosen")?.text("bootargs")
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

/// The words from `start` to the end of the NUL-terminated bytes there, and the first word after them.
fn name_words(structure: &[u32], start: usize) -> Option<(&[u32], usize)> {
    let words = structure.get(start..)?;
    // A word with a zero byte: subtracting one from it borrows out of that byte's top bit.
    let last = words.iter().position(|&word| word.wrapping_sub(0x0101_0101) & !word & 0x8080_8080 != 0)?;
    Some((words.get(..=last)?, start + last + 1))
}

/// Goes over the structure block once, checks that it is well formed, and gives the number of nodes.
fn index(structure: &[u32], strings: &[u8], slots: &mut [Slot]) -> Result<usize, FdtError> {
    let malformed = |word: usize| FdtError::Malformed { offset: word * 4 };
    let mut count: u16 = 0;
    let mut current: Option<u16> = None;
    let mut word = 0;
    loop {
        let token = structure.get(word).copied().map(u32::from_be).ok_or(malformed(word))?;
        match token {
            BEGIN_NODE => {
                let full = FdtError::TooManyNodes { limit: slots.len() };
                if (count == 0) != current.is_none() {
                    return Err(malformed(word));
                }
                let name = word + 1;
                let next = count.checked_add(1).ok_or(full.clone())?;
                *slots.get_mut(usize::from(count)).ok_or(full)? =
                    Slot { name, parent: current.unwrap_or(0), ..Slot::EMPTY };
                word = name_words(structure, name).ok_or(malformed(name))?.1;
                current = Some(count);
                count = next;
            }
            END_NODE => {
                let index = current.ok_or(malformed(word))?;
                let slot = slots.get_mut(usize::from(index)).ok_or(malformed(word))?;
                slot.end = count;
                current = (index != 0).then_some(slot.parent);
                word += 1;
            }
            PROPERTY => {
                let property = RawProperty::at(structure, word).ok_or(malformed(word))?;
                // Properties come before subnodes: the node is the latest one.
                let index = current.filter(|index| index + 1 == count).ok_or(malformed(word))?;
                let slot = slots.get_mut(usize::from(index)).ok_or(malformed(word))?;
                if property.size == 4 && property.is_named(strings, "phandle") {
                    slot.phandle = structure.get(property.value).copied().map_or(0, u32::from_be);
                } else if property.is_named(strings, "compatible") {
                    slot.compatible = (property.value, property.size);
                }
                word = property.next;
            }
            NOP => word += 1,
            END if current.is_none() && count != 0 => return Ok(usize::from(count)),
            _ => return Err(malformed(word)),
        }
    }
}

/// A property's place in the structure block.
#[derive(Clone, Copy)]
struct RawProperty {
    /// The word at which the value starts.
    value: usize,
    /// The value's bytes.
    size: usize,
    /// The byte of the strings block at which the name starts.
    name: usize,
    /// The word after the value and its padding.
    next: usize,
}

impl RawProperty {
    /// The property whose token is at `word`, if it ends inside the block.
    fn at(structure: &[u32], word: usize) -> Option<Self> {
        let &[_, size, name, ref rest @ ..] = structure.get(word..)? else { return None };
        let size = u32::from_be(size) as usize;
        let words = size.div_ceil(4);
        let value = word + 3;
        (words <= rest.len()).then(|| Self { value, size, name: u32::from_be(name) as usize, next: value + words })
    }

    /// Whether this is the property's name.
    fn is_named(&self, strings: &[u8], name: &str) -> bool {
        let Some(text) = strings.get(self.name..) else { return false };
        // Most names differ in the first character; only the others are worth a comparison.
        text.first() == name.as_bytes().first()
            && text.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
    }
}
