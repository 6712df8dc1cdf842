//! `bench`: figures per command of the true image, on the emulated M1 and on QEMU.

mod plot;
mod t8103;
mod table;
mod virt;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use crate::failure::{Failure, Outcome};
use crate::image::{self, Log};
use crate::run::Machine;

/// The options of `bench`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure on this machine only.
    #[arg(long, value_enum)]
    machine: Option<Machine>,
    /// Write the rows to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the table of shadow doorbells into this directory, as SVG.
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
}

/// Measures, prints a table and writes the rows.
pub(crate) fn bench(options: &Options) -> Outcome {
    let image = image::build(Log::Text)?;
    let wanted = |machine| options.machine.is_none_or(|only| only == machine);
    let mut rows = Vec::new();
    if wanted(Machine::T8103) {
        rows.extend(t8103::rows(&image)?);
    }
    let table = if wanted(Machine::Virt) { Some(virt::measure(&image)?) } else { None };
    rows.extend(table.iter().flat_map(table::Table::rows));
    for row in &rows {
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = row.get("value").and_then(Value::as_f64).unwrap_or_default();
        let modelled = if row.get("modelled") == Some(&Value::Bool(true)) { "  (modelled)" } else { "" };
        println!("{:<32} {:<24} {value:>14.3} {}{modelled}", text("case"), text("metric"), text("unit"));
    }
    if let Some(table) = &table {
        print!("\n{table}");
    }
    let cannot = |path: &PathBuf, error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    if let Some(path) = &options.json {
        fs::write(path, format!("{:#}\n", Value::Array(rows))).map_err(|error| cannot(path, error))?;
    }
    if let (Some(folder), Some(table)) = (&options.plot, &table) {
        let file = folder.join("virt-randread-4k.svg");
        fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
        fs::write(&file, plot::draw(table)).map_err(|error| cannot(&file, error))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn row(case: &str, metric: &str, value: f64, unit: &str, modelled: bool) -> Value {
    json!({"case": case, "metric": metric, "value": value, "unit": unit, "modelled": modelled})
}
