//! One list of operations on QEMU's controller and on the emulated ANS: the same data, the same decoded statuses.

use crate::common::{Call, disk, run, virt};

const LIST: &str = "--cmd=operations 5200";
const RANGE: &str = "--rw=5200..5263";
/// QEMU answers a reserved log page with Invalid Field; the specification has an error of its own for it.
const QEMU_DIFFERS: (&str, &str) = ("get a log page that there is not", "status type 0, code 0x02, invalid field");

/// An operation's name, and what came of it.
type Line = (String, String);

/// The lines of each run of the list, one after the other.
fn lists(call: &Call) -> Vec<Vec<Line>> {
    let mut lists: Vec<Vec<Line>> = Vec::new();
    for line in call.console.lines() {
        let Some((name, outcome)) = line.strip_prefix("operation: ").and_then(|line| line.split_once(": ")) else {
            continue;
        };
        // The list begins with what its first line names.
        match lists.last_mut() {
            Some(list) if list.first().is_some_and(|(first, _)| first != name) => {
                list.push((name.into(), outcome.into()))
            }
            _ => lists.push(vec![(name.into(), outcome.into())]),
        }
    }
    lists
}

/// The one list of a run.
fn list(call: &Call) -> Vec<Line> {
    let mut lists = lists(call);
    assert_eq!(lists.len(), 1, "{}", call.all());
    lists.remove(0)
}

#[test]
fn qemus_controller_and_apples_give_the_same_data_and_the_same_statuses() {
    let (here, there) =
        (disk("operations-qemu.img", &["--size", "32M"]), disk("operations-m1.img", &["--size", "32M"]));
    let qemu = list(&virt(&["--disk", &here, RANGE, LIST]).succeeded());
    let apple = list(&run(&["--disk", &there, RANGE, LIST]).succeeded());
    let names = |list: &[Line]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&qemu), names(&apple));
    assert!(qemu.len() >= 35, "{qemu:#?}");
    let mut not_there = Vec::new();
    for ((name, qemu), (_, apple)) in qemu.iter().zip(&apple) {
        if apple == "not there" {
            not_there.push(name.as_str());
        } else if name == QEMU_DIFFERS.0 {
            assert_eq!(qemu, QEMU_DIFFERS.1, "{name}");
            assert_eq!(apple, "status type 1, code 0x09, invalid log page", "{name}");
        } else {
            assert_eq!(qemu, apple, "{name}");
        }
    }
    // What ANS does not have, and QEMU has.
    assert_eq!(not_there, ["compare what is equal", "compare what differs", "read what was discarded"]);
    let told = |wanted: &str| &qemu.iter().find(|(name, _)| name == wanted).unwrap().1;
    assert_eq!(told("compare what is equal"), "done");
    assert_eq!(told("compare what differs"), "status type 2, code 0x85, compare failure");
    assert_eq!(told("read what was discarded"), told("read zeroes"));
    // Both disks hold the same now, and have changed nowhere else.
    let (here, there) = (std::fs::read(here).unwrap(), std::fs::read(there).unwrap());
    let fresh = std::fs::read(disk("operations-fresh.img", &["--size", "32M"])).unwrap();
    let (first, end, discarded) = (5200 * 4096, 5264 * 4096, 5232 * 4096..5240 * 4096);
    for disk in [&here, &there] {
        assert!(disk[..first] == fresh[..first] && disk[end..] == fresh[end..], "a block beside the range changed");
    }
    assert!(here[first..discarded.start] == there[first..discarded.start], "the written blocks differ");
    assert!(here[discarded.end..end] == there[discarded.end..end], "the written blocks differ");
}

#[test]
fn on_qemu_it_is_the_same_with_shadow_doorbells_and_without_them() {
    let path = disk("operations-doorbells.img", &["--size", "32M"]);
    let states = ["--cmd=doorbells off", "--cmd=doorbells late", "--cmd=doorbells on"];
    let mut arguments = vec!["--disk", &path, RANGE, LIST];
    arguments.extend(states.iter().flat_map(|state| [state, LIST]));
    let call = virt(&arguments).succeeded();
    let lists = lists(&call);
    assert_eq!(lists.len(), 4, "{}", call.all());
    for (list, state) in lists.iter().skip(1).zip(states) {
        assert_eq!(*list, lists[0], "{state}");
    }
}

#[test]
fn on_qemu_it_is_the_same_whatever_the_limit_of_a_command_is() {
    let path = disk("operations-limits.img", &["--size", "32M"]);
    let lists: Vec<Vec<Line>> = ["mdts=0", "mdts=1", "mdts=7"]
        .iter()
        .map(|limit| list(&virt(&["--disk", &path, "--nvme", limit, RANGE, LIST]).succeeded()))
        .collect();
    assert_eq!(lists[0], lists[1]);
    assert_eq!(lists[0], lists[2]);
}

#[test]
fn without_the_blocks_armed_nothing_is_done() {
    let path = disk("operations-unarmed.img", &["--size", "32M"]);
    let before = std::fs::read(&path).unwrap();
    virt(&["--disk", &path, LIST]).failed_with(1, &["operations", "--rw"]);
    virt(&["--disk", &path, "--rw=5201..5300", LIST]).failed_with(1, &["operations", "5201"]);
    virt(&["--disk", &path, "--rw", "--cmd=operations 8129"]).failed_with(1, &["operations", "8192"]);
    assert!(before == std::fs::read(&path).unwrap());
}
