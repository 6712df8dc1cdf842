//! The main job on the emulated M1: what the image reads from a disk is what other people's tools read from it.

use crate::common::{self, disk, run, sum, tool};
use serde_json::Value;

/// The figures that a run wrote, and its console.
fn figures(name: &str, arguments: &[&str]) -> (Value, String) {
    let (figures, call) = common::figures(name, arguments);
    (figures, call.console)
}

#[test]
fn without_options_the_disk_is_found_named_and_listed_in_both_states_of_the_coprocessor() {
    for ans in ["stopped", "running"] {
        let call = run(&["--ans", ans]).succeeded();
        for wanted in
            ["APPLE SSD", "namespace 1: 16384 blocks", "EFI system partition", "known content", "anvil: success"]
        {
            assert!(call.console.contains(wanted), "{ans}: no {wanted:?} in\n{}", call.all());
        }
    }
}

#[test]
fn every_stage_of_bring_up_is_named_with_its_time_and_no_rule_is_broken() {
    for (ans, start) in [("stopped", "coprocessor-start"), ("running", "coprocessor-wake")] {
        let (figures, console) = figures("stages.json", &["--ans", ans]);
        let stages: Vec<&str> =
            figures["stages"].as_array().unwrap().iter().map(|stage| stage["name"].as_str().unwrap()).collect();
        for wanted in
            ["power-domains", start, "rtkit-hello", "rtkit-power", "boot-status", "controller-enable", "identify"]
        {
            assert!(stages.contains(&wanted), "{ans}: no {wanted} in {stages:?}\n{console}");
            assert!(console.contains(&format!("stage: {wanted} (")), "{ans}: {console}");
        }
        assert_eq!(figures["violations"].as_array().map(Vec::len), Some(0), "{ans}: {}", figures["violations"]);
        assert_eq!(figures["exit"], "ok");
    }
}

#[test]
fn the_partition_table_is_what_fdisk_says() {
    let path = disk("table.img", &["--size", "96M"]);
    let call = run(&["--disk", &path, "--cmd", "gpt"]).succeeded();
    let listed = tool("fdisk", &["-b", "4096", "-l", "-o", "Start,Sectors,Type-UUID,UUID,Name", &path]);
    let listed = String::from_utf8(listed).unwrap();
    let partitions: Vec<&str> =
        listed.lines().skip_while(|line| !line.trim_start().starts_with("Start")).skip(1).collect();
    assert_eq!(partitions.len(), 3, "{listed}");
    for partition in partitions {
        let mut columns = partition.split_whitespace();
        let mut column = || columns.next().unwrap().to_owned();
        let (start, sectors, kind, identity) = (column(), column(), column(), column());
        let name = columns.collect::<Vec<_>>().join(" ");
        let shown = call
            .console
            .lines()
            .find(|line| line.to_uppercase().contains(&identity))
            .unwrap_or_else(|| panic!("no {identity} in\n{}", call.console));
        for wanted in [&start, &sectors, &kind, &name] {
            assert!(shown.to_uppercase().contains(&wanted.to_uppercase()), "no {wanted:?} in {shown:?}");
        }
    }
}

#[test]
fn a_digest_of_any_range_is_what_sha256sum_says_of_the_same_bytes() {
    let path = disk("digest.img", &[]);
    for (first, count) in [(0, 1), (1, 1), (255, 3), (5119, 514), (5120, 4096), (16383, 1), (0, 16384)] {
        let sum = sum(&path, 4096, first, count);
        let call = run(&["--disk", &path, "--cmd", &format!("sha256 {first} {count}")]).succeeded();
        assert!(call.console.contains(&sum), "sha256 {first} {count}: {sum} wanted in\n{}", call.console);
    }
}

#[test]
fn a_hex_dump_shows_the_bytes_of_the_disk() {
    let path = disk("dump.img", &[]);
    let call = run(&["--disk", &path, "--cmd", "read 0x1400 2"]).succeeded();
    let bytes = std::fs::read(&path).unwrap();
    let block = &bytes[0x1400 * 4096..0x1402 * 4096];
    let mut shown = Vec::new();
    for line in call.console.lines() {
        let mut words = line.split_whitespace();
        // A line of a dump: the offset, then sixteen bytes, then the text.
        let offset = words.next().filter(|word| word.len() >= 8).and_then(|word| u64::from_str_radix(word, 16).ok());
        if offset.is_some() {
            let row: Vec<u8> = words.map_while(|word| u8::from_str_radix(word, 16).ok()).take(16).collect();
            if row.len() == 16 {
                shown.extend(row);
            }
        }
    }
    assert_eq!(shown.len(), block.len(), "{}", call.all());
    assert!(shown == block, "the dump differs from the disk");
}

#[test]
fn a_file_on_the_efi_system_partition_is_read_as_mtools_wrote_it() {
    let path = disk("files.img", &[]);
    let sum = sum(&path, 4096, 1024, 4096);
    let call = run(&["--disk", &path, "--cmd", "sha256 1024 4096", "--cmd", "read 1024 1"]).succeeded();
    assert!(call.console.contains(&sum), "{}", call.console);
    assert!(call.console.contains("mkfs.fat"), "the file system's first block names its maker:\n{}", call.console);
}

#[test]
fn one_seed_gives_one_report_byte_for_byte_and_another_seed_another() {
    let report = |name: &str, seed: &str| {
        let arguments = ["--seed", seed, "--cmd", "soak 500", "--cmd", "sha256 5120 600"];
        let (mut figures, _) = figures(name, &arguments);
        figures.as_object_mut().unwrap().remove("wall_ms");
        figures.to_string()
    };
    let first = report("seed-a.json", "7");
    assert_eq!(first, report("seed-b.json", "7"));
    assert_ne!(first, report("seed-c.json", "8"));
}

#[test]
fn the_report_has_the_keys_that_scripts_rely_on() {
    let (figures, _) = figures("keys.json", &["--cmd", "read 5120 1", "--cmd", "flush"]);
    assert_eq!(figures["seed"], 1);
    for key in [
        "/instructions",
        "/emulated_ns",
        "/mmio/reads",
        "/mmio/writes",
        "/commands/read",
        "/commands/flush",
        "/bytes/read",
    ] {
        assert!(figures.pointer(key).and_then(Value::as_u64).is_some_and(|value| value > 0), "{key} in {figures}");
    }
    assert_eq!(figures.pointer("/bytes/written").and_then(Value::as_u64), Some(0));
    let registers = figures["mmio"]["by_register"].as_object().unwrap();
    let sum = |kind: &str| registers.values().map(|counts| counts[kind].as_u64().unwrap()).sum::<u64>();
    assert_eq!(Some(sum("reads")), figures["mmio"]["reads"].as_u64());
    assert_eq!(Some(sum("writes")), figures["mmio"]["writes"].as_u64());
    assert!(figures["stages"].as_array().unwrap().iter().all(|stage| stage["emulated_ns"].is_u64()));
}

#[test]
fn bring_up_takes_less_than_three_million_instructions_to_the_first_block() {
    for ans in ["stopped", "running"] {
        let (figures, _) = figures("bring-up.json", &["--ans", ans, "--cmd", "read 0 1"]);
        let count = figures.pointer("/marks/first-block/instructions").and_then(Value::as_u64).unwrap();
        assert!(count < 3_000_000, "{ans}: {count} instructions");
    }
}

#[test]
fn a_soak_of_mixed_reads_at_random_depth_breaks_no_rule_and_allocates_nothing() {
    let (figures, console) = figures("soak.json", &["--cmd", "soak 100000"]);
    assert_eq!(figures["violations"].as_array().map(Vec::len), Some(0), "{}", figures["violations"]);
    assert!(figures["commands"]["read"].as_u64().unwrap() >= 100_000, "{}", figures["commands"]);
    assert!(console.contains("anvil: success"), "{console}");
}

#[test]
fn reading_never_changes_the_disk_file() {
    let path = disk("unchanged.img", &[]);
    let before = tool("sha256sum", &[&path]);
    run(&["--disk", &path, "--rw", "--cmd", "gpt", "--cmd", "soak 200", "--cmd", "flush"]).succeeded();
    assert_eq!(before, tool("sha256sum", &[&path]));
}

#[test]
fn the_monitor_lists_its_commands_and_says_what_the_coprocessor_said() {
    let call = run(&["--cmd", "help", "--cmd", "info", "--cmd", "namespaces", "--cmd", "log", "--cmd", "shutdown"])
        .succeeded();
    for command in
        ["help", "info", "namespaces", "gpt", "read LBA COUNT", "sha256 LBA COUNT", "flush", "log", "shutdown"]
    {
        assert!(call.console.contains(command), "no {command:?} in\n{}", call.console);
    }
}

#[test]
fn the_log_in_frames_tells_the_same_stages_as_the_log_in_text() {
    let stages = |log: &str| {
        let call = run(&["--log", log]).succeeded();
        let names: Vec<String> = call
            .console
            .lines()
            .filter_map(|line| line.split_once("stage: "))
            .map(|(_, rest)| rest.split(' ').next().unwrap_or_default().to_owned())
            .collect();
        assert!(call.console.contains("known content"), "{}", call.all());
        names
    };
    let text = stages("text");
    assert!(text.len() >= 8, "{text:?}");
    assert_eq!(text, stages("defmt"));
}
