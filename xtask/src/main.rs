//! The one way to build, run and test anvil: `cargo xtask help` lists the commands.
//!
//! Exit codes of every command: 0 done, 1 the image or a check reported a failure, 2 bad arguments or a missing tool,
//! 3 the image crashed or ran out of time.

#![forbid(unsafe_code)]

mod bench;
mod ci;
mod disassembly;
mod disk;
mod failure;
mod frames;
mod image;
mod run;
mod setup;
mod shell;
mod test;
mod virt;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Builds, runs and tests anvil, the NVMe host stack for Apple Silicon.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Install what is missing: the Rust target and the Debian packages. Every other command does this for what it needs.
    Setup,
    /// Run the image on an emulated machine. Without options: boot an M1, bring the disk up and list what is on it.
    Run(Box<run::Options>),
    /// Run every test: host tests, the models, and the true image on the emulated machines.
    Test,
    /// What CI runs: format, lints, dependency arrows and licences, tests, documentation, sizes, barriers.
    Ci,
    /// Measure the true image: instructions and register accesses per command on the emulated M1, shadow doorbells on QEMU.
    Bench(bench::Options),
    /// Make disk images to run on.
    Disk {
        #[command(subcommand)]
        command: disk::Command,
    },
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Setup => setup::everything(),
        Command::Run(options) => run::run(&options),
        Command::Test => test::test(),
        Command::Ci => ci::ci(),
        Command::Bench(options) => bench::bench(&options),
        Command::Disk { command } => disk::disk(&command),
    };
    match outcome {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            failure.code()
        }
    }
}
