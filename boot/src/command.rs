//! The monitor's command lines.

mod error;
mod words;

use core::time::Duration;

use nvme::FlushPolicy;

use self::words::{byte, count_of, delay, exactly, none, number, random_read, select, span};

pub use self::error::ParseError;

/// What a line asks for. Blocks are those of the selected namespace, at first the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Lists the commands.
    Help,
    /// Lists the controllers.
    Controllers,
    /// Makes later commands go to another controller or namespace.
    Select {
        /// The controller's index.
        controller: u64,
        /// The namespace's identifier; the one that is taken at first if it is absent.
        namespace: Option<u64>,
    },
    /// Shows the controller's identity and how it is driven.
    Info,
    /// Lists the namespaces.
    Namespaces,
    /// Shows the health log.
    Smart,
    /// Shows the error log.
    Errors,
    /// Shows the features.
    Features,
    /// Shows the asynchronous events that wait.
    Events,
    /// Lists the partitions.
    Gpt,
    /// Shows blocks.
    Read(Span),
    /// Shows the SHA-256 of blocks.
    Sha256(Span),
    /// Makes durable what was written, as the policy says.
    Flush,
    /// Makes durable what was written, now.
    Sync,
    /// Writes a pattern to blocks.
    Write(Write),
    /// Says what the write cache is, or turns it on or off.
    Cache(Cache),
    /// Says when flushes reach the device, or chooses it.
    Policy(Policy),
    /// Counts what was done.
    Stats,
    /// Tells the device that blocks are no longer needed.
    Trim(Span),
    /// Makes blocks read as zeroes.
    Zero(Span),
    /// Runs the list of operations, on [`crate::operations::BLOCKS`] blocks from that one on.
    Operations {
        /// The first block.
        first: u64,
    },
    /// Says how doorbells are rung, or changes it.
    Doorbells(Doorbells),
    /// Shows the last lines that the coprocessor said.
    Log,
    /// Ends the run.
    Shutdown,
    /// Reads random blocks, a constant number of commands in flight.
    RandomRead {
        /// Blocks of 4 KiB to read.
        count: u64,
        /// Commands in flight.
        depth: u64,
        /// Each doorbell is a write of its own.
        plain: bool,
    },
    /// Reads at random places, sizes and depths, and checks that every command comes back once.
    Soak {
        /// Commands to issue.
        count: u64,
    },
}

/// What is wished of doorbells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doorbells {
    /// How they are rung.
    Status,
    /// Shadow doorbells, their buffers given before the queues are made.
    On,
    /// Shadow doorbells, their buffers given after the queues were made.
    Late,
    /// Registers alone.
    Off,
}

/// What is wished of the write cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// What it is.
    Status,
    /// Another state.
    Set {
        /// Whether it is to be used.
        on: bool,
        /// Over resets too.
        save: bool,
    },
}

/// What is wished of the flushes of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// When they reach the device.
    Status,
    /// [`FlushPolicy::Strict`].
    Strict,
    /// [`FlushPolicy::Coalesce`].
    Coalesce,
    /// [`FlushPolicy::Deferred`] with that delay.
    Deferred(Duration),
}

/// A pattern for blocks: each begins with its own number, 8 bytes with the least significant one first, and 8 times `byte`, and
/// that is repeated to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The blocks.
    pub span: Span,
    /// What stands behind the numbers.
    pub byte: u8,
    /// They are durable at the end of the command.
    pub durable: bool,
}

/// Blocks: `count` of them (at least one) from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first block.
    pub first: u64,
    /// How many blocks.
    pub count: u64,
}

const SELECT: &str = "select CONTROLLER [NAMESPACE]";
const DOORBELLS: &str = "doorbells on|late|off|status";
const WRITE: &str = "write LBA COUNT BYTE [fua]";
const CACHE: &str = "cache [on|off [save]]";
const POLICY: &str = "policy [strict|coalesce|deferred [MS]]";
const RANDOM_READ: &str = "bench randread COUNT DEPTH [plain]";

/// Name with arguments, and what it does.
pub const COMMANDS: &[(&str, &str)] = &[
    ("help", "lists the commands"),
    ("controllers", "lists the controllers"),
    (SELECT, "makes later commands go there"),
    ("info", "shows the controller's identity and how it is driven"),
    ("namespaces", "lists the namespaces"),
    ("smart", "shows the health log"),
    ("errors", "shows the error log"),
    ("features", "shows the features"),
    ("events", "shows what the controller told unasked"),
    ("gpt", "lists the partitions"),
    ("read LBA COUNT", "shows blocks"),
    ("sha256 LBA COUNT", "shows the SHA-256 of blocks"),
    (WRITE, "fills blocks with their number and a byte; fua: durable at once (--rw)"),
    ("flush", "makes durable what was written, as the policy says"),
    ("sync", "makes durable what was written, now"),
    (POLICY, "says when flushes reach the device, or chooses it; MS milliseconds late (--defer)"),
    (CACHE, "says what the write cache is, or turns it on or off (--rw)"),
    ("stats", "counts commands, flushes, doorbells, time-outs"),
    ("trim LBA COUNT", "tells the device that blocks are not needed any more (--rw)"),
    ("zero LBA COUNT", "makes blocks read as zeroes (--rw)"),
    ("operations LBA", "runs the list of operations on 64 blocks, and destroys them (--rw)"),
    (DOORBELLS, "uses shadow doorbells or not, or says how doorbells are rung"),
    ("log", "shows the last lines that the coprocessor said"),
    (RANDOM_READ, "reads COUNT random blocks of 4 KiB, DEPTH in flight"),
    ("soak COUNT", "makes COUNT reads of mixed sizes at random depths, and checks that none is lost"),
    ("shutdown", "ends the run"),
];

/// Reads a line: `None` for a blank one.
///
/// # Errors
/// [`ParseError`], which says what is wrong in one line.
pub fn parse(line: &str) -> Result<Option<Command>, ParseError<'_>> {
    let mut words = line.split_ascii_whitespace();
    let Some(name) = words.next() else {
        return Ok(None);
    };
    let command = match name {
        "help" => none(words, Command::Help, "help")?,
        "controllers" => none(words, Command::Controllers, "controllers")?,
        "info" => none(words, Command::Info, "info")?,
        "namespaces" => none(words, Command::Namespaces, "namespaces")?,
        "smart" => none(words, Command::Smart, "smart")?,
        "errors" => none(words, Command::Errors, "errors")?,
        "features" => none(words, Command::Features, "features")?,
        "events" => none(words, Command::Events, "events")?,
        "gpt" => none(words, Command::Gpt, "gpt")?,
        "flush" => none(words, Command::Flush, "flush")?,
        "sync" => none(words, Command::Sync, "sync")?,
        "stats" => none(words, Command::Stats, "stats")?,
        "log" => none(words, Command::Log, "log")?,
        "shutdown" => none(words, Command::Shutdown, "shutdown")?,
        "read" => Command::Read(span(words, "read", "read LBA COUNT")?),
        "sha256" => Command::Sha256(span(words, "sha256", "sha256 LBA COUNT")?),
        "trim" => Command::Trim(span(words, "trim", "trim LBA COUNT")?),
        "zero" => Command::Zero(span(words, "zero", "zero LBA COUNT")?),
        "write" => {
            let given = words.clone().count();
            let [first, count, value, word] = exactly(words, given.clamp(3, 4), WRITE)?;
            if !matches!(word, "" | "fua") {
                return Err(ParseError::Usage(WRITE));
            }
            let span = Span { first: number("write", first)?, count: count_of("write", count)? };
            Command::Write(Write { span, byte: byte("write", value)?, durable: !word.is_empty() })
        }
        "cache" => {
            let given = words.clone().count();
            let set = |on, save| Command::Cache(Cache::Set { on, save });
            match exactly(words, given.min(2), CACHE)? {
                ["", ..] => Command::Cache(Cache::Status),
                ["on", "", ..] => set(true, false),
                ["off", "", ..] => set(false, false),
                ["on", "save", ..] => set(true, true),
                ["off", "save", ..] => set(false, true),
                _ => return Err(ParseError::Usage(CACHE)),
            }
        }
        "policy" => {
            let given = words.clone().count();
            Command::Policy(match exactly(words, given.min(2), POLICY)? {
                ["", ..] => Policy::Status,
                ["strict", "", ..] => Policy::Strict,
                ["coalesce", "", ..] => Policy::Coalesce,
                ["deferred", "", ..] => Policy::Deferred(FlushPolicy::USUAL),
                ["deferred", word, ..] => Policy::Deferred(delay("policy", word)?),
                _ => return Err(ParseError::Usage(POLICY)),
            })
        }
        "operations" => {
            let [first, ..] = exactly(words, 1, "operations LBA")?;
            Command::Operations { first: number("operations", first)? }
        }
        "select" => select(words)?,
        "doorbells" => match exactly(words, 1, DOORBELLS)? {
            ["status", ..] => Command::Doorbells(Doorbells::Status),
            ["on", ..] => Command::Doorbells(Doorbells::On),
            ["late", ..] => Command::Doorbells(Doorbells::Late),
            ["off", ..] => Command::Doorbells(Doorbells::Off),
            _ => return Err(ParseError::Usage(DOORBELLS)),
        },
        "bench" => random_read(words)?,
        "soak" => {
            let [count, ..] = exactly(words, 1, "soak COUNT")?;
            Command::Soak { count: count_of("soak", count)? }
        }
        _ => return Err(ParseError::Unknown(name)),
    };
    Ok(Some(command))
}

impl Command {
    /// Its name: the first word of its line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Controllers => "controllers",
            Self::Select { .. } => "select",
            Self::Info => "info",
            Self::Namespaces => "namespaces",
            Self::Smart => "smart",
            Self::Errors => "errors",
            Self::Features => "features",
            Self::Events => "events",
            Self::Gpt => "gpt",
            Self::Read(_) => "read",
            Self::Sha256(_) => "sha256",
            Self::Flush => "flush",
            Self::Sync => "sync",
            Self::Write(_) => "write",
            Self::Cache(_) => "cache",
            Self::Policy(_) => "policy",
            Self::Stats => "stats",
            Self::Trim(_) => "trim",
            Self::Zero(_) => "zero",
            Self::Operations { .. } => "operations",
            Self::Doorbells(_) => "doorbells",
            Self::Log => "log",
            Self::Shutdown => "shutdown",
            Self::RandomRead { .. } => "bench",
            Self::Soak { .. } => "soak",
        }
    }
}

#[cfg(test)]
mod tests;
