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
//! ```

use core::fmt;

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
    /// A word that can stand once only.
    Twice(&'a str),
}

impl fmt::Display for BootArgumentError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, word) = match self {
            Self::Unbalanced(word) => ("a quote is not closed", word),
            Self::Quotes(word) => ("quotes belong around the value", word),
            Self::Control(word) => ("control character", word),
            Self::Unknown(word) => ("unknown word (known: anvil.cmd, anvil.interactive, anvil.rw)", word),
            Self::Value(word) => ("anvil.cmd and anvil.rw need a value, anvil.interactive takes none", word),
            Self::Range(word) => ("neither all nor FIRST..LAST", word),
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
}

impl<'a> BootArguments<'a> {
    /// Reads the value of `/chosen/bootargs`, up to its NUL if it has one.
    ///
    /// # Errors
    /// [`BootArgumentError`], for the first word that is wrong.
    pub fn parse(text: &'a str) -> Result<Self, BootArgumentError<'a>> {
        let text = text.split('\0').next().unwrap_or_default();
        let mut all = Self { text, interactive: false, writable: None };
        for word in Words(text) {
            match wish(word?)? {
                Some(Wish::Interactive) => all.interactive = true,
                Some(Wish::Write(word, writable)) => {
                    if all.writable.replace(writable).is_some() {
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
        ("cmd" | "rw", None) | ("interactive", Some(_)) => Err(BootArgumentError::Value(word)),
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
mod tests {
    use super::*;

    fn commands(text: &str) -> Vec<&str> {
        BootArguments::parse(text).unwrap_or_else(|error| panic!("{error}")).commands().collect()
    }

    fn refused(text: &str) -> BootArgumentError<'_> {
        BootArguments::parse(text).expect_err(text)
    }

    #[test]
    fn commands_come_in_order_with_their_blanks() {
        let text = "anvil.cmd=info  anvil.cmd=\"read 0  1\"\tanvil.cmd=\"\"\n\"anvil.cmd=gpt\" anvil.cmd=a=b";
        assert_eq!(commands(text), ["info", "read 0  1", "", "gpt", "a=b"]);
    }

    #[test]
    fn an_empty_line_asks_for_nothing() {
        for text in ["", "  \t\n", "\0", " \0anvil.interactive"] {
            let all = BootArguments::parse(text).unwrap();
            assert_eq!((all.interactive, all.writable, all.commands().count()), (false, None, 0), "{text:?}");
        }
    }

    #[test]
    fn the_words_of_others_are_passed_over_whatever_they_hold() {
        let text = "console=ttyAMA0 root=\"/dev/x y\" quiet=\"a\"b\"c anvil.cmd=no\" xanvil.cmd=no anvil ANVIL.rw=all é=\u{1} \
                    anvil.interactive";
        let all = BootArguments::parse(text).unwrap();
        assert_eq!((all.interactive, all.writable, all.commands().count()), (true, None, 0));
    }

    #[test]
    fn a_range_is_armed_as_it_is_written_and_no_other_way() {
        for (text, wanted) in [
            ("anvil.rw=all", Writable::All),
            ("anvil.rw=\"all\"", Writable::All),
            ("anvil.rw=0..0", Writable::Blocks { first: 0, last: 0 }),
            ("anvil.rw=100..0xFF", Writable::Blocks { first: 100, last: 255 }),
            ("anvil.rw=0..18446744073709551615", Writable::Blocks { first: 0, last: u64::MAX }),
        ] {
            assert_eq!(BootArguments::parse(text).unwrap().writable, Some(wanted), "{text}");
        }
        for range in
            ["", "ALL", "all ", "1", "1..", "..1", "2..1", "1...2", "1..2..3", "+1..2", "-1..2", "0x..1", "1,2", "١..٢"]
        {
            let text = format!("anvil.rw=\"{range}\"");
            assert!(matches!(refused(&text), BootArgumentError::Range(_)), "{text}");
        }
        assert!(matches!(refused("anvil.rw=0..18446744073709551616"), BootArgumentError::Range(_)));
    }

    #[test]
    fn writes_are_armed_once_only() {
        assert_eq!(refused("anvil.rw=1..2 anvil.rw=all"), BootArgumentError::Twice("anvil.rw=all"));
    }

    #[test]
    fn an_unknown_word_of_ours_is_named() {
        for word in ["anvil.", "anvil.write=all", "anvil.cmds=info", "anvil.Interactive", "anvil.rw.x=all"] {
            let text = format!("quiet {word} anvil.cmd=info");
            assert_eq!(refused(&text), BootArgumentError::Unknown(word));
            assert!(refused(&text).to_string().contains(word));
        }
    }

    #[test]
    fn a_value_stands_where_one_belongs_and_nowhere_else() {
        for word in ["anvil.cmd", "anvil.rw", "anvil.interactive=", "anvil.interactive=yes"] {
            assert_eq!(refused(word), BootArgumentError::Value(word));
        }
    }

    #[test]
    fn a_quote_that_is_not_closed_is_an_error_even_in_the_words_of_others() {
        for (text, word) in [
            ("anvil.cmd=\"read 0 1", "anvil.cmd=\"read 0 1"),
            ("\"", "\""),
            ("quiet root=\"x anvil.cmd=info", "root=\"x anvil.cmd=info"),
            ("anvil.cmd=\"a\" \"anvil.rw=all", "\"anvil.rw=all"),
        ] {
            assert_eq!(refused(text), BootArgumentError::Unbalanced(word));
        }
    }

    #[test]
    fn quotes_inside_a_value_are_refused_rather_than_guessed_at() {
        for text in ["anvil.cmd=a\"b c\"", "anvil.cmd=\"a\"\"b\"", "anvil.c\"m\"d=x", "\"anvil.cmd=\"x\"\""] {
            assert!(matches!(refused(text), BootArgumentError::Quotes(_)), "{text}");
        }
    }

    #[test]
    fn a_control_character_is_refused_and_shown_escaped() {
        let error = refused("anvil.cmd=\"a\u{1b}[2J\"").to_string();
        assert!(error.contains(r"a\u{1b}[2J") && !error.contains('\u{1b}'), "{error}");
    }

    #[test]
    fn a_very_long_line_is_read_to_its_end_and_an_error_about_it_stays_short() {
        let long = "x ".repeat(100_000) + "anvil.cmd=" + &"y".repeat(100_000);
        assert_eq!(commands(&long).first().map(|line| line.len()), Some(100_000));
        let many = "anvil.cmd=info ".repeat(10_000);
        assert_eq!(commands(&many).len(), 10_000);
        let unknown = String::from("anvil.") + &"z".repeat(100_000);
        assert!(refused(&unknown).to_string().len() < 200);
    }
}
