//! The three things that a driver needs from the place where it runs.

use crate::{Clock, DmaPool, Mmio};

/// Names a platform's register windows, DMA memory and clock.
///
/// A type that implements this is never built; drivers carry it as their one type parameter.
pub trait Platform {
    /// A window of device registers.
    type Window: Mmio;
    /// Memory that devices may reach.
    type Pool: DmaPool;
    /// The time.
    type Clock: Clock;
}
