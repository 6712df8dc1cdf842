//! What stands on the bus: bridges, several controllers, several namespaces, and one that is not for blocks.

use crate::common::{disk, sum, virt};

/// QEMU's arguments for one more drive, read-only.
fn drive(id: &str, path: &str) -> [String; 2] {
    ["--qemu=-drive".into(), format!("--qemu=if=none,id={id},format=raw,read-only=on,file={path}")]
}

#[test]
fn namespaces_1_and_3_are_found_and_told_apart() {
    let (one, three) =
        (disk("virt-ns1.img", &["--size", "32M"]), disk("virt-ns3.img", &["--size", "48M", "--block-size", "512"]));
    let [flag, second] = drive("second", &three);
    let call = virt(&[
        "--disk",
        &one,
        &flag,
        &second,
        "--qemu=-device",
        "--qemu=nvme-ns,bus=nvme0,nsid=3,drive=second,logical_block_size=512,physical_block_size=512",
        "--cmd=namespaces",
        "--cmd=sha256 100 3000",
        "--cmd=select 0 3",
        "--cmd=sha256 100 3000",
        "--cmd=gpt",
    ])
    .succeeded();
    for wanted in [
        "namespace 1: 8192 blocks of 4096 bytes".to_owned(),
        "namespace 3: 98304 blocks of 512 bytes".to_owned(),
        sum(&one, 4096, 100, 3000),
        sum(&three, 512, 100, 3000),
    ] {
        assert!(call.console.contains(&wanted), "no {wanted:?} in\n{}", call.all());
    }
    assert!(!call.console.contains("namespace 2"), "{}", call.all());
    virt(&["--cmd", "select 0 2"]).failed_with(1, &["2"]);
}

#[test]
fn a_disk_on_namespace_3_alone_is_the_disk() {
    let path = disk("virt-only-ns3.img", &["--size", "32M"]);
    let call = virt(&["--disk", &path, "--namespace", "nsid=3", "--cmd=gpt", "--cmd=sha256 1 999"]).succeeded();
    for wanted in ["known content".to_owned(), sum(&path, 4096, 1, 999)] {
        assert!(call.console.contains(&wanted), "no {wanted:?} in\n{}", call.all());
    }
}

#[test]
fn a_second_controller_is_driven_too() {
    let (one, two) = (disk("virt-first.img", &["--size", "32M"]), disk("virt-second.img", &["--size", "48M"]));
    let [flag, second] = drive("second", &two);
    let call = virt(&[
        "--disk",
        &one,
        &flag,
        &second,
        "--qemu=-device",
        "--qemu=nvme,id=nvme1,serial=SECOND,drive=second,logical_block_size=4096,physical_block_size=4096",
        "--cmd=controllers",
        "--cmd=sha256 0 8192",
        "--cmd=select 1",
        "--cmd=info",
        "--cmd=sha256 0 12288",
    ])
    .succeeded();
    for wanted in ["ANVIL".to_owned(), "SECOND".to_owned(), sum(&one, 4096, 0, 8192), sum(&two, 4096, 0, 12288)] {
        assert!(call.console.contains(&wanted), "no {wanted:?} in\n{}", call.all());
    }
}

#[test]
fn a_controller_behind_a_root_port_is_reached_at_every_level() {
    let path = disk("virt-port.img", &["--size", "32M"]);
    let wanted = sum(&path, 4096, 5000, 1000);
    for level in ["1", "2-e2h"] {
        let call = virt(&["--disk", &path, "--level", level, "--root-port", "--cmd=sha256 5000 1000"]).succeeded();
        assert!(call.console.contains(&wanted), "{level}: no {wanted} in\n{}", call.all());
    }
}

#[test]
fn a_zoned_namespace_is_refused_by_its_name_and_not_read() {
    let zoned = ["--namespace", "nsid=1,zoned=on,zoned.zone_size=1M"];
    for lines in [&[][..], &["--cmd", "gpt"], &["--cmd", "sha256 0 1"], &["--rw", "--cmd", "zero 0 1"]] {
        let call = virt(&[&zoned, lines].concat()).failed_with(1, &["namespace"]);
        let told = call.console.lines().find(|line| line.contains("namespace 1") && line.contains("zoned"));
        assert!(told.is_some(), "{lines:?}: {}", call.all());
        assert!(!call.console.contains("known content") && !call.console.contains("blocks from 0"), "{}", call.all());
    }
}

#[test]
fn a_block_namespace_beside_a_zoned_one_is_read_all_the_same() {
    let (zoned, plain) =
        (disk("virt-beside-zoned.img", &["--size", "32M"]), disk("virt-beside.img", &["--size", "48M"]));
    let [flag, second] = drive("second", &plain);
    let call = virt(&[
        "--disk",
        &zoned,
        "--namespace=nsid=1,zoned=on,zoned.zone_size=1M",
        &flag,
        &second,
        "--qemu=-device",
        "--qemu=nvme-ns,bus=nvme0,nsid=2,drive=second,logical_block_size=4096,physical_block_size=4096",
        "--cmd=namespaces",
        "--cmd=sha256 0 12288",
    ])
    .succeeded();
    for wanted in ["zoned".to_owned(), "namespace 2: 12288 blocks".to_owned(), sum(&plain, 4096, 0, 12288)] {
        assert!(call.console.contains(&wanted), "no {wanted:?} in\n{}", call.all());
    }
}

#[test]
fn a_machine_without_a_controller_or_without_a_namespace_says_so() {
    virt(&["--nvme", "none"]).failed_with(1, &["no NVMe controller"]);
    virt(&["--namespace", "none"]).failed_with(1, &["no active namespace"]);
}
