//! Disks of every kind on QEMU's controller: what is read is what other people's tools read.

use crate::common::{disk, sum, tool, virt};

#[test]
fn disks_of_every_block_size_are_read_as_sha256sum_reads_them() {
    for size in [512, 1024, 2048, 4096] {
        let path = disk(&format!("virt-{size}.img"), &["--size", "32M", "--block-size", &size.to_string()]);
        let blocks = (32 << 20) / size;
        // All of it, and ends that are no multiple of anything.
        let (first, some) = (blocks / 2 + 1, 1023);
        let call = virt(&[
            "--disk",
            &path,
            "--cmd",
            "gpt",
            "--cmd",
            &format!("sha256 0 {blocks}"),
            "--cmd",
            &format!("sha256 {first} {some}"),
        ])
        .succeeded();
        for wanted in ["known content".to_owned(), sum(&path, size, 0, blocks), sum(&path, size, first, some)] {
            assert!(call.console.contains(&wanted), "{size}: no {wanted:?} in\n{}", call.all());
        }
        let call = virt(&["--disk", &path, "--cmd", "namespaces"]).succeeded();
        let shown = format!("namespace 1: {blocks} blocks of {size} bytes");
        assert!(call.console.contains(&shown), "no {shown:?} in\n{}", call.all());
    }
}

#[test]
fn the_partitions_of_a_disk_of_512_byte_blocks_are_those_that_fdisk_lists() {
    let path = disk("virt-table.img", &["--block-size", "512"]);
    let call = virt(&["--disk", &path, "--cmd", "gpt"]).succeeded();
    let listed = tool("fdisk", &["-b", "512", "-l", "-o", "Start,Sectors,UUID", &path]);
    let listed = String::from_utf8(listed).unwrap();
    let rows: Vec<&str> = listed.lines().skip_while(|line| !line.trim_start().starts_with("Start")).skip(1).collect();
    assert_eq!(rows.len(), 3, "{listed}");
    for row in rows {
        let columns: Vec<&str> = row.split_whitespace().collect();
        let shown = call.console.lines().find(|line| line.to_uppercase().contains(columns[2]));
        let shown = shown.unwrap_or_else(|| panic!("no {} in\n{}", columns[2], call.all()));
        for column in columns {
            assert!(shown.to_uppercase().contains(column), "no {column:?} in {shown:?}");
        }
    }
}

#[test]
fn a_read_only_drive_is_read_flushed_and_left_as_it_was() {
    let path = disk("virt-read-only.img", &["--size", "32M"]);
    let before = tool("sha256sum", &[&path]);
    virt(&["--disk", &path, "--cmd", "gpt", "--cmd", "flush", "--cmd", "soak 200"]).succeeded();
    assert_eq!(before, tool("sha256sum", &[&path]));
}
