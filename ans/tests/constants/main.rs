//! The drivers' facts against the models' own reading of the reference, each by its name.
//!
//! The models share no constant with the drivers. Every constant, register field and memory layout of the drivers' files of
//! facts stands in a table here with the model's counterpart; the files' text tells whether one is missing.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod around;
mod compare;
mod messages;
mod queues;
mod source;

use std::path::Path;

use compare::differences;
use nvme::Status;
use sim::facts::status;

fn files() -> Vec<compare::File> {
    [around::files(), messages::files(), queues::files()].into_iter().flatten().collect()
}

#[test]
fn drivers_and_models_read_every_fact_alike() {
    let differences: Vec<_> = files().iter().flat_map(differences).collect();
    assert!(differences.is_empty(), "{differences:#?}");
}

#[test]
fn no_file_of_facts_is_left_out() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut found = Vec::new();
    for package in ["ans", "nvme", "rtkit"] {
        spec_files(&root.join(package).join("src"), false, &mut found);
    }
    let compared: Vec<_> = files().iter().map(|file| root.join(file.path)).collect();
    let left_out: Vec<_> = found.iter().filter(|path| !compared.contains(path)).collect();
    assert!(found.len() >= 6 && left_out.is_empty(), "{left_out:?}");
}

/// The files named `spec.rs`, and all in folders named `spec`.
fn spec_files(folder: &Path, all: bool, found: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let inside = all || path.ends_with("spec");
            spec_files(&path, inside, found);
        } else if all || path.ends_with("spec.rs") {
            found.push(path);
        }
    }
}

/// The status half-word of that type and code, as the models build it.
fn half_word(kind: u8, code: u8) -> u16 {
    u16::try_from(status::SCT.put(kind.into()) | status::SC.put(code.into())).unwrap()
}

#[test]
fn every_status_of_the_models_has_the_same_name_in_the_driver() {
    for ((kind, code), name) in status::NAMES {
        let status = Status::from_half_word(half_word(kind, code));
        assert_eq!((status.kind(), status.code(), status.name()), (kind, code, name));
    }
    let (kind, code) = status::INVALID_NAMESPACE;
    assert_eq!(Status::from_half_word(half_word(kind, code)), Status::INVALID_NAMESPACE);
}

#[test]
fn the_driver_names_every_status_of_the_reference_and_no_other() {
    for (kind, runs) in status::KNOWN {
        // 0x7f is no status of any type: what it is called is the type's own name.
        let nameless = Status::from_half_word(half_word(kind, 0x7f)).name();
        for code in 0..=u8::MAX {
            let known = runs.iter().any(|(first, last)| (*first..=*last).contains(&code));
            let named = Status::from_half_word(half_word(kind, code)).name() != nameless;
            assert_eq!(named, known, "type {kind} code {code:#04x}");
        }
    }
}

#[test]
fn every_flag_of_a_status_is_where_the_models_have_it() {
    let with = |field: sim::facts::Bits| Status::from_half_word(u16::try_from(field.mask()).unwrap());
    assert!(with(status::MORE).more() && with(status::DNR).do_not_retry());
    assert_eq!((with(status::CRD).retry_delay(), with(status::SCT).kind(), with(status::SC).code()), (3, 7, 0xff));
    assert_eq!(with(status::PHASE), Status::SUCCESS);
}
