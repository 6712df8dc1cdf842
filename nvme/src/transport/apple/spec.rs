//! Facts of ANS's register block and of its translation control blocks. Sources: Linux apple.c, m1n1 nvme.c, U-Boot
//! nvme_apple.c, OpenBSD aplns.c; they agree unless a remark says otherwise.

use hal::{Register, Register64};
use zerocopy::{FromBytes, Immutable, IntoBytes};

pub use self::fields::{LINEAR, PENDING, UNKNOWN_CONTROL};

use crate::spec::command::OPCODE_TO_DEVICE;
use crate::spec::registers;

/// Most entries of a queue: the tags are below 64.
pub const MOST_ENTRIES: u16 = 64;
/// Fewest entries with which a tag is left for IO.
pub const FEWEST_ENTRIES: u16 = 4;
/// Entries of the admin queue: one command at a time needs no more (Linux, U-Boot).
pub const ADMIN_ENTRIES: u16 = 2;
/// Alignment of queues and blocks, in bytes: m1n1's, the largest of all drivers.
pub const ALIGNMENT: usize = 0x4000;

/// How many commands may be pending.
pub const PENDING_COMMANDS: Register<PENDING::Register> = Register::at(0x1210);
/// Control register of unknown name.
pub const UNKNOWN_CONTROL_REGISTER: Register<UNKNOWN_CONTROL::Register> = Register::at(0x24008);
/// Turns linear submission on.
pub const LINEAR_CONTROL: Register<LINEAR::Register> = Register::at(0x24908);
/// Admin doorbell: takes the tag of the command to start.
pub const LINEAR_ADMIN_DOORBELL: Register = Register::at(0x2490c);
/// IO doorbell: takes the tag of the command to start.
pub const LINEAR_IO_DOORBELL: Register = Register::at(0x24910);
/// Number of translation control blocks in each array, less one.
pub const TCB_COUNT: Register = Register::at(0x28100);
/// Address of the array of the admin queue.
pub const ADMIN_TCB_BASE: Register64 = Register64::at(0x28108);
/// Address of the array of the IO queue.
pub const IO_TCB_BASE: Register64 = Register64::at(0x28110);
/// Takes the tag whose translation is no longer valid.
pub const TCB_INVALIDATE: Register = Register::at(0x28118);
/// Zero if the last invalidation worked. m1n1's driver reads 0x29120 instead, against everyone else and its own tracer.
pub const TCB_STATUS: Register = Register::at(0x28120);

mod fields {
    #![expect(missing_docs, reason = "the macro makes items of its own that cannot carry a text")]

    use tock_registers::register_bitfields;

    register_bitfields![u32,
        /// Most pending commands of each queue. Every driver writes the same number to both halves.
        pub PENDING [
            /// Admin queue.
            ADMIN OFFSET(0) NUMBITS(16) [],
            /// IO queue.
            IO OFFSET(16) NUMBITS(16) []
        ],
        /// Linear submission.
        pub LINEAR [
            /// Submission queues are arrays, and doorbells take tags.
            ENABLE OFFSET(0) NUMBITS(1) []
        ],
        /// The register at 0x24008.
        pub UNKNOWN_CONTROL [
            /// Refuse a PRP that is zero.
            PRP_NULL_CHECK OFFSET(11) NUMBITS(1) []
        ]
    ];
}

/// The registers of one queue pair.
pub struct Doorbells {
    /// Takes the tag of the command to start.
    pub doorbell: Register,
    /// Takes the index of the next completion entry to be read.
    pub completion_head: Register,
}

/// The admin queue's registers.
pub const ADMIN: Doorbells =
    Doorbells { doorbell: LINEAR_ADMIN_DOORBELL, completion_head: registers::ADMIN_COMPLETION_HEAD };
/// The IO queue's registers.
pub const IO: Doorbells = Doorbells { doorbell: LINEAR_IO_DOORBELL, completion_head: registers::IO_COMPLETION_HEAD };

/// Bytes of a translation control block; the array is indexed by tag.
pub const TCB: usize = 128;

/// Direction flag: the device may write memory.
pub const FROM_DEVICE: u8 = 1 << 0;
/// Direction flag: the device may read memory.
pub const TO_DEVICE: u8 = 1 << 1;

/// The start of a translation control block, up to what a command says of itself. The rest belongs to encryption, and stays
/// zero as the array was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct TranslationControlBlock {
    /// The command's opcode.
    pub opcode: u8,
    /// What the device may do with the memory.
    pub direction: u8,
    /// The command's tag.
    pub identifier: u8,
    /// Zero.
    pub unknown: u8,
    /// The length field of a read or write: the low 16 bits of CDW12.
    pub length: u32,
    /// Zero.
    pub unknown_words: [u64; 2],
    /// The same as in the submission entry.
    pub prp1: u64,
    /// The same as in the submission entry.
    pub prp2: u64,
}

/// The 64-bit words of it.
pub const TCB_WORDS: usize = size_of::<TranslationControlBlock>() / 8;

const _: () = assert!(size_of::<TranslationControlBlock>() == 0x28);

/// The least that a command's opcode needs. Linux sets exactly one flag by the opcode's direction bit, for commands without
/// data too.
pub const fn direction(opcode: u8) -> u8 {
    if opcode & OPCODE_TO_DEVICE != 0 { TO_DEVICE } else { FROM_DEVICE }
}
