//! What ANS adds to the controller: registers, tags and translation control blocks (Linux apple.c, m1n1 nvme.c, U-Boot
//! nvme_apple.c, OpenBSD aplns.c).

use super::Bits;

/// How many commands may be pending.
pub const MAX_PEND_CMDS_CTRL: u64 = 0x1210;
/// Whether the firmware is ready.
pub const BOOT_STATUS: u64 = 0x1300;
/// Written 0 by U-Boot and OpenBSD alone.
pub const MODESEL: u64 = 0x1304;
/// Known to a QEMU model alone.
pub const BASE_CMD_ID: u64 = 0x1308;
/// Switches of which one is known.
pub const UNKNOWN_CTRL: u64 = 0x24008;
/// Submission by tag.
pub const LINEAR_SQ_CTRL: u64 = 0x24908;
/// Doorbell of the admin queue: takes a tag.
pub const LINEAR_ASQ_DB: u64 = 0x2490c;
/// Doorbell of the IO queue: takes a tag.
pub const LINEAR_IOSQ_DB: u64 = 0x24910;
/// Translation control blocks, less one.
pub const NVMMU_NUM_TCBS: u64 = 0x28100;
/// Array of the admin queue, 64 bits.
pub const NVMMU_ASQ_TCB_BASE: u64 = 0x28108;
/// Array of the IO queue, 64 bits.
pub const NVMMU_IOSQ_TCB_BASE: u64 = 0x28110;
/// Takes a tag: its translation ends.
pub const NVMMU_TCB_INVAL: u64 = 0x28118;
/// Whether that worked: 0.
pub const NVMMU_TCB_STAT: u64 = 0x28120;
/// Where m1n1 looks for it instead, and finds 0; its own tracer and all other drivers have the other place.
pub const NVMMU_TCB_STAT_M1N1: u64 = 0x29120;

/// BOOT_STATUS of a firmware that is ready.
pub const BOOT_STATUS_READY: u32 = 0xde71_ce55;
/// MAX_PEND_CMDS_CTRL: admin commands. Every driver writes both halves alike.
pub const MAX_PEND_ADMIN: Bits = Bits::at(15, 0);
/// MAX_PEND_CMDS_CTRL: IO commands.
pub const MAX_PEND_IO: Bits = Bits::at(31, 16);
/// UNKNOWN_CTRL: a PRP of 0 fails its command.
pub const PRP_NULL_CHECK: Bits = Bits::one(11);
/// LINEAR_SQ_CTRL: on.
pub const LINEAR_SQ_EN: Bits = Bits::one(0);

/// Tags that hardware knows, over both queues; no queue is deeper.
pub const TAGS: u16 = 64;
/// The largest alignment that a driver gives queues and blocks, in bytes: m1n1's.
pub const QUEUE_ALIGNMENT: u64 = 0x4000;
/// Entries of the admin queue that Linux and U-Boot work with.
pub const ADMIN_ENTRIES: u16 = 2;

/// Entries of an IO queue that leaves a tag beside the admin queue's two and the ring's one.
pub const LEAST_IO_ENTRIES: u16 = ADMIN_ENTRIES + 2;

/// Bytes of a translation control block, and so the pitch of an array of them.
pub const TCB_BYTES: usize = 128;
/// TCB: opcode, 1 byte.
pub const TCB_OPCODE: usize = 0x00;
/// TCB: what the device may do to memory, 1 byte.
pub const TCB_FLAGS: usize = 0x01;
/// TCB: tag, 1 byte.
pub const TCB_TAG: usize = 0x02;
/// TCB: unknown, 1 byte.
pub const TCB_UNKNOWN: usize = 0x03;
/// TCB: block count of a read or write, less one: 16 bits in a word.
pub const TCB_LENGTH: usize = 0x04;
/// TCB: unknown, 16 bytes.
pub const TCB_UNKNOWN_1: usize = 0x08;
/// TCB: first pointer, 8 bytes.
pub const TCB_PRP1: usize = 0x18;
/// TCB: second pointer, 8 bytes.
pub const TCB_PRP2: usize = 0x20;

/// TCB flag: the device may write host memory.
pub const DMA_FROM_DEVICE: u8 = 1 << 0;
/// TCB flag: the device may read host memory.
pub const DMA_TO_DEVICE: u8 = 1 << 1;
