//! `run --machine virt`: the image on QEMU's machine, with QEMU's own NVMe controller.

mod console;
mod disk;
mod events;
mod qemu;
mod report;
mod stub;
mod words;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::failure::{Failure, Outcome};
use crate::image::{self, Image, Log};
use crate::run::{Options, VirtOptions};
use crate::{disk as disks, setup};

pub(crate) use disk::Disk;
pub(crate) use qemu::{End, Input, Run, Scratch, Watch};
pub(crate) use words::Writable;

/// How the image is entered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Level {
    /// EL1.
    #[default]
    #[value(name = "1")]
    One,
    /// EL2 of a processor without VHE.
    #[value(name = "2")]
    Two,
    /// EL2 of a processor with VHE, which is off.
    #[value(name = "2-vhe")]
    TwoWithVhe,
    /// EL2 with VHE in use (E2H set).
    #[value(name = "2-e2h")]
    TwoInHost,
}

/// In place of a device's properties: no such device.
const NONE: &str = "none";

/// Seconds after which a run is ended, unless told otherwise.
const LIMIT: u64 = 60;

/// The machine as QEMU is told to build it.
#[derive(Clone, Debug)]
pub(crate) struct Setup<'a> {
    pub(crate) level: Level,
    /// The file to boot, with the header of a Linux arm64 image.
    pub(crate) kernel: &'a Path,
    pub(crate) disk: &'a Disk,
    /// More properties for the controller.
    pub(crate) nvme: &'a [String],
    /// The disk's namespace is a device of its own, with these properties.
    pub(crate) namespace: Option<&'a str>,
    /// A bridge stands before the controller.
    pub(crate) root_port: bool,
    /// The text of `/chosen/bootargs`.
    pub(crate) line: &'a str,
    /// More arguments.
    pub(crate) arguments: &'a [String],
}

/// Builds what is needed and runs it.
pub(crate) fn run(options: &Options) -> Outcome {
    let only_t8103 = [
        ("--tree", options.tree.as_os_str() != "fdt"),
        ("--ans", options.ans.is_some()),
        ("--trace", options.trace.is_some()),
        ("--fault", !options.faults.is_empty()),
        ("--seed", options.seed.is_some()),
        ("--entry", options.entry.is_some()),
        ("--x0", options.x0.is_some()),
    ];
    if let Some((flag, _)) = only_t8103.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!("{flag} works on --machine t8103 only")));
    }
    let interactive = options.interactive || options.input.is_some();
    let line = words::line(&options.commands, interactive, options.rw, options.defer)?;
    setup::packages(setup::QEMU)?;
    let file = options.disk.clone().map_or_else(disks::example, Ok)?;
    let disk = Disk::open(&file, options.virt.block_size, options.rw.is_some(), options.virt.blkdebug.as_deref())?;
    // A path that cannot be written is told of before the run.
    if let Some(path) = &options.json {
        std::fs::write(path, "").map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    }
    let image = if options.image.is_some() { None } else { Some(image::build(options.log)?) };
    let kernel = kernel(options, image.as_ref())?;
    let setup = Setup {
        level: options.virt.level.unwrap_or_default(),
        kernel: &kernel,
        disk: &disk,
        nvme: &options.virt.nvme,
        namespace: options.virt.namespace.as_deref(),
        root_port: options.virt.root_port,
        line: &line,
        arguments: &options.virt.arguments,
    };
    let watch = Watch {
        input: match &options.input {
            Some(path) => Input::File(path.clone()),
            None if options.interactive => Input::Terminal,
            None => Input::None,
        },
        limit: options.limit.or(if options.interactive { None } else { Some(LIMIT) }),
        traced: options.json.is_some(),
        shown: true,
        frames: image.as_ref().filter(|_| options.log == Log::Defmt).map(|image| image.elf.as_path()),
    };
    let run = boot(&setup, &watch)?;
    if let Some(path) = &options.json {
        let text = format!("{:#}\n", report::json(&run));
        std::fs::write(path, text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    }
    outcome(run.end)
}

fn kernel(options: &Options, image: Option<&Image>) -> Result<PathBuf, Failure> {
    match (&options.image, image) {
        (Some(path), _) if path.is_file() => Ok(path.clone()),
        (Some(path), _) => Err(Failure::usage(format!("image {}: no such file", path.display()))),
        (None, Some(image)) => Ok(image.flat.clone()),
        (None, None) => Err(Failure::usage("no image")),
    }
}

/// Boots the machine and waits for its end.
pub(crate) fn boot(setup: &Setup<'_>, watch: &Watch<'_>) -> Result<Run, Failure> {
    let stub = Scratch::new("stub.bin");
    if setup.level == Level::TwoInHost {
        std::fs::write(&stub.0, stub::build())
            .map_err(|error| Failure::failed(format!("{}: {error}", stub.0.display())))?;
    }
    qemu::run(&arguments(setup, &stub.0), watch)
}

/// QEMU's arguments.
fn arguments(setup: &Setup<'_>, stub: &Path) -> Vec<String> {
    let (machine, processor) = match setup.level {
        Level::One => ("virt", "cortex-a72"),
        Level::Two => ("virt,virtualization=on", "cortex-a72"),
        Level::TwoWithVhe | Level::TwoInHost => ("virt,virtualization=on", "max"),
    };
    let mut all: Vec<String> = Vec::new();
    let mut add = |flag: &str, value: String| all.extend([flag.to_owned(), value]);
    add("-machine", machine.into());
    add("-cpu", processor.into());
    add("-m", "512M".into());
    for (flag, value) in [("-nic", "none"), ("-display", "none"), ("-monitor", "none"), ("-serial", "stdio")] {
        add(flag, value.into());
    }
    let kernel = setup.kernel.display().to_string();
    if setup.level == Level::TwoInHost {
        add("-kernel", stub.display().to_string());
        let place = format!("loader,file={},addr={:#x},force-raw=on", disk::escaped(&kernel), stub::IMAGE);
        add("-device", place);
    } else {
        add("-kernel", kernel);
    }
    if !setup.line.is_empty() {
        add("-append", setup.line.into());
    }
    add("-drive", setup.disk.drive());
    all.push("-no-reboot".into());
    all.extend(devices(setup));
    // Behind the rest: QEMU makes devices in order, and these may name the controller's bus.
    all.extend(setup.arguments.iter().cloned());
    all
}

/// The controller, the bridge before it, and the namespace behind it.
fn devices(setup: &Setup<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |device: String| all.extend(["-device".to_owned(), device]);
    if setup.nvme == [NONE] {
        return all;
    }
    let size = setup.disk.block_size;
    let on_disk = format!("drive=disk,logical_block_size={size},physical_block_size={size}");
    let mut controller = String::from("nvme,id=nvme0,serial=ANVIL");
    if setup.namespace.is_none() {
        controller += &format!(",{on_disk}");
    }
    for properties in setup.nvme {
        controller += &format!(",{properties}");
    }
    if setup.root_port {
        add("pcie-root-port,id=port0".into());
        controller += ",bus=port0";
    }
    add(controller);
    if let Some(properties) = setup.namespace.filter(|properties| *properties != NONE) {
        add(format!("nvme-ns,bus=nvme0,{on_disk},{properties}"));
    }
    all
}

/// The exit code of a run, and the line that tells why.
fn outcome(end: End) -> Outcome {
    match end {
        End::Success => Ok(ExitCode::SUCCESS),
        End::Failure(reason) => Err(Failure::failed(reason)),
        End::Refused(reason) => Err(Failure::usage(reason)),
        End::Silent(what) => Err(Failure::crashed(what)),
        End::OutOfTime(seconds) => Err(Failure::crashed(format!("out of time: no end after {seconds} s"))),
    }
}

/// The first option that only this machine takes, if one is given.
pub(crate) fn given(options: &VirtOptions) -> Option<&'static str> {
    let all = [
        ("--level", options.level.is_some()),
        ("--block-size", options.block_size.is_some()),
        ("--nvme", !options.nvme.is_empty()),
        ("--namespace", options.namespace.is_some()),
        ("--root-port", options.root_port),
        ("--blkdebug", options.blkdebug.is_some()),
        ("--qemu", !options.arguments.is_empty()),
    ];
    all.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
}
