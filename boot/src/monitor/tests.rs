//! Lines at work on models, and what they print.

mod durability;

use nvme::ShadowDoorbells;
use sim::pcie::{ControllerConfig, Fault, NamespaceConfig};

use crate::bootargs::Writable;
use crate::rig;
use crate::storage::{PciStorage, Storage};

const RANGE: Option<Writable> = Some(Writable::Blocks { first: 100, last: 199 });

/// A standard controller that is up, with its model.
fn standard(change: impl FnOnce(&mut ControllerConfig)) -> (PciStorage<sim::pcie::HostPlatform>, sim::pcie::Board) {
    let board = rig::controller(change);
    (rig::standard(std::slice::from_ref(&board), ShadowDoorbells::BeforeQueues), board)
}

/// What the lines print, all of which succeed.
fn printed<P: hal::Platform<Clock: Clone>>(storage: &mut dyn Storage<Platform = P>, lines: &[&str]) -> String {
    let (out, result) = rig::monitor(storage, RANGE, lines);
    assert_eq!(result, Ok(()), "{out}");
    out
}

/// Why the last line failed.
fn refused<P: hal::Platform<Clock: Clone>>(storage: &mut dyn Storage<Platform = P>, lines: &[&str]) -> String {
    let (out, result) = rig::monitor(storage, RANGE, lines);
    result.expect_err(&out)
}

fn has(out: &str, wanted: &[&str]) {
    for wanted in wanted {
        assert!(out.contains(wanted), "no {wanted:?} in\n{out}");
    }
}

#[test]
fn help_names_every_command_on_a_line_of_its_own() {
    let (mut storage, _) = standard(|_| ());
    let out = printed(&mut storage, &["help"]);
    for (usage, what) in crate::command::COMMANDS {
        assert!(out.lines().any(|line| line.starts_with(usage) && line.ends_with(what)), "no {usage:?} in\n{out}");
    }
}

#[test]
fn info_tells_how_the_controller_is_driven() {
    let (mut storage, _) = standard(|config| config.optional.compare = false);
    let out = printed(&mut storage, &["info", "doorbells off", "info"]);
    has(&out, &["page       4096 bytes", "queues     2", "doorbells  shadow", "doorbells  register"]);
    has(&out, &["optional   write-zeroes discard\n", "armed      blocks 100 to 199 of namespace 1 of controller 0"]);
}

#[test]
fn namespaces_that_are_not_used_are_named_with_the_reason() {
    let (mut storage, _) = standard(|config| {
        let zoned = NamespaceConfig { zoned: true, ..NamespaceConfig::new(2, 4096, 1 << 20) };
        let protected = NamespaceConfig { read_only: true, ..NamespaceConfig::new(3, 512, 1 << 20) };
        let unknown = NamespaceConfig { deallocated_zeroes: false, ..NamespaceConfig::new(4, 512, 1 << 20) };
        config.namespaces.extend([zoned, protected, unknown]);
    });
    let out = printed(&mut storage, &["namespaces"]);
    has(
        &out,
        &["namespace 1: 4096 blocks of 4096 bytes, 16 MiB, type 0, blocks 100 to 199 armed, the disk, deallocated"],
    );
    has(&out, &["namespace 2 is not used: of the zoned command set", "namespace 3: 2048 blocks of 512 bytes"]);
    let line = |id: &str| out.lines().find(|line| line.starts_with(id)).unwrap_or_default();
    assert!(line("namespace 3:").contains("write protected"), "{out}");
    assert!(line("namespace 4:").contains("read-only") && !line("namespace 4:").contains("deallocated"), "{out}");
}

#[test]
fn a_disk_that_is_not_used_is_the_reason_why_nothing_can_be_done_with_it() {
    let (mut storage, _) = standard(|config| config.namespaces[0].zoned = true);
    for line in ["namespaces", "gpt", "read 0 1", "sha256 0 1", "zero 0 1", "bench randread 1 1", "soak 1"] {
        let (out, result) = rig::monitor(&mut storage, None, &[line]);
        has(&result.expect_err(&out), &["namespace 1", "of the zoned command set"]);
    }
    has(&refused(&mut storage, &[]), &["arming writes", "of the zoned command set"]);
}

#[test]
fn commands_go_to_the_selected_controller_and_what_is_armed_stays_with_the_first() {
    let boards = [
        rig::controller(|config| config.serial = "first".into()),
        rig::controller(|config| {
            config.serial = "second".into();
            config.namespaces = vec![NamespaceConfig::new(5, 512, 1 << 20), NamespaceConfig::new(7, 4096, 1 << 20)];
        }),
    ];
    let mut storage = rig::standard(&boards, ShadowDoorbells::Off);
    let out = printed(&mut storage, &["controllers", "select 1", "controllers", "info", "namespaces", "select 1 7"]);
    has(&out, &["* 0: PCI 00:01.0", "  1: PCI 00:02.0", "  0: PCI 00:01.0", "* 1: PCI 00:02.0", "namespaces 5 7,"]);
    has(&out, &["serial     second", "namespace 5: 2048 blocks of 512 bytes", "selected: controller 1, namespace 7"]);
    for (lines, word) in [
        (["select 1", "zero 100 1"], "blocks 100 to 199 of namespace 1 of controller 0"),
        (["select 1 7", "trim 100 1"], "blocks 100 to 199 of namespace 1 of controller 0"),
        (["select 1", "select 0 5"], "namespace 5"),
        (["select 1", "select 2"], "controller 2"),
        (["select 1", "select 18446744073709551615"], "controller 18446744073709551615"),
        (["select 1", "select 1 4294967295"], "namespace 4294967295"),
        (["select 1", "select 1 4294967301"], "namespace"),
    ] {
        has(&refused(&mut storage, &lines), &[word]);
    }
    printed(&mut storage, &["select 1", "select 0", "zero 100 1"]);
}

#[test]
fn nothing_is_armed_where_a_controller_is_missing_that_may_have_been_the_first() {
    let (mut storage, _) = standard(|_| ());
    storage.missing = 1;
    has(&refused(&mut storage, &[]), &["arming writes", "a controller is missing"]);
    has(&rig::monitor(&mut storage, None, &["controllers"]).0, &["a controller is missing"]);
    // It can be read all the same.
    assert_eq!(rig::monitor(&mut storage, None, &["sha256 0 1"]).1, Ok(()));
}

#[test]
fn a_controller_without_namespaces_says_so() {
    let (mut storage, _) = standard(|config| config.namespaces.clear());
    has(&rig::monitor(&mut storage, None, &["namespaces"]).1.unwrap_err(), &["controller 0 has no active namespace"]);
    has(&refused(&mut storage, &[]), &["arming writes: there is no namespace 1"]);
    has(&rig::monitor(&mut storage, None, &["controllers"]).0, &["namespaces none"]);
}

#[test]
fn health_is_shown_with_its_units() {
    let (mut storage, board) = standard(|_| ());
    board.set_temperature(300);
    let out = printed(&mut storage, &["soak 200", "smart"]);
    has(&out, &["temperature         300 K (27 degrees Celsius)", " thousand units of 512 bytes (", " GB)", " hours"]);
    let commands: u64 = out
        .lines()
        .find_map(|line| line.strip_prefix("read commands"))
        .and_then(|count| count.trim().parse().ok())
        .expect("a count");
    assert_eq!(commands, 200);
}

#[test]
fn errors_that_the_controller_logged_are_listed_and_none_is_said() {
    let (mut storage, _) = standard(|_| ());
    assert_eq!(printed(&mut storage, &["errors"]).lines().last(), Some("no errors"));
    let out = printed(&mut storage, &["operations 100", "errors"]);
    let errors: Vec<&str> = out.lines().filter(|line| line.starts_with("error ")).collect();
    assert!(errors.iter().any(|line| line.contains("queue 0") && line.contains("invalid log page")), "{out}");
    assert!(errors.iter().any(|line| line.contains("block 108: compare failure")), "{out}");
}

#[test]
fn features_are_listed_to_the_end_whatever_the_controller_lacks() {
    let board = rig::machine(|_| ());
    let mut ans = rig::apple(&board);
    let out = printed(&mut ans, &["features"]);
    has(
        &out,
        &[
            "0x01 arbitration: the controller answered: invalid field",
            "0x06 write cache: 0x1, on\n",
            "0x0b events: the",
        ],
    );
    let (mut storage, _) = standard(|config| config.write_cache.enabled = false);
    let out = printed(&mut storage, &["features"]);
    has(&out, &["0x06 write cache: 0x0, off; default 0x", "; saved 0x"]);
}

#[test]
fn what_the_controller_tells_unasked_is_shown_once() {
    let (mut storage, board) = standard(|_| ());
    assert_eq!(printed(&mut storage, &["events"]).lines().last(), Some("no events"));
    board.write(sim::pcie::BAR0 + 0x1000 + 8 * 50, 4, 1);
    board.pass(1_000_000);
    let out = printed(&mut storage, &["events", "events"]);
    has(&out, &["error: write to an invalid doorbell register", "no events"]);
}

#[test]
fn what_changes_data_needs_its_blocks_armed() {
    let (mut storage, board) = standard(|_| ());
    let before = board.io_commands();
    for line in ["zero 99 1", "zero 200 1", "zero 199 2", "trim 0 4096", "trim 50 100"] {
        has(&refused(&mut storage, &[line]), &["blocks 100 to 199", "--rw"]);
    }
    has(&refused(&mut storage, &["zero 4096 1"]), &["4096"]);
    assert_eq!(board.io_commands(), before);
    let out = printed(&mut storage, &["zero 100 100", "trim 150 1"]);
    has(&out, &["zeroed 100 blocks from 100 in ", "trimmed 1 blocks from 150 in "]);
}

#[test]
fn without_rw_nothing_is_armed_and_the_answer_says_how_to() {
    let (mut storage, board) = standard(|_| ());
    let before = board.io_commands();
    for line in ["zero 100 1", "trim 100 1", "operations 100"] {
        has(&rig::monitor(&mut storage, None, &[line]).1.unwrap_err(), &["nothing is armed", "--rw"]);
    }
    assert_eq!(board.io_commands(), before);
}

#[test]
fn a_command_that_the_controller_lacks_is_named() {
    let (mut storage, _) = standard(|config| {
        config.optional.write_zeroes = false;
        config.optional.dataset_management = false;
    });
    has(&refused(&mut storage, &["zero 100 1"]), &["zero: the controller does not have the command write zeroes"]);
    has(
        &refused(&mut storage, &["trim 100 1"]),
        &["trim: the controller does not have the command dataset management"],
    );
    has(&printed(&mut storage, &["info"]), &["optional   compare\n"]);
}

#[test]
fn what_fails_on_the_disk_is_told_with_its_block_and_its_status() {
    let (mut storage, _) = standard(|config| {
        config.faults = vec![Fault::ReadError(7), Fault::WriteError(150), Fault::FlushError];
    });
    for (line, words) in [
        ("read 7 1", ["block 7:", "unrecovered read error (type 2, code 0x81"]),
        ("sha256 7 2", ["block 7:", "unrecovered read error"]),
        ("zero 150 2", ["2 blocks from 150:", "write fault (type 2, code 0x80"]),
        ("flush", ["flush: namespace 1:", "write fault"]),
        ("soak 5000", ["soak: block ", "unrecovered read error"]),
        ("bench randread 50000 8", ["bench: a random read:", "unrecovered read error"]),
    ] {
        has(&refused(&mut storage, &[line]), &words);
    }
    let (mut storage, _) = standard(|config| config.faults = vec![Fault::ReadError(1)]);
    has(&refused(&mut storage, &["gpt"]), &["block 1:", "unrecovered read error"]);
}

#[test]
fn doorbells_are_switched_and_their_state_is_told() {
    let (mut storage, board) = standard(|_| ());
    let out = printed(
        &mut storage,
        &["doorbells status", "doorbells off", "soak 100", "doorbells late", "soak 100", "doorbells on", "zero 100 1"],
    );
    let states: Vec<&str> = out.lines().filter_map(|line| line.strip_prefix("shadow doorbells: ")).collect();
    for (state, wanted) in states.iter().zip(["on, given before", "off; ", "on, given after", "on, given before"]) {
        assert!(state.starts_with(wanted), "{out}");
    }
    assert_eq!(states.len(), 4, "{out}");
    assert!(board.violations().is_empty(), "{:#?}", board.violations());
}

#[test]
fn a_controller_without_shadow_doorbells_says_so() {
    let board = rig::machine(|_| ());
    let mut ans = rig::apple(&board);
    let (mut storage, _) = standard(|config| config.shadow_doorbells = false);
    let says = "the controller does not have";
    has(&printed(&mut ans, &["doorbells status", "doorbells off"]), &[says]);
    has(&printed(&mut storage, &["doorbells status", "doorbells off"]), &[says]);
    for line in ["doorbells on", "doorbells late"] {
        has(&refused(&mut ans, &[line]), &[says]);
        has(&refused(&mut storage, &[line]), &[says]);
    }
}

#[test]
fn a_controller_that_refuses_doorbell_buffers_is_driven_by_registers_and_that_is_told() {
    let (mut storage, _) = standard(|config| config.faults = vec![Fault::doorbell_buffer_fails()]);
    has(
        &printed(&mut storage, &["doorbells status", "soak 10"]),
        &["wanted, but the controller refuses them", " reads, "],
    );
    has(&refused(&mut storage, &["doorbells on"]), &["refuses doorbell buffers"]);
    printed(&mut storage, &["soak 10"]);
}

#[test]
fn plain_code_writes_two_doorbells_per_read_and_only_for_its_own_run() {
    let (mut storage, _) = standard(|_| ());
    let lines = ["doorbells off", "bench randread 1000 16", "bench randread 1000 16 plain", "bench randread 1000 16"];
    let out = printed(&mut storage, &lines);
    let writes: Vec<&str> =
        out.lines().filter_map(|line| line.strip_suffix(" doorbell writes per read")?.rsplit(' ').next()).collect();
    assert_eq!(writes.get(1), Some(&"2.000"), "{out}");
    assert!(writes.len() == 3 && writes[0].starts_with("0.") && writes[2].starts_with("0."), "{out}");
}
