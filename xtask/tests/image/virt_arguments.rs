//! What can and cannot be asked of QEMU's machine, and how the tool answers.

use crate::common::{disk, run, scratch, virt};

#[test]
fn what_works_on_the_m1_only_is_refused_there() {
    for arguments in [
        &["--fault", "no-hello"][..],
        &["--trace", "trace.txt"],
        &["--tree", "board.dtb"],
        &["--ans", "running"],
        &["--seed", "2"],
        &["--x0", "boot_args"],
    ] {
        let call = virt(arguments).failed_with(2, &[arguments[0], "t8103"]);
        assert_eq!(call.console, "", "nothing has run");
    }
}

#[test]
fn what_works_on_qemu_only_is_refused_on_the_m1() {
    for arguments in [
        &["--level", "2"][..],
        &["--block-size", "512"],
        &["--nvme", "mdts=1"],
        &["--namespace", "nsid=1"],
        &["--root-port"],
        &["--blkdebug", "rules"],
        &["--qemu", "-version"],
    ] {
        run(arguments).failed_with(2, &[arguments[0], "virt"]);
    }
}

#[test]
fn what_qemu_refuses_is_a_bad_argument_with_qemus_own_words() {
    virt(&["--nvme", "no-such=1"]).failed_with(2, &["qemu-system-aarch64", "no-such"]);
    virt(&["--nvme", "max_ioqpairs=0"]).failed_with(2, &["max_ioqpairs"]);
    virt(&["--image", &scratch("no-such.bin").display().to_string()]).failed_with(2, &["no-such.bin"]);
}

#[test]
fn a_disk_file_that_cannot_be_a_disk_is_refused_before_qemu_runs() {
    let missing = scratch("virt-no-such.img").display().to_string();
    virt(&["--disk", &missing]).failed_with(2, &["no-such.img"]);
    for (name, size) in [("virt-empty.img", 0), ("virt-odd.img", 4097)] {
        let path = scratch(name);
        std::fs::File::create(&path).unwrap().set_len(size).unwrap();
        virt(&["--disk", &path.display().to_string()]).failed_with(2, &[name]);
    }
    virt(&["--disk", &scratch("").display().to_string()]).failed_with(2, &["not a file"]);
}

#[test]
fn a_line_that_the_boot_arguments_cannot_carry_is_refused() {
    virt(&["--cmd", "read \"0\" 1"]).failed_with(2, &["double quote"]);
    for range in ["--rw=2..1", "--rw=all", "--rw=1"] {
        virt(&[range]).failed_with(2, &[]);
    }
}

#[test]
fn commands_are_run_in_order_and_a_file_is_typed_at_the_console_after_them() {
    let path = scratch("virt-typed.txt");
    std::fs::write(&path, "flush\nsha256 0 1\n").unwrap();
    let call = virt(&["--cmd", "info", "--cmd", "namespaces", "--input", &path.display().to_string()]).succeeded();
    let at = |text: &str| call.console.find(text).unwrap_or_else(|| panic!("no {text:?} in\n{}", call.all()));
    assert!(at("model ") < at("namespace 1:") && at("namespace 1:") < at("flushed in"), "{}", call.all());
    assert!(at("flushed in") < at("  1 blocks from 0"), "{}", call.all());
}

#[test]
fn a_machine_that_does_not_end_is_ended_in_time() {
    // A Linux arm64 image of one branch to itself.
    let mut file = vec![0; 128];
    file[..8].copy_from_slice(&[0x10, 0, 0, 0x14, 0x1f, 0x20, 0x03, 0xd5]);
    file[16..24].copy_from_slice(&4096u64.to_le_bytes());
    file[24..32].copy_from_slice(&10u64.to_le_bytes());
    file[56..60].copy_from_slice(b"ARM\x64");
    file[64..68].copy_from_slice(&0x1400_0000u32.to_le_bytes());
    let path = scratch("virt-loop.bin");
    std::fs::write(&path, file).unwrap();
    virt(&["--image", &path.display().to_string(), "--limit", "1"]).failed_with(3, &["out of time", "1 s"]);
}

#[test]
fn a_failure_of_the_image_is_repeated_last() {
    let path = disk("virt-none.img", &["--table", "none"]);
    virt(&["--disk", &path]).failed_with(1, &["no partition table"]);
    virt(&["--cmd", "read 16384 1"]).failed_with(1, &["16384"]);
}
