//! `ci`: everything that must hold before a change lands.

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use serde_json::Value;

use crate::disassembly;
use crate::failure::{Failure, Outcome};
use crate::image::{self, Log};
use crate::setup;
use crate::shell::{self, cargo, must, say};

/// Which crate may use which other crate of the project; `sim` in brackets is a dependency of tests only.
const ARROWS: &[(&str, &[&str], &[&str])] = &[
    ("hal", &[], &[]),
    ("rtkit", &["hal"], &["sim"]),
    ("nvme", &["hal"], &["sim"]),
    ("ans", &["hal", "rtkit", "nvme"], &["sim"]),
    ("boot", &["hal", "rtkit", "nvme", "ans"], &["sim"]),
    ("sim", &["hal"], &[]),
    ("emu", &["sim"], &[]),
    ("xtask", &[], &[]),
];

/// The licences that what is shipped may be built from.
const LICENCES: &[&str] =
    &["MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Zlib", "Unicode-3.0", "0BSD", "Unlicense"];

/// Crates under another licence that are used all the same, each with its reason.
const LICENCE_EXCEPTIONS: &[(&str, &str)] = &[
    // Comes with gpt_disk_types, which decodes partition names with it. Copyleft by file: it is used as published.
    ("ucs2", "MPL-2.0"),
];

/// The most that the image's file may take, in bytes.
const IMAGE_LIMIT: usize = 352 << 10;

/// The most lines that a source file may have without being looked at as a fault.
const LINES: usize = 400;

const LIBRARIES: &[&str] = &["--package", "hal", "--package", "rtkit", "--package", "nvme", "--package", "ans"];

/// A check's name, and the check.
type Step = (&'static str, fn() -> Result<(), Failure>);

/// Runs every check in turn.
pub(crate) fn ci() -> Outcome {
    setup::everything()?;
    let start = Instant::now();
    let steps: &[Step] = &[
        ("format", || must(cargo("fmt").args(["--all", "--check"]))),
        ("arrows and licences", arrows),
        ("file lengths", lengths),
        ("lints", lints),
        ("test", || must(&mut shell::xtask("test"))),
        ("documentation", documentation),
        ("sizes", sizes),
        ("barriers", barriers),
    ];
    for (name, step) in steps {
        say(&format!("ci, {} s: {name}", start.elapsed().as_secs()));
        step().map_err(|failure| Failure::failed(format!("ci: {name}: {failure}")))?;
    }
    say(&format!("ci, {} s: everything holds", start.elapsed().as_secs()));
    Ok(ExitCode::SUCCESS)
}

fn lints() -> Result<(), Failure> {
    let strict = ["--", "-D", "warnings"];
    must(
        cargo("clippy").args(LIBRARIES).args(["--package", "sim", "--package", "xtask", "--all-targets"]).args(strict),
    )?;
    must(cargo("clippy").args(["--release", "--package", "emu", "--all-targets"]).args(strict))?;
    for end in ["log", "defmt"] {
        must(cargo("clippy").args(LIBRARIES).args(["--target", setup::TARGET, "--features", end]).args(strict))?;
        let boot = ["--package", "boot", "--target", setup::TARGET, "--no-default-features", "--features", end];
        must(cargo("clippy").args(boot).args(strict))?;
    }
    Ok(())
}

fn documentation() -> Result<(), Failure> {
    must(cargo("doc").args(LIBRARIES).args(["--package", "sim", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings"))
}

fn sizes() -> Result<(), Failure> {
    let image = image::build(Log::Text)?;
    say(&format!("image: {} bytes of at most {IMAGE_LIMIT}", image.size));
    if image.size > IMAGE_LIMIT {
        return Err(Failure::failed(format!("the image has {} bytes, at most {IMAGE_LIMIT} are wanted", image.size)));
    }
    Ok(())
}

/// What the image's instructions say.
fn barriers() -> Result<(), Failure> {
    disassembly::check(&image::build(Log::Text)?.elf)
}

/// Reads cargo's own account of who depends on whom.
fn arrows() -> Result<(), Failure> {
    let text = shell::feed(cargo("metadata").args(["--format-version", "1"]), "")?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| Failure::failed(error.to_string()))?;
    let packages = metadata.get("packages").and_then(Value::as_array).cloned().unwrap_or_default();
    let ours: Vec<&str> = ARROWS.iter().map(|(name, ..)| *name).collect();
    let mut faults = Vec::new();
    let mut seen = 0;
    for package in packages.iter().filter(|package| package["source"].is_null()) {
        let name = package["name"].as_str().unwrap_or_default();
        let Some((_, always, tests)) = ARROWS.iter().find(|(known, ..)| *known == name) else {
            faults.push(format!("{name} is not in the table of arrows"));
            continue;
        };
        seen += 1;
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let used = dependency["name"].as_str().unwrap_or_default();
            let in_tests = dependency["kind"] == "dev";
            if ours.contains(&used) && !always.contains(&used) && !(in_tests && tests.contains(&used)) {
                faults.push(format!("{name} must not use {used}"));
            }
        }
    }
    if seen != ARROWS.len() {
        faults.push(format!("{seen} of {} crates found", ARROWS.len()));
    }
    faults.extend(licences(&metadata, &packages));
    report(&faults)
}

/// What the image is built from must have a licence that allows it; the GPL emulator in particular stays out.
fn licences(metadata: &Value, packages: &[Value]) -> Vec<String> {
    let nodes = metadata.pointer("/resolve/nodes").and_then(Value::as_array).cloned().unwrap_or_default();
    let root = packages.iter().find(|package| package["name"] == "boot" && package["source"].is_null());
    let mut waiting: Vec<String> =
        root.and_then(|package| package["id"].as_str()).map(str::to_owned).into_iter().collect();
    let mut reached: Vec<String> = Vec::new();
    while let Some(id) = waiting.pop() {
        if reached.contains(&id) {
            continue;
        }
        let node = nodes.iter().find(|node| node["id"] == *id);
        for dependency in node.and_then(|node| node["deps"].as_array()).into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array().cloned().unwrap_or_default();
            if kinds.iter().any(|kind| kind["kind"].is_null()) {
                waiting.extend(dependency["pkg"].as_str().map(str::to_owned));
            }
        }
        reached.push(id);
    }
    let mut faults = Vec::new();
    for package in packages.iter().filter(|package| reached.iter().any(|id| package["id"] == **id)) {
        let licence = package["license"].as_str().unwrap_or_default();
        // "A OR B" needs one that is allowed; "A AND B" needs both.
        let allowed = licence.replace('/', " OR ").replace(['(', ')'], " ").split(" OR ").any(|choice| {
            choice
                .split(" AND ")
                .all(|part| LICENCES.contains(&part.trim().trim_end_matches(" WITH LLVM-exception").trim()))
        });
        let name = package.get("name").and_then(Value::as_str).unwrap_or_default();
        if !allowed && !LICENCE_EXCEPTIONS.contains(&(name, licence)) {
            faults.push(format!("the image is built from {} with the licence {licence:?}", package["name"]));
        }
    }
    if reached.len() < 5 {
        faults.push("the image's dependencies were not found".to_owned());
    }
    faults
}

fn lengths() -> Result<(), Failure> {
    let listed =
        shell::feed(std::process::Command::new("git").args(["ls-files", "*.rs"]).current_dir(shell::top()), "")?;
    let mut faults = Vec::new();
    for path in listed.lines() {
        let full = Path::new(&shell::top()).join(path);
        let Ok(text) = fs::read_to_string(&full) else { continue };
        let lines = text.lines().count();
        if lines > LINES {
            faults.push(format!("{path} has {lines} lines, at most {LINES} are wanted"));
        }
    }
    report(&faults)
}

fn report(faults: &[String]) -> Result<(), Failure> {
    if faults.is_empty() { Ok(()) } else { Err(Failure::failed(faults.join("; "))) }
}
