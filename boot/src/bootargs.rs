//! The words of `/chosen/bootargs` that are meant for this image.
//!
//! A boot loader passes one line of text that others read too (Linux, and whatever stands between). Words stand apart by
//! blanks; double quotes hold blanks together, as in Linux' own parameters. Words that begin with `anvil.` are the image's:
//! one that it does not understand is an error, because the line may arm writes. All other words are passed over.
//!
//! ```text
//! anvil.cmd="read 0 1"    a line for the monitor; any number of them, run in order
//! anvil.interactive       someone at the console is asked for more
//! anvil.rw=all            writes are armed for the whole disk
//! anvil.rw=100..199       writes are armed for these blocks, the last one included
//! anvil.defer=1000        flushes of the disk are answered at once and performed up to 1000 milliseconds later: a power cut
//!                         loses what was flushed within that time
//! ```

use core::fmt;
use core::time::Duration;

use nvme::FlushPolicy;

use crate::quote::Quoted;

/// What a word of the image's own begins with.
const PREFIX: &str = "anvil.";

/// The blocks that may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writable {
    /// All blocks of the disk.
    All,
    /// The blocks from `first` to `last`, both included; `first` is at most `last`.
    Blocks {
        /// Number of the first block.
        first: u64,
        /// Number of the last block.
        last: u64,
    },
}

impl Writable {
    /// Reads `all`, or `FIRST..LAST` in decimal or in hexadecimal behind `0x`. Nothing else is a range.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "all" {
            return Some(Self::All);
        }
        let (first, last) = text.split_once("..")?;
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some(Self::Blocks { first, last })
    }
}

impl fmt::Display for Writable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all blocks"),
            Self::Blocks { first, last } => write!(f, "blocks {first} to {last}"),
        }
    }
}

/// Reads milliseconds for which a flush may be deferred, from [`FlushPolicy::SHORTEST`] to [`FlushPolicy::LONGEST`].
pub fn delay(text: &str) -> Option<Duration> {
    let delay = Duration::from_millis(number(text)?);
    (FlushPolicy::SHORTEST..=FlushPolicy::LONGEST).contains(&delay).then_some(delay)
}

/// Why the line is refused. Each names the word as it stands there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootArgumentError<'a> {
    /// A quote is opened and never closed: everything behind it would be one word.
    Unbalanced(&'a str),
    /// Quotes stand elsewhere than around the value, or around the word.
    Quotes(&'a str),
    /// A control character stands in a word of the image's own.
    Control(&'a str),
    /// No such word.
    Unknown(&'a str),
    /// The word needs a value, or takes none.
    Value(&'a str),
    /// Not `all`, and not `FIRST..LAST` in the right order.
    Range(&'a str),
    /// Not milliseconds from 1 to 60000.
    Delay(&'a str),
    /// A word that can stand once only.
    Twice(&'a str),
}

impl fmt::Display for BootArgumentError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, word) = match self {
            Self::Unbalanced(word) => ("a quote is not closed", word),
            Self::Quotes(word) => ("quotes belong around the value", word),
            Self::Control(word) => ("control character", word),
            Self::Unknown(word) => ("unknown word (known: anvil.cmd, anvil.defer, anvil.interactive, anvil.rw)", word),
            Self::Value(word) => {
                ("anvil.cmd, anvil.defer and anvil.rw need a value, anvil.interactive takes none", word)
            }
            Self::Range(word) => ("neither all nor FIRST..LAST", word),
            Self::Delay(word) => ("not 1 to 60000 milliseconds", word),
            Self::Twice(word) => ("given before", word),
        };
        write!(f, "bootargs: {}: {what}", Quoted(word))
    }
}

/// What the line asks for: read as a whole before any of it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BootArguments<'a> {
    /// The line.
    text: &'a str,
    /// Someone at the console is asked for commands.
    pub interactive: bool,
    /// The blocks for which writes are armed; none if absent.
    pub writable: Option<Writable>,
    /// For how long flushes of the disk may be deferred; none if absent.
    pub deferral: Option<Duration>,
}

impl<'a> BootArguments<'a> {
    /// Reads the value of `/chosen/bootargs`, up to its NUL if it has one.
    ///
    /// # Errors
    /// [`BootArgumentError`], for the first word that is wrong.
    pub fn parse(text: &'a str) -> Result<Self, BootArgumentError<'a>> {
        let text = text.split('\0').next().unwrap_or_default();
        let mut all = Self { text, interactive: false, writable: None, deferral: None };
        for word in Words(text) {
            match wish(word?)? {
                Some(Wish::Interactive) => all.interactive = true,
                Some(Wish::Write(word, writable)) => {
                    if all.writable.replace(writable).is_some() {
                        return Err(BootArgumentError::Twice(word));
                    }
                }
                Some(Wish::Defer(word, delay)) => {
                    if all.deferral.replace(delay).is_some() {
                        return Err(BootArgumentError::Twice(word));
                    }
                }
                Some(Wish::Command(_)) | None => {}
            }
        }
        Ok(all)
    }

    /// The lines for the monitor, in order.
    pub fn commands(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        Words(self.text).flatten().filter_map(|word| match wish(word) {
            Ok(Some(Wish::Command(line))) => Some(line),
            _ => None,
        })
    }
}

/// What one word asks for.
enum Wish<'a> {
    Command(&'a str),
    Interactive,
    /// The word itself, and what it arms.
    Write(&'a str, Writable),
    /// The word itself, and the delay.
    Defer(&'a str, Duration),
}

/// Reads a word; `None` if it is someone else's.
fn wish(word: &str) -> Result<Option<Wish<'_>>, BootArgumentError<'_>> {
    // Linux takes quotes around the whole word too.
    let bare = unquoted(word);
    let Some(rest) = bare.strip_prefix(PREFIX) else {
        return Ok(None);
    };
    let (name, value) = match rest.split_once('=') {
        // Quotes around the word are gone already; then those around the value are one pair too many.
        Some((name, value)) if bare.len() == word.len() => (name, Some(unquoted(value))),
        Some((name, value)) => (name, Some(value)),
        None => (rest, None),
    };
    if name.contains('"') || value.is_some_and(|value| value.contains('"')) {
        return Err(BootArgumentError::Quotes(word));
    }
    if word.chars().any(char::is_control) {
        return Err(BootArgumentError::Control(word));
    }
    match (name, value) {
        ("cmd", Some(line)) => Ok(Some(Wish::Command(line))),
        ("interactive", None) => Ok(Some(Wish::Interactive)),
        ("rw", Some(range)) => match Writable::parse(range) {
            Some(writable) => Ok(Some(Wish::Write(word, writable))),
            None => Err(BootArgumentError::Range(word)),
        },
        ("defer", Some(text)) => match delay(text) {
            Some(delay) => Ok(Some(Wish::Defer(word, delay))),
            None => Err(BootArgumentError::Delay(word)),
        },
        ("cmd" | "defer" | "rw", None) | ("interactive", Some(_)) => Err(BootArgumentError::Value(word)),
        _ => Err(BootArgumentError::Unknown(word)),
    }
}

/// Without the quotes around it, if it has a pair.
fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

/// The words of a line, with their quotes. After an error comes nothing.
struct Words<'a>(&'a str);

impl<'a> Iterator for Words<'a> {
    type Item = Result<&'a str, BootArgumentError<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let text = self.0.trim_start_matches(is_blank);
        if text.is_empty() {
            return None;
        }
        let mut quoted = false;
        let end = text.find(|character| {
            quoted ^= character == '"';
            !quoted && is_blank(character)
        });
        let (word, rest) = text.split_at_checked(end.unwrap_or(text.len())).unwrap_or((text, ""));
        if quoted {
            self.0 = "";
            return Some(Err(BootArgumentError::Unbalanced(word)));
        }
        self.0 = rest;
        Some(Ok(word))
    }
}

/// Blanks between words: those of ASCII, a line's end among them.
fn is_blank(character: char) -> bool {
    character.is_ascii_whitespace()
}

/// Decimal, or hexadecimal behind `0x`; no sign, no blanks.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    // `from_str_radix` would take a sign.
    let plain = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten()
}

#[cfg(test)]
mod tests;
