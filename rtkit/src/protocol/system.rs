//! The system endpoints: memory, log lines, reports, and the crash.

use super::{Action, Actions, BufferError, BufferRequest, Phase, Protocol, ProtocolError};
use crate::spec::{ioreport, syslog};
use crate::{Endpoint, Message};

/// How the firmware's log lies in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyslogShape {
    /// Bytes of text in an entry.
    text_size: usize,
    /// Entries.
    count: u32,
}

impl Protocol {
    pub(super) fn handle_system(&mut self, message: Message, actions: &mut Actions) -> Result<(), ProtocolError> {
        match BufferRequest::decode(message) {
            Some(request) if self.phase.has_endpoints() => return self.buffer_requested(request, actions),
            // Said HELLO, and not started yet: it can want nothing, so this is its notice of a crash. (Before HELLO it
            // may be what a former session left in the mailbox.)
            Some(request) if self.phase == Phase::Map && request.endpoint == Endpoint::CRASHLOG => {
                self.crash(actions);
                return Ok(());
            }
            _ => {}
        }
        let session = self.phase.is_session();
        match (Endpoint(message.endpoint), message.kind()) {
            // Echoed even before HELLO: a coprocessor that was left running may wait for the echo and for nothing else.
            (Endpoint::SYSLOG, syslog::LOG) if session => {
                if let Some(action) = self.log_entry(message) {
                    actions.push(action);
                }
                actions.push(Action::Send(message));
            }
            (Endpoint::IOREPORT, ioreport::REPORT | ioreport::START) if session => actions.push(Action::Send(message)),
            (Endpoint::SYSLOG, syslog::INIT) if self.phase.has_endpoints() => {
                self.syslog = Some(SyslogShape {
                    text_size: syslog::INIT_ENTRY_SIZE.get_u32(message.payload) as usize,
                    count: syslog::INIT_ENTRY_COUNT.get_u32(message.payload),
                });
            }
            _ => actions.push(Action::Unknown(message)),
        }
        Ok(())
    }

    fn buffer_requested(&mut self, request: BufferRequest, actions: &mut Actions) -> Result<(), ProtocolError> {
        let endpoint = request.endpoint;
        let refuse = |error| Err(ProtocolError::Buffer(endpoint, error));
        if !self.asked.insert(endpoint) {
            if endpoint == Endpoint::CRASHLOG {
                // There is one crash record: asking again is how the firmware says that it has been written.
                self.crash(actions);
                return Ok(());
            }
            return refuse(BufferError::Repeated);
        }
        if request.address != 0 {
            actions.push(Action::Announced(request));
        } else if request.size == 0 {
            return refuse(BufferError::Empty);
        } else if request.size > self.largest_buffer {
            return refuse(BufferError::TooLarge { size: request.size, allowed: self.largest_buffer });
        } else {
            actions.push(Action::Grant(request));
        }
        Ok(())
    }

    fn crash(&mut self, actions: &mut Actions) {
        self.phase = Phase::Crashed;
        actions.push(Action::Crashed);
    }

    /// Where the entry that a LOG message names lies, if it names one.
    fn log_entry(&self, message: Message) -> Option<Action> {
        let shape = self.syslog?;
        let index = syslog::LOG_INDEX.get_u32(message.payload);
        // Linux lets `index == count` pass; that entry would lie behind the last one.
        if index >= shape.count {
            return None;
        }
        let offset = index as usize * (syslog::ENTRY_TEXT + shape.text_size);
        Some(Action::ReadLog { offset, text_size: shape.text_size })
    }
}
