//! From the command line to a run: everything that may be wrong with it is found here, each with one line.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use sim::nvme::store::{Access, FileStore};
use sim::{AnsState, Fault, MachineConfig};

use crate::image::Image;
use crate::options::{Ans, Argument, Log, Options};
use crate::run::{IMAGE_ADDRESS, LIMIT_NS, Setup, TREE_ADDRESS};
use crate::tree::Wishes;
use crate::{boot_args, keyboard, tree};

/// Bytes of a block of the T8103's disk.
const BLOCK: u32 = 4096;

fn read(what: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{what} {}: {error}", path.display()))
}

fn create(what: &str, path: &Path) -> Result<Box<dyn Write>, String> {
    let file = File::create(path).map_err(|error| format!("{what} {}: {error}", path.display()))?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Opens all files and builds what is to run.
///
/// # Errors
/// One line that names the option or file and what is wrong with it.
pub fn prepare(options: &Options) -> Result<Setup, String> {
    let path = options.image.as_deref().ok_or("an image is needed: --image FILE")?;
    let image = Image::parse(read("image", path)?, options.entry)
        .map_err(|error| format!("image {}: {error}", path.display()))?;
    let machine = machine(options)?;
    let handover = handover(options, &image)?;
    let mut input = Vec::new();
    if let Some(path) = &options.input {
        input = read("input", path)?;
        input.push(keyboard::END);
    }
    // The JSON file is written at the end, but a path that cannot be written is told of now.
    if let Some(path) = &options.json {
        create("json", path)?;
    }
    let trace = options.trace.as_deref().map(|path| create("trace", path)).transpose()?;
    let limit_ns = options.limit.unwrap_or(if options.interactive { u64::MAX / 16 } else { LIMIT_NS });
    Ok(Setup {
        image,
        handover,
        machine,
        ram: options.ram,
        limit_ns,
        limit_instructions: if options.interactive { u64::MAX } else { options.instructions },
        input,
        typed: options.interactive.then(keyboard::listen),
        console: Box::new(io::stdout()),
        frames: options.log == Log::Defmt,
        trace,
    })
}

fn machine(options: &Options) -> Result<MachineConfig, String> {
    let mut machine = MachineConfig::new(match options.ans {
        Ans::Stopped => AnsState::Stopped,
        Ans::Running => AnsState::Running,
    });
    machine.seed = options.seed;
    if let Some(path) = &options.disk {
        let access = if options.rw.is_some() { Access::ReadWrite } else { Access::ReadOnly };
        machine.store = Box::new(FileStore::open(path, BLOCK, access).map_err(|error| error.to_string())?);
    }
    for plan in &options.fault {
        machine.faults.push(Fault::parse(plan).map_err(|error| error.to_string())?);
    }
    Ok(machine)
}

fn handover(options: &Options, image: &Image) -> Result<Vec<u8>, String> {
    let interactive = options.interactive || options.input.is_some();
    let wishes = Wishes {
        commands: options.cmd.clone(),
        allow_write: options.rw.clone(),
        defer_flushes: options.defer.map(|milliseconds| milliseconds.to_string()),
        interactive,
    };
    let generated = options.tree.as_os_str() == "fdt";
    match (options.x0, generated) {
        (Argument::Fdt, true) => Ok(tree::generate(options.ram, &wishes)),
        (Argument::Fdt, false) => tree::adopt(read("tree", &options.tree)?, options.ram, &wishes).map_err(|error| {
            format!(
                "tree {}: {error}; --cmd, --rw, --defer, --input and --interactive add to a tree",
                options.tree.display()
            )
        }),
        (Argument::BootArgs, true) => Err("--x0 boot_args needs an Apple tree: give its file with --tree".into()),
        (Argument::BootArgs, false) if !options.cmd.is_empty() => {
            Err("--cmd travels in a flattened tree, which --x0 boot_args does not have".into())
        }
        (Argument::BootArgs, false) => {
            let tree = read("tree", &options.tree)?;
            Ok(boot_args::build(TREE_ADDRESS, &tree, options.ram, IMAGE_ADDRESS + image.memory))
        }
    }
}
