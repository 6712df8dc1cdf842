//! `emu`: one run of an arm64 image on the emulated T8103. `xtask run` calls it; its exit code is the contract's.
//!
//! The console's bytes go to standard output; what the emulator itself says goes to standard error.

#![forbid(unsafe_code)]

use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use emu::options::Options;
use emu::{Ended, keyboard, prepare, run};

/// Bad arguments, or a file that cannot be used.
const REFUSED: u8 = 2;
/// Violations that are printed; the JSON report has them all.
const SHOWN: usize = 20;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.list_faults || options.fault.iter().any(|plan| plan == "help") {
        for (form, effect) in sim::fault::FAULTS {
            println!("{form:24} {effect}");
        }
        return ExitCode::SUCCESS;
    }
    match execute(&options) {
        Ok(ended) => ExitCode::from(ended.code()),
        Err(line) => {
            eprintln!("emu: {line}");
            ExitCode::from(REFUSED)
        }
    }
}

fn execute(options: &Options) -> Result<Ended, String> {
    // On every way out, a panic's too.
    let terminal = keyboard::GiveBack;
    let setup = prepare(options)?;
    let began = Instant::now();
    let mut run = run(setup)?;
    drop(terminal);
    for line in run.violations.iter().take(SHOWN) {
        eprintln!("emu: violation: {line}");
    }
    if run.violations.len() > SHOWN {
        eprintln!("emu: and {} more", run.violations.len() - SHOWN);
    }
    if let Some(path) = &options.json {
        let wall_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        run.json.insert("wall_ms".into(), wall_ms.into());
        let text = serde_json::to_string_pretty(&run.json).map_err(|error| error.to_string())?;
        std::fs::write(path, text + "\n").map_err(|error| format!("json {}: {error}", path.display()))?;
    }
    if run.ended != Ended::Success {
        eprintln!("emu: {}", run.ended);
    }
    Ok(run.ended)
}
