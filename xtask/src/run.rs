//! `run`: the image on an emulated machine.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use crate::failure::{Failure, Outcome};
use crate::image::{self, Image, Log};
use crate::shell::{self, say};
use crate::virt::{self, Level, Writable};
use crate::{disk, frames, setup};

/// Which machine to run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Machine {
    /// An emulated Apple M1 with the project's own models.
    T8103,
    /// QEMU's `virt` machine, which nobody here wrote.
    Virt,
}

/// What the boot loader left the storage coprocessor doing.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum Ans {
    Stopped,
    Running,
}

/// What a foreign image gets in its first register.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum FirstRegister {
    Fdt,
    BootArgs,
}

/// The options of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The machine to run on.
    #[arg(long, value_enum, default_value = "t8103")]
    pub(crate) machine: Machine,
    /// A raw disk image, of 4096-byte blocks on t8103; without it, one is made. It is opened read-only unless `--rw` is given.
    #[arg(long, value_name = "FILE")]
    pub(crate) disk: Option<PathBuf>,
    /// The device tree: `fdt` (generated) or a .dtb FILE.
    #[arg(long, value_name = "fdt|FILE", default_value = "fdt")]
    pub(crate) tree: PathBuf,
    /// What the boot loader left the storage coprocessor doing [default: stopped].
    #[arg(long, value_enum)]
    pub(crate) ans: Option<Ans>,
    /// A line for the image's monitor, `help` for one; give it again for more. The image powers off after the last.
    #[arg(long = "cmd", value_name = "LINE")]
    pub(crate) commands: Vec<String>,
    /// Talk to the image's monitor on this terminal.
    #[arg(long)]
    pub(crate) interactive: bool,
    /// How the image logs.
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) log: Log,
    /// Write every register access to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Make the machine misbehave; `--fault help` lists the plans.
    #[arg(long = "fault", value_name = "PLAN")]
    pub(crate) faults: Vec<String>,
    /// The seed of everything that is left to chance in the models [default: 1].
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Write the run's figures to FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Let the image write to the disk file: to all blocks, or with `--rw=FIRST..LAST` to these (the last one included).
    #[arg(long, value_name = "FIRST..LAST", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = Writable::parse)]
    pub(crate) rw: Option<Writable>,
    /// Let the image answer flushes of the disk at once and perform them up to this many milliseconds later. RISK: a power cut
    /// then loses what was flushed within that time, whatever a file system or a database was told.
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub(crate) defer: Option<u32>,
    /// Run another arm64 image on the same machine, with the same checks.
    #[arg(long, value_name = "FILE")]
    pub(crate) image: Option<PathBuf>,
    /// Where another image is entered, in bytes from its start.
    #[arg(long, value_name = "OFFSET", requires = "image")]
    pub(crate) entry: Option<String>,
    /// What the image gets in its first register.
    #[arg(long, value_enum, value_name = "fdt|boot_args")]
    pub(crate) x0: Option<FirstRegister>,
    /// Feed FILE to the console.
    #[arg(long, value_name = "FILE", conflicts_with = "interactive")]
    pub(crate) input: Option<PathBuf>,
    /// Stop after this many seconds of the machine's time.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) limit: Option<u64>,
    /// What only `virt` takes.
    #[command(flatten)]
    pub(crate) virt: VirtOptions,
}

/// The options of `run` that are for QEMU's machine.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "On --machine virt only")]
pub(crate) struct VirtOptions {
    /// The exception level at entry: 1 [default], 2, 2-vhe (on a processor with VHE), 2-e2h (E2H already set, as on Apple's).
    #[arg(long, value_enum, value_name = "EL")]
    pub(crate) level: Option<Level>,
    /// Bytes in a logical block [default: what the partition table says, or 4096].
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u32).range(512..=65536))]
    pub(crate) block_size: Option<u32>,
    /// More properties for QEMU's `-device nvme`, such as mdts=1,max_ioqpairs=64; `none` for no controller.
    #[arg(long, value_name = "PROPERTIES")]
    pub(crate) nvme: Vec<String>,
    /// Put the disk on an `nvme-ns` device with these properties, such as nsid=3, instead of on the controller
    /// itself; `none` for a controller without namespaces.
    #[arg(long, value_name = "PROPERTIES")]
    pub(crate) namespace: Option<String>,
    /// Put the controller behind a PCI Express root port.
    #[arg(long)]
    pub(crate) root_port: bool,
    /// Put QEMU's `blkdebug` between controller and disk, with the rules in FILE.
    #[arg(long, value_name = "FILE")]
    pub(crate) blkdebug: Option<PathBuf>,
    /// One more argument for QEMU; give it again for more. The controller has the name nvme0, the disk's drive the name disk.
    #[arg(long = "qemu", value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub(crate) arguments: Vec<String>,
}

/// Builds what is needed and runs it.
pub(crate) fn run(options: &Options) -> Outcome {
    if options.tree.as_os_str() == "adt" {
        return Err(Failure::usage("--tree adt: the image takes a flattened device tree only, so far"));
    }
    match options.machine {
        Machine::T8103 => t8103(options),
        Machine::Virt => virt::run(options),
    }
}

fn t8103(options: &Options) -> Outcome {
    if let Some(flag) = virt::given(&options.virt) {
        return Err(Failure::usage(format!("{flag} works on --machine virt only")));
    }
    let emulator = emulator()?;
    let own = if options.image.is_some() { None } else { Some(image::build(options.log)?) };
    let mut command = Command::new(emulator);
    match (&options.image, &own) {
        (Some(path), _) => command.arg("--image").arg(path),
        (None, Some(image)) => command.arg("--image").arg(&image.flat),
        (None, None) => &mut command,
    };
    if options.faults.iter().all(|plan| plan != "help") {
        let disk = match &options.disk {
            Some(path) => path.clone(),
            None => disk::example()?,
        };
        command.arg("--disk").arg(disk);
    }
    command.arg("--tree").arg(&options.tree);
    let ans = options.ans.unwrap_or(Ans::Stopped);
    command.args(["--ans", value_name(ans).as_str(), "--seed", &options.seed.unwrap_or(1).to_string()]);
    for line in &options.commands {
        command.arg(format!("--cmd={line}"));
    }
    for plan in &options.faults {
        command.arg(format!("--fault={plan}"));
    }
    for (flag, path) in [("--trace", &options.trace), ("--json", &options.json), ("--input", &options.input)] {
        if let Some(path) = path {
            command.arg(flag).arg(path);
        }
    }
    if let Some(writable) = options.rw {
        command.arg(writable.range().map_or_else(|| "--rw".into(), |range| format!("--rw={range}")));
    }
    if let Some(milliseconds) = options.defer {
        command.arg(format!("--defer={milliseconds}"));
    }
    if options.interactive {
        command.arg("--interactive");
    }
    if let Some(offset) = &options.entry {
        command.args(["--entry", offset]);
    }
    if let Some(register) = options.x0 {
        command.args(["--x0", value_name(register).as_str()]);
    }
    if let Some(seconds) = options.limit {
        command.args(["--limit", &seconds.to_string()]);
    }
    match own.filter(|_| options.log == Log::Defmt) {
        Some(image) => decoded(command, &image),
        None => plain(command),
    }
}

/// Builds the emulator, if it is not up to date.
pub(crate) fn emulator() -> Result<PathBuf, Failure> {
    let path = shell::target().join("release").join("emu");
    setup::packages(setup::EMULATOR)?;
    if !path.exists() {
        say("building the emulator; the first time takes about three minutes on two cores");
    }
    shell::must(shell::cargo("build").args(["--release", "--package", "emu"]))?;
    Ok(path)
}

fn plain(mut command: Command) -> Outcome {
    let status = command.status();
    let status = status.map_err(|error| Failure::usage(format!("cannot run the emulator: {error}")))?;
    Ok(code(status))
}

fn decoded(mut command: Command, image: &Image) -> Outcome {
    let cannot = |error: std::io::Error| Failure::usage(format!("cannot run the emulator: {error}"));
    let mut child = command.args(["--log", "defmt"]).stdout(Stdio::piped()).spawn().map_err(cannot)?;
    let decoded = child.stdout.take().map_or(Ok(()), |console| frames::decode(&image.elf, console, std::io::stdout()));
    let status = child.wait().map_err(cannot)?;
    decoded.map(|()| code(status))
}

fn code(status: std::process::ExitStatus) -> ExitCode {
    // No code means a signal ended it: a crash of the emulator itself.
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::from(3), ExitCode::from)
}

fn value_name(value: impl clap::ValueEnum) -> String {
    value.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
}
