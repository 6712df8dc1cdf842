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
        (3, 3, 14, 2 | 3, 0..=2) => {
            let timer = cpu.get_data().timers.get(timer_index(register)?)?;
            timer.read(register.op2, ticks(nanoseconds))
        }
        // PMCCNTR_EL0: one instruction, one cycle.
        (3, 3, 9, 13, 0) => instructions,
        _ => raw,
    })
}

/// What MSR does for `register` at `nanoseconds`, if the emulator cannot do it itself: the timers. `false`: it can.
pub(crate) fn write(cpu: &mut Unicorn<'_, Board>, register: &RegisterARM64CP, nanoseconds: u64) -> bool {
    let board = cpu.get_data_mut();
    let Some(timer) = timer_index(register).and_then(|index| board.timers.get_mut(index)) else { return false };
    timer.write(register.op2, register.val, ticks(nanoseconds));
    // What the timer asks for now may be due at once.
    board.check_at = 0;
    true
}

/// Which timer a register belongs to: 0 the physical one, 1 the virtual one.
fn timer_index(register: &RegisterARM64CP) -> Option<usize> {
    match (register.op0, register.op1, register.crn, register.crm, register.op2) {
        (3, 3, 14, 2, 0..=2) => Some(0),
        (3, 3, 14, 3, 0..=2) => Some(1),
        _ => None,
    }
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
