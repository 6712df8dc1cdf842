//! The ASC mailbox: two FIFOs of 16 entries of two 64-bit words each, and their control words.
//!
//! Registers, order of accesses and depth: reference of the mailbox (Linux mailbox.c, m1n1 asc.c and hw/asc.py, QEMU models).

use std::collections::VecDeque;

use crate::context::Context;

const INBOX_CONTROL: u64 = 0x110;
const OUTBOX_CONTROL: u64 = 0x114;
const SEND0: u64 = 0x800;
const SEND1: u64 = 0x808;
const RECEIVE0: u64 = 0x830;
const RECEIVE1: u64 = 0x838;

const DEPTH: usize = 16;
const ENABLE: u32 = 1 << 0;
const FULL: u32 = 1 << 16;
const EMPTY: u32 = 1 << 17;
const OVERFLOW: u32 = 1 << 18;
const UNDERFLOW: u32 = 1 << 19;

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
            self.flags |= OVERFLOW;
        }
        room
    }

    fn pop(&mut self) -> Option<Message> {
        let message = self.waiting.pop_front();
        if message.is_some() {
            self.popped = self.popped.wrapping_add(1) & 0xf;
        } else {
            self.flags |= UNDERFLOW;
        }
        message
    }

    fn control(&self) -> u32 {
        let count = u32::try_from(self.waiting.len()).unwrap_or(0);
        let level = match self.waiting.len() {
            0 => EMPTY,
            DEPTH => FULL,
            _ => 0,
        };
        ENABLE | self.pushed << 8 | self.popped << 12 | level | self.flags | (count & 0xf) << 20
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
            (INBOX_CONTROL, 4) => self.inbox.control().into(),
            (OUTBOX_CONTROL, 4) => self.outbox.control().into(),
            (RECEIVE0, 8) => {
                if self.taken.is_some() {
                    ctx.violation("mailbox-order", place, "word 0 was read twice: the message before is lost");
                }
                self.taken = self.outbox.pop();
                match self.taken {
                    Some(message) => self.last = Some(message),
                    None => ctx.violation("mailbox-read-empty", "mailbox+0x830", "read while EMPTY is set"),
                }
                self.last.map_or(0, |message| message.payload)
            }
            (RECEIVE1, 8) => {
                let state = u64::from(self.outbox.control());
                // FIFO state in bits 56:40, as hardware gives it: a driver has to cut it off.
                let noise = (state >> 8 & 0xff) << 40 | (state >> 20 & 0xf) << 48 | 1 << 52;
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
            (0x830..0x840, _) => {
                ctx.violation(
                    "mailbox-halves",
                    place,
                    format!("a {size}-byte read: each word takes one 64-bit access"),
                );
                if offset == RECEIVE0 {
                    self.taken = None;
                    self.last = self.outbox.pop();
                }
                self.last.map_or(0, |message| message.payload >> (offset % 8 * 8))
            }
            (0x800..0x830, _) => {
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
            (SEND0, 8) => {
                if self.latched.replace(value).is_some() {
                    ctx.violation("mailbox-order", place, "word 0 was written twice: the message before is lost");
                }
                None
            }
            (SEND1, 8) => {
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
            (0x800..0x810, _) => {
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
