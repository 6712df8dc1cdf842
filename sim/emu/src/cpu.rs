//! The CPU: unicorn's aarch64 core, held to the machine's clock.

mod decode;
mod exception;
mod sleep;
mod system;
mod translate;

use unicorn_engine::unicorn_const::uc_error;
use unicorn_engine::{
    Arch, Arm64CpuModel, Arm64Insn, HookType, MemType, Mode, Prot, RegisterARM64, RegisterARM64CP, Unicorn,
};

use crate::board::{AbortKind, Board, Line, Over, Pause};
use crate::clock::{nanoseconds_of, ticks};
use crate::memory::{RAM, Ram};
use exception::Exception;
use sleep::Sleepers;

/// SCR_EL3: EL0 and EL1 are non-secure (NS, bit 0), EL2 is AArch64 (RW, bit 10), hypervisor calls are on (HCE, bit 8),
/// SMC is off (SMD, bit 7), and the bits that read as one (5:4). Without it the emulator takes EL1 for AArch32 when it walks tables.
const SCR: u64 = 0x5b1;
/// HCR_EL2.RW: EL1 is AArch64.
const HCR: u64 = 1 << 31;
/// PSTATE at entry: EL1 with its own stack pointer, D, A, I and F masked.
const ENTRY_STATE: u64 = 0x3c5;
/// An address where no instruction can be: the emulator is never to stop at an address.
const NOWHERE: u64 = 1;
/// The CPU looks up at least this often, so that a timer which the image set is seen soon.
const LOOK_UP: u64 = 8192;
/// How long a WFE sleeps when neither a device nor the event stream would wake it: as with the event stream that boot
/// loaders on M1 set up. A core without any would sleep for ever.
const NAP_NS: u64 = 1300;
/// PSTATE.I and PSTATE.F.
const IRQ_MASKED: u64 = 1 << 7;
const FIQ_MASKED: u64 = 1 << 6;

/// The handle as call-backs get it.
type Core<'a> = Unicorn<'a, Board>;

/// The CPU with the machine around it.
pub(crate) struct Cpu {
    core: Core<'static>,
}

/// What the emulator said, as one line.
pub(crate) fn unicorn(error: uc_error) -> String {
    format!("the emulator refuses: {error:?}")
}

impl Cpu {
    /// A CPU with `board` around it and its RAM in place.
    ///
    /// # Errors
    /// One line, when the emulator cannot be set up (no memory, mostly).
    pub(crate) fn new(board: Board) -> Result<Self, String> {
        let ram = board.ram;
        let mut core = Unicorn::new_with_data(Arch::ARM64, Mode::LITTLE_ENDIAN, board).map_err(unicorn)?;
        core.ctl_set_cpu_model(Arm64CpuModel::MAX.into()).map_err(unicorn)?;
        core.mem_map(RAM, ram, Prot::ALL).map_err(unicorn)?;
        map_registers(&mut core).map_err(unicorn)?;
        add_hooks(&mut core).map_err(unicorn)?;
        system::set_own(&mut core, system::SCR_EL3, SCR).map_err(unicorn)?;
        system::set_own(&mut core, system::HCR_EL2, HCR).map_err(unicorn)?;
        core.reg_write(RegisterARM64::PSTATE, ENTRY_STATE).map_err(unicorn)?;
        Ok(Self { core })
    }

    /// Puts bytes into RAM.
    pub(crate) fn load(&mut self, address: u64, bytes: &[u8]) -> Result<(), String> {
        self.core.mem_write(address, bytes).map_err(unicorn)
    }

    /// Sets X0.
    pub(crate) fn set_argument(&mut self, value: u64) -> Result<(), String> {
        self.core.reg_write(RegisterARM64::X0, value).map_err(unicorn)
    }

    /// The machine, and its RAM.
    pub(crate) fn board(&mut self) -> (&mut Board, Ram<'static>) {
        let ram = Ram::new(self.core.clone(), self.core.get_data().ram);
        (self.core.get_data_mut(), ram)
    }

    /// Runs from `entry` until the run is over.
    pub(crate) fn run(&mut self, entry: u64) -> Over {
        let mut counter = entry;
        loop {
            let result = self.core.emu_start(counter, NOWHERE, 0, 0);
            let next = match (self.core.get_data_mut().pause.take(), result) {
                (Some(pause), _) => self.resolve(pause),
                // WFI leaves the emulator; so does nothing else without a pause.
                (None, Ok(())) => self.sleep(),
                (None, Err(error)) => {
                    let at = self.core.pc_read().unwrap_or(0);
                    Err(Over::Crashed(format!("{} at PC {at:#x}", unicorn(error))))
                }
            };
            match next {
                Ok(address) => counter = address,
                Err(over) => return over,
            }
        }
    }

    /// Deals with what held the CPU; gives the address to go on at.
    fn resolve(&mut self, pause: Pause) -> Result<u64, Over> {
        let crashed = |error| Over::Crashed(unicorn(error));
        let core = &mut self.core;
        let exception = match pause {
            Pause::Over(over) => return Err(over),
            Pause::Abort { kind, address, counter, before } => {
                if let Some(before) = before {
                    // The emulator went on to the end of the block behind the refused store: undo that.
                    core.context_restore(&before).map_err(crashed)?;
                }
                Exception::external(core, kind, address, counter)
            }
            Pause::Exception(number) => {
                let counter = core.pc_read().map_err(crashed)?;
                if number == exception::number::UNDEFINED && exception::skip_system_register(core, counter) {
                    core.get_data_mut().clock.leave_block(counter + 4);
                    return Ok(counter + 4);
                }
                Exception::internal(core, number, counter)
            }
            Pause::Interrupt(line) => Exception::interrupt(line, core.pc_read().map_err(crashed)?),
        };
        let board = core.get_data_mut();
        if exception.is_within_a_block() {
            board.clock.leave_block(exception.return_to);
            // It did not get as far as the WFE at its end, if there is one.
            board.asleep = false;
        }
        board.check_at = 0;
        exception.take(core).map_err(Over::Crashed)
    }

    /// WFI: time passes until something may want an interrupt.
    fn sleep(&mut self) -> Result<u64, Over> {
        let counter = self.core.pc_read().map_err(|error| Over::Crashed(unicorn(error)))?;
        let board = self.core.get_data_mut();
        let timer = board.timer_due();
        board.clock.leave_block(counter);
        let done = board.clock.begun();
        let wake = [timer, board.machine.next_event()].into_iter().flatten().min();
        // With nothing to wake it the core sleeps out its limit; typed input may still come.
        let wake = wake.unwrap_or(board.limit_ns).min(board.limit_ns);
        board.clock.sleep_until(done, wake);
        board.check_at = 0;
        Ok(counter)
    }
}

/// Everything below RAM belongs to registers: no access to it is allowed, so that each ends in [`touch`] first, with its
/// true width. The call-backs of the region itself get 64-bit accesses in two halves; they hand over what `touch` was given.
fn map_registers(core: &mut Core<'static>) -> Result<(), uc_error> {
    core.mmio_map(
        0,
        RAM,
        Some(|core: &mut Core<'_>, offset: u64, _size: usize| {
            let (address, value) = core.get_data().given;
            value.checked_shr(8 * u32::try_from(offset.wrapping_sub(address)).unwrap_or(u32::MAX)).unwrap_or(0)
        }),
        Some(|_: &mut Core<'_>, _: u64, _: usize, _: u64| {}),
    )?;
    core.mem_protect(0, RAM, Prot::NONE)
}

fn add_hooks(core: &mut Core<'static>) -> Result<(), uc_error> {
    let sleepers = Sleepers::new();
    let sleeper_cache = sleepers.cache();
    core.add_block_hook(0, u64::MAX, move |core, address, bytes| {
        if core.get_data().pause.is_some() {
            // On the way out: this block will not run.
            return;
        }
        if core.get_data().clock.begun() >= core.get_data().check_at {
            look_up(core);
            if core.get_data().pause.is_some() {
                // A failure to stop would only run this block uncounted.
                let _ = core.emu_stop();
                return;
            }
        }
        core.get_data_mut().clock.begin_block(address, bytes);
        if sleepers.ends_in_wfe(core, address, bytes) {
            let board = core.get_data_mut();
            board.asleep = true;
            board.check_at = 0;
        }
    })?;
    core.add_edge_gen_hook(0, u64::MAX, move |_, block, _| sleeper_cache.forget(block.pc))?;
    // Never over RAM: the emulator keeps every store to an address with a hook on its slow path.
    let registers = HookType::MEM_READ_PROT | HookType::MEM_WRITE_PROT | HookType::MEM_FETCH_PROT;
    core.add_mem_hook(registers, 0, RAM - 1, touch)?;
    let nothing = HookType::MEM_READ_UNMAPPED | HookType::MEM_WRITE_UNMAPPED | HookType::MEM_FETCH_UNMAPPED;
    let behind = RAM + core.get_data().ram;
    core.add_mem_hook(nothing, behind, u64::MAX, touch)?;
    core.add_intr_hook(|core, number| {
        core.get_data_mut().pause.get_or_insert(Pause::Exception(number));
        let _ = core.emu_stop();
    })?;
    core.add_insn_invalid_hook(|core| {
        core.get_data_mut().pause.get_or_insert(Pause::Exception(exception::number::UNDEFINED));
        let _ = core.emu_stop();
        true
    })?;
    core.add_insn_sys_hook_arm64(Arm64Insn::UC_ARM64_INS_MRS, 0, u64::MAX, read_system_register)?;
    core.add_insn_sys_hook_arm64(Arm64Insn::UC_ARM64_INS_MSR, 0, u64::MAX, |core, _, register| {
        let counter = core.pc_read().unwrap_or(0);
        let clock = &core.get_data().clock;
        let now = clock.nanoseconds(clock.instructions_at(counter));
        system::write(core, register, now)
    })?;
    Ok(())
}

fn read_system_register(core: &mut Core<'_>, target: RegisterARM64, register: &RegisterARM64CP) -> bool {
    let counter = core.pc_read().unwrap_or(0);
    let clock = &core.get_data().clock;
    let done = clock.instructions_at(counter);
    let now = clock.nanoseconds(done);
    let Some(value) = system::read(core, register, done, now) else {
        // The emulator raises an undefined instruction next, which is seen to outside.
        return false;
    };
    // XZR takes any value.
    let _ = core.reg_write(target, value);
    true
}

/// An access outside RAM. `true`: it is done.
fn touch(core: &mut Core<'_>, kind: MemType, address: u64, size: usize, value: i64) -> bool {
    let counter = core.pc_read().unwrap_or(0);
    let mut ram = Ram::new(core.clone(), core.get_data().ram);
    let board = core.get_data_mut();
    if board.pause.is_some() {
        // What the emulator still does behind a refused store, or behind the machine's reset, is not done here.
        return true;
    }
    let done = board.clock.instructions_at(counter);
    let (kind, fine) = match kind {
        MemType::READ_PROT => (AbortKind::Read, board.read(&mut ram, done, address, size).is_some()),
        MemType::WRITE_PROT => {
            let value = value.cast_unsigned() & u64::MAX >> (64 - 8 * size.clamp(1, 8));
            (AbortKind::Write, board.write(&mut ram, done, address, size, value).is_some())
        }
        MemType::READ_UNMAPPED => (AbortKind::Read, false),
        MemType::WRITE_UNMAPPED => (AbortKind::Write, false),
        _ => (AbortKind::Fetch, false),
    };
    let over = board.pause.is_some();
    if !fine {
        // A refused load ends the block at once; a refused store does not, so its state is kept here.
        let before = if kind == AbortKind::Write { core.context_init().ok() } else { None };
        let counter = if kind == AbortKind::Fetch { address } else { counter };
        core.get_data_mut().pause = Some(Pause::Abort { kind, address, counter, before });
    } else if over {
        let _ = core.emu_stop();
    }
    fine
}

/// Between two blocks: wake a sleeper, bring the devices up to date, see whether an interrupt is due or the run over.
fn look_up(core: &mut Core<'_>) {
    let cpu = core.clone();
    let mut ram = Ram::new(core.clone(), core.get_data().ram);
    let board = core.get_data_mut();
    let timer = board.timer_due();
    let done = board.clock.begun();
    let mut now = board.clock.nanoseconds(done);
    if std::mem::take(&mut board.asleep) && !board.machine.interrupt() {
        let stream = system::next_stream_event(&cpu, ticks(now)).map_or(now + NAP_NS, nanoseconds_of);
        let wake = [board.machine.next_event(), timer].into_iter().flatten().fold(stream, u64::min);
        board.clock.sleep_until(done, wake);
        now = board.clock.nanoseconds(done);
    }
    board.hear(now);
    board.catch_up(&mut ram, done);
    if now >= board.limit_ns {
        board.pause = Some(Pause::Over(Over::OutOfTime(format!("{} ms of emulated time", board.limit_ns / 1_000_000))));
        return;
    }
    if done >= board.limit_instructions {
        board.pause = Some(Pause::Over(Over::OutOfTime(format!("{} instructions", board.limit_instructions))));
        return;
    }
    let (irq, fiq) = (board.machine.interrupt(), timer.is_some_and(|due| due <= now));
    let next = [board.machine.next_event(), timer.filter(|&due| due > now)].into_iter().flatten();
    let next = next.map(|time| board.clock.instructions_until(time)).fold(done + LOOK_UP, u64::min);
    // A masked interrupt waits for the image to unmask it, which no call-back tells of.
    board.check_at = if irq { 0 } else { next.min(board.limit_instructions) };
    if irq || fiq {
        let state = cpu.reg_read(RegisterARM64::PSTATE).unwrap_or(IRQ_MASKED | FIQ_MASKED);
        if fiq && state & FIQ_MASKED == 0 {
            board.pause = Some(Pause::Interrupt(Line::Fiq));
        } else if irq && state & IRQ_MASKED == 0 {
            board.pause = Some(Pause::Interrupt(Line::Irq));
        }
    }
}
