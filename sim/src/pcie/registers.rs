//! The register map and what an access to each register does.

use super::Device;
use crate::context::Context;
use crate::facts::controller::*;
use crate::nvme::bits;

/// The name of the block in logs and places.
pub(super) const NAME: &str = "bar0";

pub(super) fn place(offset: u64) -> String {
    format!("{NAME}+{offset:#06x}")
}

/// A doorbell of one queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doorbell {
    Tail(u16),
    Head(u16),
}

impl Device {
    /// Bytes between doorbells.
    pub(super) fn stride(&self) -> u64 {
        4 << self.config.capabilities.doorbell_stride
    }

    /// Bytes of BAR0: to the last doorbell of the last queue.
    pub(super) fn bar_size(&self) -> u64 {
        (DOORBELLS + (u64::from(self.config.queue_pairs) + 1) * 2 * self.stride()).next_power_of_two()
    }

    fn doorbell(&self, offset: u64) -> Option<Doorbell> {
        let within = offset.checked_sub(DOORBELLS)?;
        let (index, stride) = (within / self.stride(), self.stride());
        let queue = bits::low16(index / 2);
        let door = if index.is_multiple_of(2) { Doorbell::Tail(queue) } else { Doorbell::Head(queue) };
        within.is_multiple_of(stride).then_some(door)
    }

    /// A read of `size` bytes at `offset`.
    pub(super) fn read(&mut self, ctx: &mut Context<'_>, offset: u64, size: u8) -> u64 {
        if self.is_gone() {
            return u64::MAX;
        }
        if size != 4 {
            ctx.violation(
                "register-width",
                place(offset),
                format!("a read of {size} bytes; registers are read in words"),
            );
        }
        let low = u64::from(self.read_register(ctx, offset));
        if size == 8 { low | u64::from(self.read_register(ctx, offset + 4)) << 32 } else { low }
    }

    /// A write of `size` bytes at `offset`.
    pub(super) fn write(&mut self, ctx: &mut Context<'_>, offset: u64, size: u8, value: u64) {
        if self.is_gone() {
            return;
        }
        if size != 4 {
            let detail = format!("a write of {size} bytes; registers are written in words, low half first");
            ctx.violation("register-width", place(offset), detail);
        }
        self.write_register(ctx, offset, bits::low32(value));
        if size == 8 {
            self.write_register(ctx, offset + 4, bits::low32(value >> 32));
        }
    }

    fn read_register(&mut self, ctx: &mut Context<'_>, offset: u64) -> u32 {
        const CAP_HIGH: u64 = CAP + 4;
        const ASQ_HIGH: u64 = ASQ + 4;
        const ACQ_HIGH: u64 = ACQ + 4;
        let high = |value: u64| bits::low32(value >> 32);
        match offset {
            CAP => bits::low32(self.capabilities()),
            CAP_HIGH => high(self.capabilities()),
            VS => self.config.version,
            INTMS | INTMC => self.registers.mask,
            CC => self.registers.cc,
            CSTS => self.status_register(),
            NSSR | CMBLOC | CMBSZ => 0,
            AQA => self.registers.aqa,
            ASQ => bits::low32(self.registers.asq),
            ASQ_HIGH => high(self.registers.asq),
            ACQ => bits::low32(self.registers.acq),
            ACQ_HIGH => high(self.registers.acq),
            _ if self.doorbell(offset).is_some() => {
                ctx.violation("write-only-register", place(offset), "a doorbell is only written");
                0
            }
            _ => {
                ctx.note("unknown-register", place(offset), "read where no register is known");
                0
            }
        }
    }

    fn write_register(&mut self, ctx: &mut Context<'_>, offset: u64, value: u32) {
        const ASQ_HIGH: u64 = ASQ + 4;
        const ACQ_HIGH: u64 = ACQ + 4;
        let before = self.registers.written.replace(offset);
        if self.registers.enabled() && matches!(offset, AQA..=ACQ_HIGH) {
            let detail = format!("{value:#x} written while CC.EN is set; ignored");
            return ctx.violation("admin-registers-while-enabled", place(offset), detail);
        }
        if matches!(offset, ASQ_HIGH | ACQ_HIGH) && before != Some(offset - 4) {
            ctx.violation("register-halves", place(offset), "a high half that does not follow its low half");
        }
        let registers = &mut self.registers;
        match offset {
            INTMS => registers.mask |= value,
            INTMC => registers.mask &= !value,
            CC => self.write_configuration(ctx, value),
            AQA => registers.aqa = value & (AQA_ASQS.mask32() | AQA_ACQS.mask32()),
            ASQ => registers.asq = bits::with_low(registers.asq, value),
            ASQ_HIGH => registers.asq = bits::with_high(registers.asq, value),
            ACQ => registers.acq = bits::with_low(registers.acq, value),
            ACQ_HIGH => registers.acq = bits::with_high(registers.acq, value),
            CAP..=INTMC | CSTS | CMBLOC | CMBSZ => {
                ctx.note(
                    "read-only-register",
                    place(offset),
                    format!("{value:#x} written to a register that is only read"),
                );
            }
            _ => match self.doorbell(offset) {
                Some(Doorbell::Tail(queue)) => self.ring_tail(ctx, queue, value),
                Some(Doorbell::Head(queue)) => self.ring_head(ctx, queue, value),
                None => {
                    let detail = format!("{value:#x} written where no writable register is known");
                    ctx.violation("unknown-register", place(offset), detail);
                }
            },
        }
    }
}
