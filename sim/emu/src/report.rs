//! The run's figures, as JSON.

use serde_json::{Map, Value, json};
use sim::{Report, Violation};

use crate::board::Board;

/// The end of a stage of the bring-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// As the image named it.
    pub name: String,
    /// When its line ended.
    pub emulated_ns: u64,
}

/// The counters at a `mark:` line.
pub(crate) struct Mark {
    pub(crate) name: String,
    pub(crate) instructions: u64,
    pub(crate) emulated_ns: u64,
    pub(crate) report: Report,
}

fn broken(rules: &[Violation]) -> Value {
    let one = |rule: &Violation| json!({"time_ns": rule.time_ns, "rule": rule.rule, "place": rule.place, "detail": rule.detail});
    rules.iter().map(one).collect()
}

/// What the device models counted: `mmio`, `commands` and `bytes`.
fn counters(report: &Report) -> Map<String, Value> {
    let (mut reads, mut writes, mut registers) = (0, 0, Map::new());
    for (name, count) in &report.mmio {
        reads += count.reads;
        writes += count.writes;
        registers.insert(name.clone(), json!({"reads": count.reads, "writes": count.writes}));
    }
    let commands: Map<String, Value> =
        report.commands.iter().map(|(name, &count)| (name.clone(), count.into())).collect();
    let mut counters = Map::new();
    counters.insert("mmio".into(), json!({"reads": reads, "writes": writes, "by_register": registers}));
    counters.insert("commands".into(), commands.into());
    counters.insert("bytes".into(), json!({"read": report.bytes_read, "written": report.bytes_written}));
    counters
}

/// The whole report but for the host's time, which the caller adds.
pub(crate) fn json(board: &Board, exit: &str, seed: u64) -> Map<String, Value> {
    let report = board.machine.report();
    let instructions = board.clock.begun();
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| drop(all.insert(key.into(), value));
    put("exit", exit.into());
    put("seed", seed.into());
    put("instructions", instructions.into());
    put("emulated_ns", board.clock.nanoseconds(instructions).into());
    put("violations", broken(&report.violations));
    for (key, value) in counters(&report) {
        put(&key, value);
    }
    let stage = |stage: &Stage| json!({"name": stage.name, "emulated_ns": stage.emulated_ns});
    put("stages", board.stages.iter().map(stage).collect());
    let mut marks = Map::new();
    for mark in &board.marks {
        let mut one = Map::new();
        one.insert("instructions".into(), mark.instructions.into());
        one.insert("emulated_ns".into(), mark.emulated_ns.into());
        one.extend(counters(&mark.report));
        // A name that comes again is told apart by its number.
        let again =
            board.marks.iter().take_while(|other| !std::ptr::eq(*other, mark)).filter(|other| other.name == mark.name);
        let name = match again.count() {
            0 => mark.name.clone(),
            before => format!("{}#{}", mark.name, before + 1),
        };
        marks.insert(name, one.into());
    }
    put("marks", marks.into());
    put("notes", broken(&report.notes));
    let absent = board.absent.iter().map(|(&address, count)| {
        let place = if address == u64::MAX { "others".into() } else { format!("{address:#x}") };
        (place, json!({"reads": count.reads, "writes": count.writes}))
    });
    put("absent", Value::Object(absent.collect()));
    all
}
