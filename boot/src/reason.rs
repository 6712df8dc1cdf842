//! The one line that a failed run ends with.

use core::fmt::{self, Display, Write};

const LONGEST: usize = 320;

/// Why a run failed: one line, kept while what it speaks of is taken down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason(heapless::String<LONGEST>);

impl Reason {
    /// Keeps the text of `what`: as one line, and cut where it is too long.
    pub fn new(what: impl Display) -> Self {
        let mut line = Line(heapless::String::new());
        // The only error is the end of the room: then the start of the line stands.
        let _ = write!(line, "{what}");
        Self(line.0)
    }

    /// Puts the name of the stage in which it happened before it.
    pub fn during(stage: &str, what: impl Display) -> Self {
        Self::new(format_args!("{stage}: {what}"))
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct Line(heapless::String<LONGEST>);

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| {
            let character = if character.is_control() { ' ' } else { character };
            self.0.push(character).map_err(|_| fmt::Error)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_always_one_line_of_bounded_length() {
        assert_eq!(Reason::during("sart", "a\nb\u{1b}c").to_string(), "sart: a b c");
        assert_eq!(Reason::new("é".repeat(1000)).to_string().len(), LONGEST);
    }
}
