//! A whole record: its header, its sections, and how it is told.

use super::{Content, Crash, Header, Payload, RecordError, Section, Sections};
use crate::memory::{Line, Memory};
use crate::spec::crash as spec;

/// Most sections, messages and addresses that are logged: a record may hold tens of thousands.
const MOST_LOGGED: usize = 64;

/// A crash record in the memory that was lent for it.
pub struct CrashReport<'a> {
    memory: Option<&'a dyn Memory>,
}

impl<'a> CrashReport<'a> {
    /// The record at the start of `memory`, if memory was lent.
    pub const fn new(memory: Option<&'a dyn Memory>) -> Self {
        Self { memory }
    }

    /// The header.
    ///
    /// # Errors
    /// [`RecordError`] when there is no record that lies within the memory.
    pub fn header(&self) -> Result<Header, RecordError> {
        self.checked().map(|(_, header)| header)
    }

    /// The sections in order.
    ///
    /// # Errors
    /// As [`CrashReport::header`]; the walk gives an error of its own for a broken section, and ends.
    pub fn sections(&self) -> Result<Sections<'a>, RecordError> {
        let (memory, header) = self.checked()?;
        Ok(Sections { memory, next: spec::HEADER_SIZE, end: header.total })
    }

    /// The record in short.
    pub fn summary(&self) -> Crash {
        let mut crash = Crash { text: Line::default(), fault: None, error: None };
        match self.sections() {
            Ok(sections) => {
                for section in sections {
                    match section {
                        Ok(section) => crash.learn(&section),
                        Err(error) => crash.error = Some(error),
                    }
                }
            }
            Err(error) => crash.error = Some(error),
        }
        crash
    }

    /// Logs the record, a line for each thing that it says.
    pub fn log(&self) {
        hal::error!("rtkit: the coprocessor crashed: {}", hal::log::Shown(&self.summary()));
        let Ok(sections) = self.sections() else { return };
        for section in sections.take(MOST_LOGGED).flatten() {
            log_section(&section);
        }
    }

    fn checked(&self) -> Result<(&'a dyn Memory, Header), RecordError> {
        let memory = self.memory.ok_or(RecordError::NoMemory)?;
        let available = memory.size();
        let payload = Payload { memory, offset: 0, size: available };
        let word = |offset| payload.word(offset).unwrap_or_default();
        let found = word(0);
        if found != spec::HEADER {
            return Err(RecordError::NoHeader { found });
        }
        let claimed = word(spec::HEADER_TOTAL);
        let total = claimed as usize;
        if total > available || total < spec::HEADER_SIZE {
            return Err(RecordError::Size { claimed, available });
        }
        Ok((memory, Header { version: word(spec::HEADER_VERSION), total, flags: word(spec::HEADER_FLAGS) }))
    }
}

impl Crash {
    /// Takes what a section adds: the first message counts, and the first registers.
    fn learn(&mut self, section: &Section<'_>) {
        if section.tag == spec::TEXT && self.text.as_str().is_empty() {
            self.text = section.payload.text(spec::TEXT_CHARACTERS).unwrap_or_default();
        }
        if let (None, Content::Registers(registers)) = (self.fault, section.content()) {
            self.fault = Some(registers.fault());
        }
    }
}

fn log_section(section: &Section<'_>) {
    match section.content() {
        Content::Text { id, text } => hal::error!("crash: message {}: {}", id, text.as_str()),
        Content::Version { text, .. } => hal::error!("crash: firmware {}", text.as_str()),
        Content::Time(time) => hal::error!("crash: time {}", time),
        Content::Mailbox(history) => {
            for entry in history.entries().take(MOST_LOGGED) {
                let [first, second] = entry.words;
                hal::error!("crash: mailbox at {}: {:#x} {:#x}", entry.time, first, second);
            }
        }
        Content::Registers(registers) => {
            let fault = registers.fault();
            hal::error!("crash: pc {:#x} sp {:#x} psr {:#x}", fault.pc, registers.sp(), registers.psr());
            hal::error!("crash: far {:#x} esr {:#x}", fault.far, fault.esr);
            for number in 0..spec::REGISTERS_GENERAL {
                hal::error!("crash: x{} {:#x}", number, registers.general(number).unwrap_or_default());
            }
        }
        Content::CallStack(stack) => {
            for address in stack.addresses().take(MOST_LOGGED) {
                hal::error!("crash: task {} returns to {:#x}", stack.task, address);
            }
        }
        Content::ErrorRegisters(registers) => {
            for (index, register) in registers.iter().enumerate() {
                hal::error!("crash: error register {}: {:#x}", index, *register);
            }
        }
        Content::Tasks(_) | Content::CoreDump(_) | Content::Unknown | Content::TooShort => {
            hal::error!("crash: section {} of {} bytes", section.name().as_str(), section.length);
        }
    }
}
