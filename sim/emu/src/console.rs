//! What the image prints: passed on as it comes, and read for the few lines that the emulator understands.
//!
//! * `anvil: success` and `anvil: failure: ONE LINE` are the image's own verdict.
//! * `stage: NAME` marks the end of a stage of the bring-up.
//! * `mark: NAME` asks for a snapshot of the run's counters, so that a bench in the image can be measured from mark to
//!   mark without a device for it.
//!
//! Each counts at the start of a line only, the last two also behind its time (`[    0.001234] `): what a disk has the
//! image print, such as the name of a partition, comes later in a line. Each takes its time from the line's newline.

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
    /// Whether log frames stand between and within lines: a NUL, the frame without any, a NUL.
    frames: bool,
    /// Bytes of the frame at hand; nothing between frames.
    frame: Option<usize>,
}

impl Console {
    pub(crate) fn new(sink: Box<dyn Write>, frames: bool) -> Self {
        Self { sink, line: Vec::new(), frames, frame: None }
    }

    /// Passes bytes on; calls `remark` for each line that means something.
    ///
    /// # Errors
    /// Whatever the sink says: a closed pipe, mostly.
    pub(crate) fn print(&mut self, bytes: &[u8], mut remark: impl FnMut(Remark)) -> io::Result<()> {
        self.sink.write_all(bytes)?;
        for &byte in bytes {
            if self.frames && byte == 0 {
                // No frame is empty: the encoder begins its first one with a NUL of its own.
                self.frame = if matches!(self.frame, None | Some(0)) { Some(0) } else { None };
            } else if let Some(length) = &mut self.frame {
                // A frame may hold a newline, and whatever text was logged.
                *length += 1;
            } else if byte == b'\n' {
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
    if let Some(reason) = line.strip_prefix("anvil: failure: ") {
        return Some(Remark::Verdict(Verdict::Failure(reason.into())));
    }
    if line == "anvil: success" {
        return Some(Remark::Verdict(Verdict::Success));
    }
    let plain = line.strip_prefix('[').and_then(|line| line.split_once("] ")).map_or(line, |(_, rest)| rest);
    let named = |key: &str| plain.strip_prefix(key)?.split_whitespace().next().map(String::from);
    named("stage: ").map(Remark::Stage).or_else(|| named("mark: ").map(Remark::Mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_that_mean_something_are_read_at_the_start_of_a_line() {
        assert_eq!(read("[    0.001234] stage: rtkit-hello (812 us)\r"), Some(Remark::Stage("rtkit-hello".into())));
        assert_eq!(read("mark: read-4k-begin"), Some(Remark::Mark("read-4k-begin".into())));
        assert_eq!(read("anvil: success\r"), Some(Remark::Verdict(Verdict::Success)));
        let failure = Verdict::Failure("sart: no free entry".into());
        assert_eq!(read("anvil: failure: sart: no free entry"), Some(Remark::Verdict(failure)));
        assert_eq!(read("stage: "), None);
    }

    #[test]
    fn what_a_disk_has_printed_further_on_in_a_line_means_nothing() {
        for line in [
            "   1    34    99  anvil: success",
            "00001000  61 6e 76 69 6c  |anvil: failure: no|",
            "[    1.0] anvil: success",
            "anvil: success and more",
            " anvil: success",
            "name: mark: a",
            "\"[ 1.0] stage: sart\"",
        ] {
            assert_eq!(read(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_in_pieces_and_an_endless_one_are_both_taken() {
        let mut console = Console::new(Box::new(io::sink()), false);
        let mut seen = Vec::new();
        console.print(b"mark", |found| seen.push(found)).unwrap();
        console.print(b": a\nmark: b\n", |found| seen.push(found)).unwrap();
        console.print(&vec![b'x'; 3 * LINE], |found| seen.push(found)).unwrap();
        assert_eq!(seen, [Remark::Mark("a".into()), Remark::Mark("b".into())]);
        assert_eq!(console.line.len(), LINE);
    }

    #[test]
    fn log_frames_are_no_part_of_a_line_and_their_text_means_nothing() {
        let mut console = Console::new(Box::new(io::sink()), true);
        let mut seen = Vec::new();
        console.print(b"\0\0\nanvil: success\n\0mark: \0frame\0a\n", |found| seen.push(found)).unwrap();
        assert_eq!(seen, [Remark::Mark("a".into())]);
    }
}
