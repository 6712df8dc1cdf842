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
fn batches_write_fewer_and_shadow_doorbells_at_depth_16_and_more_under_a_seventh_of_one() {
    for depth in [16, 64] {
        let batched = per_read(&bench(&format!("batched-{depth}"), &["doorbells off"], depth, ""));
        let shadow = per_read(&bench(&format!("shadow-{depth}"), &["doorbells on"], depth, ""));
        assert!(batched < 2.0, "depth {depth}: {batched} in batches");
        assert!(shadow < 0.15 && shadow <= batched, "depth {depth}: {shadow} with, {batched} without shadow doorbells");
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
        "--cmd=doorbells on",
        "--cmd=doorbells status",
        "--cmd=soak 500",
    ])
    .succeeded();
    assert!(call.console.contains("off"), "{}", call.all());
    assert_eq!(call.console.lines().filter(|line| line.contains(" reads, ")).count(), 3, "{}", call.all());
}

#[test]
fn a_controller_that_takes_doorbells_through_an_eventfd_loses_none_with_shadow_doorbells() {
    for depth in [1, 16] {
        virt(&["--nvme", "ioeventfd=on", "--cmd=doorbells on", &format!("--cmd=bench randread 2000 {depth}")])
            .succeeded();
    }
}
