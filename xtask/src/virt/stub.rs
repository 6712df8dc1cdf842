//! A boot loader of eight instructions: it enters the image at EL2 with `HCR_EL2.E2H` set, as Apple silicon does.
//!
//! QEMU enters a kernel at EL2 with E2H clear, whatever the processor; on Apple's processors the bit is fixed at one.

/// Where the image lies: on a boundary of 2 MiB in the memory of `virt` (which begins at 0x4000_0000), above the stub, which
/// QEMU puts at the first such boundaries, and with 64 MiB of room below the device tree, which QEMU puts 128 MiB from the
/// start of a memory of 512 MiB (hw/arm/boot.c).
pub(super) const IMAGE: u64 = 0x4400_0000;

/// The stub's file, with the header of a Linux arm64 image: QEMU hands over the device tree to such a file only.
pub(super) fn build() -> Vec<u8> {
    let words: [u32; 24] = [
        0x1400_0010, // b 0x40
        0xd503_201f, // nop
        0,           // offset from the boundary of 2 MiB, 64 bits
        0,           //
        0x1000,      // size in memory, 64 bits
        0,           //
        0xa,         // flags: little endian, 4 KiB pages, anywhere in memory
        0,           //
        0,           // reserved, six words
        0,           //
        0,           //
        0,           //
        0,           //
        0,           //
        0x644d_5241, // magic number: "ARM\x64"
        0,           // reserved
        0xd53c_1101, // mrs x1, hcr_el2
        0xd2b0_0002, // mov x2, #(1 << 31)           RW: EL1 is AArch64
        0xf2c0_0082, // movk x2, #(1 << 2), lsl #32  E2H
        0xaa02_0021, // orr x1, x1, x2
        0xd51c_1101, // msr hcr_el2, x1
        0xd503_3fdf, // isb
        0x5800_0043, // ldr x3, =IMAGE               x0, the device tree, is left alone
        0xd61f_0060, // br x3
    ];
    let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    file.extend(IMAGE.to_le_bytes());
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_branch_skips_the_header_and_the_literal_lies_where_the_load_looks() {
        let file = build();
        // The branch counts words from itself; the load is the seventh instruction, and counts words too.
        assert_eq!(u32::from_le_bytes(file[..4].try_into().unwrap()) & 0x03ff_ffff, 0x40 / 4);
        let load = 0x40 + 6 * 4;
        let words = u32::from_le_bytes(file[load..load + 4].try_into().unwrap()) >> 5 & 0x7_ffff;
        assert_eq!(file[load + words as usize * 4..], IMAGE.to_le_bytes());
        assert!(IMAGE.is_multiple_of(2 << 20));
    }
}
