//! The registers of a configuration header that are used here (PCI Express Base Specification, 7.5.1).

use crate::Register;

pub(super) use self::fields::{BUSES, CLASS, COMMAND, HEADER, IDENTITY};

/// Vendor and device.
pub(super) const IDENTITY: Register<IDENTITY::Register> = Register::at(0x00);
/// Command, and above it status, whose bits are cleared by writing ones: zeros there leave them alone.
pub(super) const COMMAND: Register<COMMAND::Register> = Register::at(0x04);
/// Revision and class code.
pub(super) const CLASS: Register<CLASS::Register> = Register::at(0x08);
/// Cache line size, latency timer, header type, self test.
pub(super) const HEADER: Register<HEADER::Register> = Register::at(0x0c);

/// What is read in place of an absent function's vendor (PCI Local Bus 3.0, 6.1).
pub(super) const NO_VENDOR: u32 = 0xffff;
/// Header type of a function that is no bridge.
pub(super) const ENDPOINT: u32 = 0;
/// Header type of a PCI-to-PCI bridge, which each port of a switch and of a root complex is.
pub(super) const BRIDGE: u32 = 1;

/// Offset of the first of the base address registers, 4 bytes each.
pub(super) const BASE_ADDRESSES: usize = 0x10;
/// Base address registers of an endpoint, and of a bridge.
pub(super) const ENDPOINT_REGISTERS: u8 = 6;
pub(super) const BRIDGE_REGISTERS: u8 = 2;

/// A bridge's bus numbers.
pub(super) const BUSES: Register<BUSES::Register> = Register::at(0x18);
/// A bridge's I/O base and limit, and above them its secondary status, which writing zeros leaves alone.
pub(super) const IO_WINDOW: Register = Register::at(0x1c);
/// The upper 16 bits of a bridge's I/O base and limit.
pub(super) const IO_WINDOW_UPPER: Register = Register::at(0x30);
/// Address bits 31:20 of a bridge's memory base in bits 15:4, those of its last byte in bits 31:20.
pub(super) const MEMORY_WINDOW: Register = Register::at(0x20);
/// The same for prefetchable memory; the lowest bits of both halves say whether the upper registers exist.
pub(super) const PREFETCHABLE_WINDOW: Register = Register::at(0x24);
/// Bits 63:32 of the base of prefetchable memory.
pub(super) const PREFETCHABLE_BASE_UPPER: Register = Register::at(0x28);
/// Bits 63:32 of the last byte of prefetchable memory.
pub(super) const PREFETCHABLE_LIMIT_UPPER: Register = Register::at(0x2c);

/// The low bits of [`PREFETCHABLE_WINDOW`]: the window has 64-bit addresses.
pub(super) const WIDE: u32 = 1;

mod fields {
    use tock_registers::register_bitfields;

    register_bitfields![u32,
        pub(in crate::pci) IDENTITY [
            VENDOR OFFSET(0) NUMBITS(16) [],
            DEVICE OFFSET(16) NUMBITS(16) []
        ],
        pub(in crate::pci) COMMAND [
            /// Answers at I/O addresses.
            IO OFFSET(0) NUMBITS(1) [],
            /// Answers at memory addresses. For a bridge: passes on what the processor asks of functions behind it.
            MEMORY OFFSET(1) NUMBITS(1) [],
            /// Asks for memory on its own. For a bridge: passes on what functions behind it ask for.
            MASTER OFFSET(2) NUMBITS(1) [],
            /// Raises no interrupt by pin.
            INTERRUPT_DISABLE OFFSET(10) NUMBITS(1) []
        ],
        pub(in crate::pci) CLASS [
            REVISION OFFSET(0) NUMBITS(8) [],
            /// Base class, subclass, programming interface.
            CODE OFFSET(8) NUMBITS(24) []
        ],
        pub(in crate::pci) HEADER [
            TYPE OFFSET(16) NUMBITS(7) [],
            /// Functions 1 to 7 may be there too; counts in function 0 only.
            SEVERAL OFFSET(23) NUMBITS(1) []
        ],
        pub(in crate::pci) BUSES [
            /// The bus that the bridge is on.
            PRIMARY OFFSET(0) NUMBITS(8) [],
            /// The bus behind it.
            SECONDARY OFFSET(8) NUMBITS(8) [],
            /// The last bus anywhere behind it.
            SUBORDINATE OFFSET(16) NUMBITS(8) [],
            /// Always 0 with PCI Express.
            LATENCY OFFSET(24) NUMBITS(8) []
        ]
    ];
}
