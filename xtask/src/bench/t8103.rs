//! The emulated M1: exact counts of instructions and register accesses, the same in each run.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::row;
use crate::failure::Failure;
use crate::image::Image;
use crate::{disk, run, shell};

/// Reads in one measured run.
const READS: u64 = 4096;

/// Measures bring-up and random reads.
pub(super) fn rows(image: &Image) -> Result<Vec<Value>, Failure> {
    let emulator = run::emulator()?;
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
    Ok(rows)
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
