//! What the image prints: passed on as it comes, and read for the few lines that the emulator understands.
//!
//! * `anvil: success` and `anvil: failure: ONE LINE` are the image's own verdict.
//! * `stage: NAME` anywhere in a line marks the end of a stage of the bring-up.
//! * `mark: NAME` anywhere in a line asks for a snapshot of the run's counters, so that a bench in the image can be
//!   measured from mark to mark without a device for it.
//!
//! Each takes its time from the line's newline.

use std::io::{self, Write};

/// The most bytes of a line that are kept for reading it; what is longer passes through all the same.
const LINE: usize = 4096;

/// What the image said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// `anvil: success`.
    Success,
    /// `anvil: failure: ...`, with the rest of that line.
    Failure(String),
}

/// A line that means something to the emulator.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Remark {
    Verdict(Verdict),
    Stage(String),
    Mark(String),
}

/// The console of one run.
pub(crate) struct Console {
    sink: Box<dyn Write>,
    line: Vec<u8>,
}

impl Console {
    pub(crate) fn new(sink: Box<dyn Write>) -> Self {
        Self { sink, line: Vec::new() }
    }

    /// Passes bytes on; calls `remark` for each line that means something.
    ///
    /// # Errors
    /// Whatever the sink says: a closed pipe, mostly.
    pub(crate) fn print(&mut self, bytes: &[u8], mut remark: impl FnMut(Remark)) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        for &byte in bytes {
            if byte == b'\n' {
                if let Some(found) = read(&String::from_utf8_lossy(&self.line)) {
                    remark(found);
                }
                self.line.clear();
                self.sink.flush()?;
            } else if self.line.len() < LINE {
                self.line.push(byte);
            }
        }
        Ok(())
    }

    /// Passes on what is buffered.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

fn read(line: &str) -> Option<Remark> {
    let line = line.trim_end_matches(['\r', ' ']);
    if let Some((_, reason)) = line.split_once("anvil: failure: ") {
        return Some(Remark::Verdict(Verdict::Failure(reason.into())));
    }
    if line.ends_with("anvil: success") {
        return Some(Remark::Verdict(Verdict::Success));
    }
    let named = |key: &str| {
        let (_, rest) = line.split_once(key)?;
        rest.split_whitespace().next().map(String::from)
    };
    named("stage: ").map(Remark::Stage).or_else(|| named("mark: ").map(Remark::Mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_mean_something_are_read_wherever_they_stand() {
        assert_eq!(read("[    0.001234] stage: rtkit-hello (812 us)\r"), Some(Remark::Stage("rtkit-hello".into())));
        assert_eq!(read("mark: read-4k-begin"), Some(Remark::Mark("read-4k-begin".into())));
        assert_eq!(read("[ 1.0] anvil: success"), Some(Remark::Verdict(Verdict::Success)));
        let failure = Verdict::Failure("sart: no free entry".into());
        assert_eq!(read("anvil: failure: sart: no free entry"), Some(Remark::Verdict(failure)));
        assert_eq!(read("a stage without a name: stage: "), None);
    }

    #[test]
    fn a_line_in_pieces_and_an_endless_one_are_both_taken() {
        let mut console = Console::new(Box::new(io::sink()));
        let mut seen = Vec::new();
        console.print(b"mark", |found| seen.push(found)).unwrap();
        console.print(b": a\nmark: b\n", |found| seen.push(found)).unwrap();
        console.print(&vec![b'x'; 3 * LINE], |found| seen.push(found)).unwrap();
        assert_eq!(seen, [Remark::Mark("a".into()), Remark::Mark("b".into())]);
        assert_eq!(console.line.len(), LINE);
    }
}
