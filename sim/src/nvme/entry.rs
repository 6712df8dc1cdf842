//! What the host puts into memory for one command: the submission queue entry and the translation control block.

use super::bits;
use crate::facts::apple::{self, DMA_FROM_DEVICE, DMA_TO_DEVICE, TCB_BYTES};
use crate::facts::command::{self as facts, SQE_BYTES};

/// A submission queue entry.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Submission {
    pub(crate) opcode: u8,
    /// Fused operation (1:0) and data pointer type (7:6).
    pub(crate) flags: u8,
    pub(crate) id: u16,
    pub(crate) namespace: u32,
    pub(crate) prp: [u64; 2],
    /// Command dwords 10 to 15.
    pub(crate) dwords: [u32; 6],
}

impl Submission {
    pub(crate) fn parse(bytes: &[u8; SQE_BYTES]) -> Self {
        Self {
            opcode: bits::byte(bytes, facts::SQE_OPCODE),
            flags: bits::byte(bytes, facts::SQE_FLAGS),
            id: bits::low16(bits::word(bytes, facts::SQE_CID).into()),
            namespace: bits::word(bytes, facts::SQE_NSID),
            prp: [bits::double(bytes, facts::SQE_PRP1), bits::double(bytes, facts::SQE_PRP2)],
            dwords: std::array::from_fn(|number| bits::word(bytes, facts::SQE_CDW10 + 4 * number)),
        }
    }

    /// The starting LBA of a read, a write or write zeroes.
    pub(crate) fn first_block(&self) -> u64 {
        u64::from(self.dwords[0]) | u64::from(self.dwords[1]) << 32
    }

    /// The number of blocks of such a command, whose field counts from zero.
    pub(crate) fn block_count(&self) -> u64 {
        u64::from(facts::RW_NLB.of32(self.dwords[2])) + 1
    }

    /// Whether a read, a write or write zeroes is to reach the medium before it completes.
    pub(crate) fn forced(&self) -> bool {
        facts::RW_FUA.of32(self.dwords[2]) == 1
    }
}

/// A translation control block.
///
/// Offsets: Linux apple.c and m1n1's NVMe tracer; the tracer's names for the two pointers are shifted by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControlBlock {
    pub(crate) opcode: u8,
    pub(crate) flags: u8,
    pub(crate) tag: u8,
    /// The low half of the length: block count minus one.
    pub(crate) length: u16,
    pub(crate) prp: [u64; 2],
}

impl ControlBlock {
    pub(crate) fn parse(bytes: &[u8; TCB_BYTES]) -> Self {
        Self {
            opcode: bits::byte(bytes, apple::TCB_OPCODE),
            flags: bits::byte(bytes, apple::TCB_FLAGS),
            tag: bits::byte(bytes, apple::TCB_TAG),
            length: bits::low16(bits::word(bytes, apple::TCB_LENGTH).into()),
            prp: [bits::double(bytes, apple::TCB_PRP1), bits::double(bytes, apple::TCB_PRP2)],
        }
    }

    /// The first rule that this block breaks as the translation of `entry` under `tag`: its id, and the detail.
    ///
    /// `counts_blocks` tells that the length field has a meaning for this command.
    pub(crate) fn mismatch(&self, entry: &Submission, tag: u8, counts_blocks: bool) -> Option<(&'static str, String)> {
        if self.tag != tag {
            return Some(("tcb-tag", format!("TCB id {} is not the tag {tag}", self.tag)));
        }
        // Some working drivers leave the field 0, so that only another opcode is wrong.
        if self.opcode != 0 && self.opcode != entry.opcode {
            return Some(("tcb-opcode", format!("TCB opcode {:#x}, command {:#x}", self.opcode, entry.opcode)));
        }
        if self.prp != entry.prp {
            return Some(("tcb-prp", format!("TCB PRPs {:#x?}, command's {:#x?}", self.prp, entry.prp)));
        }
        let blocks = bits::low16(facts::RW_NLB.of32(entry.dwords[2]).into());
        if counts_blocks && self.length != blocks {
            return Some(("tcb-length", format!("TCB length {}, command's block count field {blocks}", self.length)));
        }
        // Bits 1:0 of an opcode tell its direction; without data the flags are free.
        let moves = |direction: u8, flag: u8| if entry.opcode & direction != 0 { flag } else { 0 };
        let wanted = moves(facts::OPCODE_TO_DEVICE, DMA_TO_DEVICE) | moves(facts::OPCODE_FROM_DEVICE, DMA_FROM_DEVICE);
        if entry.prp[0] != 0 && self.flags & wanted != wanted {
            return Some((
                "tcb-direction",
                format!("TCB flags {:#x}, opcode {:#x} wants {wanted:#x}", self.flags, entry.opcode),
            ));
        }
        None
    }
}
