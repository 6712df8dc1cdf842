//! The crash record (Linux rtkit-crashlog.c, m1n1, m1n1's proxyclient crash.py). Offsets in bytes; those of a kind of
//! section count from behind the section's header.

/// Tag: the record, and its end ("CLHE").
pub const HEADER: u32 = 0x434c_4845;
/// Tag: a message ("Cstr").
pub const STRING: u32 = 0x4373_7472;
/// Tag: the firmware's version ("Cver").
pub const VERSION: u32 = 0x4376_6572;
/// Tag: the time ("Ctim").
pub const TIME: u32 = 0x4374_696d;
/// Tag: the last mailbox messages ("Cmbx").
pub const MAILBOX: u32 = 0x436d_6278;
/// Tag: registers ("Crg8").
pub const REGISTERS: u32 = 0x4372_6738;
/// Tag: call stack ("Ccst").
pub const CALL_STACK: u32 = 0x4363_7374;
/// Tag: error registers ("CasC").
pub const ERRORS: u32 = 0x4361_7343;
/// Tag: tasks ("Crtk").
pub const TASKS: u32 = 0x4372_746b;
/// Tag: core dump ("Ccdp").
pub const CORE_DUMP: u32 = 0x4363_6470;

/// Record: bytes of its header.
pub const HEADER_BYTES: usize = 0x20;
/// Record: version.
pub const HEADER_VERSION: usize = 0x04;
/// Record: bytes of all.
pub const HEADER_TOTAL: usize = 0x08;
/// Record: flags.
pub const HEADER_FLAGS: usize = 0x0c;

/// Section: bytes of its header.
pub const SECTION_BYTES: usize = 0x10;
/// Section: flags.
pub const SECTION_FLAGS: usize = 0x08;
/// Section: bytes, with this header.
pub const SECTION_LENGTH: usize = 0x0c;

/// "Cstr": characters.
pub const STRING_TEXT: usize = 4;
/// "Cver": characters.
pub const VERSION_TEXT: usize = 16;

/// "Cmbx": type.
pub const MAILBOX_TYPE: usize = 16;
/// "Cmbx": index.
pub const MAILBOX_INDEX: usize = 24;
/// "Cmbx": first entry.
pub const MAILBOX_ENTRIES: usize = 28;
/// "Cmbx": bytes of an entry.
pub const MAILBOX_ENTRY_BYTES: usize = 0x18;
/// "Cmbx": time in an entry.
pub const MAILBOX_ENTRY_TIME: usize = 0x10;

/// "Crg8": bytes.
pub const REGISTER_BYTES: usize = 0x350;
/// "Crg8": x0, behind two words.
pub const REGISTER_X0: usize = 0x8;
/// "Crg8": registers x0 to x30.
pub const REGISTER_GENERAL: usize = 31;
/// "Crg8": far. Two words, 31 registers, six more and 64 unknown ones come before it.
pub const REGISTER_FAR: usize = 0x330;
/// "Crg8": esr, behind far and an unknown one.
pub const REGISTER_ESR: usize = 0x340;

/// "Ccst": the first return address.
pub const CALL_STACK_ADDRESSES: usize = 8;
/// "CasC": registers of 64 bits.
pub const ERROR_COUNT: usize = 6;
