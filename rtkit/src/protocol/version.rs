//! The choice of a protocol version.

use core::fmt;
use core::ops::RangeInclusive;

use crate::Message;
use crate::spec::management;

/// Why no version fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionReason {
    /// The coprocessor's lowest version is above ours.
    TooNew,
    /// The coprocessor's highest version is below ours.
    TooOld,
    /// The coprocessor's lowest version is above its highest.
    Contradictory,
}

/// The coprocessor and we speak no common version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnsupportedVersion {
    /// Why.
    pub reason: VersionReason,
    /// The lowest version that the coprocessor offers.
    pub minimum: u16,
    /// The highest version that the coprocessor offers.
    pub maximum: u16,
}

impl fmt::Display for UnsupportedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.reason {
            VersionReason::TooNew => "newer than we know",
            VersionReason::TooOld => "older than we know",
            VersionReason::Contradictory => "which is no range",
        };
        write!(f, "it speaks RTKit versions {} to {}, {why}", self.minimum, self.maximum)
    }
}

/// The highest version that both sides speak.
///
/// # Errors
/// [`UnsupportedVersion`] when the ranges do not meet.
pub(super) fn choose(hello: Message, ours: &RangeInclusive<u16>) -> Result<u16, UnsupportedVersion> {
    let minimum = management::MINIMUM_VERSION.get_u16(hello.payload);
    let maximum = management::MAXIMUM_VERSION.get_u16(hello.payload);
    let refuse = |reason| Err(UnsupportedVersion { reason, minimum, maximum });
    if minimum > maximum {
        refuse(VersionReason::Contradictory)
    } else if minimum > *ours.end() {
        refuse(VersionReason::TooNew)
    } else if maximum < *ours.start() {
        refuse(VersionReason::TooOld)
    } else {
        Ok(maximum.min(*ours.end()))
    }
}

/// The answer to HELLO: the chosen version as both ends of the range.
pub(super) const fn reply(version: u16) -> Message {
    let bits = management::MINIMUM_VERSION.put_u16(version) | management::MAXIMUM_VERSION.put_u16(version);
    Message::management(management::HELLO_REPLY, bits)
}
