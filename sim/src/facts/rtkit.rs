//! RTKit's messages (Linux rtkit.c and the AsahiLinux tree, m1n1 rtkit.c and its proxyclient, U-Boot rtkit.c).

use super::Bits;

/// Endpoint: versions, map, power.
pub const EP_MANAGEMENT: u8 = 0;
/// Endpoint: crash record.
pub const EP_CRASHLOG: u8 = 1;
/// Endpoint: log lines.
pub const EP_SYSLOG: u8 = 2;
/// Endpoint: kernel trace.
pub const EP_DEBUG: u8 = 3;
/// Endpoint: reports.
pub const EP_IOREPORT: u8 = 4;
/// Endpoint: the newer log.
pub const EP_OSLOG: u8 = 8;
/// The first endpoint of an application.
pub const EP_APPLICATION: u8 = 0x20;

/// The system endpoints that Linux starts where the map has them.
pub const EPS_STARTED: [u8; 5] = [EP_CRASHLOG, EP_SYSLOG, EP_DEBUG, EP_IOREPORT, EP_OSLOG];

/// The operation, on the endpoints below 8 but the trace.
pub const TYPE: Bits = Bits::at(59, 52);

/// Management, to the host: versions.
pub const HELLO: u64 = 0x1;
/// Management, to the coprocessor: the version taken.
pub const HELLO_REPLY: u64 = 0x2;
/// Management, to the coprocessor: is anybody there?
pub const PING: u64 = 0x3;
/// Management, to the host: yes.
pub const PONG: u64 = 0x4;
/// Management, to the coprocessor: start or stop an endpoint.
pub const STARTEP: u64 = 0x5;
/// Management, to the coprocessor: its power state.
pub const SET_IOP_PWR: u64 = 0x6;
/// Management, to the host: its power state is so.
pub const SET_IOP_PWR_ACK: u64 = 0x7;
/// Management, both ways: a page of the endpoint map.
pub const EPMAP: u64 = 0x8;
/// Management, both ways: the host's power state.
pub const SET_AP_PWR: u64 = 0xb;

/// HELLO and its reply: lowest version.
pub const HELLO_MIN: Bits = Bits::at(15, 0);
/// HELLO and its reply: highest version.
pub const HELLO_MAX: Bits = Bits::at(31, 16);
/// The versions that the drivers know, lowest and highest.
pub const VERSIONS: [u16; 2] = [11, 12];

/// STARTEP: endpoint.
pub const STARTEP_EP: Bits = Bits::at(39, 32);
/// STARTEP: what to do.
pub const STARTEP_FLAG: Bits = Bits::at(1, 0);
/// STARTEP.FLAG: start.
pub const STARTEP_START: u64 = 2;

/// EPMAP: last page.
pub const EPMAP_LAST: Bits = Bits::one(51);
/// EPMAP: page.
pub const EPMAP_BASE: Bits = Bits::at(34, 32);
/// EPMAP: one bit for each of the page's 32 endpoints.
pub const EPMAP_BITMAP: Bits = Bits::at(31, 0);
/// EPMAP reply: go on.
pub const EPMAP_MORE: Bits = Bits::one(0);

/// Power messages: the state.
pub const PWR_STATE: Bits = Bits::at(15, 0);
/// Power state: off for good.
pub const PWR_OFF: u16 = 0x000;
/// Power state: deep sleep.
pub const PWR_SLEEP: u16 = 0x001;
/// Power state: quiesced.
pub const PWR_QUIESCED: u16 = 0x010;
/// Power state: on.
pub const PWR_ON: u16 = 0x020;
/// Power state: idle, state kept.
pub const PWR_IDLE: u16 = 0x201;
/// Power state: initialise or wake.
pub const PWR_INIT: u16 = 0x220;

/// Crashlog, syslog, ioreport: a buffer is wanted, or given.
pub const BUFFER: u64 = 0x1;
/// Buffer: size in pages.
pub const BUFFER_SIZE: Bits = Bits::at(51, 44);
/// Buffer: address, as Linux, OpenBSD and m1n1's proxyclient have it.
pub const BUFFER_ADDRESS: Bits = Bits::at(43, 0);
/// Buffer: address, as m1n1 and U-Boot have it.
pub const BUFFER_ADDRESS_NARROW: Bits = Bits::at(41, 0);
/// Bytes of a page of a buffer.
pub const BUFFER_PAGE: u64 = 4096;

/// Syslog, both ways: an entry was written, or read.
pub const SYSLOG_LOG: u64 = 0x5;
/// Syslog, to the host: the buffer's geometry.
pub const SYSLOG_INIT: u64 = 0x8;
/// Syslog LOG: entry.
pub const SYSLOG_INDEX: Bits = Bits::at(7, 0);
/// Syslog INIT: bytes of text in an entry, as m1n1 has it.
pub const SYSLOG_TEXT_BYTES: Bits = Bits::at(39, 24);
/// Syslog INIT: entries, as m1n1 has it.
pub const SYSLOG_ENTRIES: Bits = Bits::at(15, 0);
/// Syslog entry: offset of the context.
pub const SYSLOG_CONTEXT: usize = 0x08;
/// Syslog entry: bytes of the context.
pub const SYSLOG_CONTEXT_BYTES: usize = 24;
/// Syslog entry: offset of the text.
pub const SYSLOG_TEXT: usize = 0x20;

/// Ioreport, both ways: a report.
pub const IOREPORT_REPORT: u64 = 0x8;
/// Ioreport, both ways: reports begin.
pub const IOREPORT_START: u64 = 0xc;

/// Oslog: the operation.
pub const OSLOG_TYPE: Bits = Bits::at(63, 56);
/// Oslog, both ways: a buffer is wanted, or given.
pub const OSLOG_BUFFER: u64 = 0x1;
/// Oslog, to the coprocessor: the bare acknowledgement of older drivers.
pub const OSLOG_ACK: u64 = 0x3;
/// Oslog buffer: size in bytes.
pub const OSLOG_SIZE: Bits = Bits::at(55, 36);
/// Oslog buffer: address in pages.
pub const OSLOG_ADDRESS: Bits = Bits::at(35, 0);
