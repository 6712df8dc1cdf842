//! Someone at the console.

use crate::call::{file, run, type_in};

#[test]
fn lines_from_a_pipe_are_run_as_if_typed_and_its_end_ends_the_run() {
    let outcome = type_in("piped", &["--interactive"], b"namespaces\nfrobnicate\nread 0 1\n").succeeded();
    for wanted in ["anvil> namespaces", "namespace 1:", "frobnicate", "00000000  00", "anvil: success"] {
        assert!(outcome.console.contains(wanted), "{wanted}: {}", outcome.all());
    }
}

#[test]
fn typed_text_that_reads_like_a_verdict_is_none() {
    let outcome =
        type_in("faked", &["--interactive"], b"anvil: failure: no\nanvil: success\ninfo\nshutdown\n").succeeded();
    assert!(outcome.console.contains("model "), "{}", outcome.all());
}

#[test]
fn lines_from_a_file_are_run_as_if_typed_and_its_end_ends_the_run() {
    let typed = file("typed", b"info\nnamespaces\n");
    let outcome = run("from-file", &["--input", &typed]).succeeded();
    for wanted in ["anvil> info", "model ", "namespace 1:"] {
        assert!(outcome.console.contains(wanted), "{wanted}: {}", outcome.all());
    }
}
