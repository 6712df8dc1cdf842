//! What the host puts into memory for one command: the submission queue entry and the translation control block.

use super::bits;

/// Bytes of a submission queue entry, and so the pitch of a submission queue.
pub(crate) const SUBMISSION_BYTES: usize = 64;
/// Bytes of a translation control block.
pub(crate) const CONTROL_BLOCK_BYTES: usize = 128;

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
    pub(crate) fn parse(bytes: &[u8; SUBMISSION_BYTES]) -> Self {
        let dword = |number: usize| bits::word(bytes, 4 * number);
        Self {
            opcode: bits::byte(bytes, 0),
            flags: bits::byte(bytes, 1),
            id: bits::low16(u64::from(dword(0) >> 16)),
            namespace: dword(1),
            prp: [bits::double(bytes, 24), bits::double(bytes, 32)],
            dwords: [dword(10), dword(11), dword(12), dword(13), dword(14), dword(15)],
        }
    }

    /// The starting LBA of a read, a write or write zeroes.
    pub(crate) fn first_block(&self) -> u64 {
        u64::from(self.dwords[0]) | u64::from(self.dwords[1]) << 32
    }

    /// The number of blocks of such a command, whose field counts from zero.
    pub(crate) fn block_count(&self) -> u64 {
        u64::from(self.dwords[2] & 0xffff) + 1
    }

    /// Whether a read, a write or write zeroes is to reach the medium before it completes.
    pub(crate) fn forced(&self) -> bool {
        self.dwords[2] >> 30 & 1 == 1
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

/// The device may write host memory.
const FROM_DEVICE: u8 = 1 << 0;
/// The device may read host memory.
const TO_DEVICE: u8 = 1 << 1;

impl ControlBlock {
    pub(crate) fn parse(bytes: &[u8; CONTROL_BLOCK_BYTES]) -> Self {
        Self {
            opcode: bits::byte(bytes, 0),
            flags: bits::byte(bytes, 1),
            tag: bits::byte(bytes, 2),
            length: bits::low16(bits::word(bytes, 4).into()),
            prp: [bits::double(bytes, 0x18), bits::double(bytes, 0x20)],
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
        let blocks = bits::low16(entry.dwords[2].into());
        if counts_blocks && self.length != blocks {
            return Some(("tcb-length", format!("TCB length {}, command's block count field {blocks}", self.length)));
        }
        // Bits 1:0 of an opcode tell its direction; without data the flags are free.
        let wanted =
            if entry.opcode & 1 != 0 { TO_DEVICE } else { 0 } | if entry.opcode & 2 != 0 { FROM_DEVICE } else { 0 };
        if entry.prp[0] != 0 && self.flags & wanted != wanted {
            return Some((
                "tcb-direction",
                format!("TCB flags {:#x}, opcode {:#x} wants {wanted:#x}", self.flags, entry.opcode),
            ));
        }
        None
    }
}
