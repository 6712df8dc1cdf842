//! From a given file to a tree that can be edited.
//!
//! `dtoolkit` refuses a whole tree for one name of more than 31 characters, and an M1's has such properties at the GPU
//! (Asahi Linux, t8103.dtsi). Read here is what stands there, with no opinion on names: Devicetree Specification 0.4,
//! chapter 5.

use std::ffi::CStr;

use dtoolkit::memreserve::MemoryReservation;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};

use super::TreeError;

const MAGIC: u32 = 0xd00d_feed;
/// The version of the format that is written today, and the oldest one that it is compatible with.
const VERSION: u32 = 17;

/// Nodes below one another, as many as Linux takes.
const DEPTH: usize = 64;

const BEGIN_NODE: u32 = 1;
const END_NODE: u32 = 2;
const PROPERTY: u32 = 3;
const NOP: u32 = 4;
const END: u32 = 9;

fn refused<T>(reason: impl Into<String>) -> Result<T, TreeError> {
    Err(TreeError(reason.into()))
}

/// A place in the file.
struct Cursor<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Cursor<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], TreeError> {
        let taken = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
        let Some(taken) = taken else {
            return refused(format!("it ends at {:#x}, in the middle of something", self.bytes.len()));
        };
        self.at += length;
        Ok(taken)
    }

    fn word(&mut self) -> Result<u32, TreeError> {
        Ok(self.take(4)?.iter().fold(0, |word, &byte| word << 8 | u32::from(byte)))
    }

    fn double(&mut self) -> Result<u64, TreeError> {
        Ok(u64::from(self.word()?) << 32 | u64::from(self.word()?))
    }

    /// A name with its NUL.
    fn name(&mut self) -> Result<&'b str, TreeError> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let name = CStr::from_bytes_until_nul(rest).ok().and_then(|name| name.to_str().ok());
        let Some(name) = name else { return refused(format!("no name at {:#x}", self.at)) };
        self.at += name.len() + 1;
        Ok(name)
    }

    fn align(&mut self) {
        self.at = self.at.next_multiple_of(4);
    }
}

/// Reads the tree at the start of `bytes`.
pub(super) fn read(bytes: &[u8]) -> Result<DeviceTree, TreeError> {
    let mut header = Cursor { bytes, at: 0 };
    let mut field = || header.word();
    let (magic, size) = (field()?, field()? as usize);
    if magic != MAGIC {
        return refused(format!("it begins with {magic:#010x}, not with {MAGIC:#x}"));
    }
    let Some(bytes) = bytes.get(..size) else {
        return refused(format!("it says that it has {size} bytes and has {}", bytes.len()));
    };
    let (structure, strings, reservations) = (field()?, field()?, field()?);
    let (version, compatible) = (field()?, field()?);
    if !(compatible..=version).contains(&VERSION) {
        return refused(format!("it is of version {version}, compatible with {compatible}; wanted is {VERSION}"));
    }
    let mut tree = DeviceTree::new();
    let mut cursor = Cursor { bytes, at: reservations as usize };
    loop {
        match (cursor.double()?, cursor.double()?) {
            (0, 0) => break,
            (address, size) => tree.memory_reservations.push(MemoryReservation::new(address, size)),
        }
    }
    let cursor = Cursor { bytes, at: structure as usize };
    tree.root = nodes(cursor, strings as usize)?;
    Ok(tree)
}

/// Reads the structure block.
fn nodes(mut cursor: Cursor<'_>, strings: usize) -> Result<DeviceTreeNode, TreeError> {
    // From the root down to the node that is being read.
    let mut path: Vec<DeviceTreeNode> = Vec::new();
    loop {
        let (at, depth) = (cursor.at, path.len());
        match (cursor.word()?, path.last_mut()) {
            (NOP, _) => {}
            (BEGIN_NODE, _) if depth == DEPTH => {
                return refused(format!("more than {DEPTH} nodes below one another at {at:#x}"));
            }
            (BEGIN_NODE, _) => path.push(DeviceTreeNode::new_unchecked(cursor.name()?)),
            (PROPERTY, Some(node)) => {
                let (length, name) = (cursor.word()? as usize, cursor.word()? as usize);
                let name = Cursor { bytes: cursor.bytes, at: strings.saturating_add(name) }.name()?;
                node.add_property(DeviceTreeProperty::new_unchecked(name, cursor.take(length)?));
            }
            (END_NODE, Some(_)) => match (path.pop(), path.last_mut()) {
                (Some(node), Some(parent)) => parent.add_child(node),
                (Some(root), None) if cursor.word()? == END => return Ok(root),
                _ => return refused(format!("more than one root at {at:#x}")),
            },
            (token, _) => return refused(format!("token {token:#x} at {at:#x} does not belong there")),
        }
        cursor.align();
    }
}
