//! The monitor's command lines.

use core::fmt;
use core::str::SplitAsciiWhitespace;

use crate::quote::Quoted;

/// What a line asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Lists the commands.
    Help,
    /// Shows the controller's identity.
    Info,
    /// Lists the namespaces.
    Namespaces,
    /// Lists the partitions of namespace 1.
    Gpt,
    /// Shows blocks.
    Read(Span),
    /// Shows the SHA-256 of blocks.
    Sha256(Span),
    /// Flushes namespace 1.
    Flush,
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
    },
    /// Reads at random places, sizes and depths, and checks that every command comes back once.
    Soak {
        /// Commands to issue.
        count: u64,
    },
}

/// Blocks of namespace 1: `count` of them (at least one) from `first` on.
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

/// Name with arguments, and what it does.
pub const COMMANDS: &[(&str, &str)] = &[
    ("help", "lists the commands"),
    ("info", "shows the controller's identity"),
    ("namespaces", "lists the namespaces"),
    ("gpt", "lists the partitions of namespace 1"),
    ("read LBA COUNT", "shows blocks of namespace 1"),
    ("sha256 LBA COUNT", "shows the SHA-256 of blocks of namespace 1"),
    ("flush", "flushes namespace 1"),
    ("log", "shows the last lines that the coprocessor said"),
    ("bench randread COUNT DEPTH", "reads COUNT random blocks of 4 KiB, DEPTH in flight"),
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
        "info" => none(words, Command::Info, "info")?,
        "namespaces" => none(words, Command::Namespaces, "namespaces")?,
        "gpt" => none(words, Command::Gpt, "gpt")?,
        "flush" => none(words, Command::Flush, "flush")?,
        "log" => none(words, Command::Log, "log")?,
        "shutdown" => none(words, Command::Shutdown, "shutdown")?,
        "read" => Command::Read(span(words, "read", "read LBA COUNT")?),
        "sha256" => Command::Sha256(span(words, "sha256", "sha256 LBA COUNT")?),
        "bench" => random_read(words)?,
        "soak" => {
            let [count, ..] = exactly(words, 1, "soak COUNT")?;
            Command::Soak { count: count_of("soak", count)? }
        }
        _ => return Err(ParseError::Unknown(name)),
    };
    Ok(Some(command))
}

/// The most arguments of a command.
const ARGUMENTS: usize = 3;

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
    let [first, count, _] = exactly(words, 2, usage)?;
    Ok(Span { first: number(name, first)?, count: count_of(name, count)? })
}

fn random_read<'a>(words: SplitAsciiWhitespace<'a>) -> Result<Command, ParseError<'a>> {
    const USAGE: &str = "bench randread COUNT DEPTH";
    match exactly(words, 3, USAGE)? {
        ["randread", count, depth] => {
            Ok(Command::RandomRead { count: count_of("bench", count)?, depth: count_of("bench", depth)? })
        }
        _ => Err(ParseError::Usage(USAGE)),
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
mod tests {
    use super::*;

    #[test]
    fn every_listed_command_is_read() {
        for (usage, _) in COMMANDS {
            let line = usage.replace("LBA", "7").replace("COUNT", "0x10").replace("DEPTH", "32");
            assert!(matches!(parse(&line), Ok(Some(_))), "{line}");
            let longer = format!("{line} more");
            assert!(matches!(parse(&longer), Err(ParseError::Usage(_))), "{longer}");
        }
    }

    #[test]
    fn numbers_are_decimal_or_hexadecimal() {
        assert_eq!(parse("read 0x1F 16"), Ok(Some(Command::Read(Span { first: 31, count: 16 }))));
        let most = Span { first: u64::MAX, count: 1 };
        assert_eq!(parse("  sha256\t18446744073709551615 1 "), Ok(Some(Command::Sha256(most))));
    }

    #[test]
    fn what_is_no_number_is_refused_with_its_text() {
        for word in ["x", "-1", "+1", "0x", "0xg", "1.5", "1k", "٣", ""] {
            let line = format!("read {word} 1");
            let error = parse(&line).expect_err("no number");
            assert!(error.to_string().contains(word), "{line}: {error}");
        }
        assert_eq!(parse("read 18446744073709551616 1"), Err(ParseError::TooLarge("read", "18446744073709551616")));
    }

    #[test]
    fn a_count_of_zero_is_refused() {
        for line in ["read 0 0", "sha256 5 0x0", "bench randread 0 1", "bench randread 1 0", "soak 0"] {
            assert!(matches!(parse(line), Err(ParseError::Zero(_))), "{line}");
        }
    }

    #[test]
    fn an_unknown_name_is_shown_escaped() {
        let error = parse("re\x1bad 1 2").expect_err("unknown");
        assert_eq!(error.to_string(), r#"unknown command "re\u{1b}ad" (help lists the commands)"#);
        assert_eq!(parse("bench seqread 1 1"), Err(ParseError::Usage("bench randread COUNT DEPTH")));
    }

    #[test]
    fn a_blank_line_asks_for_nothing() {
        assert_eq!(parse(" \t "), Ok(None));
    }
}
