//! `bench`: figures per command of the true image, on the emulated M1 and on QEMU, and what flushes cost on models.

mod model;
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
    /// Run the driver on models only, and no image: what flushes cost.
    #[arg(long, conflicts_with = "machine")]
    modelled: bool,
    /// Write the rows to FILE.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draw the tables of shadow doorbells and of flushes into this directory, as SVG.
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,
}

/// Measures, prints a table and writes the rows.
pub(crate) fn bench(options: &Options) -> Outcome {
    let image = if options.modelled { None } else { Some(image::build(Log::Text)?) };
    let wanted = |machine| image.as_ref().filter(|_| options.machine.is_none_or(|only| only == machine));
    let mut rows = Vec::new();
    if let Some(image) = wanted(Machine::T8103) {
        rows.extend(t8103::rows(image)?);
    }
    let table = wanted(Machine::Virt).map(virt::measure).transpose()?;
    rows.extend(table.iter().flat_map(table::Table::rows));
    let flushes = if options.machine.is_none() { Some(model::measure()?) } else { None };
    rows.extend(flushes.iter().flat_map(|flushes| flushes.rows.clone()));
    for row in &rows {
        let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let value = row.get("value").and_then(Value::as_f64).unwrap_or_default();
        let modelled = if row.get("modelled") == Some(&Value::Bool(true)) { "  (modelled)" } else { "" };
        println!("{:<44} {:<24} {value:>14.3} {}{modelled}", text("case"), text("metric"), text("unit"));
    }
    if let Some(table) = &table {
        print!("\n{table}");
    }
    if let Some(flushes) = &flushes {
        print!("\n{flushes}");
    }
    let cannot = |path: &PathBuf, error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    if let Some(path) = &options.json {
        fs::write(path, format!("{:#}\n", Value::Array(rows))).map_err(|error| cannot(path, error))?;
    }
    if let Some(folder) = &options.plot {
        fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
        let drawings = [
            ("virt-randread-4k.svg", table.as_ref().map(plot::draw)),
            ("model-flushes.svg", flushes.as_ref().map(model::Flushes::draw)),
        ];
        for (name, drawing) in drawings {
            let file = folder.join(name);
            drawing.map_or(Ok(()), |drawing| fs::write(&file, drawing)).map_err(|error| cannot(&file, error))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn row(case: &str, metric: &str, value: f64, unit: &str, modelled: bool) -> Value {
    json!({"case": case, "metric": metric, "value": value, "unit": unit, "modelled": modelled})
}
