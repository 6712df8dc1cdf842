//! Write cache and flushes on QEMU's controller: what it counted itself, and what is in the file behind it.

use crate::common::{Call, account, commands, disk, figures, rules, scratch, virt, written};

const RANGE: &str = "--rw=5200..5299";

/// The arguments of a run on QEMU's machine with that disk, those further ones, and these lines.
fn with<'a>(path: &'a str, more: &[&'a str], lines: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["--machine", "virt", "--disk", path];
    all.extend(more);
    all.extend(lines.iter().flat_map(|line| ["--cmd", line]));
    all
}

fn has(call: &Call, wanted: &[&str]) {
    let console = call.console.replace('\r', "");
    for wanted in wanted {
        assert!(console.contains(wanted), "no {wanted:?} in\n{}", call.all());
    }
}

#[test]
fn a_flush_reaches_the_device_unless_its_write_cache_is_off_from_the_start() {
    let path = disk("virt-cache-start.img", &["--size", "32M"]);
    for (property, state, mode, flushes) in
        [("write-cache=on", "on", "write-back", 2), ("write-cache=off", "off", "write-through", 0)]
    {
        let lines = ["cache", "info", "features", "flush", "sync"];
        let (figures, call) = figures("virt-cache-start.json", &with(&path, &["--nvme", property], &lines));
        assert_eq!(commands(&figures, "flush"), flushes, "{}", call.all());
        let cache = format!("write cache: volatile write cache, {state}\nnamespace 1: {mode}\n");
        has(&call, &[&cache, &format!("flushes    strict, namespace 1 is {mode}\n")]);
        has(&call, &[&format!("0x06 write cache: {:#x}, {state}", u8::from(state == "on"))]);
        assert_eq!(call.console.contains("flush spared"), flushes == 0, "{}", call.all());
    }
}

#[test]
fn a_write_cache_that_is_turned_off_spares_flushes_and_turned_on_needs_them_again() {
    let path = disk("virt-cache.img", &["--size", "32M"]);
    let off = with(&path, &[RANGE], &["cache off", "features", "flush", "sync", "flush"]);
    let (figures_off, call) = figures("virt-cache-off.json", &off);
    // What was in the cache was flushed before it was turned off.
    assert_eq!(commands(&figures_off, "flush"), 1, "{}", call.all());
    has(
        &call,
        &["write cache: volatile write cache, off", "0x06 write cache: 0x0, off", "flush spared", "sync spared"],
    );
    let (figures_on, call) =
        figures("virt-cache-on.json", &with(&path, &[RANGE], &["cache off", "flush", "cache on", "features", "flush"]));
    assert_eq!(commands(&figures_on, "flush"), 2, "{}", call.all());
    has(&call, &["write cache: volatile write cache, on", "0x06 write cache: 0x1, on", "flush spared", "flushed in "]);
}

#[test]
fn the_write_cache_is_not_touched_without_rw_and_not_kept_where_the_drive_cannot() {
    let path = disk("virt-cache-unarmed.img", &["--size", "32M"]);
    let sets = |lines: &[&str]| {
        let (figures, call) = account("virt-cache-unarmed.json", &with(&path, &[], lines));
        (commands(&figures, "set-features"), call)
    };
    let (usual, call) = sets(&["cache"]);
    call.succeeded();
    for line in ["cache off", "cache on"] {
        let (sent, call) = sets(&[line]);
        call.failed_with(1, &["nothing of controller 0 is armed", "--rw"]);
        assert_eq!(sent, usual, "{line}");
    }
    virt(&["--disk", &path, RANGE, "--cmd", "cache off save"]).failed_with(1, &["cache: ", "not saveable"]);
}

#[test]
fn what_is_written_and_synced_is_in_the_file_and_nothing_else_is() {
    for (size, block) in [(512, 512), (4096, 4096)] {
        let path = disk(&format!("virt-write-{size}.img"), &["--size", "32M", "--block-size", &size.to_string()]);
        let first = (24 << 20) / size;
        let mut wanted = std::fs::read(&path).unwrap();
        let bytes = [written(first, 99, 0xa5, block), written(first + 99, 1, 0x11, block)].concat();
        wanted[24 << 20..][..bytes.len()].copy_from_slice(&bytes);
        let range = format!("--rw={first}..{}", first + 99);
        let lines = [format!("write {first} 99 0xa5"), "sync".into(), format!("write {} 1 0x11 fua", first + 99)];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let (figures, call) = figures(&format!("virt-write-{size}.json"), &with(&path, &[&range], &lines));
        has(&call, &[" us, durable\n", "synced in "]);
        // The last write is durable by itself.
        assert_eq!(commands(&figures, "flush"), 1, "{}", call.all());
        assert!(std::fs::read(&path).unwrap() == wanted, "{size}: the file differs from what was written");
    }
}

#[test]
fn a_write_outside_of_what_is_armed_puts_nothing_on_the_wire() {
    let path = disk("virt-write-range.img", &["--size", "32M"]);
    let before = std::fs::read(&path).unwrap();
    for (armed, line, word) in [
        (Some(RANGE), "write 5199 1 0", "5200"),
        (Some(RANGE), "write 5299 2 0 fua", "5299"),
        (Some(RANGE), "write 8191 2 0", "8192"),
        // Without it QEMU's drive is read-only too.
        (None, "write 5200 1 0", "--rw"),
        (None, "write 5200 1 0 fua", "--rw"),
    ] {
        let more: Vec<&str> = armed.into_iter().collect();
        let (figures, call) = account("virt-write-range.json", &with(&path, &more, &[line]));
        call.failed_with(1, &["write: ", word]);
        assert_eq!((commands(&figures, "write"), commands(&figures, "flush")), (0, 0), "{line}");
    }
    assert!(std::fs::read(&path).unwrap() == before);
}

#[test]
fn each_policy_sends_the_flushes_that_it_promises() {
    let path = disk("virt-policy.img", &["--size", "32M"]);
    let (strict, _) = figures("virt-strict.json", &with(&path, &[], &["flush", "flush", "flush", "stats"]));
    assert_eq!(commands(&strict, "flush"), 3);
    // One caller that waits for each has nobody to share with.
    let lines = ["policy coalesce", "flush", "flush", "flush", "stats"];
    let (coalesce, call) = figures("virt-coalesce.json", &with(&path, &[], &lines));
    assert_eq!(commands(&coalesce, "flush"), 3);
    has(&call, &["namespace 1: coalesce, the cache is write-back", "namespace 1: coalesce; flushes asked 3"]);
    // The delay is longer than the run: what was deferred is performed by the shutdown.
    let (deferred, call) =
        figures("virt-deferred.json", &with(&path, &["--defer", "60000"], &["flush", "flush", "stats"]));
    assert_eq!(commands(&deferred, "flush"), 1, "{}", call.all());
    has(&call, &["flushes are deferred: namespace 1, for at most 60000 ms; a power cut loses"]);
    has(&call, &["flush deferred: ", "namespace 1: deferred(60000 ms); flushes asked 2, ", " deferred 2, sent 0, "]);
    // A sync is never deferred, and makes true what was.
    let (synced, call) =
        figures("virt-synced.json", &with(&path, &["--defer", "60000"], &["flush", "sync", "stats", "policy strict"]));
    assert_eq!(commands(&synced, "flush"), 1, "{}", call.all());
    has(&call, &["synced in ", " deferred 1, sent 1, ", "namespace 1: strict"]);
}

#[test]
fn flushes_are_not_deferred_unless_that_is_armed_and_not_for_ever() {
    let path = disk("virt-unarmed-defer.img", &["--size", "32M"]);
    let run = |line: &str| virt(&["--disk", &path, "--rw", "--cmd", line]);
    run("policy deferred").failed_with(1, &["not armed", "--defer", "a power cut loses"]);
    run("policy deferred 20").failed_with(1, &["not armed"]);
    for delay in ["0", "86400000"] {
        run(&format!("policy deferred {delay}")).failed_with(1, &[delay, "1 to 60000 milliseconds"]);
        assert_eq!(virt(&["--disk", &path, "--defer", delay]).code, 2);
        // Who passes the words by hand is told by the image.
        let words = format!("--qemu=anvil.defer={delay}");
        virt(&["--disk", &path, "--qemu=-append", &words]).failed_with(1, &[delay, "1 to 60000 milliseconds"]);
    }
    run("policy lazy").failed_with(1, &["usage: policy"]);
}

#[test]
fn a_flush_that_fails_is_told_at_once_or_if_it_was_answered_by_the_next_call() {
    let path = disk("virt-flush-fails.img", &["--size", "32M"]);
    let rules = rules("virt-flush-fails.rules", "flush", None);
    // QEMU sends no flush on to a drive that nothing was written to.
    let bad = ["--disk", &path, "--blkdebug", &rules, RANGE, "--cmd", "write 5200 1 0"];
    virt(&[&bad[..], &["--cmd", "flush"]].concat()).failed_with(1, &["flush: namespace 1: ", "write fault"]);
    virt(&[&bad[..], &["--cmd", "cache off"]].concat()).failed_with(1, &["the write cache stays on", "write fault"]);
    let call = virt(&[&bad[..], &["--defer", "60000", "--cmd", "flush", "--cmd", "read 0 1"]].concat());
    let call = call.failed_with(1, &["read: ", "a flush that had been answered failed", "write fault"]);
    has(&call, &["flush deferred: "]);
    // Nothing is deferred after that, and what was stays to be done: the end of the run tells that it could not.
    let typed = scratch("virt-flush-fails.txt");
    std::fs::write(&typed, "flush\nread 0 1\npolicy\nflush\n").unwrap();
    let typed = typed.display().to_string();
    let call = virt(&[&bad[..], &["--defer", "60000", "--input", &typed]].concat());
    let call = call.failed_with(1, &["shutdown: ", "write fault"]);
    has(&call, &["a flush that had been answered failed", "namespace 1: strict, the cache is write-back"]);
    assert!(!call.console.contains("flushed in "), "{}", call.all());
}
