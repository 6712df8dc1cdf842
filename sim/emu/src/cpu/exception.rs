//! Entry to the image's exception vectors, which the emulator leaves to its user.
//!
//! Layouts of ESR, SPSR and the vector table: Arm architecture reference manual, "AArch64 exception handling".

use unicorn_engine::{Prot, RegisterARM64, Unicorn};

use super::decode::{DataAccess, data_access};
use super::system::{SPSR_EL1, set_own};
use super::translate;
use crate::board::{AbortKind, Board, Line};
use crate::memory::RAM;

/// Exception classes of ESR_EL1.
const CLASS_UNKNOWN: u64 = 0x00;
const CLASS_SVC: u64 = 0x15;
const CLASS_INSTRUCTION_ABORT: u64 = 0x20;
const CLASS_PC_ALIGNMENT: u64 = 0x22;
const CLASS_DATA_ABORT: u64 = 0x24;
const CLASS_BREAKPOINT: u64 = 0x3c;
/// Added to the class of an abort that was taken from EL1.
const SAME_LEVEL: u64 = 1;
/// ESR_EL1.IL: the instruction was 32 bits long.
const LENGTH: u64 = 1 << 25;
/// ISS of a data abort: the access was a write.
const WRITE: u64 = 1 << 6;
/// Fault status: synchronous external abort, not on a table walk.
const EXTERNAL: u64 = 0x10;
/// MSR and MRS among the instruction words: a mask, and what is under it.
const SYSTEM_WORD: (u32, u32) = (0xffc0_0000, 0xd500_0000);

/// SPSR: all of D, A, I and F masked, EL1 with its own stack pointer.
const MASKED_EL1H: u64 = 0x3c5;

/// QEMU's numbers for the exceptions that a call-back is told of (qemu/target/arm/cpu.h).
pub(crate) mod number {
    pub(crate) const UNDEFINED: u32 = 1;
    pub(crate) const SUPERVISOR_CALL: u32 = 2;
    pub(crate) const PREFETCH_ABORT: u32 = 3;
    pub(crate) const DATA_ABORT: u32 = 4;
    pub(crate) const BREAKPOINT: u32 = 7;
    pub(crate) const HYPERVISOR_CALL: u32 = 11;
    pub(crate) const MONITOR_CALL: u32 = 13;
}

/// An exception about to be taken to EL1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exception {
    /// Offset in a group of four vectors: 0 synchronous, 0x80 IRQ, 0x100 FIQ.
    vector: u64,
    /// ESR_EL1; interrupts leave it.
    syndrome: Option<u64>,
    /// FAR_EL1, of aborts only.
    address: Option<u64>,
    /// ELR_EL1.
    pub(crate) return_to: u64,
}

impl std::fmt::Display for Exception {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { vector, syndrome, address, return_to } = self;
        match (vector, syndrome, address) {
            (0x80, ..) => write!(f, "IRQ at PC {return_to:#x}"),
            (0x100, ..) => write!(f, "FIQ at PC {return_to:#x}"),
            (_, Some(syndrome), Some(address)) => {
                write!(f, "abort at PC {return_to:#x}, ESR {syndrome:#x}, FAR {address:#x}")
            }
            (_, syndrome, _) => write!(f, "exception at PC {return_to:#x}, ESR {:#x}", syndrome.unwrap_or(0)),
        }
    }
}

/// The instruction word at a virtual address.
pub(crate) fn word_at(cpu: &Unicorn<'_, Board>, counter: u64) -> u32 {
    let mut word = [0; 4];
    match cpu.vmem_read(counter, Prot::EXEC, &mut word).or_else(|_| cpu.mem_read(counter, &mut word)) {
        Ok(()) => u32::from_le_bytes(word),
        Err(_) => 0,
    }
}

/// X0 to X30 by number, SP for 31.
fn register(cpu: &Unicorn<'_, Board>, number: u32) -> u64 {
    cpu.reg_read(register_name(number)).unwrap_or(0)
}

fn register_name(number: u32) -> i32 {
    match number {
        0..=28 => RegisterARM64::X0 as i32 + number.cast_signed(),
        29 => RegisterARM64::X29 as i32,
        30 => RegisterARM64::X30 as i32,
        _ => RegisterARM64::SP as i32,
    }
}

fn level(cpu: &Unicorn<'_, Board>) -> u64 {
    cpu.reg_read(RegisterARM64::PSTATE).unwrap_or(0) >> 2 & 3
}

fn abort_class(cpu: &Unicorn<'_, Board>, class: u64) -> u64 {
    (class + if level(cpu) == 0 { 0 } else { SAME_LEVEL }) << 26 | LENGTH
}

impl Exception {
    /// The machine refused an access of the instruction at `counter` to that physical address.
    pub(crate) fn external(cpu: &Unicorn<'_, Board>, kind: AbortKind, physical: u64, counter: u64) -> Self {
        let decoded = data_access(word_at(cpu, counter), counter, |number| register(cpu, number));
        let (class, address, write) = match (kind, decoded) {
            (AbortKind::Fetch, _) => (CLASS_INSTRUCTION_ABORT, counter, 0),
            // The second half of a pair lies behind the address that the instruction names: the low bits decide.
            (_, Some(access)) => {
                let within = physical.wrapping_sub(access.address) & 0xfff;
                let address = if within < 64 { access.address + within } else { access.address };
                (CLASS_DATA_ABORT, address, if kind == AbortKind::Write { WRITE } else { 0 })
            }
            (_, None) => (CLASS_DATA_ABORT, physical, if kind == AbortKind::Write { WRITE } else { 0 }),
        };
        let syndrome = abort_class(cpu, class) | write | EXTERNAL;
        Self { vector: 0, syndrome: Some(syndrome), address: Some(address), return_to: counter }
    }

    /// An exception that the CPU raised itself, by QEMU's number; `counter` is the PC as the call-back found it.
    pub(crate) fn internal(cpu: &Unicorn<'_, Board>, number: u32, counter: u64) -> Self {
        let plain = |class: u64, iss: u32, return_to: u64| Self {
            vector: 0,
            syndrome: Some(class << 26 | LENGTH | u64::from(iss)),
            address: None,
            return_to,
        };
        let immediate = |counter: u64| word_at(cpu, counter) >> 5 & 0xffff;
        match number {
            // The PC stands behind a call, and at everything else.
            number::SUPERVISOR_CALL => plain(CLASS_SVC, immediate(counter.wrapping_sub(4)), counter),
            number::HYPERVISOR_CALL | number::MONITOR_CALL => plain(CLASS_UNKNOWN, 0, counter.wrapping_sub(4)),
            number::BREAKPOINT => plain(CLASS_BREAKPOINT, immediate(counter), counter),
            number::PREFETCH_ABORT if !counter.is_multiple_of(4) => {
                Self { address: Some(counter), ..plain(CLASS_PC_ALIGNMENT, 0, counter) }
            }
            number::PREFETCH_ABORT => {
                let status = translate::fault_status(cpu, counter);
                let syndrome = Some(abort_class(cpu, CLASS_INSTRUCTION_ABORT) | status);
                Self { syndrome, address: Some(counter), ..plain(0, 0, counter) }
            }
            number::DATA_ABORT => {
                let access = data_access(word_at(cpu, counter), counter, |number| register(cpu, number));
                let DataAccess { address, store } = access.unwrap_or(DataAccess { address: 0, store: false });
                let status = translate::fault_status(cpu, address);
                let syndrome = abort_class(cpu, CLASS_DATA_ABORT) | if store { WRITE } else { 0 } | status;
                Self { syndrome: Some(syndrome), address: Some(address), ..plain(0, 0, counter) }
            }
            _ => plain(CLASS_UNKNOWN, 0, counter),
        }
    }

    /// An interrupt between two instructions.
    pub(crate) fn interrupt(line: Line, counter: u64) -> Self {
        let vector = match line {
            Line::Irq => 0x80,
            Line::Fiq => 0x100,
        };
        Self { vector, syndrome: None, address: None, return_to: counter }
    }

    /// Whether it came while a block ran: interrupts and failed fetches come between two blocks, and the one that was to
    /// run next has not been counted.
    pub(crate) fn is_within_a_block(&self) -> bool {
        let class = self.syndrome.map_or(0, |syndrome| syndrome >> 26);
        let fetch = matches!(class, CLASS_INSTRUCTION_ABORT..=CLASS_PC_ALIGNMENT);
        self.vector == 0 && !fetch
    }

    /// Takes the exception to EL1. Gives the vector's address.
    ///
    /// # Errors
    /// One line, when the image has no vector to go to.
    pub(crate) fn take(&self, cpu: &mut Unicorn<'_, Board>) -> Result<u64, String> {
        let failed = |error| format!("the emulator lost the CPU's state: {error:?}");
        let base = cpu.reg_read(RegisterARM64::VBAR_EL1).map_err(failed)?;
        let state = cpu.reg_read(RegisterARM64::PSTATE).map_err(failed)?;
        let (from, own_stack) = (state >> 2 & 3, state & 1 == 1);
        let group = match (from, own_stack) {
            (0, _) => 0x400,
            (_, true) => 0x200,
            (_, false) => 0x000,
        };
        let vector = base + group + self.vector;
        let usable = cpu.vmem_read(vector, Prot::EXEC, &mut [0; 4]).is_ok();
        if base < RAM || !usable {
            return Err(format!("{self}, and no vectors at VBAR_EL1 {base:#x}"));
        }
        if self.vector == 0 && self.return_to == vector {
            return Err(format!("{self}, at the first instruction of the vector itself"));
        }
        if from == 0 || !own_stack {
            // SP stood for SP_EL0 so far, and stands for SP_EL1 from here on.
            let stack = cpu.reg_read(RegisterARM64::SP).map_err(failed)?;
            let kernel_stack = cpu.reg_read(RegisterARM64::SP_EL1).map_err(failed)?;
            cpu.reg_write(RegisterARM64::SP_EL0, stack).map_err(failed)?;
            cpu.reg_write(RegisterARM64::SP, kernel_stack).map_err(failed)?;
        }
        cpu.reg_write(RegisterARM64::ELR_EL1, self.return_to).map_err(failed)?;
        if let Some(syndrome) = self.syndrome {
            cpu.reg_write(RegisterARM64::ESR_EL1, syndrome).map_err(failed)?;
        }
        if let Some(address) = self.address {
            cpu.reg_write(RegisterARM64::FAR_EL1, address).map_err(failed)?;
        }
        cpu.reg_write(RegisterARM64::PSTATE, MASKED_EL1H).map_err(failed)?;
        // Last: this write also makes the emulator look at the new state.
        set_own(cpu, SPSR_EL1, state).map_err(failed)?;
        Ok(vector)
    }
}

/// If the undefined instruction at `counter` is MRS or MSR, does it: reads give 0, writes are dropped.
///
/// The M1 has implementation-defined registers that the emulated core lacks; boot loaders and kernels set a few of them.
pub(crate) fn skip_system_register(cpu: &mut Unicorn<'_, Board>, counter: u64) -> bool {
    let word = word_at(cpu, counter);
    let (mask, value) = SYSTEM_WORD;
    // op0, bits 20:19, is 2 or 3 for registers; bit 21 set is a read.
    if word & mask != value || word >> 20 & 1 == 0 {
        return false;
    }
    let target = word & 0x1f;
    if word >> 21 & 1 == 1 && target < 31 {
        let _ = cpu.reg_write(register_name(target), 0);
    }
    true
}
