//! Commands and their completions (NVMe base specification).

use super::Bits;

/// Bytes of a submission entry.
pub const SQE_BYTES: usize = 64;
/// SQE: opcode, 1 byte.
pub const SQE_OPCODE: usize = 0;
/// SQE: FUSE 1:0, PSDT 7:6, 1 byte.
pub const SQE_FLAGS: usize = 1;
/// SQE: command identifier, 2 bytes.
pub const SQE_CID: usize = 2;
/// SQE: namespace, 4 bytes.
pub const SQE_NSID: usize = 4;
/// SQE: dwords 2 and 3.
pub const SQE_CDW2: usize = 8;
/// SQE: metadata pointer, 8 bytes.
pub const SQE_MPTR: usize = 16;
/// SQE: first pointer, 8 bytes.
pub const SQE_PRP1: usize = 24;
/// SQE: second pointer, 8 bytes.
pub const SQE_PRP2: usize = 32;
/// SQE: dwords 10 to 15.
pub const SQE_CDW10: usize = 40;

/// Bytes of a completion entry.
pub const CQE_BYTES: usize = 16;
/// CQE: result, 4 bytes.
pub const CQE_RESULT: usize = 0;
/// CQE: high half of the result, or reserved, 4 bytes.
pub const CQE_RESULT_HIGH: usize = 4;
/// CQE: head of the submission queue, 2 bytes; of no use on ANS.
pub const CQE_SQHD: usize = 8;
/// CQE: submission queue, 2 bytes; of no use on ANS.
pub const CQE_SQID: usize = 10;
/// CQE: command identifier, 2 bytes.
pub const CQE_CID: usize = 12;
/// CQE: phase in bit 0, status above it, 2 bytes.
pub const CQE_STATUS: usize = 14;

/// Admin: delete IO submission queue.
pub const DELETE_SQ: u8 = 0x00;
/// Admin: create IO submission queue.
pub const CREATE_SQ: u8 = 0x01;
/// Admin: get log page.
pub const GET_LOG_PAGE: u8 = 0x02;
/// Admin: delete IO completion queue.
pub const DELETE_CQ: u8 = 0x04;
/// Admin: create IO completion queue.
pub const CREATE_CQ: u8 = 0x05;
/// Admin: identify.
pub const IDENTIFY: u8 = 0x06;
/// Admin: abort. ANS lacks it.
pub const ABORT: u8 = 0x08;
/// Admin: set features.
pub const SET_FEATURES: u8 = 0x09;
/// Admin: get features.
pub const GET_FEATURES: u8 = 0x0a;
/// Admin: asynchronous event request. ANS lacks it.
pub const ASYNC_EVENT: u8 = 0x0c;

/// NVM: flush.
pub const FLUSH: u8 = 0x00;
/// NVM: write.
pub const WRITE: u8 = 0x01;
/// NVM: read.
pub const READ: u8 = 0x02;
/// NVM: write zeroes.
pub const WRITE_ZEROES: u8 = 0x08;
/// NVM: dataset management.
pub const DATASET_MANAGEMENT: u8 = 0x09;

/// Opcode bit: data goes to the device.
pub const OPCODE_TO_DEVICE: u8 = 1 << 0;
/// Opcode bit: data comes from the device.
pub const OPCODE_FROM_DEVICE: u8 = 1 << 1;

/// Feature: volatile write cache.
pub const FEATURE_WRITE_CACHE: u8 = 0x06;
/// Feature: number of queues.
pub const FEATURE_QUEUES: u8 = 0x07;

/// Log page: errors.
pub const LOG_ERRORS: u8 = 1;
/// Log page: SMART / health.
pub const LOG_HEALTH: u8 = 2;
/// Log page: firmware slots.
pub const LOG_FIRMWARE: u8 = 3;

/// The one IO queue pair of ANS.
pub const IO_QUEUE: u16 = 1;
/// Every namespace at once.
pub const BROADCAST: u32 = 0xffff_ffff;

/// Create, dword 10: queue.
pub const CREATE_QID: Bits = Bits::at(15, 0);
/// Create, dword 10: entries, less one.
pub const CREATE_QSIZE: Bits = Bits::at(31, 16);
/// Create, dword 11: the queue lies in one piece.
pub const CREATE_PC: Bits = Bits::one(0);
/// Create completion queue, dword 11: interrupts.
pub const CREATE_IEN: Bits = Bits::one(1);
/// Create completion queue, dword 11: vector; create submission queue: its completion queue.
pub const CREATE_HIGH: Bits = Bits::at(31, 16);

/// Read and write, dword 12: blocks, less one.
pub const RW_NLB: Bits = Bits::at(15, 0);
/// Read and write, dword 12: force unit access.
pub const RW_FUA: Bits = Bits::one(30);
