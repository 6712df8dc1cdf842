//! The one line that a failed run ends with.

use core::fmt::{self, Display, Write};

use spin::Mutex;

const LONGEST: usize = 320;
/// Reasons that can be alive at once: one that waits for the end, one that gets a prefix, and some to spare.
const SLOTS: usize = 8;

type Text = heapless::String<LONGEST>;

/// The texts; a slot is in use if it has one.
static TEXTS: Mutex<[Option<Text>; SLOTS]> = Mutex::new([const { None }; SLOTS]);

/// Why a run failed: one line, kept while what it speaks of is taken down.
///
/// The line itself is kept aside and this is a handle to it, because as an error it is handed up through many functions.
#[derive(Debug)]
pub struct Reason {
    /// None: all slots were in use.
    slot: Option<usize>,
}

impl Reason {
    /// Keeps the text of `what`: as one line, and cut where it is too long.
    pub fn new(what: impl Display) -> Self {
        Self::keep(format_args!("{what}"))
    }

    /// Puts the name of the stage in which it happened before it.
    pub fn during(stage: &str, what: impl Display) -> Self {
        Self::keep(format_args!("{stage}: {what}"))
    }

    fn keep(text: fmt::Arguments<'_>) -> Self {
        let mut line = Line(Text::new());
        // The only error is the end of the room: then the start of the line stands. Formatted before the lock is taken,
        // because what is formatted may be another reason.
        let _ = line.write_fmt(text);
        let mut texts = TEXTS.lock();
        let free = texts.iter_mut().enumerate().find(|(_, text)| text.is_none());
        Self { slot: free.map(|(slot, text)| (slot, *text = Some(line.0)).0) }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.slot.and_then(|slot| TEXTS.lock().get(slot).cloned().flatten());
        f.write_str(text.as_deref().unwrap_or("more failed at once than is kept"))
    }
}

impl Drop for Reason {
    fn drop(&mut self) {
        if let Some(text) = self.slot.and_then(|slot| TEXTS.lock().get_mut(slot).map(Option::take)) {
            drop(text);
        }
    }
}

struct Line(Text);

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

    #[test]
    fn a_reason_can_be_the_end_of_another() {
        let inner = Reason::new("no answer");
        assert_eq!(Reason::during("hello", &inner).to_string(), "hello: no answer");
    }
}
