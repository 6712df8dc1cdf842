//! The ASC mailbox: two FIFOs of 16 entries of two 64-bit words each, and their control words.
//!
//! Registers, order of accesses and depth: reference of the mailbox (Linux mailbox.c, m1n1 asc.c and hw/asc.py, QEMU models).

use std::collections::VecDeque;

use crate::context::Context;
use crate::facts::mailbox::{
    self as facts, A2I_CONTROL, A2I_SEND0, A2I_SEND1, DEPTH, I2A_CONTROL, I2A_RECV0, I2A_RECV1,
};

/// Behind the words to the coprocessor, and behind those from it.
const A2I_SEND_END: u64 = A2I_SEND1 + 8;
const END: u64 = I2A_RECV1 + 8;

/// One message: an endpoint and its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) endpoint: u8,
    pub(crate) payload: u64,
}

#[derive(Debug, Default)]
struct Fifo {
    waiting: VecDeque<Message>,
    pushed: u32,
    popped: u32,
    flags: u32,
}

impl Fifo {
    fn push(&mut self, message: Message) -> bool {
        let room = self.waiting.len() < DEPTH;
        if room {
            self.waiting.push_back(message);
            self.pushed = self.pushed.wrapping_add(1) & 0xf;
        } else {
            self.flags |= facts::OVERFLOW.mask32();
        }
        room
    }

    fn pop(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front();
        if message.is_some() {
            self.popped = self.popped.wrapping_add(1) & 0xf;
        } else {
            self.flags |= facts::UNDERFLOW.mask32();
        }
        message
    }

    fn control(&self) -> u32 {
        let count = u32::try_from(self.waiting.len()).unwrap_or(0);
        let level = match self.waiting.len() {
            0 => facts::EMPTY.mask32(),
            DEPTH => facts::FULL.mask32(),
            _ => 0,
        };
        let pointers = facts::WPTR.put32(self.pushed) | facts::RPTR.put32(self.popped);
        facts::ENABLE.mask32() | pointers | level | self.flags | facts::FIFOCNT.put32(count)
    }
}

/// The mailbox block, seen from both sides.
#[derive(Debug, Default)]
pub(crate) struct Mailbox {
    inbox: Fifo,
    outbox: Fifo,
    /// Word 0 as written, until word 1 pushes it.
    latched: Option<u64>,
    /// The message of which word 0 was read, until its word 1 is.
    taken: Option<Message>,
    last: Option<Message>,
    /// Messages that the AP has read since firmware looked.
    delivered: Vec<Message>,
}

impl Mailbox {
    /// The AP reads. A wrong order or width is recorded, and costs the message.
    pub(crate) fn read(&mut self, ctx: &mut Context<'_>, offset: u64, size: u8) -> u64 {
        let place = format!("mailbox+{offset:#05x}");
        match (offset, size) {
            (A2I_CONTROL, 4) => self.inbox.control().into(),
            (I2A_CONTROL, 4) => self.outbox.control().into(),
            (I2A_RECV0, 8) => {
                if self.taken.is_some() {
                    ctx.violation("mailbox-order", &place, "word 0 was read twice: the message before is lost");
                }
                self.taken = self.outbox.pop();
                match self.taken {
                    Some(message) => self.last = Some(message),
                    None => ctx.violation("mailbox-read-empty", place, "read while EMPTY is set"),
                }
                self.last.map_or(0, |message| message.payload)
            }
            (I2A_RECV1, 8) => {
                let state = u64::from(self.outbox.control());
                // FIFO state in bits 56:40, as hardware gives it: a driver has to cut it off.
                let noise = facts::INPTR.put(facts::WPTR.of(state))
                    | facts::OUTPTR.put(facts::RPTR.of(state))
                    | facts::INCNT.put(facts::FIFOCNT.of(state))
                    | facts::OUTCNT.put(1);
                match self.taken.take() {
                    Some(message) => {
                        self.delivered.push(message);
                        u64::from(message.endpoint) | noise
                    }
                    None => {
                        ctx.violation("mailbox-order", place, "word 1 was read before word 0");
                        self.last.map_or(0, |message| message.endpoint.into()) | noise
                    }
                }
            }
            (I2A_RECV0..END, _) => {
                ctx.violation(
                    "mailbox-halves",
                    place,
                    format!("a {size}-byte read: each word takes one 64-bit access"),
                );
                if offset == I2A_RECV0 {
                    self.taken = None;
                    self.last = self.outbox.pop();
                }
                self.last.map_or(0, |message| message.payload >> (offset % 8 * 8))
            }
            (A2I_SEND0..I2A_RECV0, _) => {
                ctx.violation("mailbox-unknown-register", place, "read of a register that the AP does not read");
                0
            }
            _ => 0,
        }
    }

    /// The AP writes; gives the message that went in.
    pub(crate) fn write(&mut self, ctx: &mut Context<'_>, offset: u64, size: u8, value: u64) -> Option<Message> {
        let place = format!("mailbox+{offset:#05x}");
        match (offset, size) {
            (A2I_SEND0, 8) => {
                if self.latched.replace(value).is_some() {
                    ctx.violation("mailbox-order", place, "word 0 was written twice: the message before is lost");
                }
                None
            }
            (A2I_SEND1, 8) => {
                let Some(payload) = self.latched.take() else {
                    ctx.violation("mailbox-order", place, "word 1 was written before word 0: the message is lost");
                    return None;
                };
                let Ok(endpoint) = u8::try_from(value) else {
                    ctx.violation("mailbox-endpoint", place, format!("word 1 is {value:#x}, endpoints are one byte"));
                    return None;
                };
                let message = Message { endpoint, payload };
                if !self.inbox.push(message) {
                    ctx.violation("mailbox-overflow", place, "a message was sent while FULL is set, and is lost");
                    return None;
                }
                Some(message)
            }
            (A2I_SEND0..A2I_SEND_END, _) => {
                self.latched = None;
                ctx.violation(
                    "mailbox-halves",
                    place,
                    format!("a {size}-byte write: each word takes one 64-bit access"),
                );
                None
            }
            _ => {
                ctx.violation("mailbox-unknown-register", place, format!("write of {value:#x}"));
                None
            }
        }
    }

    /// Firmware takes the oldest message to it.
    pub(crate) fn take(&mut self) -> Option<Message> {
        self.inbox.pop()
    }

    /// Whether a message to firmware waits.
    pub(crate) fn has_inbox(&self) -> bool {
        !self.inbox.waiting.is_empty()
    }

    /// Firmware sends; false when there is no room.
    pub(crate) fn send(&mut self, message: Message) -> bool {
        self.outbox.waiting.len() < DEPTH && self.outbox.push(message)
    }

    /// Whether a message to the AP waits.
    pub(crate) fn has_outbox(&self) -> bool {
        !self.outbox.waiting.is_empty()
    }

    /// What the AP has read since the last call.
    pub(crate) fn delivered(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.delivered)
    }

    /// A reset: both FIFOs are empty.
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }
}
