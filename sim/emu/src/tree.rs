//! The device tree that the image gets: generated, or a given one; both with what the run adds to `/chosen`.

mod read;
mod t8103;

use std::fmt;

use dtoolkit::memreserve::MemoryReservation;
use dtoolkit::model::{DeviceTree, DeviceTreeNode, DeviceTreeProperty};
use dtoolkit::{Node as _, Property as _};

use crate::memory::RAM;
use crate::run::TREE_ADDRESS;

/// What the run adds to `/chosen`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wishes {
    /// `anvil,commands`: the monitor's lines, in order.
    pub commands: Vec<String>,
    /// `anvil,allow-write`: the image may arm writes; empty for all blocks of the disk, else `FIRST..LAST`, both included.
    pub allow_write: Option<String>,
    /// `anvil,defer-flushes`: the image may answer flushes that many milliseconds before it performs them.
    pub defer_flushes: Option<String>,
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

/// A given tree, with this machine's memory and the wishes.
///
/// A tree that cannot be read is handed over as it is, so that the image meets it; unless there are wishes, which have no
/// place in it.
///
/// # Errors
/// [`TreeError`] says where the reader stumbled.
pub fn adopt(bytes: Vec<u8>, ram: u64, wishes: &Wishes) -> Result<Vec<u8>, TreeError> {
    match read::read(&bytes) {
        Ok(mut tree) => {
            set_memory(&mut tree.root, ram);
            Ok(finish(tree, wishes))
        }
        Err(_) if *wishes == Wishes::default() => Ok(bytes),
        Err(error) => Err(error),
    }
}

/// Writes what the machine has to `/memory`, as m1n1 does; files name the memory of some other machine, or none.
fn set_memory(root: &mut DeviceTreeNode, ram: u64) {
    let is_memory = |node: &DeviceTreeNode| {
        let kind = node.property("device_type").is_some_and(|kind| kind.value() == b"memory\0");
        kind || node.name_without_address() == "memory"
    };
    let named = |node: &DeviceTreeNode| node.name().to_owned();
    let mut all = root.children().filter(|node| is_memory(node)).map(named).collect::<Vec<_>>().into_iter();
    let name = all.next().unwrap_or_else(|| format!("memory@{RAM:x}"));
    // One node has all of it.
    all.for_each(|other| drop(root.remove_child(&other)));
    // Two cells and one are the specification's defaults.
    let (address, size) = (cell(root, "#address-cells", 2), cell(root, "#size-cells", 1));
    let mut reg = Vec::new();
    for (value, cells) in [(RAM, address), (ram, size)] {
        let wide = (0..cells).rev().map(|cell| value.checked_shr(32 * cell).unwrap_or(0).to_be_bytes());
        reg.extend(wide.flat_map(|word| word.into_iter().skip(4)));
    }
    let memory = root.add_child_mut(DeviceTreeNode::new_unchecked(name));
    memory.add_property(DeviceTreeProperty::new_unchecked("device_type", b"memory\0"));
    memory.add_property(DeviceTreeProperty::new_unchecked("reg", reg));
}

/// A property of one small number of cells.
fn cell(node: &DeviceTreeNode, name: &str, default: u32) -> u32 {
    let Some(property) = node.property(name) else { return default };
    match property.value() {
        &[0, 0, 0, cells @ 1..=4] => cells.into(),
        _ => default,
    }
}

fn finish(mut tree: DeviceTree, wishes: &Wishes) -> Vec<u8> {
    let chosen = tree.root.add_child_mut(DeviceTreeNode::new_unchecked("chosen"));
    let mut put = |name: &str, value: Vec<u8>| chosen.add_property(DeviceTreeProperty::new_unchecked(name, value));
    if !wishes.commands.is_empty() {
        put("anvil,commands", strings(wishes.commands.iter().map(String::as_str)));
    }
    if let Some(blocks) = &wishes.allow_write {
        let range = Some(blocks.as_str()).filter(|blocks| !blocks.is_empty());
        put("anvil,allow-write", strings(range));
    }
    if let Some(milliseconds) = &wishes.defer_flushes {
        put("anvil,defer-flushes", strings([milliseconds.as_str()]));
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
    use dtoolkit::fdt::Fdt;

    use super::*;

    fn chosen(bytes: &[u8], name: &str) -> Option<Vec<u8>> {
        let tree = Fdt::new(bytes).unwrap();
        let node = tree.find_node("/chosen").unwrap();
        node.property(name).map(|property| property.value().to_vec())
    }

    #[test]
    fn the_wishes_stand_in_a_generated_tree_and_in_a_given_one() {
        let commands = vec!["info".into(), "read 0 1".into()];
        let wishes = Wishes {
            commands,
            allow_write: Some(String::new()),
            defer_flushes: Some("250".into()),
            interactive: false,
        };
        let generated = generate(1 << 29, &wishes);
        let adopted = adopt(generate(1 << 29, &Wishes::default()), 1 << 29, &wishes).unwrap();
        for tree in [generated, adopted] {
            assert_eq!(chosen(&tree, "anvil,commands").unwrap(), b"info\0read 0 1\0");
            assert_eq!(chosen(&tree, "anvil,allow-write").unwrap(), b"");
            assert_eq!(chosen(&tree, "anvil,defer-flushes").unwrap(), b"250\0");
            assert_eq!(chosen(&tree, "anvil,interactive"), None);
        }
        let some = Wishes { allow_write: Some("8..15".into()), ..Wishes::default() };
        assert_eq!(chosen(&generate(1 << 29, &some), "anvil,allow-write").unwrap(), b"8..15\0");
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
    fn a_given_tree_gets_the_memory_of_this_machine_and_keeps_the_rest() {
        let mut tree = t8103::tree(1 << 34);
        let mut reserved = DeviceTreeNode::new_unchecked("reserved-memory");
        reserved.add_property(DeviceTreeProperty::new_unchecked("ranges", Vec::<u8>::new()));
        tree.root.add_child(reserved);
        tree.root.add_child(DeviceTreeNode::new_unchecked("memory@900000000"));
        tree.memory_reservations.push(MemoryReservation::new(0x8_0100_0000, 0x4000));
        let adopted = adopt(tree.to_dtb(), 1 << 29, &Wishes::default()).unwrap();
        let adopted = Fdt::new(&adopted).unwrap();
        let memory = adopted.find_node("/memory@800000000").unwrap();
        assert_eq!(memory.property("reg").unwrap().value(), [RAM.to_be_bytes(), (1u64 << 29).to_be_bytes()].concat());
        assert!(adopted.find_node("/memory@900000000").is_none());
        assert!(adopted.find_node("/reserved-memory").is_some());
        assert_eq!(adopted.memory_reservations().next().map(|one| one.address()), Some(0x8_0100_0000));
    }

    #[test]
    fn a_tree_without_memory_and_with_narrow_cells_gets_it_too() {
        let mut tree = DeviceTree::new();
        tree.root.add_property(DeviceTreeProperty::new_unchecked("#size-cells", 1u32.to_be_bytes()));
        let adopted = adopt(tree.to_dtb(), 1 << 29, &Wishes::default()).unwrap();
        let memory = Fdt::new(&adopted).unwrap().find_node("/memory@800000000").unwrap();
        assert_eq!(memory.property("reg").unwrap().value(), [0, 0, 0, 8, 0, 0, 0, 0, 0x20, 0, 0, 0]);
    }

    #[test]
    fn a_tree_that_another_reader_refuses_for_a_long_name_is_taken() {
        const LONG: &str = "apple,power-zone-filter-of-a-proportional-controller";
        let mut tree = t8103::tree(1 << 29);
        tree.root.add_property(DeviceTreeProperty::new_unchecked(LONG, b"kept"));
        let bytes = tree.to_dtb();
        assert!(Fdt::new(&bytes).is_err());
        let wishes = Wishes { commands: vec!["info".into()], ..Wishes::default() };
        let adopted = read::read(&adopt(bytes, 1 << 29, &wishes).unwrap()).unwrap();
        assert_eq!(adopted.root.property(LONG).unwrap().value(), b"kept");
        let chosen = adopted.find_node("/chosen").unwrap();
        assert_eq!(chosen.property("anvil,commands").unwrap().value(), b"info\0");
    }

    #[test]
    fn what_cannot_be_read_is_handed_over_as_it_is_or_refused_if_something_is_to_be_added() {
        let whole = generate(1 << 29, &Wishes::default());
        let wishes = Wishes { allow_write: Some(String::new()), ..Wishes::default() };
        let mut old = whole.clone();
        old[27] = 18;
        let mut patched = whole.clone();
        let structure = usize::from(whole[10]) << 8 | usize::from(whole[11]);
        patched[structure + 3] = 7;
        for (bytes, reason) in [
            (Vec::new(), "ends at 0x0"),
            (vec![0xff; 64], "begins with 0xffffffff"),
            (whole[..whole.len() / 2].to_vec(), "says that it has"),
            (whole[..20].to_vec(), "says that it has"),
            (old, "compatible with 18"),
            (patched, "token 0x7"),
        ] {
            assert_eq!(adopt(bytes.clone(), 1 << 29, &Wishes::default()), Ok(bytes.clone()), "{reason}");
            let error = adopt(bytes, 1 << 29, &wishes).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn no_cut_and_no_changed_byte_makes_the_reader_panic() {
        let whole = generate(1 << 29, &Wishes::default());
        let wishes = Wishes { allow_write: Some(String::new()), ..Wishes::default() };
        for length in 0..whole.len() {
            assert!(adopt(whole[..length].to_vec(), 1 << 29, &wishes).is_err(), "{length}");
        }
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x81;
            // Either way is right: most bytes are values.
            let taken = adopt(changed, 1 << 29, &wishes);
            assert!(taken.is_err() || taken.is_ok_and(|tree| read::read(&tree).is_ok()), "{at}");
        }
    }
}
