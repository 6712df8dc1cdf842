//! One run, from the image's load to the verdict.

use std::fmt;
use std::io::Write;
use std::sync::mpsc::Receiver;

use serde_json::{Map, Value};
use sim::{Machine, MachineConfig};

use crate::board::{Board, Over};
use crate::console::{Console, Verdict};
use crate::cpu::Cpu;
use crate::image::Image;
use crate::memory::RAM;
use crate::report;
use crate::trace::Trace;

/// Where the image goes: a multiple of 2 MiB, as arm64 images want it, with room for the tree below.
pub const IMAGE_ADDRESS: u64 = RAM + 0x80_0000;
/// Where the device tree or the boot arguments go.
pub const TREE_ADDRESS: u64 = RAM + 0x20_0000;
/// The most bytes of what is handed over: what fits below the image.
pub const TREE_SPACE: u64 = IMAGE_ADDRESS - TREE_ADDRESS;

/// Emulated time after which a run that nobody watches is given up.
pub(crate) const LIMIT_NS: u64 = 60_000_000_000;

/// What to run, and on what.
pub struct Setup {
    /// The image.
    pub image: Image,
    /// What is put at [`TREE_ADDRESS`], to which X0 points: a device tree, or boot arguments with their tree.
    pub handover: Vec<u8>,
    /// The machine.
    pub machine: MachineConfig,
    /// Bytes of RAM: a multiple of 4096.
    pub ram: u64,
    /// The most emulated time, in nanoseconds.
    pub limit_ns: u64,
    /// The most instructions.
    pub limit_instructions: u64,
    /// Bytes that wait at the console from the start.
    pub input: Vec<u8>,
    /// Bytes that are typed while the run goes on; the run then keeps pace with the host's clock.
    pub typed: Option<Receiver<Vec<u8>>>,
    /// Where the console's bytes go.
    pub console: Box<dyn Write>,
    /// Whether the image logs in defmt frames between the console's lines.
    pub frames: bool,
    /// Where the register trace goes.
    pub trace: Option<Box<dyn Write>>,
}

/// How a run ended, all in all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The image reported success, and no rule was broken.
    Success,
    /// The image reported this failure.
    Failure(String),
    /// That many rules of the hardware were broken.
    Violations(u64),
    /// The CPU could not go on.
    Crashed(String),
    /// The machine was reset, and the image had reported nothing.
    Reset,
    /// A limit was reached.
    OutOfTime(String),
}

impl Ended {
    /// The word in the JSON report.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Success => "ok",
            Self::Failure(_) => "failure",
            Self::Violations(_) => "violations",
            Self::Crashed(_) => "crashed",
            Self::Reset => "reset",
            Self::OutOfTime(_) => "out-of-time",
        }
    }

    /// The process's exit code, as the command line's contract has it.
    pub fn code(&self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failure(_) | Self::Violations(_) => 1,
            Self::Crashed(_) | Self::Reset | Self::OutOfTime(_) => 3,
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Success => write!(f, "success"),
            Self::Failure(reason) => write!(f, "failure: {reason}"),
            Self::Violations(count) => write!(f, "the image broke {count} rules of the hardware"),
            Self::Crashed(reason) => write!(f, "crashed: {reason}"),
            Self::Reset => write!(f, "the machine was reset before the image reported a result"),
            Self::OutOfTime(limit) => write!(f, "out of time: no end after {limit}"),
        }
    }
}

/// A finished run.
#[derive(Debug)]
pub struct Run {
    /// How it ended.
    pub ended: Ended,
    /// Each broken rule, one line each.
    pub violations: Vec<String>,
    /// The figures; the same for the same setup, to the byte.
    pub json: Map<String, Value>,
}

/// Runs `setup` to its end.
///
/// # Errors
/// One line, when the run cannot begin: what does not fit in memory, or an emulator that cannot be set up.
pub fn run(setup: Setup) -> Result<Run, String> {
    let seed = setup.machine.seed;
    if setup.image.memory > setup.ram.saturating_sub(IMAGE_ADDRESS - RAM) {
        return Err(format!("the image needs {:#x} bytes; RAM ends before that", setup.image.memory));
    }
    if setup.handover.len() as u64 > TREE_SPACE {
        return Err(format!("the device tree has {:#x} bytes; at most {TREE_SPACE:#x} fit", setup.handover.len()));
    }
    let mut machine = Machine::new(setup.machine);
    machine.type_in(&setup.input);
    let console = Console::new(setup.console, setup.frames);
    let mut board = Board::new(machine, setup.ram, console, setup.trace.map(Trace::new));
    board.limit_ns = setup.limit_ns;
    board.limit_instructions = setup.limit_instructions;
    board.listen_to(setup.typed);
    let mut cpu = Cpu::new(board)?;
    cpu.load(TREE_ADDRESS, &setup.handover)?;
    cpu.load(IMAGE_ADDRESS, &setup.image.bytes)?;
    cpu.set_argument(TREE_ADDRESS)?;
    let over = cpu.run(IMAGE_ADDRESS + setup.image.entry);

    let (board, mut ram) = cpu.board();
    let done = board.clock.begun();
    board.catch_up(&mut ram, done);
    // What a machine must be left like is asked of an image that left it, not of one that was cut short.
    if over == Over::Reset {
        board.machine.finish(&mut ram);
    }
    board.flush();
    let report = board.machine.report();
    let broken = report.violations.len() as u64 + report.violations_dropped;
    let ended = match (over, board.verdict.take()) {
        (Over::Crashed(reason), _) => Ended::Crashed(reason),
        (Over::OutOfTime(limit), _) => Ended::OutOfTime(limit),
        (Over::Reset, Some(Verdict::Failure(reason))) => Ended::Failure(reason),
        (Over::Reset, _) if broken > 0 => Ended::Violations(broken),
        (Over::Reset, Some(Verdict::Success)) => Ended::Success,
        (Over::Reset, None) => Ended::Reset,
    };
    let json = report::json(board, ended.word(), seed);
    Ok(Run { ended, violations: report.violations.iter().map(ToString::to_string).collect(), json })
}
