//! What ANS is made of, as the driver is given it and gives it back.

use hal::Platform;
use heapless::Vec;

use crate::power::Domains;
use crate::sart::Version;

/// The most domains that one device names.
pub const ATTACHED: usize = 4;

/// The windows, memory and clock that ANS is driven with. [`crate::discovery`] finds the addresses in a device tree.
pub struct Hardware<P: Platform> {
    /// The NVMe block with the NVMMU behind it (device-tree region "nvme").
    pub nvme: P::Window,
    /// The coprocessor's block with CPU_CONTROL (device-tree region "ans").
    pub coprocessor: P::Window,
    /// The coprocessor's mailbox.
    pub mailbox: P::Window,
    /// The SART.
    pub sart: P::Window,
    /// Its layout.
    pub sart_version: Version,
    /// All power domains that matter here, parents first.
    pub domains: Domains<P::Window>,
    /// Which of them the storage needs, by index.
    pub attached: Vec<usize, ATTACHED>,
    /// Which of them resets the coprocessor, by index.
    pub reset: usize,
    /// Memory that the coprocessor and the controller may be lent.
    pub pool: P::Pool,
    /// The time.
    pub clock: P::Clock,
}
