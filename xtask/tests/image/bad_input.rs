//! Bad input: each gives one clear line and the right exit code, and the machine is left as it was found.

use crate::common::{Call, disk, run, scratch, xtask};

/// The model checks at the end that the machine is as found: a run that breaks a rule says so.
fn broke_no_rule(call: &Call) {
    assert!(!call.said.contains("violation"), "{}", call.all());
}

#[test]
fn a_disk_file_that_cannot_be_a_disk_is_refused_before_anything_runs() {
    let missing = scratch("no-such.img").display().to_string();
    run(&["--disk", &missing]).failed_with(2, &["no-such.img"]);
    for (name, size) in [("empty.img", 0), ("odd.img", 4097)] {
        let path = scratch(name);
        std::fs::File::create(&path).unwrap().set_len(size).unwrap();
        let call = run(&["--disk", &path.display().to_string()]).failed_with(2, &[name]);
        assert_eq!(call.console, "", "nothing has run");
    }
    let folder = scratch("").display().to_string();
    run(&["--disk", &folder]).failed_with(2, &[]);
}

#[test]
fn a_disk_without_a_partition_table_says_so() {
    let path = disk("none.img", &["--table", "none"]);
    let call = run(&["--disk", &path]).failed_with(1, &["no partition table"]);
    broke_no_rule(&call);
}

#[test]
fn a_broken_primary_table_is_told_and_its_backup_is_used() {
    let path = disk("primary.img", &["--table", "broken-primary"]);
    let call = run(&["--disk", &path]).succeeded();
    for wanted in ["backup", "known content", "EFI system partition"] {
        assert!(call.console.contains(wanted), "no {wanted:?} in\n{}", call.console);
    }
}

#[test]
fn two_broken_tables_are_both_named() {
    let path = disk("both.img", &["--table", "broken-both"]);
    let call = run(&["--disk", &path]).failed_with(1, &["primary", "backup"]);
    broke_no_rule(&call);
}

#[test]
fn a_monitor_line_that_makes_no_sense_is_answered_with_one_line_that_quotes_it() {
    for (line, words) in [
        ("frobnicate", &["unknown command", "frobnicate"][..]),
        ("read", &["read LBA COUNT"]),
        ("read 0 0", &["0"]),
        ("read x 1", &["x"]),
        ("read 1 -1", &["-1"]),
        ("read 0x 1", &["0x"]),
        ("read 16384 1", &["16384"]),
        ("read 16383 2", &["16384"]),
        ("read 18446744073709551615 2", &["18446744073709551615"]),
        ("read 18446744073709551616 1", &["18446744073709551616"]),
        ("sha256 1 18446744073709551615", &["18446744073709551615"]),
        ("sha256 1", &["sha256 LBA COUNT"]),
        ("gpt 1", &["gpt"]),
        ("soak nothing", &["nothing"]),
    ] {
        let call = run(&["--cmd", line]).failed_with(1, words);
        broke_no_rule(&call);
    }
}

#[test]
fn bad_arguments_give_code_2() {
    for arguments in [
        &["run", "--nonsense"][..],
        &["run", "--ans", "sleeping"],
        &["run", "--machine", "t9999"],
        &["run", "--seed", "many"],
        &["run", "--fault", "nonsense"],
        &["run", "--fault", "versions=ten"],
        &["run", "--tree", "/nonexistent.dtb"],
        &["run", "--tree", "adt"],
        &["run", "--image", "/nonexistent.bin"],
        &["run", "--input", "/nonexistent.txt"],
        &["run", "--json", "/nonexistent/figures.json"],
        &["nonsense"],
        &["disk", "make"],
        &["disk", "make", "/nonexistent/a.img"],
        &["disk", "make", "/nonexistent/a.img", "--size", "1x"],
    ] {
        let call = xtask(arguments);
        assert_eq!(call.code, 2, "{arguments:?}: {}", call.all());
        assert!(!call.said.trim().is_empty(), "{arguments:?} gives no reason");
    }
}

#[test]
fn a_disk_file_is_not_replaced_unless_told() {
    let path = disk("kept.img", &[]);
    xtask(&["disk", "make", &path]).failed_with(2, &["exists", "--force"]);
}

#[test]
fn a_coprocessor_or_controller_that_fails_is_named_with_its_stage_and_the_machine_is_as_found() {
    for (fault, words) in [
        ("no-hello", &["rtkit-hello"][..]),
        ("versions=10:10", &["rtkit-hello", "10"]),
        ("versions=13:13", &["rtkit-hello", "13"]),
        ("endpoint-map-endless", &["rtkit-endpoints"]),
        ("no-power-ack", &["rtkit-power"]),
        ("crash=power", &["rtkit-power", "crash"]),
        ("mailbox-full", &["rtkit-", "no message came"]),
        ("buffer-pages=1:0", &["0"]),
        ("sart-full", &["SART"]),
        ("power-stuck=apcie_st", &["power-domains", "apcie_st"]),
        ("boot-status-never", &["boot-status"]),
        ("controller-never-ready", &["controller-enable", "CSTS is 0x00000000"]),
        ("cfs=0", &["controller-enable", "fatal"]),
        ("admin-error=6", &["identify"]),
        ("admin-error=5", &["io-queues"]),
        ("completion-lost=0", &["no completion of tag 2"]),
        ("no-sleep-ack", &["rtkit-sleep", "0x1"]),
        ("shutdown-never", &["controller-shutdown", "CSTS"]),
    ] {
        for ans in ["stopped", "running"] {
            // A domain that is found on is never switched, so it cannot stick.
            if ans == "running" && fault.starts_with("power-stuck") {
                continue;
            }
            let call = run(&["--ans", ans, "--fault", fault, "--limit", "300"]);
            let call = call.failed_with(1, words);
            assert!(call.console.lines().any(|line| line.starts_with("anvil: failure: ")), "{fault}: {}", call.all());
            broke_no_rule(&call);
        }
    }
}

#[test]
fn a_block_that_cannot_be_read_is_named_with_the_status() {
    let call = run(&["--fault", "io-error=5125", "--cmd", "read 5120 8"]).failed_with(1, &["5120", "unrecovered read"]);
    broke_no_rule(&call);
}

#[test]
fn delays_that_real_machines_show_are_waited_out() {
    for fault in
        ["power-ack-delay=29000000000", "hello-delay=900000000", "mailbox-full-for=150000000", "flush-delay=4000000000"]
    {
        let call = run(&["--fault", fault, "--cmd", "flush", "--limit", "120"]).succeeded();
        broke_no_rule(&call);
    }
}

#[test]
fn the_list_of_faults_is_help() {
    let call = xtask(&["run", "--fault", "help"]);
    assert_eq!(call.code, 0, "{}", call.all());
    assert!(call.console.contains("no-hello") && call.console.contains("completion-lost=N"), "{}", call.all());
}
