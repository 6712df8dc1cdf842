//! Why a request was not accepted: nothing of it was sent.

use core::fmt;
use core::time::Duration;

use hal::time::Span;

use super::Fault;
use crate::durability::{DeferredError, FlushPolicy};

/// Why a request was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubmitError {
    /// Every tag is in flight: poll, then try again.
    Busy,
    /// The controller takes no more commands.
    Dead(Fault),
    /// There is no active namespace with that identifier; 0 and 0xffffffff are never one.
    UnknownNamespace {
        /// The identifier.
        namespace: u32,
    },
    /// A read or write of no blocks.
    NoBlocks,
    /// The blocks do not lie inside the namespace.
    OutOfRange {
        /// The first block.
        lba: u64,
        /// Blocks asked for.
        count: u64,
        /// Blocks of the namespace.
        blocks: u64,
    },
    /// More blocks than one command may move.
    TooManyBlocks {
        /// Blocks asked for.
        count: u32,
        /// Blocks allowed.
        most: u32,
    },
    /// Writing these blocks was not armed.
    ReadOnly,
    /// The controller protects the namespace against writes.
    WriteProtected {
        /// The namespace.
        namespace: u32,
    },
    /// The controller does not have the command.
    Unsupported {
        /// The opcode.
        opcode: u8,
    },
    /// A policy that defers flushes is armed by [`crate::Controller::defer_flushes`] alone.
    NotArmed,
    /// A delay that makes no sense for deferred flushes.
    Delay {
        /// The delay that was asked for.
        asked: Duration,
    },
    /// Something went wrong with flushes that had been answered. Told once; what was submitted was not sent.
    Deferred {
        /// The namespace.
        namespace: u32,
        /// What went wrong.
        error: DeferredError,
    },
    /// There is no IO queue pair of that index.
    UnknownQueuePair {
        /// The index.
        index: u16,
    },
    /// The buffer is missing or shorter than the blocks.
    BufferTooShort {
        /// Bytes needed.
        needed: usize,
        /// Bytes given.
        given: usize,
    },
    /// The buffer's address is no multiple of 4.
    Misaligned {
        /// The address.
        address: u64,
    },
}

impl fmt::Display for SubmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => f.write_str("every tag is in flight"),
            Self::Dead(fault) => write!(f, "the controller takes no more commands: {fault}"),
            Self::UnknownNamespace { namespace } => write!(f, "there is no namespace {namespace:#x}"),
            Self::NoBlocks => f.write_str("no blocks were asked for"),
            Self::OutOfRange { lba, count, blocks } => {
                write!(f, "{count} blocks from {lba} on do not lie inside the namespace of {blocks} blocks")
            }
            Self::TooManyBlocks { count, most } => write!(f, "{count} blocks in one command, {most} are allowed"),
            Self::ReadOnly => f.write_str("writing these blocks was not armed"),
            Self::WriteProtected { namespace } => write!(f, "namespace {namespace} is write protected"),
            Self::Unsupported { opcode } => write!(f, "the controller does not have the command {opcode:#04x}"),
            Self::NotArmed => f.write_str("deferring flushes has to be armed by a call of its own"),
            Self::Delay { asked } => {
                let (shortest, longest) = (Span(FlushPolicy::SHORTEST), Span(FlushPolicy::LONGEST));
                write!(f, "flushes cannot be deferred by {}: {shortest} to {longest} can", Span(*asked))
            }
            Self::Deferred { namespace, error } => write!(f, "namespace {namespace}: {error}"),
            Self::UnknownQueuePair { index } => write!(f, "there is no IO queue pair {index}"),
            Self::BufferTooShort { needed, given } => write!(f, "a buffer of {given} bytes, {needed} are needed"),
            Self::Misaligned { address } => write!(f, "the buffer's address {address:#x} is no multiple of 4"),
        }
    }
}

impl core::error::Error for SubmitError {}
