//! Controller registers (NVMe base specification, chapter 3).

use hal::{Register, Register64};

pub use self::fields::{AQA, CAP, CC, CSTS};

/// Controller capabilities.
pub const CAPABILITIES: Register64<CAP::Register> = Register64::at(0x00);
/// Version of the specification: major 31:16, minor 15:8, tertiary 7:0.
pub const VERSION: Register = Register::at(0x08);
/// Controller configuration.
pub const CONFIGURATION: Register<CC::Register> = Register::at(0x14);
/// Controller status.
pub const STATUS: Register<CSTS::Register> = Register::at(0x1c);
/// Admin queue attributes: both sizes.
pub const ADMIN_QUEUE_ATTRIBUTES: Register<AQA::Register> = Register::at(0x24);
/// Admin submission queue base address, a multiple of the page size.
pub const ADMIN_SUBMISSION_QUEUE: Register64 = Register64::at(0x28);
/// Admin completion queue base address, a multiple of the page size.
pub const ADMIN_COMPLETION_QUEUE: Register64 = Register64::at(0x30);
/// Head doorbell of the admin completion queue, for a doorbell stride of 4 bytes.
pub const ADMIN_COMPLETION_HEAD: Register = Register::at(0x1004);
/// Head doorbell of the completion queue with identifier 1, for a doorbell stride of 4 bytes.
pub const IO_COMPLETION_HEAD: Register = Register::at(0x100c);

/// Offset of the first doorbell, in bytes. That of submission queue y lies 2y strides from here, that of completion queue y
/// one stride behind it; the stride is 4 << CAP.DSTRD bytes.
pub const DOORBELLS: usize = 0x1000;

/// What every register reads as when the device is gone from the bus.
pub const ALL_ONES: u32 = u32::MAX;

/// `CC.IOSQES`: submission entries of 2^6 bytes.
pub const SUBMISSION_ENTRY_SHIFT: u32 = 6;
/// `CC.IOCQES`: completion entries of 2^4 bytes.
pub const COMPLETION_ENTRY_SHIFT: u32 = 4;

mod fields {
    #![expect(missing_docs, reason = "the macro makes items of its own that cannot carry a text")]

    use tock_registers::register_bitfields;

    register_bitfields![u64,
        /// Controller capabilities.
        pub CAP [
            /// Maximum queue entries, zero-based.
            MQES OFFSET(0) NUMBITS(16) [],
            /// Queues have to be physically contiguous.
            CQR OFFSET(16) NUMBITS(1) [],
            /// Longest time for a change of CSTS.RDY, in units of 500 ms.
            TO OFFSET(24) NUMBITS(8) [],
            /// Doorbell stride: 4 << DSTRD bytes.
            DSTRD OFFSET(32) NUMBITS(4) [],
            /// Command sets: bit 0 is the NVM command set.
            CSS OFFSET(37) NUMBITS(8) [],
            /// Smallest page size: 2^(12 + n) bytes.
            MPSMIN OFFSET(48) NUMBITS(4) [],
            /// Largest page size: 2^(12 + n) bytes.
            MPSMAX OFFSET(52) NUMBITS(4) []
        ]
    ];

    register_bitfields![u32,
        /// Controller configuration.
        pub CC [
            /// Enable.
            EN OFFSET(0) NUMBITS(1) [],
            /// Command set selected: 0 is the NVM command set.
            CSS OFFSET(4) NUMBITS(3) [],
            /// Page size: 2^(12 + n) bytes.
            MPS OFFSET(7) NUMBITS(4) [],
            /// Arbitration: 0 is round robin.
            AMS OFFSET(11) NUMBITS(3) [],
            /// Shutdown notification.
            SHN OFFSET(14) NUMBITS(2) [
                /// No notification.
                None = 0,
                /// Normal: caches are flushed.
                Normal = 1,
                /// Abrupt.
                Abrupt = 2
            ],
            /// log2 of the size of an IO submission entry.
            IOSQES OFFSET(16) NUMBITS(4) [],
            /// log2 of the size of an IO completion entry.
            IOCQES OFFSET(20) NUMBITS(4) []
        ],
        /// Controller status.
        pub CSTS [
            /// Ready for commands.
            RDY OFFSET(0) NUMBITS(1) [],
            /// Fatal: only a reset helps.
            CFS OFFSET(1) NUMBITS(1) [],
            /// Shutdown status.
            SHST OFFSET(2) NUMBITS(2) [
                /// Normal operation.
                Normal = 0,
                /// Shutting down.
                Occurring = 1,
                /// Shut down.
                Complete = 2
            ]
        ],
        /// Admin queue attributes.
        pub AQA [
            /// Entries of the submission queue, zero-based.
            ASQS OFFSET(0) NUMBITS(12) [],
            /// Entries of the completion queue, zero-based.
            ACQS OFFSET(16) NUMBITS(12) []
        ]
    ];
}
