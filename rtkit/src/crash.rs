//! The crash record: what the firmware leaves behind in the memory lent on the crashlog endpoint.
//!
//! Nothing in it is taken on trust: every length is checked against the memory, and the walk over the sections ends.

mod content;
mod report;

use core::fmt;

pub use content::{CallStack, Content, MailboxEntry, MailboxHistory, Registers};
pub use report::CrashReport;

use crate::memory::{Line, Memory};
use crate::spec::crash as spec;

/// Why a crash record tells nothing, or nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordError {
    /// The coprocessor crashed before memory was lent, or keeps the record in memory of its own.
    NoMemory,
    /// The memory does not start with a record.
    NoHeader {
        /// The word in the tag's place.
        found: u32,
    },
    /// The record claims to be longer than the memory, or shorter than its header.
    Size {
        /// Bytes claimed.
        claimed: u32,
        /// Bytes of memory.
        available: usize,
    },
    /// A section claims to be shorter than its header or to go on behind the record's end.
    Section {
        /// Where in the record the section starts.
        offset: usize,
        /// Bytes claimed.
        claimed: u32,
    },
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory => f.write_str("no data: no memory was lent for a crash record"),
            Self::NoHeader { found } => write!(f, "no crash record: its tag is {found:#010x}"),
            Self::Size { claimed, available } => {
                write!(f, "crash record of {claimed} bytes in {available} bytes of memory")
            }
            Self::Section { offset, claimed } => {
                write!(f, "crash record broken at {offset:#x}: a section of {claimed} bytes")
            }
        }
    }
}

/// A crash record's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Version of the format.
    pub version: u32,
    /// Bytes of the whole record, within the memory.
    pub total: usize,
    /// Flags of unknown meaning.
    pub flags: u32,
}

/// The registers that tell most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Program counter.
    pub pc: u64,
    /// Fault address.
    pub far: u64,
    /// Exception syndrome.
    pub esr: u64,
}

/// A crash in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// The start of the record's first message; empty without one.
    pub text: Line<48>,
    /// From the record's registers.
    pub fault: Option<Fault>,
    /// What is wrong with the record.
    pub error: Option<RecordError>,
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.text.as_str().is_empty() { "no message" } else { self.text.as_str() })?;
        if let Some(Fault { pc, far, esr }) = self.fault {
            write!(f, " (pc {pc:#x}, far {far:#x}, esr {esr:#x})")?;
        }
        match self.error {
            Some(error) => write!(f, "; {error}"),
            None => Ok(()),
        }
    }
}

/// Part of a record: a section's payload.
#[derive(Clone, Copy)]
pub struct Payload<'a> {
    memory: &'a dyn Memory,
    offset: usize,
    size: usize,
}

impl<'a> Payload<'a> {
    /// Bytes.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The word at `offset`, if the payload has it.
    pub fn word(&self, offset: usize) -> Option<u32> {
        self.bytes(offset).map(u32::from_le_bytes)
    }

    /// The double word at `offset`, if the payload has it.
    pub fn double_word(&self, offset: usize) -> Option<u64> {
        self.bytes(offset).map(u64::from_le_bytes)
    }

    /// The text from `offset` on, if the payload reaches so far.
    pub fn text<const N: usize>(&self, offset: usize) -> Option<Line<N>> {
        let size = self.size.checked_sub(offset)?;
        Some(Line::read(self.memory, self.offset + offset, size))
    }

    fn bytes<const N: usize>(&self, offset: usize) -> Option<[u8; N]> {
        if offset.checked_add(N)? > self.size {
            return None;
        }
        let mut bytes = [0; N];
        self.memory.read(self.offset + offset, &mut bytes);
        Some(bytes)
    }
}

/// One section of a record.
#[derive(Clone, Copy)]
pub struct Section<'a> {
    /// What kind, as memory holds it.
    pub tag: u32,
    /// Flags of unknown meaning.
    pub flags: u32,
    /// Bytes, the section's header included.
    pub length: u32,
    /// What follows the section's header.
    pub payload: Payload<'a>,
}

impl Section<'_> {
    /// The tag's four characters.
    pub fn name(&self) -> Line<16> {
        Line::escape(&self.tag.to_be_bytes())
    }
}

/// A walk over the sections of a record. Ends at the record's end, at its terminator, and after the first error.
pub struct Sections<'a> {
    memory: &'a dyn Memory,
    next: usize,
    end: usize,
}

impl<'a> Iterator for Sections<'a> {
    type Item = Result<Section<'a>, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let offset = self.next;
        let rest = self.end.checked_sub(offset).filter(|&rest| rest != 0)?;
        let header = Payload { memory: self.memory, offset, size: rest };
        let words = (header.word(0), header.word(spec::SECTION_FLAGS), header.word(spec::SECTION_LENGTH));
        let (Some(tag), flags, length) = words else {
            return self.stop(RecordError::Section { offset, claimed: 0 });
        };
        if tag == spec::HEADER {
            self.next = self.end;
            return None;
        }
        let (flags, length) = (flags.unwrap_or_default(), length.unwrap_or_default());
        let size = length as usize;
        if size < spec::SECTION_HEADER_SIZE || size > rest {
            return self.stop(RecordError::Section { offset, claimed: length });
        }
        self.next = offset + size;
        let payload = Payload {
            memory: self.memory,
            offset: offset + spec::SECTION_HEADER_SIZE,
            size: size - spec::SECTION_HEADER_SIZE,
        };
        Some(Ok(Section { tag, flags, length, payload }))
    }
}

impl<'a> Sections<'a> {
    fn stop(&mut self, error: RecordError) -> Option<Result<Section<'a>, RecordError>> {
        self.next = self.end;
        Some(Err(error))
    }
}
