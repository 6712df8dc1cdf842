//! The device tree that the image gets: generated, or a given one; both with what the run adds to `/chosen`.

mod t8103;

use std::fmt;

use dtoolkit::fdt::Fdt;
use dtoolkit::memreserve::MemoryReservation;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};

use crate::run::TREE_ADDRESS;

/// What the run adds to `/chosen`.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// `anvil,commands`: the monitor's lines, in order.
    pub commands: Vec<String>,
    /// `anvil,allow-write`: the image may arm writes.
    pub allow_write: bool,
    /// `anvil,interactive`: someone types at the console.
    pub interactive: bool,
}

/// Why a file is no device tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeError(String);

impl fmt::Display for TreeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no flattened device tree: {}", self.0)
    }
}

/// The tree of the machine that the emulator is, with that much RAM.
pub fn generate(ram: u64, wishes: &Wishes) -> Vec<u8> {
    finish(t8103::tree(ram), wishes)
}

/// A given tree, with the wishes added.
///
/// A tree that the image is meant to find broken is not for this function: it takes only what can be read.
///
/// # Errors
/// [`TreeError`] says what the reader stumbled over.
pub fn adopt(bytes: &[u8], wishes: &Wishes) -> Result<Vec<u8>, TreeError> {
    let tree = Fdt::new(bytes).map_err(|error| TreeError(error.to_string()))?;
    Ok(finish(DeviceTree::from_fdt(&tree), wishes))
}

fn finish(mut tree: DeviceTree, wishes: &Wishes) -> Vec<u8> {
    let chosen = tree.root.add_child_mut(DeviceTreeNode::new_unchecked("chosen"));
    let mut put = |name: &str, value: Vec<u8>| chosen.add_property(DeviceTreeProperty::new_unchecked(name, value));
    if !wishes.commands.is_empty() {
        put("anvil,commands", strings(wishes.commands.iter().map(String::as_str)));
    }
    if wishes.allow_write {
        put("anvil,allow-write", Vec::new());
    }
    if wishes.interactive {
        put("anvil,interactive", Vec::new());
    }
    // The tree keeps itself: what uses memory must leave it alone (m1n1 does the same). Its size counts the entry.
    tree.memory_reservations.push(MemoryReservation::new(TREE_ADDRESS, 0));
    let size = tree.to_dtb().len() as u64;
    tree.memory_reservations.pop();
    tree.memory_reservations.push(MemoryReservation::new(TREE_ADDRESS, size));
    tree.to_dtb()
}

/// A string list: each with its NUL.
fn strings<'a>(list: impl IntoIterator<Item = &'a str>) -> Vec<u8> {
    list.into_iter().flat_map(|text| text.bytes().chain([0])).collect()
}

#[cfg(test)]
mod tests {
    use dtoolkit::{Node, Property};

    use super::*;

    fn chosen(bytes: &[u8], name: &str) -> Option<Vec<u8>> {
        let tree = Fdt::new(bytes).unwrap();
        let node = tree.find_node("/chosen").unwrap();
        node.property(name).map(|property| property.value().to_vec())
    }

    #[test]
    fn the_wishes_stand_in_a_generated_tree_and_in_a_given_one() {
        let wishes = Wishes { commands: vec!["info".into(), "read 0 1".into()], allow_write: true, interactive: false };
        let generated = generate(1 << 29, &wishes);
        let adopted = adopt(&generate(1 << 29, &Wishes::default()), &wishes).unwrap();
        for tree in [generated, adopted] {
            assert_eq!(chosen(&tree, "anvil,commands").unwrap(), b"info\0read 0 1\0");
            assert_eq!(chosen(&tree, "anvil,allow-write").unwrap(), b"");
            assert_eq!(chosen(&tree, "anvil,interactive"), None);
        }
    }

    #[test]
    fn the_tree_reserves_its_own_memory_to_the_byte() {
        let bytes = generate(1 << 29, &Wishes::default());
        let reserved: Vec<_> = Fdt::new(&bytes).unwrap().memory_reservations().collect();
        assert_eq!((reserved[0].address(), reserved[0].size()), (TREE_ADDRESS, bytes.len() as u64));
    }

    #[test]
    fn every_phandle_that_is_named_belongs_to_one_node() {
        let bytes = generate(1 << 29, &Wishes::default());
        let tree = DeviceTree::from_fdt(&Fdt::new(&bytes).unwrap());
        let mut owned = Vec::new();
        phandles(&tree.root, &mut owned);
        let nvme = tree.find_node("/soc/nvme@27bcc0000").unwrap();
        for name in ["mboxes", "apple,sart", "resets", "power-domains", "interrupt-parent"] {
            let Some(value) = nvme.property(name) else { panic!("{name}") };
            for phandle in value.value().chunks(4) {
                assert_eq!(owned.iter().filter(|owner| *owner == phandle).count(), 1, "{name} {phandle:?}");
            }
        }
    }

    fn phandles(node: &DeviceTreeNode, owned: &mut Vec<Vec<u8>>) {
        owned.extend(node.property("phandle").map(|property| property.value().to_vec()));
        node.children().for_each(|child| phandles(child, owned));
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        assert!(adopt(b"", &Wishes::default()).is_err());
        assert!(adopt(&[0xff; 64], &Wishes::default()).is_err());
    }
}
