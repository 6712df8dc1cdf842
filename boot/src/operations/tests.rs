//! The list on the two models: the lines agree.

use nvme::ShadowDoorbells;
use sim::nvme::store::MemoryStore;

use crate::bootargs::Writable;
use crate::rig;
use crate::storage::Storage;

const RANGE: Option<Writable> = Some(Writable::Blocks { first: 1000, last: 1063 });

/// The lines of the list, each as its name and what came of it.
fn lines<P: hal::Platform<Clock: Clone>>(storage: &mut dyn Storage<Platform = P>) -> Vec<(String, String)> {
    let (out, result) = rig::monitor(storage, RANGE, &["operations 1000"]);
    assert_eq!(result, Ok(()), "{out}");
    out.lines()
        .filter_map(|line| line.strip_prefix("operation: "))
        .map(|line| line.split_once(": ").expect("a name and an outcome"))
        .map(|(name, outcome)| (name.to_owned(), outcome.to_owned()))
        .collect()
}

/// The lines of the model of a standard controller.
fn standard(change: impl FnOnce(&mut sim::pcie::ControllerConfig), shadow: ShadowDoorbells) -> Vec<(String, String)> {
    let board = rig::controller(change);
    let mut storage = rig::standard(std::slice::from_ref(&board), shadow);
    let lines = lines(&mut storage);
    for (_, controller) in storage.controllers {
        controller.shutdown().unwrap();
    }
    board.finish();
    assert!(board.violations().is_empty(), "{:#?}", board.violations());
    lines
}

#[test]
fn apples_controller_and_a_standard_one_give_the_same_data_and_the_same_statuses() {
    let board = rig::machine(|_| ());
    let mut ans = rig::apple(&board);
    let apple = lines(&mut ans);
    ans.shutdown(&mut |_, _| ()).unwrap();
    assert!(board.violations().is_empty(), "{:#?}", board.violations());
    let standard = standard(|_| (), ShadowDoorbells::BeforeQueues);
    assert!(standard.len() >= 35, "{standard:#?}");
    let mut both = 0;
    for ((name, apple), (same, standard)) in apple.iter().zip(&standard) {
        assert_eq!(name, same);
        if apple != "not there" && standard != "not there" {
            assert_eq!(apple, standard, "{name}");
            both += 1;
        }
    }
    assert_eq!(apple.len(), standard.len());
    // What ANS lacks, and no more: Compare twice, and that deallocated blocks read as zeroes.
    assert_eq!(standard.len() - both, 3, "{apple:#?}");
}

#[test]
fn neither_doorbells_nor_limits_nor_where_the_pages_are_change_what_comes_of_it() {
    let plain = standard(|_| (), ShadowDoorbells::Off);
    for shadow in [ShadowDoorbells::BeforeQueues, ShadowDoorbells::AfterQueues] {
        assert_eq!(plain, standard(|_| (), shadow));
    }
    for mdts in [0, 1, 3] {
        assert_eq!(plain, standard(|config| config.mdts = mdts, ShadowDoorbells::BeforeQueues), "mdts {mdts}");
    }
}

#[test]
fn a_command_that_a_controller_lacks_is_not_there_and_everything_else_is_as_it_was() {
    let all = standard(|_| (), ShadowDoorbells::Off);
    let few = standard(
        |config| {
            config.optional.compare = false;
            config.optional.write_zeroes = false;
            config.optional.dataset_management = false;
        },
        ShadowDoorbells::Off,
    );
    for ((name, all), (_, few)) in all.iter().zip(&few) {
        let optional =
            ["compare", "zeroes", "discard"].iter().any(|word| name.contains(word)) && !name.contains("not zeroed");
        assert_eq!(few == "not there", optional, "{name}");
        assert!(optional || all == few, "{name}: {all} and {few}");
    }
}

#[test]
fn every_error_is_the_one_that_the_specification_has_for_it() {
    let lines = standard(|_| (), ShadowDoorbells::Off);
    for (name, outcome) in [
        ("compare what differs", "status type 2, code 0x85, compare failure"),
        ("write while nothing is armed", "refused, not armed"),
        ("write beyond what is armed", "refused, not armed"),
        ("read no blocks", "refused, no blocks"),
        ("read beyond the end", "refused, out of range"),
        ("read more than one command may move", "refused, too many blocks"),
        ("read namespace 0", "refused, unknown namespace"),
        ("identify a namespace beyond the last", "status type 0, code 0x0b, invalid namespace or format"),
        ("get a log page that there is not", "status type 1, code 0x09, invalid log page"),
        ("get a feature that there is not", "status type 0, code 0x02, invalid field"),
        ("delete a queue", "refused, not passed through"),
    ] {
        let told = lines.iter().find(|(known, _)| known == name).map(|(_, outcome)| outcome.as_str());
        assert_eq!(told, Some(outcome), "{name}");
    }
}

#[test]
fn it_changes_its_own_blocks_and_no_others_and_not_what_is_armed() {
    let board = rig::controller(|config| {
        let store = MemoryStore::new(16 << 20);
        config.namespaces = vec![sim::pcie::NamespaceConfig::on(1, 4096, Box::new(store))];
    });
    let mut storage = rig::standard(std::slice::from_ref(&board), ShadowDoorbells::BeforeQueues);
    let zero = |span: &str| {
        let size = span.split(' ').nth(1).unwrap().parse::<usize>().unwrap() * 4096;
        let digest = <sha2::Sha256 as sha2::Digest>::digest(vec![0u8; size]);
        digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    let lines = ["operations 1000", "sha256 0 1000", "sha256 1064 3032", "sha256 1000 64", "zero 999 1"];
    let all = Some(Writable::Blocks { first: 999, last: 1100 });
    let (out, result) = rig::monitor(&mut storage, all, &lines);
    // What was armed before is armed again.
    assert_eq!(result, Ok(()), "{out}");
    assert!(
        out.contains(&zero("0 1000")) && out.contains(&zero("1064 3032")) && !out.contains(&zero("1000 64")),
        "{out}"
    );
}

#[test]
fn without_64_armed_blocks_nothing_is_done() {
    let board = rig::controller(|_| ());
    let mut storage = rig::standard(std::slice::from_ref(&board), ShadowDoorbells::BeforeQueues);
    let commands = board.io_commands();
    for (writable, line, word) in [
        (None, "operations 1000", "--rw"),
        (RANGE, "operations 999", "1000 to 1063"),
        (RANGE, "operations 1001", "1000 to 1063"),
        (Some(Writable::All), "operations 4033", "4096"),
        (Some(Writable::All), "operations 18446744073709551615", "4096"),
    ] {
        let (out, result) = rig::monitor(&mut storage, writable, &[line]);
        let error = result.expect_err(line);
        assert!(error.contains(word) && !out.contains("operation:"), "{error}: {out}");
    }
    assert_eq!(board.io_commands(), commands);
}
