//! The words of a line.

use core::str::SplitAsciiWhitespace;
use core::time::Duration;

use nvme::FlushPolicy;

use super::{Command, ParseError, RANDOM_READ, SELECT, Span};

/// The delays of flushes, as they are named in an error; [`FlushPolicy::SHORTEST`] to [`FlushPolicy::LONGEST`].
const DELAYS: &str = "1 to 60000 milliseconds";

/// The most arguments of a command.
const ARGUMENTS: usize = 4;

/// Exactly `count` words; the places behind them are empty.
pub(super) fn exactly<'a>(
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

pub(super) fn none<'a>(
    words: SplitAsciiWhitespace<'a>,
    command: Command,
    usage: &'static str,
) -> Result<Command, ParseError<'a>> {
    exactly(words, 0, usage)?;
    Ok(command)
}

pub(super) fn span<'a>(
    words: SplitAsciiWhitespace<'a>,
    name: &'static str,
    usage: &'static str,
) -> Result<Span, ParseError<'a>> {
    let [first, count, ..] = exactly(words, 2, usage)?;
    Ok(Span { first: number(name, first)?, count: count_of(name, count)? })
}

pub(super) fn select<'a>(words: SplitAsciiWhitespace<'a>) -> Result<Command, ParseError<'a>> {
    let given = words.clone().count();
    let [controller, namespace, ..] = exactly(words, given.clamp(1, 2), SELECT)?;
    let namespace = if given == 2 { Some(number("select", namespace)?) } else { None };
    Ok(Command::Select { controller: number("select", controller)?, namespace })
}

pub(super) fn random_read<'a>(words: SplitAsciiWhitespace<'a>) -> Result<Command, ParseError<'a>> {
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

pub(super) fn count_of<'a>(name: &'static str, word: &'a str) -> Result<u64, ParseError<'a>> {
    match number(name, word)? {
        0 => Err(ParseError::Zero(name)),
        count => Ok(count),
    }
}

/// Decimal, or hexadecimal behind `0x`.
pub(super) fn number<'a>(name: &'static str, word: &'a str) -> Result<u64, ParseError<'a>> {
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

pub(super) fn byte<'a>(name: &'static str, word: &'a str) -> Result<u8, ParseError<'a>> {
    u8::try_from(number(name, word)?).map_err(|_| ParseError::OutOfRange(name, word, "0 to 255"))
}

/// Milliseconds for which a flush may be deferred.
pub(super) fn delay<'a>(name: &'static str, word: &'a str) -> Result<Duration, ParseError<'a>> {
    let delay = Duration::from_millis(number(name, word)?);
    let sensible = (FlushPolicy::SHORTEST..=FlushPolicy::LONGEST).contains(&delay);
    if sensible { Ok(delay) } else { Err(ParseError::OutOfRange(name, word, DELAYS)) }
}

const _: () = assert!(FlushPolicy::SHORTEST.as_millis() == 1 && FlushPolicy::LONGEST.as_millis() == 60_000);
