//! What a controller tells when asked: its health, its errors, its features.

use hal::Platform;
use heapless::Vec;

use super::Controller;
use crate::error::CommandError;
use crate::spec::command::{self, EVERY_NAMESPACE, SubmissionEntry};
use crate::spec::log;
use crate::spec::status::Status;
use crate::transport::Transport;

/// Entries of the error log that are read; a page holds them.
pub const ERRORS: usize = 16;

/// A controller's health (SMART), over its life. Counters are 128 bits wide, as the controller counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Health {
    /// Critical warnings, by bit: 0 spare below its threshold, 1 temperature, 2 reliability degraded, 3 read-only, 4 the backup
    /// of volatile memory failed. Zero is well.
    pub critical_warning: u8,
    /// Composite temperature in kelvin.
    pub temperature: u16,
    /// Spare left, in percent.
    pub available_spare: u8,
    /// Spare below which it warns, in percent.
    pub spare_threshold: u8,
    /// Share of the expected life that is used, in percent; may pass 100.
    pub percentage_used: u8,
    /// Thousands of 512-byte units read.
    pub units_read: u128,
    /// Thousands of 512-byte units written.
    pub units_written: u128,
    /// Read commands.
    pub host_reads: u128,
    /// Write commands.
    pub host_writes: u128,
    /// Minutes busy.
    pub busy_minutes: u128,
    /// Power cycles.
    pub power_cycles: u128,
    /// Hours of power.
    pub power_on_hours: u128,
    /// Times that power was lost without a shutdown.
    pub unsafe_shutdowns: u128,
    /// Times that data could not be recovered.
    pub media_errors: u128,
    /// Entries of the error log.
    pub error_entries: u128,
}

/// An entry of the error log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEntry {
    /// Number of the error over the controller's life, from 1 on.
    pub count: u64,
    /// Identifier of the submission queue.
    pub queue: u16,
    /// The command's identifier.
    pub command: u16,
    /// How the command ended.
    pub status: Status,
    /// The first block at fault.
    pub lba: u64,
    /// The namespace.
    pub namespace: u32,
}

/// Which value of a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Select {
    /// The one in force.
    Current,
    /// The one of the factory.
    Default,
    /// The one that is kept over resets.
    Saved,
    /// What can be done with the feature: bit 0 it can be saved, 1 it is namespace specific, 2 it can be changed.
    Capabilities,
}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// Reads the SMART and health log.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn health(&mut self) -> Result<Health, CommandError> {
        let page = self.page.address();
        self.page.clear();
        self.admin(SubmissionEntry::log_page(log::HEALTH, EVERY_NAMESPACE, log::HEALTH_SIZE, false, page))?;
        let read: log::Health = self.page.read(0);
        let count = u128::from_le_bytes;
        Ok(Health {
            critical_warning: read.critical_warning,
            temperature: u16::from_le_bytes(read.temperature),
            available_spare: read.available_spare,
            spare_threshold: read.spare_threshold,
            percentage_used: read.percentage_used,
            units_read: count(read.units_read),
            units_written: count(read.units_written),
            host_reads: count(read.host_reads),
            host_writes: count(read.host_writes),
            busy_minutes: count(read.busy_minutes),
            power_cycles: count(read.power_cycles),
            power_on_hours: count(read.power_on_hours),
            unsafe_shutdowns: count(read.unsafe_shutdowns),
            media_errors: count(read.media_errors),
            error_entries: count(read.error_entries),
        })
    }

    /// Reads the error log, the newest entry first: at most [`ERRORS`] entries of what the controller keeps.
    ///
    /// # Errors
    /// [`CommandError`].
    pub fn errors(&mut self) -> Result<Vec<ErrorEntry, ERRORS>, CommandError> {
        let entries = usize::from(self.identity.error_entries).min(ERRORS);
        let page = self.page.address();
        self.page.clear();
        self.admin(SubmissionEntry::log_page(log::ERRORS, EVERY_NAMESPACE, entries * log::ERROR_SIZE, false, page))?;
        let mut errors = Vec::new();
        for index in 0..entries {
            let entry: log::Failed = self.page.read(index * log::ERROR_SIZE);
            if entry.count != 0 {
                // There is room: as many as are read.
                let _ = errors.push(ErrorEntry {
                    count: entry.count,
                    queue: entry.queue,
                    command: entry.command,
                    status: Status::from_half_word(entry.status),
                    lba: entry.lba,
                    namespace: entry.namespace,
                });
            }
        }
        Ok(errors)
    }

    /// Reads a feature, such as 0x06, the volatile write cache. Most are the controller's, and `namespace` is 0 for them; some,
    /// such as 0x05, error recovery, are a namespace's. Values other than the current one need [`crate::Identity::select`], else
    /// a controller may answer with the current one.
    ///
    /// # Errors
    /// [`CommandError`]: a feature that there is not ends with status type 0, code 0x02.
    pub fn feature(&mut self, feature: u8, namespace: u32, select: Select) -> Result<u32, CommandError> {
        let bits = match select {
            Select::Current => 0,
            Select::Default => 1,
            Select::Saved => 2,
            Select::Capabilities => 3,
        };
        let page = self.page.address();
        let entry = SubmissionEntry { namespace, ..SubmissionEntry::get_feature(feature, bits, page) };
        let result = self.admin(entry);
        if feature == command::feature::WRITE_CACHE && select == Select::Current {
            // Another host may have changed it.
            self.cache_was_read(result.ok());
        }
        result
    }
}
