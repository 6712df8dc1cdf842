//! Lines of the firmware's log.

use crate::memory::{Line, Memory};
use crate::spec::syslog::{ENTRY_CONTEXT, ENTRY_CONTEXT_SIZE, ENTRY_TEXT};

/// One entry of the firmware's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyslogEntry {
    /// Who says it.
    pub context: Line<96>,
    /// What it says.
    pub text: Line<512>,
}

impl SyslogEntry {
    /// Reads the entry at `offset`, whose text is at most `text_size` bytes. Nothing, if it does not lie within the memory
    /// or is blank.
    pub fn read(memory: &(impl Memory + ?Sized), offset: usize, text_size: usize) -> Option<Self> {
        let end = offset.checked_add(ENTRY_TEXT)?.checked_add(text_size)?;
        if end > memory.size() {
            return None;
        }
        let entry = Self {
            context: Line::read(memory, offset + ENTRY_CONTEXT, ENTRY_CONTEXT_SIZE),
            text: Line::read(memory, offset + ENTRY_TEXT, text_size),
        };
        (!entry.text.as_str().is_empty()).then_some(entry)
    }
}
