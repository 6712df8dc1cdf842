//! Facts about the ASC mailbox and RTKit's messages: offsets, fields and values, each with its source.
//!
//! Nothing here acts. Sources: Linux `drivers/soc/apple/{mailbox,rtkit,rtkit-crashlog}.c` and the AsahiLinux tree where it
//! is newer, m1n1 `src/{asc,rtkit}.c` and its `proxyclient`, U-Boot `arch/arm/mach-apple/rtkit.c`, OpenBSD
//! `sys/arch/arm64/dev/rtkit.c`. A fact without a source named is said alike by all of them.

/// The mailbox of an ASC of version 4 (M1 and later), offsets from the mailbox base (the ASC base plus 0x8000).
#[expect(missing_docs, reason = "what `register_bitfields!` adds to the documented fields carries no text")]
pub mod mailbox {
    use hal::{Register, Word64};
    use tock_registers::register_bitfields;

    register_bitfields! { u32,
        /// The state of one FIFO. The Asahi documentation calls bit 16 "not empty"; every driver reads it as "full".
        pub CONTROL [
            /// No room for another message.
            FULL OFFSET(16) NUMBITS(1) [],
            /// No message waits.
            EMPTY OFFSET(17) NUMBITS(1) [],
        ]
    }

    /// State of the FIFO towards the coprocessor.
    pub const A2I_CONTROL: Register<CONTROL::Register> = Register::at(0x110);
    /// State of the FIFO from the coprocessor.
    pub const I2A_CONTROL: Register<CONTROL::Register> = Register::at(0x114);
    /// Payload to send; only latched.
    pub const A2I_SEND0: Word64 = Word64::at(0x800);
    /// Endpoint to send to; this write pushes the message.
    pub const A2I_SEND1: Word64 = Word64::at(0x808);
    /// Payload received; read before word 1, and once.
    pub const I2A_RECV0: Word64 = Word64::at(0x830);
    /// Endpoint received. Bits 63:32 carry FIFO counters (m1n1, Linux); the low 32 bits name the endpoint.
    pub const I2A_RECV1: Word64 = Word64::at(0x838);
}

/// Endpoint numbers.
pub mod endpoint {
    /// Versions, endpoints, power.
    pub const MANAGEMENT: u8 = 0;
    /// The crash record.
    pub const CRASHLOG: u8 = 1;
    /// Lines of the firmware's log.
    pub const SYSLOG: u8 = 2;
    /// Kernel tracing ("kdebug").
    pub const DEBUG: u8 = 3;
    /// Statistics.
    pub const IOREPORT: u8 = 4;
    /// The newer, structured log.
    pub const OSLOG: u8 = 8;
    /// Endpoints from here on belong to the coprocessor's own application.
    pub const FIRST_APPLICATION: u8 = 0x20;
}

/// The operation of a message, on every system endpoint but oslog and debug.
pub mod message {
    use crate::field::Field;

    /// Which operation.
    pub const TYPE: Field = Field::new(59, 52);
}

/// Endpoint 0.
pub mod management {
    use crate::field::Field;

    /// From the coprocessor: the versions that it speaks.
    pub const HELLO: u64 = 0x1;
    /// To the coprocessor: the version chosen, twice.
    pub const HELLO_REPLY: u64 = 0x2;
    /// To the coprocessor: start an endpoint.
    pub const START_ENDPOINT: u64 = 0x5;
    /// To the coprocessor: the power state that it shall take.
    pub const SET_IOP_POWER: u64 = 0x6;
    /// From the coprocessor: the power state that it took.
    pub const SET_IOP_POWER_ACKNOWLEDGE: u64 = 0x7;
    /// One page of the endpoint map; the reply has the same type.
    pub const ENDPOINT_MAP: u64 = 0x8;
    /// The power state of the host; the acknowledgement has the same type.
    pub const SET_AP_POWER: u64 = 0xb;

    /// HELLO and its reply: lowest version.
    pub const MINIMUM_VERSION: Field = Field::new(15, 0);
    /// HELLO and its reply: highest version.
    pub const MAXIMUM_VERSION: Field = Field::new(31, 16);

    /// START_ENDPOINT: which.
    pub const START_NUMBER: Field = Field::new(39, 32);
    /// START_ENDPOINT: 2 starts, 1 stops (m1n1's proxyclient).
    pub const START_FLAG: u64 = 0x2;

    /// ENDPOINT_MAP: this is the last page, in the message and in its reply.
    pub const MAP_LAST: u64 = 1 << 51;
    /// ENDPOINT_MAP: page number. (An emulator of the firmware has 37:32; every driver has these three bits.)
    pub const MAP_BASE: Field = Field::new(34, 32);
    /// ENDPOINT_MAP from the coprocessor: bit `b` stands for endpoint `32 * base + b`.
    pub const MAP_BITMAP: Field = Field::new(31, 0);
    /// ENDPOINT_MAP reply: send the next page.
    pub const MAP_MORE: u64 = 1;

    /// SET_*_POWER and acknowledgements: the state.
    pub const POWER_STATE: Field = Field::new(15, 0);
}

/// Buffer requests on crashlog, syslog and ioreport; the reply has the same layout.
pub mod buffer {
    use crate::field::Field;

    /// The request, and its reply.
    pub const REQUEST: u64 = 0x1;
    /// Size in units of [`SIZE_UNIT`].
    pub const SIZE: Field = Field::new(51, 44);
    /// Bytes in one unit of size.
    pub const SIZE_UNIT: u32 = 4096;
    /// Address as it is received: Linux and OpenBSD read 44 bits. Not zero: the coprocessor's own buffer.
    pub const ADDRESS: Field = Field::new(43, 0);
    /// Address as it is sent: m1n1 and U-Boot know 42 bits only, so no more than those are ever used.
    pub const ADDRESS_SENT: Field = Field::new(41, 0);
}

/// Endpoint 2.
pub mod syslog {
    use crate::field::Field;

    /// From the coprocessor: an entry was written. Echoed, or the coprocessor stops.
    pub const LOG: u64 = 0x5;
    /// From the coprocessor: the buffer's shape. Not answered.
    pub const INIT: u64 = 0x8;
    /// LOG: which entry.
    pub const LOG_INDEX: Field = Field::new(7, 0);
    /// INIT: bytes of text in an entry (m1n1's width; Linux reads 31:24).
    pub const INIT_ENTRY_SIZE: Field = Field::new(39, 24);
    /// INIT: entries (m1n1's width; Linux reads 7:0).
    pub const INIT_ENTRY_COUNT: Field = Field::new(15, 0);

    /// An entry: offset of the context, text that ends with NUL.
    pub const ENTRY_CONTEXT: usize = 0x08;
    /// An entry: bytes of context.
    pub const ENTRY_CONTEXT_SIZE: usize = 24;
    /// An entry: offset of the text, which is as long as INIT said.
    pub const ENTRY_TEXT: usize = 0x20;
}

/// Endpoint 4.
pub mod ioreport {
    /// From the coprocessor: a report. Echoed, or the coprocessor hangs.
    pub const REPORT: u64 = 0x8;
    /// From the coprocessor: reporting starts. Echoed (Linux, m1n1, U-Boot).
    pub const START: u64 = 0xc;
}

/// Endpoint 8 (AsahiLinux and U-Boot; m1n1's proxyclient reads the fields otherwise, and m1n1 itself not at all).
pub mod oslog {
    use crate::field::Field;

    /// Which operation.
    pub const TYPE: Field = Field::new(63, 56);
    /// The buffer request, and its reply.
    pub const REQUEST: u64 = 0x1;
    /// Size in bytes.
    pub const SIZE: Field = Field::new(55, 36);
    /// Address in units of [`ADDRESS_UNIT`].
    pub const ADDRESS: Field = Field::new(35, 0);
    /// Bytes in one unit of address.
    pub const ADDRESS_UNIT: u64 = 4096;
}

/// The crash record (Linux `rtkit-crashlog.c`, m1n1, m1n1's proxyclient `crash.py`). All words are little-endian.
pub mod crash {
    /// A tag's characters as the 32-bit word that memory holds: the first character is the most significant byte.
    pub const fn tag(characters: &[u8; 4]) -> u32 {
        u32::from_be_bytes(*characters)
    }

    /// The record's header, and the end of its list of sections.
    pub const HEADER: u32 = tag(b"CLHE");
    /// Header: version.
    pub const HEADER_VERSION: usize = 0x04;
    /// Header: bytes of the whole record, this header included.
    pub const HEADER_TOTAL: usize = 0x08;
    /// Header: flags.
    pub const HEADER_FLAGS: usize = 0x0c;
    /// Bytes of the header.
    pub const HEADER_SIZE: usize = 0x20;

    /// Section: flags.
    pub const SECTION_FLAGS: usize = 0x08;
    /// Section: its bytes, the section header included.
    pub const SECTION_LENGTH: usize = 0x0c;
    /// Bytes of a section's header.
    pub const SECTION_HEADER_SIZE: usize = 0x10;

    /// A message: u32 id, then text.
    pub const TEXT: u32 = tag(b"Cstr");
    /// Firmware version: 16 bytes like a UUID, then text.
    pub const VERSION: u32 = tag(b"Cver");
    /// u64 time.
    pub const TIME: u32 = tag(b"Ctim");
    /// The last mailbox messages.
    pub const MAILBOX: u32 = tag(b"Cmbx");
    /// The registers.
    pub const REGISTERS: u32 = tag(b"Crg8");
    /// A call stack: u32 task, u32 unknown, then u64 return addresses (proxyclient).
    pub const CALL_STACK: u32 = tag(b"Ccst");
    /// Six u64 error registers (proxyclient).
    pub const ERROR_REGISTERS: u32 = tag(b"CasC");
    /// RTKit's task table (proxyclient; layout not known).
    pub const TASKS: u32 = tag(b"Crtk");
    /// Core dump information (proxyclient; layout not known).
    pub const CORE_DUMP: u32 = tag(b"Ccdp");

    /// Text: offset of the characters after the section header.
    pub const TEXT_CHARACTERS: usize = 4;
    /// Version: offset of the characters.
    pub const VERSION_CHARACTERS: usize = 16;
    /// Mailbox: offset of the first entry.
    pub const MAILBOX_ENTRIES: usize = 28;
    /// Mailbox: offset of the u32 type.
    pub const MAILBOX_TYPE: usize = 16;
    /// Mailbox: offset of the u32 index.
    pub const MAILBOX_INDEX: usize = 24;
    /// Mailbox: bytes of an entry: two u64 words (the sources disagree which is the endpoint), u32 time, padding.
    pub const MAILBOX_ENTRY_SIZE: usize = 0x18;
    /// Mailbox: offset of the u32 time in an entry.
    pub const MAILBOX_ENTRY_TIME: usize = 0x10;

    /// Registers: bytes of the payload.
    pub const REGISTERS_SIZE: usize = 0x350;
    /// Registers: offset of x0; x1 to x30 follow, then sp, pc, psr, cpacr, fpsr and fpcr.
    pub const REGISTERS_X0: usize = 8;
    /// Registers: general registers x0 to x30.
    pub const REGISTERS_GENERAL: usize = 31;
    /// Registers: offset of far: behind fpcr lie 64 words of unknown meaning.
    pub const REGISTERS_FAR: usize = REGISTERS_X0 + (REGISTERS_GENERAL + 6 + 64) * 8;
    /// Registers: offset of esr: a word of unknown meaning after far.
    pub const REGISTERS_ESR: usize = REGISTERS_FAR + 16;

    /// Call stack: offset of the first return address.
    pub const CALL_STACK_ADDRESSES: usize = 8;
    /// Error registers: how many.
    pub const ERROR_REGISTER_COUNT: usize = 6;
}
