//! The ASC mailbox: two FIFOs of messages.

use core::fmt;
use core::time::Duration;

use hal::time::Span;
use hal::{Clock, Mmio, poll_until};
use tock_registers::interfaces::{Readable, Writeable};

use crate::Message;
use crate::spec::mailbox::{A2I_CONTROL, A2I_SEND0, A2I_SEND1, CONTROL, I2A_CONTROL, I2A_RECV0, I2A_RECV1};

/// The host's side of a mailbox.
#[derive(Debug)]
pub struct Mailbox<W: Mmio> {
    window: W,
}

/// Why a message did not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MailboxError {
    /// The FIFO to the coprocessor stayed full.
    Full {
        /// The message that was to be sent.
        message: Message,
        /// How long room was waited for.
        waited: Duration,
    },
    /// A message came from an endpoint number beyond 0xff. It was taken out and is lost; the next one may be read.
    InvalidEndpoint {
        /// The low half of word 1.
        endpoint: u32,
        /// Word 0.
        payload: u64,
    },
}

impl fmt::Display for MailboxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full { message, waited } => {
                write!(f, "mailbox still full after {}, message {message} not sent", Span(*waited))
            }
            Self::InvalidEndpoint { endpoint, payload } => {
                write!(f, "mailbox message {payload:#018x} from an impossible endpoint {endpoint:#x}")
            }
        }
    }
}

impl core::error::Error for MailboxError {}

impl<W: Mmio> Mailbox<W> {
    /// A mailbox whose registers start at the window's offset 0 (the ASC base plus 0x8000).
    pub const fn new(window: W) -> Self {
        Self { window }
    }

    /// Gives the window back.
    pub fn into_window(self) -> W {
        self.window
    }

    /// Sends a message, once the FIFO has room. What the message tells of must have been published before.
    ///
    /// # Errors
    /// [`MailboxError::Full`] when there was no room within `limit`; nothing was sent.
    pub fn send(&self, clock: &impl Clock, message: Message, limit: Duration) -> Result<(), MailboxError> {
        let control = A2I_CONTROL.of(&self.window);
        poll_until(clock, limit, || (!control.is_set(CONTROL::FULL)).then_some(()))
            .map_err(|late| MailboxError::Full { message, waited: late.waited })?;
        // Word 0 is only latched and word 1 pushes: in the other order the endpoint would travel with an old payload.
        A2I_SEND0.of(&self.window).set(message.payload);
        A2I_SEND1.of(&self.window).set(u64::from(message.endpoint));
        Ok(())
    }

    /// Takes the next message, if one waits. Before memory that it tells of is read, the pool must observe.
    ///
    /// # Errors
    /// [`MailboxError::InvalidEndpoint`] for a message that names no endpoint; it is gone.
    pub fn receive(&self) -> Result<Option<Message>, MailboxError> {
        if I2A_CONTROL.of(&self.window).is_set(CONTROL::EMPTY) {
            return Ok(None);
        }
        // Word 0 first and each once: the entry leaves the FIFO by being read.
        let payload = I2A_RECV0.of(&self.window).get();
        // The upper half counts the FIFO's entries and names no endpoint (Linux, m1n1 and U-Boot all cut to 32 bits).
        let endpoint = (I2A_RECV1.of(&self.window).get() & 0xffff_ffff) as u32;
        match u8::try_from(endpoint) {
            Ok(endpoint) => Ok(Some(Message { endpoint, payload })),
            Err(_) => Err(MailboxError::InvalidEndpoint { endpoint, payload }),
        }
    }
}
