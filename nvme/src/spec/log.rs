//! Log pages (NVMe base specification, chapter 5).

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Log identifier of the errors.
pub const ERRORS: u8 = 0x01;
/// Log identifier of SMART and health.
pub const HEALTH: u8 = 0x02;

/// SMART and health, the part up to the temperature sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Health {
    /// Critical warnings, by bit: 0 spare below its threshold, 1 temperature, 2 reliability degraded, 3 read-only, 4 the backup
    /// of volatile memory failed.
    pub critical_warning: u8,
    /// Composite temperature in kelvin, little-endian.
    pub temperature: [u8; 2],
    /// Spare left, in percent.
    pub available_spare: u8,
    /// Spare below which it warns, in percent.
    pub spare_threshold: u8,
    /// Share of the expected life that is used, in percent; may pass 100.
    pub percentage_used: u8,
    /// Zero.
    pub reserved: [u8; 26],
    /// Thousands of 512-byte units read, little-endian as all counters here.
    pub units_read: [u8; 16],
    /// Thousands of 512-byte units written.
    pub units_written: [u8; 16],
    /// Read commands of hosts.
    pub host_reads: [u8; 16],
    /// Write commands of hosts.
    pub host_writes: [u8; 16],
    /// Minutes busy.
    pub busy_minutes: [u8; 16],
    /// Power cycles.
    pub power_cycles: [u8; 16],
    /// Hours of power.
    pub power_on_hours: [u8; 16],
    /// Power lost without a shutdown.
    pub unsafe_shutdowns: [u8; 16],
    /// Data that could not be recovered.
    pub media_errors: [u8; 16],
    /// Entries of the error log over the controller's life.
    pub error_entries: [u8; 16],
}

/// Bytes of the whole page.
pub const HEALTH_SIZE: usize = 512;

/// One entry of the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct Failed {
    /// Number of the error over the controller's life; 0 is no entry.
    pub count: u64,
    /// Submission queue.
    pub queue: u16,
    /// Command identifier.
    pub command: u16,
    /// Status half-word, with the phase bit.
    pub status: u16,
    /// Place in the command: byte in bits 7:0, bit in 10:8.
    pub parameter: u16,
    /// First block at fault.
    pub lba: u64,
    /// Namespace.
    pub namespace: u32,
    /// Zero, or what the vendor or transport adds.
    pub rest: [u8; 36],
}

/// Bytes of one entry.
pub const ERROR_SIZE: usize = 64;

const _: () = assert!(size_of::<Health>() == 192);
const _: () = assert!(size_of::<Failed>() == ERROR_SIZE);
