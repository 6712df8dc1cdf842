//! Errors that QEMU's `blkdebug` injects: each is told with its status, and what is not hit by one works.

use crate::common::{disk, rules, sum, virt};

#[test]
fn a_sector_that_cannot_be_read_is_told_as_an_unrecovered_read_and_its_neighbours_are_read() {
    let path = disk("virt-bad-read.img", &["--size", "32M"]);
    // In the middle of block 5200.
    let rules = rules("virt-read.rules", "read", Some(5200 * 8 + 3));
    let bad = ["--disk", &path, "--blkdebug", &rules];
    virt(&[&bad[..], &["--cmd", "read 5200 1"]].concat()).failed_with(1, &["unrecovered read"]);
    virt(&[&bad[..], &["--cmd", "sha256 5100 200"]].concat()).failed_with(1, &["unrecovered read"]);
    let call = virt(&[&bad[..], &["--cmd", "sha256 5100 100", "--cmd", "sha256 5201 100"]].concat()).succeeded();
    for wanted in [sum(&path, 4096, 5100, 100), sum(&path, 4096, 5201, 100)] {
        assert!(call.console.contains(&wanted), "no {wanted} in\n{}", call.all());
    }
}

#[test]
fn a_write_that_fails_is_told_as_a_write_fault_and_writes_nothing() {
    let path = disk("virt-bad-write.img", &["--size", "32M"]);
    let rules = rules("virt-write.rules", "write-zeroes", Some(5200 * 8));
    let bad = ["--disk", &path, "--blkdebug", &rules, "--rw=5120..5300"];
    let before = sum(&path, 4096, 5200, 1);
    virt(&[&bad[..], &["--cmd", "zero 5200 1"]].concat()).failed_with(1, &["write fault"]);
    assert_eq!(sum(&path, 4096, 5200, 1), before);
    virt(&[&bad[..], &["--cmd", "zero 5201 1", "--cmd", "flush"]].concat()).succeeded();
    assert!(std::fs::read(&path).unwrap()[5201 * 4096..5202 * 4096].iter().all(|byte| *byte == 0));
}

#[test]
fn a_flush_that_fails_is_never_told_as_done() {
    let path = disk("virt-bad-flush.img", &["--size", "32M"]);
    let rules = rules("virt-flush.rules", "flush", None);
    let call =
        virt(&["--disk", &path, "--blkdebug", &rules, "--rw=5120..5300", "--cmd", "zero 5200 1", "--cmd", "flush"]);
    let call = call.failed_with(1, &["flush", "write fault"]);
    assert!(!call.console.contains("flushed in"), "{}", call.all());
}

#[test]
fn blocks_that_cannot_be_deallocated_are_told_as_an_internal_error() {
    let path = disk("virt-bad-trim.img", &["--size", "32M"]);
    let rules = rules("virt-trim.rules", "discard", None);
    virt(&["--disk", &path, "--blkdebug", &rules, "--rw=5120..5300", "--cmd", "trim 5200 8"])
        .failed_with(1, &["trim", "internal error"]);
}
