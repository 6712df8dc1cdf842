//! The register map and what an access to each register does.

use super::bits;
use super::queue::QueueName;
use super::{Due, NvmeBlock};
use crate::context::Context;
use crate::facts::apple::*;
use crate::facts::controller::*;

const CAP_HIGH: u64 = CAP + 4;
const ASQ_HIGH: u64 = ASQ + 4;
const ACQ_HIGH: u64 = ACQ + 4;
const NVMMU_ASQ_TCB_BASE_HIGH: u64 = NVMMU_ASQ_TCB_BASE + 4;
const NVMMU_IOSQ_TCB_BASE_HIGH: u64 = NVMMU_IOSQ_TCB_BASE + 4;

/// The registers, by offset in the block, with the names that reports use.
///
/// Standard ones: NVMe base specification. Apple's: Linux apple.c, m1n1, U-Boot, OpenBSD, which agree; MODESEL is
/// U-Boot's and OpenBSD's, BASE_CMD_ID a QEMU model's.
const NAMES: &[(u64, &str)] = &[
    (CAP, "CAP"),
    (CAP_HIGH, "CAP_HIGH"),
    (VS, "VS"),
    (INTMS, "INTMS"),
    (INTMC, "INTMC"),
    (CC, "CC"),
    (CSTS, "CSTS"),
    (NSSR, "NSSR"),
    (AQA, "AQA"),
    (ASQ, "ASQ"),
    (ASQ_HIGH, "ASQ_HIGH"),
    (ACQ, "ACQ"),
    (ACQ_HIGH, "ACQ_HIGH"),
    (CMBLOC, "CMBLOC"),
    (CMBSZ, "CMBSZ"),
    (ADMIN_SQ_TAIL, "ADMIN_SQ_TAIL"),
    (ADMIN_CQ_HEAD, "ADMIN_CQ_HEAD"),
    (IO_SQ_TAIL, "IO_SQ_TAIL"),
    (IO_CQ_HEAD, "IO_CQ_HEAD"),
    (MAX_PEND_CMDS_CTRL, "MAX_PEND_CMDS_CTRL"),
    (BOOT_STATUS, "BOOT_STATUS"),
    (MODESEL, "MODESEL"),
    (BASE_CMD_ID, "BASE_CMD_ID"),
    (UNKNOWN_CTRL, "UNKNOWN_CTRL"),
    (LINEAR_SQ_CTRL, "LINEAR_SQ_CTRL"),
    (LINEAR_ASQ_DB, "LINEAR_ASQ_DB"),
    (LINEAR_IOSQ_DB, "LINEAR_IOSQ_DB"),
    (NVMMU_NUM_TCBS, "NVMMU_NUM_TCBS"),
    (NVMMU_ASQ_TCB_BASE, "NVMMU_ASQ_TCB_BASE"),
    (NVMMU_ASQ_TCB_BASE_HIGH, "NVMMU_ASQ_TCB_BASE_HIGH"),
    (NVMMU_IOSQ_TCB_BASE, "NVMMU_IOSQ_TCB_BASE"),
    (NVMMU_IOSQ_TCB_BASE_HIGH, "NVMMU_IOSQ_TCB_BASE_HIGH"),
    (NVMMU_TCB_INVAL, "NVMMU_TCB_INVAL"),
    (NVMMU_TCB_STAT, "NVMMU_TCB_STAT"),
    (NVMMU_TCB_STAT_M1N1, "NVMMU_TCB_STAT_M1N1"),
];

/// The name of the 32-bit register at `offset` of the NVMe block, as in Linux' driver; the high half of a 64-bit
/// register has a name of its own.
pub(crate) fn register_name(offset: u64) -> Option<&'static str> {
    NAMES.iter().find(|(at, _)| *at == offset).map(|(_, name)| *name)
}

/// Registers of 64 bits.
fn is_wide(offset: u64) -> bool {
    matches!(offset, CAP | ASQ | ACQ | NVMMU_ASQ_TCB_BASE | NVMMU_IOSQ_TCB_BASE)
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
    /// After a reset the check for a PRP of 0 is on, and to be switched off (Linux apple.c).
    fn default() -> Self {
        let (linear, maximum_pending, control_blocks, mode, invalidation) = (0, 0, 0, 0, 0);
        Self {
            linear,
            maximum_pending,
            control: PRP_NULL_CHECK.mask32(),
            control_blocks,
            mode,
            bases: [0; 2],
            invalidation,
        }
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
                return if offset == CSTS { CSTS_CFS.mask() } else { 0 };
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
            CAP => bits::low32(self.capabilities()),
            CAP_HIGH => high(self.capabilities()),
            VS => self.settings.identity.version,
            INTMS | INTMC => self.controller.mask,
            CC => self.controller.cc,
            CSTS => self.status_register(),
            NSSR | CMBLOC | CMBSZ => 0,
            AQA => self.controller.aqa,
            ASQ => bits::low32(self.controller.asq),
            ASQ_HIGH => high(self.controller.asq),
            ACQ => bits::low32(self.controller.acq),
            ACQ_HIGH => high(self.controller.acq),
            MAX_PEND_CMDS_CTRL => self.apple.maximum_pending,
            BOOT_STATUS => BOOT_STATUS_READY,
            MODESEL => self.apple.mode,
            BASE_CMD_ID => 0x6000,
            UNKNOWN_CTRL => self.apple.control,
            LINEAR_SQ_CTRL => self.apple.linear,
            NVMMU_NUM_TCBS => self.apple.control_blocks,
            NVMMU_ASQ_TCB_BASE => bits::low32(self.apple.bases[0]),
            NVMMU_ASQ_TCB_BASE_HIGH => high(self.apple.bases[0]),
            NVMMU_IOSQ_TCB_BASE => bits::low32(self.apple.bases[1]),
            NVMMU_IOSQ_TCB_BASE_HIGH => high(self.apple.bases[1]),
            NVMMU_TCB_STAT => self.apple.invalidation,
            NVMMU_TCB_STAT_M1N1 => {
                ctx.note("tcb-stat-elsewhere", place(offset), "TCB_STAT is elsewhere; m1n1 reads here, and finds 0");
                0
            }
            ADMIN_SQ_TAIL..=IO_CQ_HEAD | LINEAR_ASQ_DB | LINEAR_IOSQ_DB | NVMMU_TCB_INVAL => {
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
        if self.controller.enabled() && matches!(offset, AQA..=ACQ_HIGH) {
            let detail = format!("{value:#x} written while CC.EN is set; ignored");
            return ctx.violation("admin-registers-while-enabled", place(offset), detail);
        }
        match offset {
            INTMS => self.set_mask(ctx, self.controller.mask | value),
            INTMC => self.set_mask(ctx, self.controller.mask & !value),
            CC => self.write_configuration(ctx, value),
            AQA => self.controller.aqa = value & (AQA_ASQS.mask32() | AQA_ACQS.mask32()),
            ASQ => self.controller.asq = bits::with_low(self.controller.asq, value),
            ASQ_HIGH => self.controller.asq = bits::with_high(self.controller.asq, value),
            ACQ => self.controller.acq = bits::with_low(self.controller.acq, value),
            ACQ_HIGH => self.controller.acq = bits::with_high(self.controller.acq, value),
            ADMIN_CQ_HEAD => self.consume(ctx, QueueName::Admin, offset, value),
            IO_CQ_HEAD => self.consume(ctx, QueueName::Io, offset, value),
            ADMIN_SQ_TAIL | IO_SQ_TAIL => {
                let detail = format!("{value:#x}: the tail of a ring, which this controller does not have");
                ctx.violation("standard-doorbell", place(offset), detail);
            }
            MAX_PEND_CMDS_CTRL => self.apple.maximum_pending = value,
            MODESEL => self.apple.mode = value,
            UNKNOWN_CTRL => self.apple.control = value,
            LINEAR_SQ_CTRL => self.apple.linear = value,
            LINEAR_ASQ_DB => self.ring(ctx, QueueName::Admin, offset, value),
            LINEAR_IOSQ_DB => self.ring(ctx, QueueName::Io, offset, value),
            NVMMU_NUM_TCBS => self.apple.control_blocks = value,
            NVMMU_ASQ_TCB_BASE => self.set_base(ctx, QueueName::Admin, offset, |base| bits::with_low(base, value)),
            NVMMU_ASQ_TCB_BASE_HIGH => {
                self.set_base(ctx, QueueName::Admin, offset, |base| bits::with_high(base, value))
            }
            NVMMU_IOSQ_TCB_BASE => self.set_base(ctx, QueueName::Io, offset, |base| bits::with_low(base, value)),
            NVMMU_IOSQ_TCB_BASE_HIGH => self.set_base(ctx, QueueName::Io, offset, |base| bits::with_high(base, value)),
            NVMMU_TCB_INVAL => self.invalidate(ctx, offset, value),
            CSTS => ctx.note("read-only-register", place(offset), format!("{value:#x} written to CSTS")),
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
