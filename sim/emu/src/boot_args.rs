//! iBoot's boot arguments, revision 2, with the Apple tree that they point to (`adt-fdt.md` section 2).
//!
//! Minimal: no screen, no SEPFW or other regions, no monitor lines (`--cmd` travels in a flattened tree only), and the
//! Apple tree is handed on as it is.

use crate::memory::RAM;

/// Offsets of the fields that are filled.
const REVISION: usize = 0x00;
const VERSION: usize = 0x02;
const VIRTUAL_BASE: usize = 0x08;
const PHYSICAL_BASE: usize = 0x10;
const MEMORY_SIZE: usize = 0x18;
const TOP_OF_KERNEL_DATA: usize = 0x20;
const TREE: usize = 0x60;
const TREE_SIZE: usize = 0x68;
const MEMORY_SIZE_ACTUAL: usize = 0x2d8;
/// Where the tree stands behind the arguments.
const TREE_OFFSET: usize = 0x4000;
/// Any kernel address does: only differences to it mean something.
const KERNEL: u64 = 0xffff_fe00_0000_0000;

/// The arguments and the tree behind them, for `address`; `image_end` is the first free byte behind the image.
pub fn build(address: u64, tree: &[u8], ram: u64, image_end: u64) -> Vec<u8> {
    let mut bytes = vec![0; TREE_OFFSET];
    let mut put = |offset: usize, value: &[u8]| {
        if let Some(field) = bytes.get_mut(offset..offset + value.len()) {
            field.copy_from_slice(value);
        }
    };
    put(REVISION, &2u16.to_le_bytes());
    put(VERSION, &2u16.to_le_bytes());
    put(VIRTUAL_BASE, &KERNEL.to_le_bytes());
    put(PHYSICAL_BASE, &RAM.to_le_bytes());
    put(MEMORY_SIZE, &ram.to_le_bytes());
    put(TOP_OF_KERNEL_DATA, &image_end.next_multiple_of(0x4000).to_le_bytes());
    put(TREE, &(KERNEL + (address - RAM) + TREE_OFFSET as u64).to_le_bytes());
    put(TREE_SIZE, &u32::try_from(tree.len()).unwrap_or(u32::MAX).to_le_bytes());
    put(MEMORY_SIZE_ACTUAL, &ram.to_le_bytes());
    bytes.extend_from_slice(tree);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_where_the_arguments_say() {
        let bytes = build(RAM + 0x20_0000, b"tree", 1 << 29, RAM + 0x90_0001);
        let word = |offset: usize| u64::from_le_bytes(bytes[offset..][..8].try_into().unwrap());
        let physical = word(TREE) - word(VIRTUAL_BASE) + word(PHYSICAL_BASE);
        let offset = usize::try_from(physical - (RAM + 0x20_0000)).unwrap();
        assert_eq!(&bytes[offset..], b"tree");
        assert_eq!(word(TOP_OF_KERNEL_DATA), RAM + 0x90_4000);
    }
}
