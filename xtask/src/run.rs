//! `run`: the image on an emulated machine.

use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use crate::failure::{Failure, Outcome};
use crate::image::{self, Image, Log};
use crate::shell::{self, say};
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
enum Ans {
    Stopped,
    Running,
}

/// What a foreign image gets in its first register.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
enum FirstRegister {
    Fdt,
    BootArgs,
}

/// The options of `run`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The machine to run on.
    #[arg(long, value_enum, default_value = "t8103")]
    machine: Machine,
    /// A raw disk image of 4096-byte blocks; without it, one is made. It is opened read-only unless `--rw` is given.
    #[arg(long, value_name = "FILE")]
    disk: Option<PathBuf>,
    /// The device tree: `fdt` (generated) or a .dtb FILE.
    #[arg(long, value_name = "fdt|FILE", default_value = "fdt")]
    tree: PathBuf,
    /// What the boot loader left the storage coprocessor doing.
    #[arg(long, value_enum, default_value = "stopped")]
    ans: Ans,
    /// A line for the image's monitor, `help` for one; give it again for more. The image powers off after the last.
    #[arg(long = "cmd", value_name = "LINE")]
    commands: Vec<String>,
    /// Talk to the image's monitor on this terminal.
    #[arg(long)]
    interactive: bool,
    /// How the image logs.
    #[arg(long, value_enum, default_value = "text")]
    log: Log,
    /// Write every register access to FILE.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// Make the machine misbehave; `--fault help` lists the plans.
    #[arg(long = "fault", value_name = "PLAN")]
    faults: Vec<String>,
    /// The seed of everything that is left to chance in the models.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the run's figures to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Let the image write to the disk file.
    #[arg(long)]
    rw: bool,
    /// Run another arm64 image on the same machine, with the same checks.
    #[arg(long, value_name = "FILE")]
    image: Option<PathBuf>,
    /// Where another image is entered, in bytes from its start.
    #[arg(long, value_name = "OFFSET", requires = "image")]
    entry: Option<String>,
    /// What the image gets in its first register.
    #[arg(long, value_enum, value_name = "fdt|boot_args")]
    x0: Option<FirstRegister>,
    /// Feed FILE to the console.
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Stop after this many seconds of the machine's time.
    #[arg(long, value_name = "SECONDS")]
    limit: Option<u64>,
    /// The exception level at entry, on `virt`: 1, or 2, or `2-vhe` for EL2 on a CPU that has VHE.
    #[arg(long, value_name = "EL", default_value = "1", value_parser = ["1", "2", "2-vhe"])]
    level: String,
}

/// Builds what is needed and runs it.
pub(crate) fn run(options: &Options) -> Outcome {
    if options.tree.as_os_str() == "adt" {
        return Err(Failure::usage("--tree adt: the image takes a flattened device tree only, so far"));
    }
    match options.machine {
        Machine::T8103 => t8103(options),
        Machine::Virt => virt(options),
    }
}

fn t8103(options: &Options) -> Outcome {
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
    command.args(["--ans", value_name(options.ans).as_str(), "--seed", &options.seed.to_string()]);
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
    for (flag, wanted) in [("--rw", options.rw), ("--interactive", options.interactive)] {
        if wanted {
            command.arg(flag);
        }
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

fn virt(options: &Options) -> Outcome {
    let only_t8103 = [
        ("--disk", options.disk.is_some()),
        ("--tree", options.tree.as_os_str() != "fdt"),
        ("--cmd", !options.commands.is_empty()),
        ("--trace", options.trace.is_some()),
        ("--fault", !options.faults.is_empty()),
        ("--json", options.json.is_some()),
        ("--rw", options.rw),
        ("--input", options.input.is_some()),
        ("--image", options.image.is_some()),
    ];
    if let Some((flag, _)) = only_t8103.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!("{flag} works on --machine t8103 only, so far")));
    }
    setup::packages(setup::QEMU)?;
    let image = image::build(options.log)?;
    let (machine, cpu) = match options.level.as_str() {
        "1" => ("virt", "cortex-a72"),
        "2" => ("virt,virtualization=on", "cortex-a72"),
        _ => ("virt,virtualization=on", "max"),
    };
    let mut command = Command::new("timeout");
    command.args(["--foreground", &options.limit.unwrap_or(60).to_string()]);
    command.args(["qemu-system-aarch64", "-machine", machine, "-cpu", cpu, "-m", "512M", "-net", "none"]);
    command.args(["-display", "none", "-serial", "stdio", "-monitor", "none", "-kernel"]).arg(&image.flat);
    if !options.interactive {
        command.stdin(Stdio::null());
    }
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| Failure::usage(format!("cannot run qemu-system-aarch64: {error}")))?;
    let text = if options.log == Log::Defmt {
        let mut text = Vec::new();
        frames::decode(&image.elf, output.stdout.as_slice(), &mut text)?;
        String::from_utf8_lossy(&text).into_owned()
    } else {
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    print!("{text}");
    // The machine has no way to give a code: the console's last word is the result.
    if text.lines().any(|line| line.trim_end() == "anvil: success") {
        return Ok(ExitCode::SUCCESS);
    }
    match text.lines().find_map(|line| line.trim_end().strip_prefix("anvil: failure: ")) {
        Some(failure) => Err(Failure::failed(failure)),
        None => {
            say("the image crashed or ran out of time");
            Ok(ExitCode::from(3))
        }
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
