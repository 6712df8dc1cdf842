//! The volatile write cache: read, changed, and believed only when it was read back.

use core::fmt;

use hal::Platform;

use super::Controller;
use crate::durability::{CacheMode, FlushAll, WriteCache};
use crate::error::{BlockError, CommandError, Error, Step, SubmitError};
use crate::request::{Operation, Request};
use crate::spec::command::{SubmissionEntry, feature};
use crate::transport::Transport;

/// Why the write cache was not changed as asked. It is treated as write-back then, unless it is known to be off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheError {
    /// The controller has no volatile write cache.
    Absent,
    /// The controller does not keep features over resets.
    NotSaveable,
    /// What was written before could not be flushed; the cache was left on.
    Flush(BlockError),
    /// The controller refused, or did not answer.
    Command(CommandError),
    /// The controller answered success, and the feature reads as if nothing had happened.
    NotTaken {
        /// What was asked for.
        asked: bool,
        /// What it reads as; none if it cannot be read.
        seen: Option<bool>,
    },
}

impl fmt::Display for CacheError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |on: bool| if on { "on" } else { "off" };
        match self {
            Self::Absent => f.write_str("the controller has no volatile write cache"),
            Self::NotSaveable => f.write_str("the controller does not keep features over resets"),
            Self::Flush(error) => write!(f, "the write cache stays on, since it could not be flushed: {error}"),
            Self::Command(error) => write!(f, "changing the write cache: {error}"),
            Self::NotTaken { asked, seen: Some(seen) } => {
                write!(
                    f,
                    "the controller was told to turn the write cache {} and left it {}",
                    word(*asked),
                    word(*seen)
                )
            }
            Self::NotTaken { asked, seen: None } => {
                write!(
                    f,
                    "the controller was told to turn the write cache {}, and does not say what it is",
                    word(*asked)
                )
            }
        }
    }
}

impl core::error::Error for CacheError {}

impl<P: Platform, T: Transport<P>> Controller<P, T> {
    /// The volatile write cache, as it was last read.
    pub fn write_cache(&self) -> WriteCache {
        self.cache
    }

    /// Whether completed writes to a namespace can be lost with power.
    ///
    /// # Errors
    /// [`SubmitError::UnknownNamespace`].
    pub fn cache_mode(&self, namespace: u32) -> Result<CacheMode, SubmitError> {
        let found = self.namespace(namespace).ok_or(SubmitError::UnknownNamespace { namespace })?;
        Ok(if found.no_volatile_cache { CacheMode::WriteThrough } else { self.cache.mode() })
    }

    /// Turns the volatile write cache on or off; with `save`, over resets too.
    ///
    /// On: every namespace is write-back before the command is sent, so that no write that completes meanwhile escapes its
    /// flush. Off: commands in flight are awaited and everything is flushed, then the command is sent, the feature is read back,
    /// and only if it reads as off are flushes spared from then on.
    ///
    /// # Errors
    /// [`CacheError`].
    pub fn set_write_cache(&mut self, on: bool, save: bool) -> Result<(), CacheError> {
        if !self.cache.present {
            return Err(CacheError::Absent);
        }
        if save && !self.identity.select {
            return Err(CacheError::NotSaveable);
        }
        let before = self.cache.enabled;
        if !on {
            self.quiesce().map_err(CacheError::Flush)?;
            if before != Some(false) {
                self.flush_all().map_err(CacheError::Flush)?;
            }
        }
        // Unknown counts as on: until the controller has said what it is, everything is flushed.
        self.cache.enabled = None;
        let entry = SubmissionEntry::set_feature(feature::WRITE_CACHE, u32::from(on), save);
        self.admin(entry).map_err(CacheError::Command)?;
        let seen = self.read_cache().map_err(CacheError::Command)?;
        if seen == Some(on) { Ok(()) } else { Err(CacheError::NotTaken { asked: on, seen }) }
    }

    /// Writes whole blocks so that they are durable on return, whatever the policy: with force unit access where there is a cache
    /// that could lose them, and where the controller does not take that, with a flush behind.
    ///
    /// # Errors
    /// [`BlockError`]; after a failed command some blocks may be written.
    pub fn write_durable(&mut self, namespace: u32, lba: u64, bytes: &[u8]) -> Result<(), BlockError> {
        if self.cache_mode(namespace)? == CacheMode::WriteThrough {
            return self.write(namespace, lba, bytes);
        }
        match self.write_blocks(namespace, lba, bytes, true) {
            Err(BlockError::Command(CommandError::Status(status))) if status.is_invalid_field() => {
                self.write(namespace, lba, bytes)?;
                self.sync(namespace)
            }
            result => result,
        }
    }

    /// Reads the feature and goes by it.
    pub(super) fn read_cache(&mut self) -> Result<Option<bool>, CommandError> {
        self.cache.enabled = None;
        let page = self.page.address();
        let result = self.admin(SubmissionEntry::get_feature(feature::WRITE_CACHE, 0, page));
        self.cache_was_read(result.ok());
        result.map(|_| self.cache.enabled)
    }

    /// Goes by what the feature was read as, by whomever and for whatever; none if the read failed.
    pub(super) fn cache_was_read(&mut self, value: Option<u32>) {
        self.cache.enabled = value.and_then(WriteCache::read);
        if let (Some(value), None) = (value, self.cache.enabled) {
            hal::warn!("the write cache feature reads as {:#x}: taken for on", value);
        }
    }

    /// After Identify, at first and after each reset: what the cache is, which a reset may have changed.
    pub(super) fn find_cache(&mut self) -> Result<(), Error> {
        self.cache = WriteCache { present: self.identity.volatile_cache, enabled: None };
        if !self.cache.present {
            return Ok(());
        }
        match self.read_cache() {
            Ok(_) => Ok(()),
            Err(CommandError::Status(status)) => {
                hal::warn!("the write cache cannot be read, and is taken for on: {}", hal::log::Shown(&status));
                Ok(())
            }
            Err(error) => Err(Error::Command { step: Step::ReadWriteCache, error }),
        }
    }

    /// Flushes every namespace: with one command where that reaches all of them.
    fn flush_all(&mut self) -> Result<(), BlockError> {
        if self.identity.flush_all == FlushAll::Supported && self.namespaces.len() > 1 {
            return self.flush_broadcast();
        }
        for at in 0..self.namespaces.len() {
            if let Some(id) = self.namespaces.get(at).map(|namespace| namespace.id) {
                self.complete(Request { namespace: id, operation: Operation::Sync, buffer: None })?.result?;
            }
        }
        Ok(())
    }
}
