//! The last lines that the coprocessor said.

use core::fmt::{self, Write};

use heapless::{HistoryBuf, String};
use spin::Mutex;

/// Lines that are kept.
pub const LINES: usize = 32;
/// Bytes of each that are kept.
pub const LINE: usize = 120;

static TAIL: Mutex<HistoryBuf<String<LINE>, LINES>> = Mutex::new(HistoryBuf::new());

/// Keeps a line, and forgets the oldest one if there are too many.
pub fn keep(line: fmt::Arguments<'_>) {
    let mut kept = Cut(String::new());
    // The only error is the end of the room: then the start of the line is kept.
    let _ = kept.write_fmt(line);
    TAIL.lock().write(kept.0);
}

/// Writes the lines, the oldest first.
///
/// # Errors
/// Those of the output.
pub fn show(out: &mut dyn Write) -> fmt::Result {
    let tail = TAIL.lock();
    if tail.is_empty() {
        return writeln!(out, "the coprocessor said nothing");
    }
    for line in tail.oldest_ordered() {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

/// Takes as many characters as there is room for.
struct Cut(String<LINE>);

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| self.0.push(character).map_err(|_| fmt::Error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_in_order_and_cut() {
        for number in 0..LINES + 3 {
            keep(format_args!("line {number} {}", "é".repeat(100)));
        }
        let mut out = std::string::String::new();
        show(&mut out).unwrap();
        let lines: Vec<_> = out.lines().collect();
        assert_eq!(lines.len(), LINES);
        assert!(lines[0].starts_with("line 3 é") && lines[0].len() <= LINE, "{}", lines[0]);
        assert!(lines[LINES - 1].starts_with("line 34 "), "{}", lines[LINES - 1]);
    }
}
