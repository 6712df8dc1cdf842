//! Write cache and flushes on the emulated M1.

use crate::common::{Call, commands, disk, figures, run, written};

const RANGE: &str = "--rw=5200..5299";

fn has(call: &Call, wanted: &[&str]) {
    let console = call.console.replace('\r', "");
    for wanted in wanted {
        assert!(console.contains(wanted), "no {wanted:?} in\n{}", call.all());
    }
}

#[test]
fn a_write_cache_that_is_turned_off_spares_flushes_and_turned_on_needs_them_again() {
    let path = disk("m1-cache.img", &["--size", "32M"]);
    let lines = ["--cmd", "cache off", "--cmd", "flush", "--cmd", "cache on", "--cmd", "flush", "--cmd", "stats"];
    let (figures, call) = figures("m1-cache.json", &[&["--disk", &path, RANGE][..], &lines].concat());
    has(&call, &["volatile write cache, off\nnamespace 1: write-through\n", "flush spared", "flushed in 17"]);
    // Before it was turned off, each of the three namespaces was flushed.
    assert_eq!(commands(&figures, "flush"), 4, "{}", call.all());
    has(&call, &["namespace 1: strict; flushes asked 3, spared 1, "]);
    run(&["--disk", &path, "--cmd", "cache off"]).failed_with(1, &["nothing of controller 0 is armed", "--rw"]);
}

#[test]
fn what_is_written_and_synced_is_in_the_file() {
    let path = disk("m1-write.img", &["--size", "32M"]);
    let mut wanted = std::fs::read(&path).unwrap();
    let bytes = [written(5200, 99, 0xa5, 4096), written(5299, 1, 0x11, 4096)].concat();
    wanted[5200 * 4096..][..bytes.len()].copy_from_slice(&bytes);
    let lines = ["--cmd", "write 5200 99 0xa5", "--cmd", "sync", "--cmd", "write 5299 1 0x11 fua"];
    run(&[&["--disk", &path, RANGE][..], &lines].concat()).succeeded();
    assert!(std::fs::read(&path).unwrap() == wanted, "the file differs from what was written");
    run(&["--disk", &path, RANGE, "--cmd", "write 5300 1 0"]).failed_with(1, &["write: ", "5200"]);
    run(&["--disk", &path, "--cmd", "write 5200 1 0"]).failed_with(1, &["nothing is armed", "--rw"]);
    assert!(std::fs::read(&path).unwrap() == wanted, "what was refused has changed the file");
}

#[test]
fn deferred_flushes_are_performed_during_a_load_and_at_the_shutdown() {
    let path = disk("m1-deferred.img", &["--size", "32M"]);
    let deferred = |name: &str, delay: &str, lines: &[&str]| {
        let mut arguments = vec!["--disk", &path, RANGE, "--defer", delay];
        arguments.extend(lines.iter().flat_map(|line| ["--cmd", line]));
        let (figures, call) = figures(name, &arguments);
        (commands(&figures, "flush"), call)
    };
    let (flushes, call) = deferred("m1-deferred.json", "60000", &["flush", "flush", "stats"]);
    assert_eq!(flushes, 1, "{}", call.all());
    has(&call, &["flush deferred: the device is asked within 60000 ms", " deferred 2, sent 0, failed 0, late 0"]);
    // 3000 reads, one at a time, take more than 100 ms of the machine's time.
    let (flushes, call) = deferred("m1-load.json", "100", &["flush", "bench randread 3000 1", "stats"]);
    assert_eq!(flushes, 1, "{}", call.all());
    has(&call, &[" deferred 1, sent 1, failed 0, late 0"]);
}

#[test]
fn deferring_is_armed_by_an_option_alone_and_a_slow_flush_is_slow_where_it_is_awaited() {
    let path = disk("m1-slow.img", &["--size", "32M"]);
    run(&["--disk", &path, "--cmd", "policy deferred"]).failed_with(1, &["not armed", "--defer", "a power cut loses"]);
    for delay in ["0", "60001"] {
        assert_eq!(run(&["--disk", &path, "--defer", delay]).code, 2);
    }
    let slow = ["--disk", &path, "--fault", "flush-delay=4000000000", "--defer", "60000"];
    let call = run(&[&slow[..], &["--cmd", "flush", "--cmd", "sync"]].concat()).succeeded();
    has(&call, &["flush deferred: "]);
    let took = call.console.lines().find_map(|line| line.trim_end().strip_prefix("synced in ")?.strip_suffix(" us"));
    // The machine's time, which the model makes.
    assert!(took.is_some_and(|took| took.parse::<u64>().is_ok_and(|took| took >= 4_000_000)), "{}", call.all());
    // One that never ends is given up: a flush may take a minute.
    let lost = ["--disk", &path, "--fault", "completion-lost=0", "--limit", "150", "--cmd", "flush"];
    run(&lost).failed_with(1, &["flush: namespace 1: ", "no completion"]);
}
