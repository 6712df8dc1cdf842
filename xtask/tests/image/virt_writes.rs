//! What changes data: only with `--rw`, only in the range that was named, and as `cmp` sees it afterwards.

use crate::common::{count, disk, figures, sum, tool, virt};

#[test]
fn without_rw_nothing_that_changes_data_is_sent() {
    let path = disk("virt-unarmed.img", &["--size", "32M"]);
    let before = tool("sha256sum", &[&path]);
    for line in ["zero 5200 1", "trim 5200 1"] {
        virt(&["--disk", &path, "--cmd", line]).failed_with(1, &["--rw"]);
    }
    assert_eq!(before, tool("sha256sum", &[&path]));
}

#[test]
fn a_range_that_was_not_named_is_not_written() {
    let path = disk("virt-range.img", &["--size", "32M"]);
    let before = tool("sha256sum", &[&path]);
    for line in ["zero 5199 1", "zero 5300 1", "zero 5299 2", "trim 5100 500", "zero 0 1"] {
        virt(&["--disk", &path, "--rw=5200..5299", "--cmd", line]).failed_with(1, &["5200"]);
    }
    assert_eq!(before, tool("sha256sum", &[&path]));
    // A range that the disk does not have is refused before anything is done.
    virt(&["--disk", &path, "--rw=8000..8192", "--cmd", "zero 8000 1"]).failed_with(1, &["8192"]);
    assert_eq!(before, tool("sha256sum", &[&path]));
}

#[test]
fn zeroes_reach_the_disk_where_they_were_asked_for_and_nowhere_else() {
    for size in [512, 4096] {
        let path = disk(&format!("virt-zero-{size}.img"), &["--size", "32M", "--block-size", &size.to_string()]);
        let first = (24 << 20) / size;
        let mut wanted = std::fs::read(&path).unwrap();
        wanted[24 << 20..][..(100 * size) as usize].fill(0);
        let range = format!("--rw={first}..{}", first + 199);
        virt(&["--disk", &path, &range, "--cmd", &format!("zero {first} 100"), "--cmd", "flush"]).succeeded();
        assert!(std::fs::read(&path).unwrap() == wanted, "{size}: the disk differs from what was asked for");
    }
}

#[test]
fn trimmed_blocks_are_told_to_the_device_and_the_others_stay() {
    let path = disk("virt-trim.img", &["--size", "32M"]);
    let (before, behind) = (sum(&path, 4096, 0, 6144), sum(&path, 4096, 6400, 1792));
    let (figures, _) = figures(
        "virt-trim.json",
        &["--machine", "virt", "--disk", &path, "--rw=6144..6399", "--cmd", "trim 6144 256", "--cmd", "flush"],
    );
    assert_eq!(count(&figures, "/commands/dataset-management"), 1, "{figures:#}");
    assert!(std::fs::read(&path).unwrap()[6144 * 4096..6400 * 4096].iter().all(|byte| *byte == 0));
    assert_eq!((before, behind), (sum(&path, 4096, 0, 6144), sum(&path, 4096, 6400, 1792)));
}

#[test]
fn rw_without_a_range_arms_the_whole_disk() {
    let path = disk("virt-all.img", &["--size", "32M"]);
    virt(&["--disk", &path, "--rw", "--cmd", "zero 8191 1", "--cmd", "flush"]).succeeded();
    assert!(std::fs::read(&path).unwrap()[8191 * 4096..].iter().all(|byte| *byte == 0));
}

#[test]
fn a_drive_that_refuses_a_write_is_told_as_the_device_says() {
    // Armed in the image, but the drive is read-only all the same.
    let path = disk("virt-refused.img", &["--size", "32M"]);
    let before = tool("sha256sum", &[&path]);
    for (line, status) in [("zero 5200 1", "write fault (type 2, code 0x80)"), ("trim 5200 1", "(type 0, code 0x06)")] {
        virt(&["--disk", &path, "--rw", "--qemu=-set", "--qemu=drive.disk.read-only=on", "--cmd", line])
            .failed_with(1, &[status]);
    }
    assert_eq!(before, tool("sha256sum", &[&path]));
}

#[test]
fn the_list_of_operations_comes_out_on_blocks_of_512_bytes_and_with_shadow_doorbells_or_without() {
    let path = disk("virt-operations.img", &["--size", "32M", "--block-size", "512"]);
    let mut arguments = vec!["--disk", &path, "--rw=40963..41026"];
    for state in ["--cmd=doorbells on", "--cmd=doorbells late", "--cmd=doorbells off"] {
        arguments.extend([state, "--cmd=operations 40963"]);
    }
    let call = virt(&arguments).succeeded();
    assert_eq!(call.console.matches("operation: flush: done").count(), 3, "{}", call.all());
}
