//! PCI Express below a host bridge that no firmware has touched: the functions are found, numbered and given addresses.
//!
//! [`enumerate`] walks the buses of one host depth first over its enhanced configuration space. It numbers the bridges and
//! opens their windows just around what lies behind, and it sizes and places the base address registers of the functions of
//! one class. All other functions keep what they have, except that they lose the decoding of addresses and bus mastering
//! should they have had them: nobody may answer in a window that is dealt out anew.
//!
//! Interrupts stay off: nothing here touches MSI and MSI-X, which are off after reset, and pins are disabled. Drivers poll.
//!
//! Links are taken to be up, as they are on QEMU: nothing here powers a slot or trains a link.
//!
//! Configuration space is hostile. Nothing here panics on what it says, the walk ends after 256 buses, and what cannot be
//! used is a [`Problem`] of its function, not an end of the walk.
//!
//! Sources: PCI Express Base Specification, chapter 7 (configuration space); PCI Local Bus Specification 3.0, chapter 6
//! (headers and base address registers); PCI-to-PCI Bridge Architecture Specification 1.2, chapter 3 (bridges).
//!
//! ```
//! # fn sketch(node: hal::fdt::Node<'_>, window: impl Fn(u64, u64) -> hal::physical::PhysicalWindow) -> Option<()> {
//! use hal::pci::{Class, enumerate};
//!
//! let host = node.pci_host().ok()?;
//! let configuration = window(host.configuration.address.0, host.configuration.size);
//! let wanted = Class { base: 0x01, sub: 0x08, interface: 0x02 };
//! let mut found = enumerate::<_, 8>(&configuration, &host, wanted);
//! for function in &mut found.functions {
//!     let registers = window(function.registers().address.0, function.registers().size);
//!     function.enable().ok()?;
//!     // The driver works, and ends with a controller that is known to have stopped.
//!     # drop(registers);
//!     function.disable().ok()?;
//! }
//! found.close();
//! # Some(())
//! # }
//! ```

mod bar;
mod bridge;
mod function;
mod problem;
mod room;
mod space;
mod spec;
#[cfg(test)]
mod tests;
mod walk;

pub use function::{CommandNotTaken, Function};
pub use problem::{Problem, Reason};
pub use space::{Address, Class};
pub use walk::{DEPTH, Enumeration, PROBLEMS, enumerate};
