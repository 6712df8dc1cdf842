//! The true image on the emulator, with device trees of real shape and with broken ones.
//!
//! `ANVIL_IMAGE` names the flat image; `cargo xtask test` builds it and sets it.

#[cfg(test)]
mod bad_trees;
#[cfg(test)]
mod call;
#[cfg(test)]
mod hand_over;
#[cfg(test)]
mod keyboard;
#[cfg(test)]
mod mac_mini;
#[cfg(test)]
mod real_tree;
