//! A very small assembler for the tests' images, and a run with everything captured.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use emu::{Image, Run, Setup};
use sim::{AnsState, MachineConfig};

pub(crate) const MAILBOX: u64 = 0x2_7740_8000;
pub(crate) const NVME: u64 = 0x2_7bcc_0000;
pub(crate) const PMGR: u64 = 0x2_3b70_0000;
pub(crate) const UART_TRANSMIT: u64 = 0x2_3520_0020;
const WATCHDOG: u64 = 0x2_3d2b_0010;

/// MRS and MSR without their register Xt.
pub(crate) const READ_CNTVCT: u32 = 0xd53b_e040;
pub(crate) const READ_ESR: u32 = 0xd538_5200;
pub(crate) const READ_FAR: u32 = 0xd538_6000;
pub(crate) const READ_ELR: u32 = 0xd538_4020;
pub(crate) const WRITE_VBAR: u32 = 0xd518_c000;
pub(crate) const WRITE_CNTKCTL: u32 = 0xd518_e100;
pub(crate) const WFE: u32 = 0xd503_205f;

/// An image under construction. X19 and up are the helpers' own.
#[derive(Default)]
pub(crate) struct Program {
    words: Vec<u32>,
}

impl Program {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn word(mut self, word: u32) -> Self {
        self.words.push(word);
        self
    }

    /// MOVZ and three MOVK.
    pub(crate) fn set(mut self, register: u32, value: u64) -> Self {
        for part in 0..4u32 {
            let bits = u32::try_from(value >> (16 * part) & 0xffff).unwrap();
            let opcode = if part == 0 { 0xd280_0000 } else { 0xf280_0000 };
            self.words.push(opcode | part << 21 | bits << 5 | register);
        }
        self
    }

    /// STR Xt, [Xn, #offset].
    pub(crate) fn store64(self, register: u32, base: u32, offset: u32) -> Self {
        self.word(0xf900_0000 | (offset / 8) << 10 | base << 5 | register)
    }

    /// STR Wt, [Xn, #offset].
    pub(crate) fn store32(self, register: u32, base: u32, offset: u32) -> Self {
        self.word(0xb900_0000 | (offset / 4) << 10 | base << 5 | register)
    }

    /// LDR Xt, [Xn, #offset].
    pub(crate) fn load64(self, register: u32, base: u32, offset: u32) -> Self {
        self.word(0xf940_0000 | (offset / 8) << 10 | base << 5 | register)
    }

    /// LDR Wt, [Xn, #offset].
    pub(crate) fn load32(self, register: u32, base: u32, offset: u32) -> Self {
        self.word(0xb940_0000 | (offset / 4) << 10 | base << 5 | register)
    }

    /// Sends the eight bytes of a register to the console, low byte first.
    pub(crate) fn send(mut self, register: u32) -> Self {
        self = self.set(20, UART_TRANSMIT).word(0xaa00_03f3 | register << 16); // mov x19, xN
        for _ in 0..8 {
            self = self.store32(19, 20, 0).word(0xd348_fe73); // lsr x19, x19, #8
        }
        self
    }

    /// Prints text.
    pub(crate) fn print(mut self, text: &str) -> Self {
        self = self.set(20, UART_TRANSMIT);
        for byte in text.bytes() {
            self = self.word(0x5280_0013 | u32::from(byte) << 5).store32(19, 20, 0); // mov w19, #byte
        }
        self
    }

    /// Has the watchdog reset the machine, and waits for it.
    pub(crate) fn power_off(self) -> Self {
        self.set(20, WATCHDOG)
            .word(0x5280_0093) // mov w19, #4
            .store32(19, 20, 0xc)
            .store32(31, 20, 4)
            .store32(31, 20, 0)
            .word(0xd503_207f) // wfi
            .word(0x17ff_ffff) // b .-4
    }

    /// Powers ANS up and waits until it is: its domain's target is the low four bits, its state the next four.
    pub(crate) fn power_ans(self) -> Self {
        self.set(20, PMGR)
            .word(0x5280_01f3) // mov w19, #15
            .store32(19, 20, 0x3f0)
            .load32(19, 20, 0x3f0)
            .word(0x121c_0e73) // and w19, w19, #0xf0
            .word(0x7103_c27f) // cmp w19, #0xf0
            .word(0x54ff_ffa1) // b.ne .-12
    }

    /// Another program behind this one.
    pub(crate) fn then(mut self, other: Self) -> Self {
        self.words.extend(other.words);
        self
    }

    /// Pads with NOP to that offset.
    pub(crate) fn pad_to(mut self, offset: usize) -> Self {
        assert!(self.words.len() * 4 <= offset, "{:#x}", self.words.len() * 4);
        self.words.resize(offset / 4, 0xd503_201f);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }
}

/// A program that takes vectors which go on behind whatever faulted, before `body` is run.
pub(crate) fn skipping_faults(body: Program) -> Program {
    Program::new()
        .set(0, emu::IMAGE_ADDRESS + 0x800)
        .word(WRITE_VBAR)
        .then(body)
        .pad_to(0xa00)
        .word(READ_ELR)
        .word(0x9100_1000) // add x0, x0, #4
        .word(0xd518_4020) // msr elr_el1, x0
        .word(0xd69f_03e0) // eret
}

/// A sink that several hold.
#[derive(Clone, Default)]
pub(crate) struct Shared(Rc<RefCell<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A run with what it printed.
pub(crate) struct Seen {
    pub(crate) run: Run,
    pub(crate) console: Vec<u8>,
    pub(crate) trace: String,
}

impl Seen {
    /// The 64-bit numbers that [`Program::send`] sent from the console's start.
    pub(crate) fn sent(&self, index: usize) -> u64 {
        u64::from_le_bytes(self.console[index * 8..][..8].try_into().unwrap())
    }
}

/// A machine with little memory, and nobody who listens.
pub(crate) fn setup(program: &Program) -> Setup {
    Setup {
        image: Image::parse(program.bytes(), Some(0)).unwrap(),
        handover: Vec::new(),
        machine: MachineConfig::new(AnsState::Stopped),
        ram: 64 << 20,
        limit_ns: 1_000_000_000,
        limit_instructions: 100_000_000,
        input: Vec::new(),
        typed: None,
        console: Box::new(io::sink()),
        frames: false,
        trace: None,
    }
}

/// Runs a raw program in a setup changed in one way.
pub(crate) fn run_with(program: &Program, change: impl FnOnce(&mut Setup)) -> Seen {
    let (console, trace) = (Shared::default(), Shared::default());
    let (to_console, to_trace) = (Box::new(console.clone()), Box::new(trace.clone()));
    let mut setup = Setup { console: to_console, trace: Some(to_trace), ..setup(program) };
    change(&mut setup);
    let run = emu::run(setup).unwrap();
    let trace = String::from_utf8(trace.0.borrow().clone()).unwrap();
    let console = console.0.borrow().clone();
    Seen { run, console, trace }
}

/// Runs a raw program.
pub(crate) fn run(program: &Program) -> Seen {
    run_with(program, |_| {})
}
