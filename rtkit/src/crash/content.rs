//! What a section says, by its kind.

use super::{Fault, Payload, Section};
use crate::memory::Line;
use crate::spec::crash as spec;

/// A section's content.
#[derive(Clone)]
pub enum Content<'a> {
    /// 'Cstr': a message.
    Text {
        /// Its id.
        id: u32,
        /// Its text.
        text: Line<256>,
    },
    /// 'Cver': the firmware's version.
    Version {
        /// 16 bytes that look like a UUID.
        identity: [u64; 2],
        /// The version.
        text: Line<128>,
    },
    /// 'Ctim': the time of the crash, in units of the firmware's clock.
    Time(u64),
    /// 'Cmbx': the last mailbox messages.
    Mailbox(MailboxHistory<'a>),
    /// 'Crg8': the registers.
    Registers(Registers<'a>),
    /// 'Ccst': a call stack.
    CallStack(CallStack<'a>),
    /// 'CasC': the error registers of the caches and the fabric.
    ErrorRegisters([u64; spec::ERROR_REGISTER_COUNT]),
    /// 'Crtk': RTKit's tasks, in a layout that is not known.
    Tasks(Payload<'a>),
    /// 'Ccdp': about a core dump, in a layout that is not known.
    CoreDump(Payload<'a>),
    /// A kind that is not known.
    Unknown,
    /// A known kind that is too short for what it should hold.
    TooShort,
}

impl<'a> Section<'a> {
    /// Decodes the section.
    pub fn content(&self) -> Content<'a> {
        self.decode().unwrap_or(Content::TooShort)
    }

    fn decode(&self) -> Option<Content<'a>> {
        let payload = self.payload;
        Some(match self.tag {
            spec::TEXT => Content::Text { id: payload.word(0)?, text: payload.text(spec::TEXT_CHARACTERS)? },
            spec::VERSION => Content::Version {
                identity: [payload.double_word(0)?, payload.double_word(8)?],
                text: payload.text(spec::VERSION_CHARACTERS)?,
            },
            spec::TIME => Content::Time(payload.double_word(0)?),
            spec::MAILBOX => Content::Mailbox(MailboxHistory {
                kind: payload.word(spec::MAILBOX_TYPE)?,
                index: payload.word(spec::MAILBOX_INDEX)?,
                payload,
            }),
            spec::REGISTERS if payload.size() >= spec::REGISTERS_SIZE => Content::Registers(Registers(payload)),
            spec::REGISTERS => return None,
            spec::CALL_STACK => Content::CallStack(CallStack { task: payload.word(0)?, payload }),
            spec::ERROR_REGISTERS => {
                let mut registers = [0; spec::ERROR_REGISTER_COUNT];
                for (index, register) in registers.iter_mut().enumerate() {
                    *register = payload.double_word(index * 8)?;
                }
                Content::ErrorRegisters(registers)
            }
            spec::TASKS => Content::Tasks(payload),
            spec::CORE_DUMP => Content::CoreDump(payload),
            _ => Content::Unknown,
        })
    }
}

/// The last mailbox messages.
#[derive(Clone, Copy)]
pub struct MailboxHistory<'a> {
    /// Kind of the list; of unknown meaning.
    pub kind: u32,
    /// The list's place in a ring, or its count: not known which.
    pub index: u32,
    payload: Payload<'a>,
}

/// One message of the mailbox history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailboxEntry {
    /// Endpoint and payload, or payload and endpoint: the sources disagree.
    pub words: [u64; 2],
    /// When, in units of the firmware's clock.
    pub time: u32,
}

impl MailboxHistory<'_> {
    /// The messages, in the order of memory. A rest that is no whole entry is left out.
    pub fn entries(&self) -> impl Iterator<Item = MailboxEntry> {
        let offsets = (spec::MAILBOX_ENTRIES..).step_by(spec::MAILBOX_ENTRY_SIZE);
        offsets.map_while(|offset| {
            self.payload.bytes::<{ spec::MAILBOX_ENTRY_SIZE }>(offset)?;
            Some(MailboxEntry {
                words: [self.payload.double_word(offset)?, self.payload.double_word(offset + 8)?],
                time: self.payload.word(offset + spec::MAILBOX_ENTRY_TIME)?,
            })
        })
    }
}

/// The registers at the crash.
#[derive(Clone, Copy)]
pub struct Registers<'a>(Payload<'a>);

impl Registers<'_> {
    /// General register x0 to x30; nothing for other numbers.
    pub fn general(&self, number: usize) -> Option<u64> {
        (number < spec::REGISTERS_GENERAL).then(|| self.after_x0(number))
    }

    /// Stack pointer.
    pub fn sp(&self) -> u64 {
        self.after_x0(spec::REGISTERS_GENERAL)
    }

    /// Program counter.
    pub fn pc(&self) -> u64 {
        self.after_x0(spec::REGISTERS_GENERAL + 1)
    }

    /// Saved program status.
    pub fn psr(&self) -> u64 {
        self.after_x0(spec::REGISTERS_GENERAL + 2)
    }

    /// The registers that tell most.
    pub fn fault(&self) -> Fault {
        Fault { pc: self.pc(), far: self.at(spec::REGISTERS_FAR), esr: self.at(spec::REGISTERS_ESR) }
    }

    fn after_x0(&self, index: usize) -> u64 {
        self.at(spec::REGISTERS_X0 + index * 8)
    }

    /// The payload was found long enough for every register.
    fn at(&self, offset: usize) -> u64 {
        self.0.double_word(offset).unwrap_or_default()
    }
}

/// A call stack.
#[derive(Clone, Copy)]
pub struct CallStack<'a> {
    /// Number of the task.
    pub task: u32,
    payload: Payload<'a>,
}

impl CallStack<'_> {
    /// Return addresses, the innermost first. A rest that is no whole address is left out.
    pub fn addresses(&self) -> impl Iterator<Item = u64> {
        (spec::CALL_STACK_ADDRESSES..).step_by(8).map_while(|offset| self.payload.double_word(offset))
    }
}
