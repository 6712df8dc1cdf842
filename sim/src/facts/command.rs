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
/// Admin: doorbell buffer config.
pub const DOORBELL_BUFFER: u8 = 0x7c;

/// NVM: flush.
pub const FLUSH: u8 = 0x00;
/// NVM: write.
pub const WRITE: u8 = 0x01;
/// NVM: read.
pub const READ: u8 = 0x02;
/// NVM: compare.
pub const COMPARE: u8 = 0x05;
/// NVM: write zeroes.
pub const WRITE_ZEROES: u8 = 0x08;
/// NVM: dataset management.
pub const DATASET_MANAGEMENT: u8 = 0x09;
/// NVM: verify.
pub const VERIFY: u8 = 0x0c;

/// Opcode bit: data goes to the device.
pub const OPCODE_TO_DEVICE: u8 = 1 << 0;
/// Opcode bit: data comes from the device.
pub const OPCODE_FROM_DEVICE: u8 = 1 << 1;

/// Feature: volatile write cache.
pub const FEATURE_WRITE_CACHE: u8 = 0x06;
/// Feature: number of queues.
pub const FEATURE_QUEUES: u8 = 0x07;
/// Feature: arbitration.
pub const FEATURE_ARBITRATION: u8 = 0x01;
/// Feature: power management.
pub const FEATURE_POWER: u8 = 0x02;
/// Feature: temperature threshold.
pub const FEATURE_TEMPERATURE: u8 = 0x04;
/// Feature: error recovery.
pub const FEATURE_RECOVERY: u8 = 0x05;
/// Feature: interrupt coalescing.
pub const FEATURE_COALESCING: u8 = 0x08;
/// Feature: interrupt vector configuration.
pub const FEATURE_VECTOR: u8 = 0x09;
/// Feature: write atomicity.
pub const FEATURE_ATOMICITY: u8 = 0x0a;
/// Feature: asynchronous event configuration.
pub const FEATURE_EVENTS: u8 = 0x0b;
/// Set and Get Features, dword 10: feature.
pub const FEATURE_ID: Bits = Bits::at(7, 0);
/// Set Features, dword 10: make it persistent.
pub const FEATURE_SAVE: Bits = Bits::one(31);
/// Get Features, dword 10: which value.
pub const FEATURE_SELECT: Bits = Bits::at(10, 8);
/// Get Features, select: the current value.
pub const SELECT_CURRENT: u32 = 0;
/// Get Features, select: the default value.
pub const SELECT_DEFAULT: u32 = 1;
/// Get Features, select: the saved value.
pub const SELECT_SAVED: u32 = 2;
/// Get Features, select: what can be done with it.
pub const SELECT_CAPABILITIES: u32 = 3;
/// Get Features, capabilities: it can be saved.
pub const CAPABILITY_SAVEABLE: Bits = Bits::one(0);
/// Get Features, capabilities: it can be changed.
pub const CAPABILITY_CHANGEABLE: Bits = Bits::one(2);
/// Number of queues: submission queues, less one.
pub const QUEUES_SUBMISSION: Bits = Bits::at(15, 0);
/// Number of queues: completion queues, less one.
pub const QUEUES_COMPLETION: Bits = Bits::at(31, 16);
/// Volatile write cache: enabled.
pub const WRITE_CACHE_ENABLE: Bits = Bits::one(0);
/// Temperature threshold, kelvin.
pub const TEMPERATURE_THRESHOLD: Bits = Bits::at(15, 0);
/// Asynchronous event configuration: temperature.
pub const EVENTS_TEMPERATURE: Bits = Bits::one(1);
/// Asynchronous event configuration: namespace attributes.
pub const EVENTS_NAMESPACES: Bits = Bits::one(8);

/// Log page: errors.
pub const LOG_ERRORS: u8 = 1;
/// Log page: SMART / health.
pub const LOG_HEALTH: u8 = 2;
/// Log page: firmware slots.
pub const LOG_FIRMWARE: u8 = 3;
/// Log page: changed namespaces.
pub const LOG_CHANGED_NAMESPACES: u8 = 4;
/// Log page: effects of commands.
pub const LOG_EFFECTS: u8 = 5;
/// Get Log Page, dword 10: the log.
pub const LOG_ID: Bits = Bits::at(7, 0);
/// Get Log Page, dword 10: the event that tells of the log stays masked.
pub const LOG_RETAIN: Bits = Bits::one(15);
/// Get Log Page, dword 10: low half of the count of dwords, less one; dword 11 has the high half in 15:0.
pub const LOG_NUMDL: Bits = Bits::at(31, 16);
/// Get Log Page, dword 11: high half of that count.
pub const LOG_NUMDU: Bits = Bits::at(15, 0);
/// Error log: bytes of an entry. Layout of entries: NVMe base specification, not in the reference.
pub const ERROR_ENTRY: usize = 64;
/// Error log entry: its number, 8 bytes.
pub const ERROR_COUNT: usize = 0;
/// Error log entry: submission queue, 2 bytes.
pub const ERROR_SQID: usize = 8;
/// Error log entry: command identifier, 2 bytes.
pub const ERROR_CID: usize = 10;
/// Error log entry: status half-word, 2 bytes.
pub const ERROR_STATUS: usize = 12;
/// Error log entry: place in the command, 2 bytes.
pub const ERROR_PARAMETER: usize = 14;
/// Error log entry: first block, 8 bytes.
pub const ERROR_LBA: usize = 16;
/// Error log entry: namespace, 4 bytes.
pub const ERROR_NSID: usize = 24;
/// Error log entry: what follows the namespace.
pub const ERROR_REST: usize = 28;

/// SMART: critical warning.
pub const HEALTH_WARNING: usize = 0;
/// SMART critical warning: temperature.
pub const WARNING_TEMPERATURE: Bits = Bits::one(1);
/// SMART: temperature in kelvin, 2 bytes.
pub const HEALTH_TEMPERATURE: usize = 1;
/// SMART: spare, percent.
pub const HEALTH_SPARE: usize = 3;
/// SMART: spare threshold, percent.
pub const HEALTH_SPARE_THRESHOLD: usize = 4;
/// SMART: share of the expected life that is used, percent.
pub const HEALTH_USED: usize = 5;
/// SMART: what follows that, up to the counters.
pub const HEALTH_RESERVED: usize = 6;
/// SMART: data units read, 16 bytes like each counter.
pub const HEALTH_UNITS_READ: usize = 32;
/// SMART: data units written.
pub const HEALTH_UNITS_WRITTEN: usize = 48;
/// SMART: read commands.
pub const HEALTH_READS: usize = 64;
/// SMART: write commands.
pub const HEALTH_WRITES: usize = 80;
/// SMART: minutes busy.
pub const HEALTH_BUSY: usize = 96;
/// SMART: power cycles.
pub const HEALTH_CYCLES: usize = 112;
/// SMART: hours of power.
pub const HEALTH_HOURS: usize = 128;
/// SMART: unsafe shutdowns.
pub const HEALTH_UNSAFE: usize = 144;
/// SMART: media errors.
pub const HEALTH_MEDIA_ERRORS: usize = 160;
/// SMART: entries that the error log ever had.
pub const HEALTH_ERRORS: usize = 176;
/// SMART: bytes of the page.
pub const HEALTH_BYTES: usize = 512;

/// Event: type.
pub const EVENT_TYPE: Bits = Bits::at(2, 0);
/// Event: what of that type.
pub const EVENT_INFO: Bits = Bits::at(15, 8);
/// Event: the log page that tells more.
pub const EVENT_LOG: Bits = Bits::at(23, 16);
/// Event type: error. Values of types and of what they tell: NVMe base specification, not in the reference.
pub const EVENT_ERROR: u32 = 0;
/// Event type: health.
pub const EVENT_HEALTH: u32 = 1;
/// Event type: notice.
pub const EVENT_NOTICE: u32 = 2;
/// Error event: write to a doorbell of no queue.
pub const ERROR_DOORBELL_REGISTER: u32 = 0;
/// Error event: invalid doorbell write value.
pub const ERROR_DOORBELL_VALUE: u32 = 1;
/// Health event: temperature at or above the threshold.
pub const HEALTH_THRESHOLD: u32 = 1;
/// Notice: namespace attributes changed.
pub const NOTICE_NAMESPACES: u32 = 0;

/// Effects log: the command is supported.
pub const EFFECT_SUPPORTED: Bits = Bits::one(0);
/// Effects log: it changes the content of blocks.
pub const EFFECT_CONTENT: Bits = Bits::one(1);
/// Effects log: entries of IO commands come behind those of the 256 admin commands.
pub const EFFECTS_IO: usize = 1024;

/// Abort, dword 10: submission queue.
pub const ABORT_SQID: Bits = Bits::at(15, 0);
/// Abort, dword 10: command identifier.
pub const ABORT_CID: Bits = Bits::at(31, 16);
/// Abort, result: the command was not aborted.
pub const ABORT_NOT_DONE: Bits = Bits::one(0);
/// Dataset management, dword 10: ranges, less one.
pub const DSM_RANGES: Bits = Bits::at(7, 0);
/// Dataset management, dword 11: deallocate.
pub const DSM_DEALLOCATE: Bits = Bits::one(2);
/// Dataset management: bytes of a range.
pub const DSM_RANGE: usize = 16;
/// Dataset management, range: blocks, 4 bytes.
pub const DSM_LENGTH: usize = 4;
/// Dataset management, range: first block, 8 bytes.
pub const DSM_FIRST: usize = 8;

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
/// Write zeroes, dword 12: the blocks may be deallocated.
pub const WZ_DEALLOCATE: Bits = Bits::one(25);
