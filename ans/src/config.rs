//! Limits and choices.

use core::time::Duration;

/// Limits and choices of [`crate::Ans`]. Start from `Config::default()` and change what has to differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// How long one power domain may take to a new state. m1n1 waits 10 ms, Linux and U-Boot 100 us.
    pub power: Duration,
    /// How long BOOT_STATUS may take after RTKit is up. Linux and m1n1 wait 1 s.
    pub boot_status: Duration,
    /// Limits of RTKit.
    pub rtkit: rtkit::Config,
    /// Limits of the controller.
    pub nvme: nvme::Config,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            power: Duration::from_millis(10),
            boot_status: Duration::from_secs(1),
            rtkit: rtkit::Config::default(),
            nvme: nvme::Config::default(),
        }
    }
}
