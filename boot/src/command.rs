//! The monitor's command lines.

use core::fmt;
use core::str::SplitAsciiWhitespace;

use crate::quote::Quoted;

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
    /// Makes durable what was written.
    Flush,
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

/// Blocks: `count` of them (at least one) from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first block.
    pub first: u64,
    /// How many blocks.
    pub count: u64,
}

/// Why a line is no command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError<'a> {
    /// No command has that name.
    Unknown(&'a str),
    /// Too few or too many words behind the name.
    Usage(&'static str),
    /// A word that should be a number.
    NotANumber(&'static str, &'a str),
    /// A number beyond 64 bits.
    TooLarge(&'static str, &'a str),
    /// A count of zero.
    Zero(&'static str),
}

impl fmt::Display for ParseError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => write!(f, "unknown command {} (help lists the commands)", Quoted(name)),
            Self::Usage(usage) => write!(f, "usage: {usage}"),
            Self::NotANumber(name, word) => write!(f, "{name}: {} is not a number", Quoted(word)),
            Self::TooLarge(name, word) => write!(f, "{name}: {} is too large", Quoted(word)),
            Self::Zero(name) => write!(f, "{name}: a count of 0 asks for nothing"),
        }
    }
}

const SELECT: &str = "select CONTROLLER [NAMESPACE]";
const DOORBELLS: &str = "doorbells on|late|off|status";
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
    ("flush", "makes durable what was written"),
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
        "log" => none(words, Command::Log, "log")?,
        "shutdown" => none(words, Command::Shutdown, "shutdown")?,
        "read" => Command::Read(span(words, "read", "read LBA COUNT")?),
        "sha256" => Command::Sha256(span(words, "sha256", "sha256 LBA COUNT")?),
        "trim" => Command::Trim(span(words, "trim", "trim LBA COUNT")?),
        "zero" => Command::Zero(span(words, "zero", "zero LBA COUNT")?),
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

/// The most arguments of a command.
const ARGUMENTS: usize = 4;

/// Exactly `count` words; the places behind them are empty.
fn exactly<'a>(
    mut words: SplitAsciiWhitespace<'a>,
    count: usize,
    usage: &'static str,
) -> Result<[&'a str; ARGUMENTS], ParseError<'a>> {
    let mut taken = [""; ARGUMENTS];
    for place in taken.iter_mut().take(count) {
        *place = words.next().ok_or(ParseError::Usage(usage))?;
    }
    if words.next().is_some() { Err(ParseError::Usage(usage)) } else { Ok(taken) }
}

fn none<'a>(words: SplitAsciiWhitespace<'a>, command: Command, usage: &'static str) -> Result<Command, ParseError<'a>> {
    exactly(words, 0, usage)?;
    Ok(command)
}

fn span<'a>(words: SplitAsciiWhitespace<'a>, name: &'static str, usage: &'static str) -> Result<Span, ParseError<'a>> {
    let [first, count, ..] = exactly(words, 2, usage)?;
    Ok(Span { first: number(name, first)?, count: count_of(name, count)? })
}

fn select<'a>(words: SplitAsciiWhitespace<'a>) -> Result<Command, ParseError<'a>> {
    let given = words.clone().count();
    let [controller, namespace, ..] = exactly(words, given.clamp(1, 2), SELECT)?;
    let namespace = if given == 2 { Some(number("select", namespace)?) } else { None };
    Ok(Command::Select { controller: number("select", controller)?, namespace })
}

fn random_read<'a>(words: SplitAsciiWhitespace<'a>) -> Result<Command, ParseError<'a>> {
    let given = words.clone().count();
    match exactly(words, given.clamp(3, 4), RANDOM_READ)? {
        ["randread", count, depth, word] if word.is_empty() || word == "plain" => Ok(Command::RandomRead {
            count: count_of("bench", count)?,
            depth: count_of("bench", depth)?,
            plain: !word.is_empty(),
        }),
        _ => Err(ParseError::Usage(RANDOM_READ)),
    }
}

fn count_of<'a>(name: &'static str, word: &'a str) -> Result<u64, ParseError<'a>> {
    match number(name, word)? {
        0 => Err(ParseError::Zero(name)),
        count => Ok(count),
    }
}

/// Decimal, or hexadecimal behind `0x`.
fn number<'a>(name: &'static str, word: &'a str) -> Result<u64, ParseError<'a>> {
    let (digits, radix) = match word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None => (word, 10),
    };
    // `from_str_radix` would take a sign.
    if digits.is_empty() || !digits.chars().all(|digit| digit.is_digit(radix)) {
        return Err(ParseError::NotANumber(name, word));
    }
    u64::from_str_radix(digits, radix).map_err(|_| ParseError::TooLarge(name, word))
}

#[cfg(test)]
mod tests;
