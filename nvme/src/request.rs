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
        /// Force unit access: the blocks are durable when the command completes, whatever the write cache holds.
        force_unit_access: bool,
    },
    /// Make durable what writes completed before this was submitted, when the namespace's policy has it done. Takes no buffer.
    Flush,
    /// The same now, whatever the policy: it ends when the data is durable. Takes no buffer.
    Sync,
    /// Compare blocks with the buffer; where they differ, the command fails with status type 2, code 0x85. An optional
    /// command ([`crate::Identity::compare`]).
    Compare {
        /// The first block.
        lba: u64,
        /// How many blocks; at least one.
        count: u32,
    },
    /// Make blocks read as zeroes. Takes no buffer. An optional command ([`crate::Identity::write_zeroes`]).
    WriteZeroes {
        /// The first block.
        lba: u64,
        /// How many blocks; 1..=65536.
        count: u32,
    },
    /// Tell that the content of blocks is no longer needed; what they read as from then on is the device's choice
    /// ([`crate::Namespace::deallocated`]). Takes no buffer. An optional command ([`crate::Identity::discard`]).
    Discard {
        /// The first block.
        lba: u64,
        /// How many blocks; at least one.
        count: u32,
    },
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

/// Names a submitted command until its completion; never the same twice in 2^32 commands of a queue pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket {
    /// The queue pair in bits 31:6, the tag in bits 5:0.
    pub(crate) tag: u32,
    pub(crate) serial: u32,
}

impl Ticket {
    /// The index of the IO queue pair that the command went to.
    pub const fn queue_pair(self) -> u16 {
        (self.tag >> 6 & 0xffff) as u16
    }
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
