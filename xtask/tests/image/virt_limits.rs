//! Limits that QEMU's controller can be given: the image keeps them, and reads the same.

use serde_json::Value;

use crate::common::{count, disk, figures, sum};

/// Reads 16 MiB with these properties of the controller, and gives QEMU's account of it.
fn reads(name: &str, properties: &str) -> Value {
    let path = disk(&format!("{name}.img"), &["--size", "32M"]);
    let wanted = sum(&path, 4096, 100, 4096);
    let (figures, call) = figures(
        &format!("{name}.json"),
        &["--machine", "virt", "--disk", &path, "--nvme", properties, "--cmd", "sha256 100 4096"],
    );
    assert!(call.console.contains(&wanted), "{properties}: no {wanted} in\n{}", call.all());
    assert_eq!(figures["violations"].as_array().map(Vec::len), Some(0), "{properties}: {}", figures["violations"]);
    assert!(count(&figures, "/bytes/read") >= 16 << 20, "{properties}: {figures:#}");
    figures
}

#[test]
fn no_command_moves_more_than_the_controller_takes() {
    // The limit is 2^mdts pages of 4 KiB; 0 is no limit.
    for mdts in [0, 1, 5, 7] {
        let figures = reads(&format!("virt-mdts-{mdts}"), &format!("mdts={mdts}"));
        let commands = count(&figures, "/commands/read");
        let least = if mdts == 0 { 1 } else { 4096 >> mdts };
        assert!(commands >= least, "mdts={mdts}: {commands} reads");
    }
}

#[test]
fn one_pair_of_queues_is_enough_and_sixty_four_are_no_trouble() {
    let figures_of_one = reads("virt-one-pair", "max_ioqpairs=1,msix_qsize=2");
    let queues = figures_of_one.pointer("/doorbells/by_queue").and_then(Value::as_object).unwrap();
    assert!(queues.keys().all(|queue| ["0", "1"].contains(&queue.as_str())), "{queues:?}");
    reads("virt-many-pairs", "max_ioqpairs=64");
}

#[test]
fn doorbells_that_qemu_takes_through_an_eventfd_work_as_well() {
    for state in ["on", "off"] {
        reads(&format!("virt-ioeventfd-{state}"), &format!("ioeventfd={state}"));
    }
}
