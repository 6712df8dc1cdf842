//! Doorbell writes as QEMU itself counts them, with and without shadow doorbells.

use serde_json::Value;

use crate::common::{count, figures, virt};

const READS: u64 = 1024;

/// Doorbell writes to IO queues per read, between the marks of the bench.
fn per_read(figures: &Value) -> f64 {
    let at = |mark: &str| count(figures, &format!("/marks/{mark}/doorbells/io"));
    (at("bench-end") - at("bench-start")) as f64 / READS as f64
}

/// A bench after the lines, as QEMU saw it.
fn bench(name: &str, lines: &[&str], depth: u64, word: &str) -> Value {
    let bench = format!("--cmd=bench randread {READS} {depth}{word}");
    let lines: Vec<String> = lines.iter().map(|line| format!("--cmd={line}")).collect();
    let mut arguments = vec!["--machine", "virt"];
    arguments.extend(lines.iter().map(String::as_str));
    arguments.push(&bench);
    let (figures, _) = figures(&format!("virt-{name}.json"), &arguments);
    assert_eq!(figures["violations"].as_array().map(Vec::len), Some(0), "{}", figures["violations"]);
    let reads = |mark: &str| count(&figures, &format!("/marks/{mark}/commands/read"));
    assert_eq!(reads("bench-end") - reads("bench-start"), READS, "{figures:#}");
    figures
}

#[test]
fn plain_code_writes_two_doorbells_per_read() {
    for depth in [1, 16] {
        let figures = bench(&format!("plain-{depth}"), &["doorbells off"], depth, " plain");
        assert_eq!(per_read(&figures), 2.0, "{:#}", figures["doorbells"]);
    }
}

#[test]
fn batches_write_fewer_and_with_shadow_doorbells_depth_16_and_more_takes_under_a_seventh_of_one() {
    for depth in [16, 64] {
        for state in ["off", "on", "late"] {
            let name = format!("{state}-{depth}");
            let doorbells = per_read(&bench(&name, &[&format!("doorbells {state}")], depth, ""));
            assert!(doorbells < 0.15, "depth {depth}, shadow doorbells {state}: {doorbells}");
        }
    }
}

#[test]
fn the_image_counts_its_doorbell_writes_as_qemu_does_and_none_had_to_be_rung_again() {
    for (depth, word) in [(1, ""), (7, " plain"), (33, "")] {
        let lines = [&format!("--cmd=bench randread {READS} {depth}{word}"), "--cmd=doorbells status"];
        let (figures, call) = figures("virt-counted.json", &[&["--machine", "virt"], &lines[..]].concat());
        let pair = |kind: &str| -> u64 {
            let queues = figures.pointer("/doorbells/by_queue").and_then(Value::as_object).expect("counts by queue");
            queues.iter().filter(|(queue, _)| *queue != "0").map(|(_, pair)| pair[kind].as_u64().unwrap()).sum()
        };
        let wanted = format!("register writes: {} tails, {} heads", pair("sq"), pair("cq"));
        let told = call.console.lines().find(|line| line.contains("register writes")).unwrap_or_default();
        assert!(told.contains(&wanted) && told.contains(" 0 rung again"), "{wanted:?} is not {told:?}: {}", call.all());
    }
}

#[test]
fn the_admin_queue_is_rung_by_register_with_shadow_doorbells_too() {
    let figures = bench("admin", &["doorbells on", "smart", "smart", "smart"], 4, "");
    let commands: u64 = ["identify", "get-log-page", "get-features", "set-features", "doorbell-buffer-config"]
        .iter()
        .filter_map(|name| figures.pointer(&format!("/commands/{name}")).and_then(Value::as_u64))
        .sum();
    assert!(count(&figures, "/commands/doorbell-buffer-config") >= 1, "{figures:#}");
    assert!(count(&figures, "/doorbells/admin") >= 2 * commands, "{figures:#}");
}

#[test]
fn shadow_doorbells_can_be_switched_in_the_middle_and_nothing_is_lost() {
    let call = virt(&[
        "--cmd=doorbells status",
        "--cmd=soak 500",
        "--cmd=doorbells off",
        "--cmd=doorbells status",
        "--cmd=soak 500",
        "--cmd=doorbells late",
        "--cmd=doorbells status",
        "--cmd=soak 500",
        "--cmd=doorbells on",
        "--cmd=soak 500",
    ])
    .succeeded();
    for wanted in ["shadow doorbells: on, given before", "shadow doorbells: off", "shadow doorbells: on, given after"] {
        assert!(call.console.contains(wanted), "no {wanted:?} in\n{}", call.all());
    }
    assert_eq!(call.console.lines().filter(|line| line.contains(" reads, ")).count(), 4, "{}", call.all());
}

#[test]
fn a_controller_that_takes_doorbells_through_an_eventfd_loses_none_with_shadow_doorbells() {
    for depth in [1, 16] {
        virt(&["--nvme", "ioeventfd=on", "--cmd=doorbells on", &format!("--cmd=bench randread 2000 {depth}")])
            .succeeded();
    }
}
