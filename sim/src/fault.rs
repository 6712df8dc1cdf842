//! What can go wrong on purpose, each by a name that a command line can give.

use std::fmt;

/// Where the firmware crashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrashStage {
    /// In place of the first endpoint-map page.
    Hello,
    /// Once the crashlog endpoint has its buffer.
    Buffers,
    /// In place of the power acknowledgement.
    Power,
    /// When the AP raises its power state, or 10 ms after the power acknowledgement.
    Running,
    /// When it is asked to sleep.
    Sleep,
}

/// One fault. [`Fault::parse`] reads it from text, [`FAULTS`] lists them all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The firmware never says hello.
    NoHello,
    /// HELLO comes that many nanoseconds later.
    HelloDelay(u64),
    /// HELLO offers these versions.
    Versions(u16, u16),
    /// The endpoint map has no last page.
    EndpointMapEndless,
    /// The power acknowledgement of a boot never comes.
    NoPowerAck,
    /// The power acknowledgement of a boot comes that many nanoseconds later.
    PowerAckDelay(u64),
    /// A sleep request is never acknowledged.
    NoSleepAck,
    /// The AP's power messages are never acknowledged.
    NoApAck,
    /// A coprocessor left idle does not wake from SET_IOP 0x20, only from 0x220.
    WakeNeedsInit,
    /// BOOT_STATUS never gets its value.
    BootStatusNever,
    /// Firmware never takes a message, so that the FIFO to it fills and stays full.
    MailboxFull,
    /// Firmware takes no message for that many nanoseconds from its start.
    MailboxFullFor(u64),
    /// The endpoint asks for a buffer of that many 4 KiB pages.
    BufferPages(u8, u8),
    /// The endpoint announces a buffer of its own at that address.
    BufferPreset(u8, u64),
    /// Syslog entries carry garbage, and an index beyond the last.
    SyslogGarbage,
    /// Firmware sends messages that no endpoint knows.
    UnknownMessages,
    /// The firmware crashes there.
    Crash(CrashStage),
    /// Every SART entry is in use by the boot chain.
    SartFull,
    /// The domain never reaches a new state.
    PowerStuck(String),
    /// Domains take that many nanoseconds to reach a new state.
    PowerDelay(u64),
    /// A domain in automatic mode shows itself clock gated while idle.
    AutoGating,
    /// CSTS.RDY never gets set.
    ControllerNeverReady,
    /// CSTS.RDY never gets clear.
    ControllerNeverDisabled,
    /// CSTS.SHST never gets to 2.
    ShutdownNever,
    /// CSTS.CFS is set after that many IO commands (0: at enabling).
    ControllerFatal(u64),
    /// The IO command of that number (from 0) is done, but no completion is written.
    CompletionLost(u64),
    /// The IO command of that number (from 0) completes with a command id that nobody uses.
    CompletionUnknown(u64),
    /// Every IO command that touches this block of namespace 1 fails with a media error.
    IoError(u64),
    /// The admin command of that opcode fails with Internal Error.
    AdminError(u8),
    /// Invalidating this tag gives a non-zero TCB_STAT.
    InvalStatus(u32),
    /// CAP.TO has that value, in units of 500 ms.
    CapTimeout(u8),
    /// Flush takes that many nanoseconds.
    FlushDelay(u64),
}

/// Every fault: what to write, and what it does.
pub const FAULTS: &[(&str, &str)] = &[
    ("no-hello", "the coprocessor never says hello"),
    ("hello-delay=NS", "HELLO comes NS nanoseconds later"),
    ("versions=MIN:MAX", "HELLO offers protocol versions MIN to MAX"),
    ("endpoint-map-endless", "the endpoint map has no last page"),
    ("no-power-ack", "the coprocessor never acknowledges its power-on"),
    ("power-ack-delay=NS", "that acknowledgement comes NS nanoseconds later"),
    ("no-sleep-ack", "the coprocessor never acknowledges a sleep request"),
    ("no-ap-ack", "the coprocessor never acknowledges the AP's power state"),
    ("wake-needs-init", "an idle coprocessor wakes from 0x220 only"),
    ("boot-status-never", "BOOT_STATUS never gets its value"),
    ("mailbox-full", "the mailbox fills and stays full"),
    ("mailbox-full-for=NS", "the mailbox is not emptied for NS nanoseconds from the start"),
    ("buffer-pages=EP:PAGES", "endpoint EP asks for PAGES pages of 4 KiB (0 to 255)"),
    ("buffer-preset=EP:ADDRESS", "endpoint EP announces a buffer of its own at ADDRESS"),
    ("syslog-garbage", "syslog entries carry garbage and wrong indexes"),
    ("unknown-messages", "the coprocessor sends messages that no endpoint knows"),
    ("crash=STAGE", "the coprocessor crashes: hello, buffers, power, running or sleep"),
    ("sart-full", "every SART entry is taken by the boot chain"),
    ("power-stuck=DOMAIN", "power domain DOMAIN (ans2, apcie_st) never changes state"),
    ("power-delay=NS", "power domains take NS nanoseconds"),
    ("auto-gating", "domains in automatic mode show themselves clock gated"),
    ("controller-never-ready", "CSTS.RDY never gets set"),
    ("controller-never-disabled", "CSTS.RDY never gets clear"),
    ("shutdown-never", "CSTS.SHST never gets to 2"),
    ("cfs=N", "CSTS.CFS is set after N IO commands, 0 = at enabling"),
    ("completion-lost=N", "IO command N (from 0) gets no completion"),
    ("completion-unknown=N", "IO command N (from 0) completes with an unknown id"),
    ("io-error=LBA", "IO on block LBA of namespace 1 fails"),
    ("admin-error=OPCODE", "the admin command OPCODE fails"),
    ("inval-status=TAG", "invalidating TAG gives an error in TCB_STAT"),
    ("cap-to=N", "CAP.TO is N, in units of 500 ms"),
    ("flush-delay=NS", "a flush takes NS nanoseconds"),
];

/// Why text is no fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultError {
    /// No fault has this name.
    Unknown(String),
    /// The fault's value is missing, superfluous or out of range.
    Value {
        /// What was given.
        given: String,
        /// How it is written.
        wanted: &'static str,
    },
}

impl fmt::Display for FaultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                write!(f, "unknown fault {name:?}; known:")?;
                FAULTS.iter().try_for_each(|(form, _)| write!(f, " {form}"))
            }
            Self::Value { given, wanted } => write!(f, "fault {given:?} is written {wanted}"),
        }
    }
}

impl std::error::Error for FaultError {}

impl Fault {
    /// Reads one fault as [`FAULTS`] writes it; numbers are decimal or 0x-hexadecimal.
    ///
    /// # Errors
    /// [`FaultError`] names what was given and what is known.
    pub fn parse(text: &str) -> Result<Self, FaultError> {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let (wanted, _) = FAULTS
            .iter()
            .find(|(form, _)| form.split('=').next() == Some(name))
            .ok_or_else(|| FaultError::Unknown(text.into()))?;
        let parsed = match value {
            None => Self::plain(name),
            Some(value) => Self::valued(name, value),
        };
        parsed.ok_or(FaultError::Value { given: text.into(), wanted })
    }

    fn plain(name: &str) -> Option<Self> {
        Some(match name {
            "no-hello" => Self::NoHello,
            "endpoint-map-endless" => Self::EndpointMapEndless,
            "no-power-ack" => Self::NoPowerAck,
            "no-sleep-ack" => Self::NoSleepAck,
            "no-ap-ack" => Self::NoApAck,
            "wake-needs-init" => Self::WakeNeedsInit,
            "boot-status-never" => Self::BootStatusNever,
            "mailbox-full" => Self::MailboxFull,
            "syslog-garbage" => Self::SyslogGarbage,
            "unknown-messages" => Self::UnknownMessages,
            "sart-full" => Self::SartFull,
            "auto-gating" => Self::AutoGating,
            "controller-never-ready" => Self::ControllerNeverReady,
            "controller-never-disabled" => Self::ControllerNeverDisabled,
            "shutdown-never" => Self::ShutdownNever,
            _ => return None,
        })
    }

    fn valued(name: &str, value: &str) -> Option<Self> {
        Some(match name {
            "hello-delay" => Self::HelloDelay(number(value)?),
            "versions" => pair(value).map(|(minimum, maximum)| Self::Versions(minimum, maximum))?,
            "power-ack-delay" => Self::PowerAckDelay(number(value)?),
            "mailbox-full-for" => Self::MailboxFullFor(number(value)?),
            "buffer-pages" => pair(value).map(|(endpoint, pages)| Self::BufferPages(endpoint, pages))?,
            "buffer-preset" => pair(value).map(|(endpoint, address)| Self::BufferPreset(endpoint, address))?,
            "crash" => Self::Crash(match value {
                "hello" => CrashStage::Hello,
                "buffers" => CrashStage::Buffers,
                "power" => CrashStage::Power,
                "running" => CrashStage::Running,
                "sleep" => CrashStage::Sleep,
                _ => return None,
            }),
            "power-stuck" if !value.is_empty() => Self::PowerStuck(value.into()),
            "power-delay" => Self::PowerDelay(number(value)?),
            "cfs" => Self::ControllerFatal(number(value)?),
            "completion-lost" => Self::CompletionLost(number(value)?),
            "completion-unknown" => Self::CompletionUnknown(number(value)?),
            "io-error" => Self::IoError(number(value)?),
            "admin-error" => Self::AdminError(number(value)?),
            "inval-status" => Self::InvalStatus(number(value)?),
            "cap-to" => Self::CapTimeout(number(value)?),
            "flush-delay" => Self::FlushDelay(number(value)?),
            _ => return None,
        })
    }

    /// Whether it keeps a good driver from giving the firmware an answer which that waits for.
    pub(crate) fn stops_the_session(&self) -> bool {
        matches!(
            self,
            Self::Versions(..)
                | Self::EndpointMapEndless
                | Self::MailboxFull
                | Self::MailboxFullFor(_)
                | Self::BufferPages(..)
                | Self::BufferPreset(..)
                | Self::SyslogGarbage
                | Self::Crash(_)
                | Self::SartFull
        )
    }
}

fn number<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    T::try_from(value.ok()?).ok()
}

fn pair<T: TryFrom<u64>, U: TryFrom<u64>>(text: &str) -> Option<(T, U)> {
    let (first, second) = text.split_once(':')?;
    Some((number(first)?, number(second)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_fault_is_read_and_its_name_alone_decides_which() {
        for (form, _) in FAULTS {
            let text = form
                .replace("MIN:MAX", "10:13")
                .replace("EP:PAGES", "1:0")
                .replace("EP:ADDRESS", "1:0x1000")
                .replace("STAGE", "power")
                .replace("DOMAIN", "ans2")
                .replace("=NS", "=5")
                .replace("=N", "=5")
                .replace("LBA", "0x10")
                .replace("OPCODE", "6")
                .replace("TAG", "3");
            assert!(Fault::parse(&text).is_ok(), "{text}");
        }
    }

    #[test]
    fn an_unknown_fault_and_a_bad_value_are_named() {
        assert_eq!(Fault::parse("nonsense"), Err(FaultError::Unknown("nonsense".into())));
        for bad in ["no-hello=1", "versions=10", "versions=1:99999", "crash=lunch", "io-error=", "cap-to=256"] {
            assert!(matches!(Fault::parse(bad), Err(FaultError::Value { .. })), "{bad}");
        }
    }
}
