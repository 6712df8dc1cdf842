//! Text that someone else wrote, made safe for a console.

use core::fmt::{self, Write};

/// Shows text in double quotes, with everything that is not printable escaped, cut after [`Quoted::MOST`] characters.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a>(pub &'a str);

impl Quoted<'_> {
    /// The longest text that is shown whole.
    pub const MOST: usize = 64;
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        quoted(f, &mut self.0.chars())
    }
}

/// Shows UTF-16 as [`Quoted`] does, up to the first NUL; what is no character becomes U+FFFD.
#[derive(Clone, Copy, Debug)]
pub struct QuotedUtf16<'a>(pub &'a [u8]);

impl fmt::Display for QuotedUtf16<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (units, _) = self.0.as_chunks::<2>();
        let units = units.iter().map(|unit| u16::from_le_bytes(*unit)).take_while(|unit| *unit != 0);
        quoted(f, &mut char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)))
    }
}

fn quoted(f: &mut fmt::Formatter<'_>, characters: &mut dyn Iterator<Item = char>) -> fmt::Result {
    f.write_char('"')?;
    for (index, character) in characters.enumerate() {
        if index == Quoted::MOST {
            f.write_str("...")?;
            break;
        }
        match character {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            _ if speaks_to_a_terminal(character) => write!(f, "{}", character.escape_unicode())?,
            _ => f.write_char(character)?,
        }
    }
    f.write_char('"')
}

/// Control characters, and the invisible ones that reorder or hide text. (The tables behind `escape_debug` know more of
/// these, and would be a thirtieth of the image.)
fn speaks_to_a_terminal(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_escaped() {
        assert_eq!(Quoted("a\x1b[2Jb\n\"c\"").to_string(), r#""a\u{1b}[2Jb\u{a}\"c\"""#);
        assert_eq!(Quoted("right to left \u{202e}").to_string(), r#""right to left \u{202e}""#);
    }

    #[test]
    fn printable_text_stays_as_it_is() {
        assert_eq!(Quoted("Lumière d'été").to_string(), "\"Lumière d'été\"");
    }

    #[test]
    fn long_text_is_cut() {
        let long = "x".repeat(100);
        assert_eq!(Quoted(&long).to_string(), format!("\"{}...\"", "x".repeat(64)));
    }

    #[test]
    fn utf_16_ends_at_nul_and_survives_lone_surrogates() {
        let units = [0x41u16, 0xd83d, 0xde00, 0xd800, 0x42, 0, 0x43];
        let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        assert_eq!(QuotedUtf16(&bytes).to_string(), "\"A\u{1f600}\u{fffd}B\"");
    }
}
