//! What is asked of a controller, and what comes back.

use hal::DmaPool;

use crate::buffer::Buffer;
use crate::error::{CommandError, SubmitError};

/// A command to a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read blocks into the buffer.
    Read {
        /// The first block.
        lba: u64,
        /// How many blocks; at least one.
        count: u32,
    },
    /// Write blocks from the buffer.
    Write {
        /// The first block.
        lba: u64,
        /// How many blocks; at least one.
        count: u32,
    },
    /// Make durable what writes completed before this was submitted. Takes no buffer.
    Flush,
}

/// A command with the memory it needs.
#[derive(Debug)]
pub struct Request<P: DmaPool> {
    /// The namespace's identifier.
    pub namespace: u32,
    /// What to do.
    pub operation: Operation,
    /// The data of a read or write, at least as long as the blocks; its address is a multiple of 4. It moves in and comes
    /// back with the completion.
    pub buffer: Option<Buffer<P>>,
}

/// An admin command that only asks; see [`crate::Controller::pass_through`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AdminCommand {
    /// What to ask.
    pub opcode: u8,
    /// Namespace identifier, 0 if the command has none.
    pub namespace: u32,
    /// CDW10 to CDW15.
    pub dwords: [u32; 6],
}

/// A request that was not accepted; nothing was sent.
#[derive(Debug)]
pub struct Refused<P: DmaPool> {
    /// Why.
    pub error: SubmitError,
    /// The request's buffer.
    pub buffer: Option<Buffer<P>>,
}

/// Names a submitted command until its completion; never the same twice in 2^32 commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    pub(crate) tag: u32,
    pub(crate) serial: u32,
}

/// The end of a command.
#[derive(Debug)]
pub struct Completion<P: DmaPool> {
    /// Which command.
    pub ticket: Ticket,
    /// How it ended.
    pub result: Result<(), CommandError>,
    /// The request's buffer. None after a time-out or a failure of the controller: the device may still reach it, so it
    /// stays in quarantine until the controller is reset.
    pub buffer: Option<Buffer<P>>,
}
