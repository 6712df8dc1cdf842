//! The mailbox of an ASC of version 4, from its own base (Linux mailbox.c, m1n1 asc.c, U-Boot apple-mbox.c; pointers and
//! counters from m1n1's hw/asc.py).

use super::Bits;

/// State of the FIFO to the coprocessor.
pub const A2I_CONTROL: u64 = 0x110;
/// State of the FIFO to the host.
pub const I2A_CONTROL: u64 = 0x114;
/// To the coprocessor: payload, latched.
pub const A2I_SEND0: u64 = 0x800;
/// To the coprocessor: endpoint; pushes.
pub const A2I_SEND1: u64 = 0x808;
/// To the host: payload.
pub const I2A_RECV0: u64 = 0x830;
/// To the host: endpoint, under the FIFO's counters.
pub const I2A_RECV1: u64 = 0x838;

/// CONTROL: the FIFO works.
pub const ENABLE: Bits = Bits::one(0);
/// CONTROL: where the next message goes in.
pub const WPTR: Bits = Bits::at(11, 8);
/// CONTROL: where the next message comes out.
pub const RPTR: Bits = Bits::at(15, 12);
/// CONTROL: no room.
pub const FULL: Bits = Bits::one(16);
/// CONTROL: nothing waits.
pub const EMPTY: Bits = Bits::one(17);
/// CONTROL: a message was pushed on a full FIFO.
pub const OVERFLOW: Bits = Bits::one(18);
/// CONTROL: an empty FIFO was popped.
pub const UNDERFLOW: Bits = Bits::one(19);
/// CONTROL: messages that wait.
pub const FIFOCNT: Bits = Bits::at(23, 20);

/// Word 1 as read: write pointer.
pub const INPTR: Bits = Bits::at(43, 40);
/// Word 1 as read: read pointer.
pub const OUTPTR: Bits = Bits::at(47, 44);
/// Word 1 as read: messages put in.
pub const INCNT: Bits = Bits::at(51, 48);
/// Word 1 as read: messages taken out.
pub const OUTCNT: Bits = Bits::at(56, 52);

/// Messages that a FIFO holds: what pointers of four bits imply.
pub const DEPTH: usize = 16;
