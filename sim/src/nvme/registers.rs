//! The register map and what an access to each register does.

use super::bits;
use super::queue::QueueName;
use super::{Due, NvmeBlock};
use crate::context::Context;

/// The registers, by offset in the block, with the names that reports use.
///
/// Standard ones: NVMe base specification. Apple's: Linux apple.c, m1n1, U-Boot, OpenBSD, which agree; MODESEL is
/// U-Boot's and OpenBSD's, BASE_CMD_ID a QEMU model's.
const NAMES: &[(u64, &str)] = &[
    (0x00, "CAP"),
    (0x04, "CAP_HIGH"),
    (0x08, "VS"),
    (0x0c, "INTMS"),
    (0x10, "INTMC"),
    (0x14, "CC"),
    (0x1c, "CSTS"),
    (0x20, "NSSR"),
    (0x24, "AQA"),
    (0x28, "ASQ"),
    (0x2c, "ASQ_HIGH"),
    (0x30, "ACQ"),
    (0x34, "ACQ_HIGH"),
    (0x38, "CMBLOC"),
    (0x3c, "CMBSZ"),
    (0x1000, "ADMIN_SQ_TAIL"),
    (0x1004, "ADMIN_CQ_HEAD"),
    (0x1008, "IO_SQ_TAIL"),
    (0x100c, "IO_CQ_HEAD"),
    (0x1210, "MAX_PEND_CMDS_CTRL"),
    (0x1300, "BOOT_STATUS"),
    (0x1304, "MODESEL"),
    (0x1308, "BASE_CMD_ID"),
    (0x24008, "UNKNOWN_CTRL"),
    (0x24908, "LINEAR_SQ_CTRL"),
    (0x2490c, "LINEAR_ASQ_DB"),
    (0x24910, "LINEAR_IOSQ_DB"),
    (0x28100, "NVMMU_NUM_TCBS"),
    (0x28108, "NVMMU_ASQ_TCB_BASE"),
    (0x2810c, "NVMMU_ASQ_TCB_BASE_HIGH"),
    (0x28110, "NVMMU_IOSQ_TCB_BASE"),
    (0x28114, "NVMMU_IOSQ_TCB_BASE_HIGH"),
    (0x28118, "NVMMU_TCB_INVAL"),
    (0x28120, "NVMMU_TCB_STAT"),
    (0x29120, "NVMMU_TCB_STAT_M1N1"),
];

/// The name of the 32-bit register at `offset` of the NVMe block, as in Linux' driver; the high half of a 64-bit
/// register has a name of its own.
#[must_use]
pub fn register_name(offset: u64) -> Option<&'static str> {
    NAMES.iter().find(|(at, _)| *at == offset).map(|(_, name)| *name)
}

pub(super) const BOOT_STATUS: u64 = 0x1300;
/// What BOOT_STATUS says once the firmware has the controller ready.
pub(super) const BOOT_STATUS_READY: u32 = 0xde71_ce55;

/// UNKNOWN_CTRL: commands with a PRP of 0 fail. Set after reset, and to be cleared (Linux apple.c).
pub(super) const PRP_NULL_CHECK: u32 = 1 << 11;

/// Registers of 64 bits.
fn is_wide(offset: u64) -> bool {
    matches!(offset, 0x00 | 0x28 | 0x30 | 0x28108 | 0x28110)
}

/// The registers that only Apple's block has.
#[derive(Debug)]
pub(super) struct AppleRegisters {
    pub(super) linear: u32,
    pub(super) maximum_pending: u32,
    pub(super) control: u32,
    pub(super) control_blocks: u32,
    pub(super) mode: u32,
    /// TCB arrays: admin, IO.
    pub(super) bases: [u64; 2],
    pub(super) invalidation: u32,
}

impl Default for AppleRegisters {
    fn default() -> Self {
        let (linear, maximum_pending, control_blocks, mode, invalidation) = (0, 0, 0, 0, 0);
        Self { linear, maximum_pending, control: PRP_NULL_CHECK, control_blocks, mode, bases: [0; 2], invalidation }
    }
}

pub(super) fn place(offset: u64) -> String {
    format!("nvme+{offset:#07x}")
}

impl NvmeBlock {
    /// A read of `size` bytes at `offset`.
    pub(crate) fn read(&mut self, ctx: &mut Context<'_>, offset: u64, size: u8) -> u64 {
        if offset == BOOT_STATUS && size == 4 {
            return self.boot_status(ctx).into();
        }
        if !self.may_touch(ctx, offset, "read") {
            if self.crashed {
                return if offset == 0x1c { 1 << 1 } else { 0 };
            }
            // Not 0 and not all ones, so that a driver which takes it for an answer goes wrong.
            return 0xdead_0000_dead_0000 >> (64 - 8 * u32::from(size.clamp(1, 8))) | offset & 0xff;
        }
        match size {
            4 if offset.is_multiple_of(4) => self.read_register(ctx, offset).into(),
            8 if is_wide(offset) => {
                u64::from(self.read_register(ctx, offset)) | u64::from(self.read_register(ctx, offset + 4)) << 32
            }
            _ => {
                ctx.violation("register-width", place(offset), format!("a read of {size} bytes"));
                0
            }
        }
    }

    /// A write of `size` bytes at `offset`.
    pub(crate) fn write(&mut self, ctx: &mut Context<'_>, offset: u64, size: u8, value: u64) {
        if !self.may_touch(ctx, offset, "write") {
            return;
        }
        match size {
            4 if offset.is_multiple_of(4) => self.write_register(ctx, offset, bits::low32(value)),
            8 if is_wide(offset) => {
                self.write_register(ctx, offset, bits::low32(value));
                self.write_register(ctx, offset + 4, bits::low32(value >> 32));
            }
            _ => ctx.violation("register-width", place(offset), format!("a write of {size} bytes")),
        }
    }

    fn boot_status(&mut self, ctx: &mut Context<'_>) -> u32 {
        self.follow_firmware(ctx);
        match ctx.wires.firmware_ready {
            true => {
                self.boot_status_seen = true;
                BOOT_STATUS_READY
            }
            false => 0,
        }
    }

    /// Whether the registers answer; if not, or if the driver did not ask first, that is a broken rule.
    fn may_touch(&mut self, ctx: &mut Context<'_>, offset: u64, what: &str) -> bool {
        self.follow_firmware(ctx);
        if self.crashed {
            ctx.note("registers-after-crash", place(offset), format!("{what} although the firmware has crashed"));
            return false;
        }
        if !ctx.wires.firmware_ready {
            let detail = format!("{what} while the firmware is not up: BOOT_STATUS is not {BOOT_STATUS_READY:#x}");
            ctx.violation("registers-before-boot-status", place(offset), detail);
            return false;
        }
        if !self.boot_status_seen {
            self.boot_status_seen = true;
            let detail = format!("{what} before BOOT_STATUS was seen to be right since the firmware came up");
            ctx.violation("boot-status-unchecked", place(offset), detail);
        }
        true
    }

    fn read_register(&mut self, ctx: &mut Context<'_>, offset: u64) -> u32 {
        let high = |value: u64| bits::low32(value >> 32);
        match offset {
            0x00 => bits::low32(self.capabilities()),
            0x04 => high(self.capabilities()),
            0x08 => self.settings.identity.version,
            0x0c | 0x10 => self.controller.mask,
            0x14 => self.controller.cc,
            0x1c => self.status_register(),
            0x20 | 0x38 | 0x3c => 0,
            0x24 => self.controller.aqa,
            0x28 => bits::low32(self.controller.asq),
            0x2c => high(self.controller.asq),
            0x30 => bits::low32(self.controller.acq),
            0x34 => high(self.controller.acq),
            0x1210 => self.apple.maximum_pending,
            0x1300 => BOOT_STATUS_READY,
            0x1304 => self.apple.mode,
            0x1308 => 0x6000,
            0x24008 => self.apple.control,
            0x24908 => self.apple.linear,
            0x28100 => self.apple.control_blocks,
            0x28108 => bits::low32(self.apple.bases[0]),
            0x2810c => high(self.apple.bases[0]),
            0x28110 => bits::low32(self.apple.bases[1]),
            0x28114 => high(self.apple.bases[1]),
            0x28120 => self.apple.invalidation,
            0x29120 => {
                ctx.note("tcb-stat-elsewhere", place(offset), "TCB_STAT is at 0x28120; m1n1 reads here, and finds 0");
                0
            }
            0x1000..=0x100f | 0x2490c | 0x24910 | 0x28118 => {
                ctx.note("write-only-register", place(offset), "read of a register that is only written");
                0
            }
            _ => {
                ctx.note("unknown-register", place(offset), "read where no register is known");
                0
            }
        }
    }

    fn write_register(&mut self, ctx: &mut Context<'_>, offset: u64, value: u32) {
        if self.controller.enabled() && matches!(offset, 0x24..=0x34) {
            let detail = format!("{value:#x} written while CC.EN is set; ignored");
            return ctx.violation("admin-registers-while-enabled", place(offset), detail);
        }
        match offset {
            0x0c => self.set_mask(ctx, self.controller.mask | value),
            0x10 => self.set_mask(ctx, self.controller.mask & !value),
            0x14 => self.write_configuration(ctx, value),
            0x24 => self.controller.aqa = value & 0x0fff_0fff,
            0x28 => self.controller.asq = bits::with_low(self.controller.asq, value),
            0x2c => self.controller.asq = bits::with_high(self.controller.asq, value),
            0x30 => self.controller.acq = bits::with_low(self.controller.acq, value),
            0x34 => self.controller.acq = bits::with_high(self.controller.acq, value),
            0x1004 => self.consume(ctx, QueueName::Admin, offset, value),
            0x100c => self.consume(ctx, QueueName::Io, offset, value),
            0x1000 | 0x1008 => {
                let detail = format!("{value:#x}: the tail of a ring, which this controller does not have");
                ctx.violation("standard-doorbell", place(offset), detail);
            }
            0x1210 => self.apple.maximum_pending = value,
            0x1304 => self.apple.mode = value,
            0x24008 => self.apple.control = value,
            0x24908 => self.apple.linear = value,
            0x2490c => self.ring(ctx, QueueName::Admin, offset, value),
            0x24910 => self.ring(ctx, QueueName::Io, offset, value),
            0x28100 => self.apple.control_blocks = value,
            0x28108 => self.set_base(ctx, QueueName::Admin, offset, |base| bits::with_low(base, value)),
            0x2810c => self.set_base(ctx, QueueName::Admin, offset, |base| bits::with_high(base, value)),
            0x28110 => self.set_base(ctx, QueueName::Io, offset, |base| bits::with_low(base, value)),
            0x28114 => self.set_base(ctx, QueueName::Io, offset, |base| bits::with_high(base, value)),
            0x28118 => self.invalidate(ctx, offset, value),
            0x1c => ctx.note("read-only-register", place(offset), format!("{value:#x} written to CSTS")),
            _ => {
                let detail = format!("{value:#x} written where no writable register is known");
                ctx.violation("unknown-register", place(offset), detail);
            }
        }
    }

    fn set_base(&mut self, ctx: &mut Context<'_>, queue: QueueName, offset: u64, change: impl Fn(u64) -> u64) {
        let base = match queue {
            QueueName::Admin => &mut self.apple.bases[0],
            QueueName::Io => &mut self.apple.bases[1],
        };
        let old = *base;
        *base = change(old);
        if *base != old && self.commands.values().any(|command| command.queue == queue) {
            let detail = format!("TCB base of the {} queue changed with commands in flight", queue.name());
            ctx.violation("tcb-base-changed", place(offset), detail);
        }
    }

    fn set_mask(&mut self, ctx: &mut Context<'_>, mask: u32) {
        self.controller.mask = mask;
        self.update_interrupt(ctx);
    }

    /// The level of the interrupt line: an entry waits on a queue with IEN, and vector 0 is not masked.
    pub(super) fn update_interrupt(&mut self, ctx: &mut Context<'_>) {
        let queues = [self.admin_completions.as_ref(), self.io_completions.as_ref()];
        let waiting = queues.into_iter().flatten().any(|queue| queue.interrupt && queue.has_entries());
        ctx.wires.nvme_interrupt = waiting && self.controller.mask & 1 == 0;
    }

    /// Asks to be woken `delay` nanoseconds from now for `due`; the number under which that is kept.
    pub(super) fn schedule(&mut self, ctx: &mut Context<'_>, delay: u64, due: Due) -> u64 {
        self.sequence += 1;
        self.due.insert(self.sequence, due);
        ctx.events.at(ctx.now.saturating_add(delay), crate::context::Event::Nvme(self.sequence));
        self.sequence
    }
}
