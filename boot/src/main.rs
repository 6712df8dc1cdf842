//! The image `anvil`: what runs on the machine, from the boot loader's jump to power off.
//!
//! `machine` is the processor and the board; what the image does with a disk is the library of this package.

#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
#[expect(clippy::cast_possible_truncation, reason = "addresses have 64 bits, and so has usize on this one target")]
mod machine;

/// On a host there is no machine to run on: only the library and its tests are of use there.
#[cfg(not(target_os = "none"))]
fn main() {
    println!("anvil is an image for aarch64-unknown-none-softfloat");
}
