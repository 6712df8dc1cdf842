//! `bench`: exact counts of instructions and register accesses per command, on the true image.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::image::{self, Log};
use crate::{disk, run, shell};

/// The options of `bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Write the rows to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Reads in one measured run.
const READS: u64 = 4096;

/// Measures, prints a table and writes the rows.
pub(crate) fn bench(options: &Options) -> Outcome {
    let emulator = run::emulator()?;
    let image = image::build(Log::Text)?;
    let disk = disk::example()?;
    let mut rows = vec![row("t8103/image", "size", image.size as f64, "byte", false)];
    for depth in [1, 32, 61] {
        let report = shell::target().join("disk").join(format!("bench-{}.json", std::process::id()));
        let mut command = Command::new(&emulator);
        command.arg("--image").arg(&image.flat).arg("--disk").arg(&disk).arg("--json").arg(&report);
        command.arg(format!("--cmd=bench randread {READS} {depth}"));
        let output = command.output().map_err(|error| Failure::usage(format!("cannot run the emulator: {error}")))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Failure::failed(format!("the run at depth {depth} failed: {}", text.trim())));
        }
        let text =
            fs::read_to_string(&report).map_err(|error| Failure::failed(format!("{}: {error}", report.display())))?;
        let _ = fs::remove_file(&report);
        let value: Value = serde_json::from_str(&text).map_err(|error| Failure::failed(format!("figures: {error}")))?;
        rows.extend(measured(&value, depth)?);
        if depth == 1 {
            rows.extend(bring_up(&value)?);
        }
    }
    for row in &rows {
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = row.get("value").and_then(Value::as_f64).unwrap_or_default();
        let modelled = if row.get("modelled") == Some(&Value::Bool(true)) { "  (modelled)" } else { "" };
        println!("{:<28} {:<24} {value:>14.3} {}{modelled}", text("case"), text("metric"), text("unit"));
    }
    if let Some(path) = &options.json {
        fs::write(path, format!("{:#}\n", Value::Array(rows)))
            .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The differences between the marks that the image's bench prints around its reads.
fn measured(report: &Value, depth: u64) -> Result<Vec<Value>, Failure> {
    let case = format!("t8103/randread-4k/qd{depth}");
    let between = |path: &str| {
        let at = |mark: &str| report.pointer(&format!("/marks/{mark}{path}")).and_then(Value::as_f64);
        match (at("bench-start"), at("bench-end")) {
            (Some(start), Some(end)) => Ok(end - start),
            _ => Err(Failure::failed(format!("the run left no mark with {path}"))),
        }
    };
    let reads = READS as f64;
    Ok(vec![
        row(&case, "instructions_per_io", between("/instructions")? / reads, "1", false),
        row(&case, "mmio_writes_per_io", between("/mmio/writes")? / reads, "1", false),
        row(&case, "mmio_reads_per_io", between("/mmio/reads")? / reads, "1", false),
        row(&case, "iops", reads * 1e9 / between("/emulated_ns")?, "1/s", true),
    ])
}

/// What it took from entry to the first block.
fn bring_up(report: &Value) -> Result<Vec<Value>, Failure> {
    let instructions = report.pointer("/marks/first-block/instructions").and_then(Value::as_f64);
    let time = report.pointer("/marks/first-block/emulated_ns").and_then(Value::as_f64);
    match (instructions, time) {
        (Some(instructions), Some(time)) => Ok(vec![
            row("t8103/bring-up", "instructions", instructions, "1", false),
            row("t8103/bring-up", "time", time / 1e6, "ms", true),
        ]),
        _ => Err(Failure::failed("the run left no mark first-block")),
    }
}

fn row(case: &str, metric: &str, value: f64, unit: &str, modelled: bool) -> Value {
    json!({"case": case, "metric": metric, "value": value, "unit": unit, "modelled": modelled})
}
