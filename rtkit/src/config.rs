//! What may be chosen.

use core::ops::RangeInclusive;
use core::time::Duration;

use crate::PowerState;

/// Limits and choices of a [`Coprocessor`](crate::Coprocessor). Start from [`Config::default`] and change fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Longest wait for HELLO after the start or the wake.
    pub hello: Duration,
    /// Longest wait for the whole endpoint map after HELLO.
    pub endpoint_map: Duration,
    /// Longest wait for each acknowledgement of a power state. U-Boot found 0.1 s and then 1 s too short for drives of 4 TB
    /// and newer firmware; a drive of 8 TB took up to 30 s (AsahiLinux U-Boot, issue 6 and pull request 19).
    pub power_acknowledge: Duration,
    /// Longest wait for room in the mailbox, for each message. m1n1 waits 200 ms.
    pub send: Duration,
    /// Protocol versions to offer.
    pub versions: RangeInclusive<u16>,
    /// What a cold boot sends right after the CPU was started. m1n1 sends [`PowerState::INITIALISE`]; U-Boot and OpenBSD
    /// send [`PowerState::ON`]; Linux sends nothing. A wake always sends something: [`PowerState::INITIALISE`] if this is
    /// `None`.
    pub first_power: Option<PowerState>,
    /// Bytes of the largest buffer that the coprocessor may ask for.
    pub largest_buffer: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            hello: Duration::from_secs(5),
            endpoint_map: Duration::from_secs(5),
            power_acknowledge: Duration::from_secs(30),
            send: Duration::from_millis(200),
            versions: 11..=12,
            first_power: Some(PowerState::INITIALISE),
            largest_buffer: 1 << 20,
        }
    }
}
