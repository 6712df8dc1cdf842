//! A run's figures, as JSON.

use serde_json::{Map, Value, json};

use super::qemu::{End, Run};

/// The keys that the emulated M1's report has too, as far as QEMU can tell; what it cannot is null.
pub(super) fn json(run: &Run) -> Value {
    let mut all = Map::new();
    let mut put = |key: &str, value: Value| drop(all.insert(key.into(), value));
    put("exit", word(&run.end).into());
    put("source", "qemu".into());
    put("seed", Value::Null);
    put("instructions", Value::Null);
    put("emulated_ns", Value::Null);
    put("wall_ms", u64::try_from(run.wall.as_millis()).unwrap_or(u64::MAX).into());
    let events = run.events.clone().unwrap_or_default();
    put("violations", json!(events.violations));
    for (key, value) in events.total.json() {
        put(&key, value);
    }
    let stages = run.console.stages();
    let stage = |(name, micros): &(&str, Option<u64>)| json!({"name": name, "took_ns": micros.map(|micros| micros.saturating_mul(1000))});
    put("stages", stages.iter().map(stage).collect());
    let mut marks = Map::new();
    for (index, (name, counts)) in events.marks.iter().enumerate() {
        // A name that comes again is told apart by its number.
        let before = events.marks.iter().take(index).filter(|(other, _)| other == name).count();
        let name = if before == 0 { name.clone() } else { format!("{name}#{}", before + 1) };
        marks.insert(name, counts.json().into());
    }
    put("marks", marks.into());
    Value::Object(all)
}

fn word(end: &End) -> &'static str {
    match end {
        End::Success => "ok",
        End::Failure(_) => "failure",
        End::Refused(_) => "refused",
        End::Silent(_) => "crashed",
        End::OutOfTime(_) => "out-of-time",
    }
}
