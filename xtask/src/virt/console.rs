//! What the image says: shown as it comes, and kept.

use std::io::Write;

use super::qemu::{End, Spoke};

/// The console's text.
#[derive(Debug)]
pub(crate) struct Console {
    /// It appears on standard output.
    shown: bool,
    /// Told at the first byte, and dropped then.
    spoke: Option<Spoke>,
    text: String,
    line: Vec<u8>,
    verdict: Option<End>,
}

impl Console {
    pub(super) fn new(shown: bool, spoke: Spoke) -> Self {
        Self { shown, spoke: Some(spoke), text: String::new(), line: Vec::new(), verdict: None }
    }

    /// All whole lines.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.spoke.is_some()
    }

    /// What the image reported. The first one counts: nothing that goes wrong on the way out makes a failure a success.
    pub(super) fn verdict(&self) -> Option<&End> {
        self.verdict.as_ref()
    }

    /// The stages of bring-up in order, with the microseconds that each took if the image told.
    pub(super) fn stages(&self) -> Vec<(&str, Option<u64>)> {
        fn stage(line: &str) -> Option<(&str, Option<u64>)> {
            let (_, rest) = line.split_once("stage: ")?;
            let (name, time) = rest.split_once(" (").unwrap_or((rest, ""));
            Some((name, time.strip_suffix(" us)").and_then(|time| time.parse().ok())))
        }
        self.text.lines().filter_map(stage).collect()
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line);
        let line = line.trim_end_matches(['\r', '\n']);
        if self.verdict.is_none() {
            if line == "anvil: success" {
                self.verdict = Some(End::Success);
            } else if let Some(reason) = line.strip_prefix("anvil: failure: ") {
                self.verdict = Some(End::Failure(reason.to_owned()));
            }
        }
        self.text += line;
        self.text.push('\n');
        self.line.clear();
    }
}

impl Write for Console {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !bytes.is_empty()
            && let Some(spoke) = self.spoke.take()
        {
            // Nobody listens if nothing is to be typed.
            let _ = spoke.send(());
        }
        if self.shown {
            let mut out = std::io::stdout().lock();
            out.write_all(bytes)?;
            out.flush()?;
        }
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line();
            } else {
                self.line.push(byte);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(parts: &[&str]) -> Console {
        let mut console = Console::new(false, std::sync::mpsc::channel().0);
        for part in parts {
            console.write_all(part.as_bytes()).unwrap();
        }
        console
    }

    #[test]
    fn the_first_verdict_counts_and_stands_at_the_start_of_a_whole_line() {
        let console = said(&["anvil 0.1\nanvil: fail", "ure: no disk\r\nanvil: success\n"]);
        assert_eq!(console.verdict(), Some(&End::Failure("no disk".into())));
        assert_eq!(said(&["anvil: success\n"]).verdict(), Some(&End::Success));
        for text in ["anvil: success", " anvil: success\n", "00 anvil: failure: x\n", "anvil: successful\n"] {
            assert_eq!(said(&[text]).verdict(), None, "{text:?}");
        }
    }

    #[test]
    fn stages_are_read_behind_a_time_stamp_with_or_without_their_time() {
        let console = said(&["[    0.001000] stage: identify (17 us)\nstage: nvme queues\nstage: y (z us)\nstages\n"]);
        assert_eq!(console.stages(), [("identify", Some(17)), ("nvme queues", None), ("y", None)]);
    }
}
