//! System registers as the image reads them.
//!
//! Once the emulator has a call-back for MRS, it has to answer every register. Nearly all are the CPU's own state and
//! are handed through. Answered here are those that would let the host show through (time, cycle counts), and those in
//! which the emulated core claims more than an M1 core has.

use unicorn_engine::{RegisterARM64, RegisterARM64CP, Unicorn};

use crate::board::Board;
use crate::clock::ticks;

/// A system register by op0, op1, CRn, CRm, op2.
type Name = (u32, u32, u32, u32, u32);

pub(crate) const SPSR_EL1: Name = (3, 0, 4, 0, 0);
pub(crate) const SCR_EL3: Name = (3, 6, 1, 1, 0);
pub(crate) const HCR_EL2: Name = (3, 4, 1, 1, 0);
pub(crate) const CNTKCTL_EL1: Name = (3, 0, 14, 1, 0);
pub(crate) const CNTP_CTL_EL0: Name = (3, 3, 14, 2, 1);
pub(crate) const CNTP_CVAL_EL0: Name = (3, 3, 14, 2, 2);
pub(crate) const CNTV_CTL_EL0: Name = (3, 3, 14, 3, 1);
pub(crate) const CNTV_CVAL_EL0: Name = (3, 3, 14, 3, 2);

/// Timer control: enable, mask, condition met.
const TIMER_ENABLE: u64 = 1 << 0;
const TIMER_MASK: u64 = 1 << 1;
const TIMER_STATUS: u64 = 1 << 2;

/// MIDR_EL1 of an M1's boot core, an Icestorm: implementer 0x61, variant 1, part 0x022, revision 1.
const MIDR: u64 = 0x611f_0221;
/// MPIDR_EL1 of the only core: number 0 (bit 31 reads as one).
const MPIDR: u64 = 1 << 31;
/// ID_AA64MMFR0_EL1: 36-bit physical addresses (1 in 3:0), 8-bit ASIDs, mixed endianness, granules of 4K and 16K but not 64K.
const MMFR0: u64 = 0x0f10_0001;
/// The generic timer's frequency (`soc.md` section 1).
const FREQUENCY: u64 = 24_000_000;

fn named(name: Name) -> RegisterARM64CP {
    let (op0, op1, crn, crm, op2) = name;
    RegisterARM64CP { crn, crm, op0, op1, op2, val: 0 }
}

/// What stands in a register's place before it is read: the emulator leaves it there when it has no such register.
const UNREAD: u64 = 0x756e_7265_6164_2e2e;

/// The CPU's own value of a register; `None` if it has no such register.
pub(crate) fn own(cpu: &Unicorn<'_, Board>, name: Name) -> Option<u64> {
    let mut register = RegisterARM64CP { val: UNREAD, ..named(name) };
    cpu.reg_read_arm64_coproc(&mut register).ok()?;
    (register.val != UNREAD).then_some(register.val)
}

/// Sets the CPU's own value of a register, and makes the CPU look at its state anew.
pub(crate) fn set_own(cpu: &mut Unicorn<'_, Board>, name: Name, value: u64) -> Result<(), unicorn_engine::uc_error> {
    cpu.reg_write_arm64_coproc(&RegisterARM64CP { val: value, ..named(name) })
}

/// What MRS gives for `register` with `instructions` done at `nanoseconds`; `None` if there is no such register.
pub(crate) fn read(
    cpu: &Unicorn<'_, Board>,
    register: &RegisterARM64CP,
    instructions: u64,
    nanoseconds: u64,
) -> Option<u64> {
    let name = (register.op0, register.op1, register.crn, register.crm, register.op2);
    if matches!(name, (3, _, 11 | 15, _, _)) {
        // Implementation defined. The emulator grumbles on standard error when it is asked for one that it lacks.
        return None;
    }
    let raw = own(cpu, name)?;
    let timer = |control: Name, compare: Name| timer_control(cpu, control, compare, nanoseconds);
    Some(match name {
        // CurrentEL and NZCV live in PSTATE only.
        (3, 0, 4, 2, 2) => cpu.reg_read(RegisterARM64::PSTATE).unwrap_or(0) & 0b1100,
        (3, 3, 4, 2, 0) => cpu.reg_read(RegisterARM64::NZCV).unwrap_or(0),
        // MIDR_EL1, MPIDR_EL1, REVIDR_EL1.
        (3, 0, 0, 0, 0) => MIDR,
        (3, 0, 0, 0, 5) => MPIDR,
        (3, 0, 0, 0, 6) => 0,
        // ID_AA64PFR0_EL1 without EL3, RAS and SVE; ID_AA64PFR1_EL1 without BTI and MTE; ID_AA64ZFR0_EL1.
        (3, 0, 0, 4, 0) => raw & !0x0000_000f_f000_f000,
        (3, 0, 0, 4, 1 | 4) => 0,
        // ID_AA64ISAR0_EL1 without random numbers.
        (3, 0, 0, 6, 0) => raw & !(0xf << 60),
        // ID_AA64MMFR0_EL1.
        (3, 0, 0, 7, 0) => MMFR0,
        // CNTFRQ, CNTPCT and CNTVCT (plain and self-synchronised).
        (3, 3, 14, 0, 0) => FREQUENCY,
        (3, 3, 14, 0, 1 | 2 | 5 | 6) => ticks(nanoseconds),
        // CNTP_TVAL and CNTP_CTL, CNTV_TVAL and CNTV_CTL.
        (3, 3, 14, 2, 0) => time_left(cpu, CNTP_CVAL_EL0, nanoseconds),
        (3, 3, 14, 3, 0) => time_left(cpu, CNTV_CVAL_EL0, nanoseconds),
        CNTP_CTL_EL0 => timer(CNTP_CTL_EL0, CNTP_CVAL_EL0),
        CNTV_CTL_EL0 => timer(CNTV_CTL_EL0, CNTV_CVAL_EL0),
        // PMCCNTR_EL0: one instruction, one cycle.
        (3, 3, 9, 13, 0) => instructions,
        _ => raw,
    })
}

fn time_left(cpu: &Unicorn<'_, Board>, compare: Name, nanoseconds: u64) -> u64 {
    own(cpu, compare).unwrap_or(0).wrapping_sub(ticks(nanoseconds)) & 0xffff_ffff
}

fn timer_control(cpu: &Unicorn<'_, Board>, control: Name, compare: Name, nanoseconds: u64) -> u64 {
    let control = own(cpu, control).unwrap_or(0) & (TIMER_ENABLE | TIMER_MASK);
    let met = control & TIMER_ENABLE != 0 && ticks(nanoseconds) >= own(cpu, compare).unwrap_or(0);
    control | if met { TIMER_STATUS } else { 0 }
}

/// The counter value at which the CPU's timers next ask for an interrupt, whether passed or not.
pub(crate) fn next_timer(cpu: &Unicorn<'_, Board>) -> Option<u64> {
    [(CNTP_CTL_EL0, CNTP_CVAL_EL0), (CNTV_CTL_EL0, CNTV_CVAL_EL0)]
        .into_iter()
        .filter(|&(control, _)| {
            own(cpu, control).is_some_and(|value| value & (TIMER_ENABLE | TIMER_MASK) == TIMER_ENABLE)
        })
        .filter_map(|(_, compare)| own(cpu, compare))
        .min()
}

/// The counter value at which the event stream next wakes a WFE that begins at `counter`; `None` if it is off.
///
/// CNTKCTL_EL1: EVNTEN bit 2, EVNTDIR bit 3 (0 = when the chosen bit rises), EVNTI bits 7:4.
pub(crate) fn next_stream_event(cpu: &Unicorn<'_, Board>, counter: u64) -> Option<u64> {
    let control = own(cpu, CNTKCTL_EL1)?;
    if control & 1 << 2 == 0 {
        return None;
    }
    let half = 1u64 << (control >> 4 & 0xf);
    let phase = if control & 1 << 3 == 0 { half } else { 0 };
    let period = half * 2;
    let into = counter.wrapping_sub(phase) & (period - 1);
    Some(counter + period - into)
}
