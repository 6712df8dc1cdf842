//! What is to go wrong on a standard controller.

/// One thing that goes wrong. IO commands are counted from 0 over all queues, in the order in which they are fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// CSTS.RDY never gets set.
    NeverReady,
    /// CSTS.RDY never gets clear.
    NeverDisabled,
    /// CSTS.SHST never gets to 2.
    ShutdownNever,
    /// CSTS.CFS is set once that many IO commands were fetched (0: at enabling), and nothing moves any more.
    Fatal(u64),
    /// The device is gone from the bus: registers read as all ones, and nothing moves.
    Gone,
    /// Reads that touch this block of any namespace fail: unrecovered read error, without DNR.
    ReadError(u64),
    /// Writes that touch this block fail: write fault, without DNR.
    WriteError(u64),
    /// Every flush fails: write fault, without DNR.
    FlushError,
    /// The flush of that number, counted from 0 over all queues as flushes are fetched, fails: write fault, without DNR.
    FlushFails(u64),
    /// The flush of that number takes so many nanoseconds longer.
    FlushDelayed {
        /// The flush's number.
        flush: u64,
        /// Nanoseconds on top.
        delay_ns: u64,
    },
    /// The flush of that number is taken, and never done.
    FlushSwallowed(u64),
    /// Every flush is taken, and never done.
    FlushNever,
    /// Set Features of the write cache is answered with success and changes nothing.
    WriteCacheStuck,
    /// Set Features of that feature takes effect, and fails with that status half-word all the same.
    SetFeatureFailsAfter {
        /// The feature.
        feature: u8,
        /// As in [`Fault::Status`].
        half_word: u16,
    },
    /// Get Features of that feature fails with that status half-word.
    GetFeatureFails {
        /// The feature.
        feature: u8,
        /// As in [`Fault::Status`].
        half_word: u16,
    },
    /// Get Features of that feature reads as that value, whatever it is.
    GetFeatureReads {
        /// The feature.
        feature: u8,
        /// What it reads as.
        value: u32,
    },
    /// The IO command of that number is taken, and never done.
    Swallowed(u64),
    /// The IO command of that number takes so many nanoseconds longer.
    Delayed {
        /// The command's number.
        command: u64,
        /// Nanoseconds on top.
        delay_ns: u64,
    },
    /// The IO command of that number is done, but its completion has that status half-word (its phase bit is ignored).
    Status {
        /// The command's number.
        command: u64,
        /// Bits 15:1: status code, type, CRD, M and DNR where a completion has them.
        half_word: u16,
    },
    /// The IO command of that number completes with a command identifier that nobody uses.
    CompletionUnknown(u64),
    /// Every admin command of that opcode fails with that status half-word. 0x7c with 0x800c (internal error, DNR) is a
    /// Doorbell Buffer Config that fails.
    AdminError {
        /// The opcode.
        opcode: u8,
        /// As in [`Fault::Status`].
        half_word: u16,
    },
    /// Every admin command of that opcode is taken, and never done.
    AdminSwallowed(u8),
    /// Abort finds nothing to abort.
    AbortFails,
    /// MMIO writes to tail doorbells of IO submission queues are lost, so many of them, beginning with the next.
    DoorbellsLost(u64),
}

impl Fault {
    /// Doorbell Buffer Config fails with an internal error.
    pub fn doorbell_buffer_fails() -> Self {
        Self::AdminError { opcode: crate::facts::command::DOORBELL_BUFFER, half_word: 0x800c }
    }
}
