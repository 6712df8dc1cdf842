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
    /// How long a command that timed out may take to end once it was asked to abort (on controllers that can); then it is
    /// given up.
    pub abort: Duration,
    /// Commands in flight on one IO queue pair, 1..=64; the controller's own limits may make it fewer.
    pub depth: u16,
    /// IO queue pairs, 1..=4; the controller may grant fewer.
    pub queue_pairs: u16,
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
            abort: Duration::from_secs(5),
            depth: 64,
            queue_pairs: 1,
            transfer: 1 << 20,
            scan: 128,
        }
    }
}
