//! From a blob to an index of its nodes.

use core::ffi::CStr;

use dtoolkit::error::FdtErrorKind;
use dtoolkit::fdt::{Fdt, FdtNode};
use dtoolkit::{Node as _, Property as _};

use super::{FdtError, Slot};

/// Nodes below one another. `dtoolkit` finds the next child by going over all that is below the one before: what a hostile
/// tree costs is its size times this. An M1's nests 8 nodes (USB-C: Asahi Linux, t8103-jxxx.dtsi); Linux stops at 64.
pub(super) const DEPTH: usize = 32;

/// The longest name of a property, over twice what the specification allows. The names of any number of properties may
/// overlap, so that without a limit the check of a hostile tree would take time by the square of its size.
pub(super) const LONGEST: usize = 63;

/// Has `dtoolkit` check the blob, after which its iterators do not panic.
///
/// It refuses a whole tree for one name of more than 31 characters. An M1's has such properties at the GPU
/// (`apple,fast-die0-proportional-gain` and others: Asahi Linux, t8103.dtsi); for a name alone a tree is not given up.
pub(super) fn check(blob: &[u8]) -> Result<Fdt<'_>, FdtError> {
    Fdt::new(blob).or_else(|error| match error.kind {
        FdtErrorKind::InvalidNodeName | FdtErrorKind::InvalidPropertyName => {
            check_structure(blob).map_err(|offset| FdtError::Malformed { offset })?;
            Ok(Fdt::new_unchecked(blob))
        }
        _ => Err(FdtError::Invalid(error)),
    })
}

/// What `dtoolkit` checks of the structure block, without the characters and lengths of names: tokens in their order, all
/// parts inside the blob, names that end and are UTF-8. It looks at names only after it found header and first token good.
///
/// The error is the offset of the first token that does not pass, which is not where `dtoolkit` stopped: that name is none
/// of what is wrong, and a line with its offset would be misleading.
fn check_structure(blob: &[u8]) -> Result<(), usize> {
    const BEGIN_NODE: usize = 1;
    const END_NODE: usize = 2;
    const PROPERTY: usize = 3;
    const NOP: usize = 4;
    const END: usize = 9;
    let word = |at: usize| Some(u32::from_be_bytes(*blob.get(at..)?.first_chunk()?) as usize);
    let length = |name: &[u8]| Some(CStr::from_bytes_until_nul(name).ok()?.to_str().ok()?.len());
    let header = || {
        let (structure, strings, size) = (word(8)?, word(12)?, word(32)?);
        Some((structure, blob.get(strings..strings.checked_add(size)?)?))
    };
    let (mut at, strings) = header().ok_or(0usize)?;
    let (mut depth, mut before_children) = (0usize, false);
    loop {
        // Past the token and what belongs to it; `None` where that makes no sense.
        let next = match word(at).ok_or(at)? {
            BEGIN_NODE => {
                (depth, before_children) = (depth + 1, true);
                blob.get(at + 4..).and_then(length).map(|name| at + 4 + name + 1)
            }
            PROPERTY if before_children => (|| {
                let name = strings.get(word(at + 8)?..)?;
                length(name.get(..=LONGEST).unwrap_or(name))?;
                let end = at.checked_add(12)?.checked_add(word(at + 4)?)?;
                blob.get(..end).map(|_| end)
            })(),
            END_NODE if depth > 1 => {
                (depth, before_children) = (depth - 1, false);
                Some(at + 4)
            }
            END_NODE if word(at + 4) == Some(END) => return Ok(()),
            NOP => Some(at + 4),
            _ => None,
        };
        at = next.ok_or(at)?.next_multiple_of(4);
    }
}

/// Writes all nodes to `slots`, each before its children, and gives their number.
pub(super) fn index<'b>(root: FdtNode<'b>, slots: &mut [Slot<'b>]) -> Result<usize, FdtError> {
    let limit = slots.len();
    let mut count: u16 = 0;
    // From the root down to the latest node: its slot, and its children that are still to come.
    let mut path = heapless::Vec::<_, DEPTH>::new();
    let mut next = Some((root, 0));
    while let Some((node, parent)) = next {
        let slot = slots.get_mut(usize::from(count)).ok_or(FdtError::TooManyNodes { limit })?;
        *slot = Slot::of(node, parent);
        path.push((count, node.children())).map_err(|_| FdtError::TooDeep { limit: DEPTH })?;
        count = count.checked_add(1).ok_or(FdtError::TooManyNodes { limit })?;
        next = loop {
            let Some((parent, children)) = path.last_mut() else { break None };
            if let Some(child) = children.next() {
                break Some((child, *parent));
            }
            path.pop();
        };
    }
    Ok(usize::from(count))
}

impl<'b> Slot<'b> {
    fn of(node: FdtNode<'b>, parent: u16) -> Self {
        let mut slot = Self { node: Some(node), parent, ..Slot::EMPTY };
        for property in node.properties() {
            match property.name() {
                "phandle" => slot.phandle = property.value_as().unwrap_or_default(),
                "compatible" => slot.compatible = property.value_as().ok(),
                _ => {}
            }
        }
        slot
    }
}
