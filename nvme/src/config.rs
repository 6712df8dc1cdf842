//! Limits that the owner of a controller may set.

use core::time::Duration;

/// Limits of a controller. Start from `Config::default()` and change what has to differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// How long one admin command may take. Linux allows ANS 60 s.
    pub admin: Duration,
    /// How long one read or write may take. Linux allows ANS 30 s.
    pub io: Duration,
    /// How long one flush may take. It is a limit of its own, because a flush of ANS takes about 18 ms in the mean and
    /// now and then far more.
    pub flush: Duration,
    /// How long a normal shutdown may take, unless the controller reports a longer time for it (RTD3E), up to 60 s.
    pub shutdown: Duration,
    /// Entries of the IO queues that are asked for, 4..=64; the controller's own limits may make it fewer.
    pub queue_entries: u16,
    /// The largest transfer of one command, in bytes; the controller's MDTS may make it smaller. Rounded down to pages, at
    /// least one page, at most 16 MiB. Every IO tag owns the PRP list memory that this needs.
    pub transfer: usize,
    /// The largest namespace identifier that the scan asks for, whatever number the controller reports.
    pub scan: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            admin: Duration::from_secs(60),
            io: Duration::from_secs(30),
            flush: Duration::from_secs(60),
            shutdown: Duration::from_secs(5),
            queue_entries: 64,
            transfer: 1 << 20,
            scan: 128,
        }
    }
}
