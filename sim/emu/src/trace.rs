//! The register trace: one line for each access, in the order in which the image made them.
//!
//! `R4 nvme+0001c 00000001` is a 4-byte read and what it gave; `W8 mbox+00800 ...` an 8-byte write. Equal reads in a row
//! are folded: `# previous line repeated N times`. The console's UART is left out: it would drown the rest.

use std::io::{self, Write};

/// One access, as a trace line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub(crate) write: bool,
    pub(crate) size: usize,
    pub(crate) block: &'static str,
    pub(crate) offset: u64,
    pub(crate) value: u64,
}

/// Where the lines go.
pub(crate) struct Trace {
    sink: Box<dyn Write>,
    last: Option<Access>,
    repeated: u64,
}

impl Trace {
    pub(crate) fn new(sink: Box<dyn Write>) -> Self {
        Self { sink, last: None, repeated: 0 }
    }

    /// Writes one access.
    ///
    /// # Errors
    /// Whatever the sink says: a full disk, mostly.
    pub(crate) fn record(&mut self, access: Access) -> io::Result<()> {
        if access.block == "uart" {
            return Ok(());
        }
        if !access.write && self.last == Some(access) {
            self.repeated += 1;
            return Ok(());
        }
        self.unfold()?;
        self.last = Some(access);
        let Access { write, size, block, offset, value } = access;
        let (kind, width) = (if write { 'W' } else { 'R' }, 2 * size);
        // The golden traces' name for it.
        let block = if block == "mailbox" { "mbox" } else { block };
        writeln!(self.sink, "{kind}{size} {block}+{offset:05x} {value:0width$x}")
    }

    /// Writes what is still folded or buffered.
    ///
    /// # Errors
    /// As [`Trace::record`].
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.unfold()?;
        self.sink.flush()
    }

    fn unfold(&mut self) -> io::Result<()> {
        match std::mem::take(&mut self.repeated) {
            0 => Ok(()),
            count => writeln!(self.sink, "# previous line repeated {count} times"),
        }
    }
}
