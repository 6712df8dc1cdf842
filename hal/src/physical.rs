//! Real memory: device registers and DMA memory at the addresses that the processor sees.

mod copy;
mod pool;
#[cfg(test)]
mod tests;
mod window;

pub use pool::{Coherency, PhysicalPool};
pub use window::PhysicalWindow;
