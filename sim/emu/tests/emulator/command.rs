//! The program `emu` as scripts call it: exit codes, and one clear line for each mistake.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::program::{self, Program};

/// A folder of this test's own.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn file(folder: &Path, name: &str, bytes: &[u8]) -> String {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().into()
}

fn emu(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_emu")).args(arguments).output().unwrap()
}

fn errors(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_run_that_succeeds_prints_the_console_alone_and_writes_its_figures() {
    let folder = folder("success");
    let image = file(&folder, "image", &Program::new().print("hello\nanvil: success\n").power_off().bytes());
    let json = folder.join("figures.json");
    let report = || {
        let output = emu(&["--image", &image, "--entry", "0", "--seed", "7", "--json", json.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(0), "{}", errors(&output));
        assert_eq!(output.stdout, b"hello\nanvil: success\n");
        assert_eq!(errors(&output), "");
        let text = fs::read_to_string(&json).unwrap();
        text.lines().filter(|line| !line.contains("\"wall_ms\"")).collect::<Vec<_>>().join("\n")
    };
    let first = report();
    assert!(first.contains("\"seed\": 7"), "{first}");
    assert_eq!(first, report());
}

#[test]
fn a_reported_failure_is_the_last_line_on_standard_error() {
    let folder = folder("failure");
    let image = file(&folder, "image", &Program::new().print("anvil: failure: gpt: gone\n").power_off().bytes());
    let output = emu(&["--image", &image, "--entry", "0"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(errors(&output).lines().last(), Some("emu: failure: gpt: gone"));
}

#[test]
fn a_success_with_violations_fails_and_prints_them() {
    let folder = folder("violations");
    let gated = Program::new().print("anvil: success\n").set(0, program::NVME);
    let program = program::skipping_faults(gated.load32(1, 0, 0).power_off());
    let image = file(&folder, "image", &program.bytes());
    let output = emu(&["--image", &image, "--entry", "0"]);
    assert_eq!(output.status.code(), Some(1), "{}", errors(&output));
    assert!(errors(&output).contains("emu: violation: "), "{}", errors(&output));
    assert!(errors(&output).contains("access-while-gated"), "{}", errors(&output));
}

#[test]
fn a_run_without_end_stops_at_its_limit() {
    let folder = folder("limit");
    let image = file(&folder, "image", &Program::new().word(0x1400_0000).bytes());
    let output = emu(&["--image", &image, "--entry", "0", "--limit", "0.001"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(errors(&output), "emu: out of time: no end after 1 ms of emulated time\n");
}

#[test]
fn every_mistake_on_the_command_line_is_one_line_that_names_it_and_exit_code_2() {
    let folder = folder("mistakes");
    let image = file(&folder, "image", &Program::new().power_off().bytes());
    let (empty, odd) = (file(&folder, "empty", b""), file(&folder, "odd", &[0; 5000]));
    // Linux arm64 headers: one that wants more memory than there is, one of which the file has only a part.
    let mut header = [0; 0x40];
    header[0x10..0x18].copy_from_slice(&(1u64 << 40).to_le_bytes());
    header[0x38..0x3c].copy_from_slice(b"ARM\x64");
    let (large, cut) = (file(&folder, "large", &header), file(&folder, "cut", &header[..0x3a]));
    let missing = folder.join("missing");
    let (missing, directory) = (missing.to_str().unwrap(), folder.to_str().unwrap());
    let raw = ["--image", &image, "--entry", "0"];
    let cases: &[(&[&str], &str)] = &[
        (&["--image", missing], "image"),
        (&["--image", &image], "no arm64 image"),
        (&["--image", &empty], "no arm64 image"),
        (&["--image", &cut], "no arm64 image"),
        (&["--image", &large], "needs 0x10000000000 bytes"),
        (&["--image", &large, "--ram", "16G"], "needs 0x10000000000 bytes"),
        (&["--image", &image, "--entry", "0x100000"], "entry 0x100000"),
        (&["--disk", missing], "does not exist"),
        (&["--disk", &empty], "is empty"),
        (&["--disk", &odd], "5000 bytes"),
        (&["--disk", directory], "not a file"),
        (&["--tree", missing], "tree"),
        (&["--tree", &odd, "--rw"], "no flattened device tree"),
        (&["--input", missing], "input"),
        (&["--fault", "nonsense"], "unknown fault"),
        (&["--fault", "versions=1"], "versions=MIN:MAX"),
        (&["--x0", "boot_args"], "needs an Apple tree"),
        (&["--json", directory], "json"),
        (&["--trace", directory], "trace"),
    ];
    for (arguments, named) in cases {
        let own_image = arguments.first() == Some(&"--image");
        let before: &[&str] = if own_image { &[] } else { &raw };
        let output = emu(&[before, arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let text = errors(&output);
        assert!(
            text.starts_with("emu: ") && text.contains(named) && text.lines().count() == 1,
            "{arguments:?}: {text}"
        );
    }
    for arguments in [["--ram", "1"], ["--limit", "never"], ["--ans", "asleep"], ["--nonsense", "1"]] {
        let output = emu(&[&raw[..], &arguments].concat());
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(errors(&output).contains(arguments[0]), "{}", errors(&output));
    }
}

#[test]
fn the_list_of_faults_is_to_be_had_without_an_image() {
    let output = emu(&["--fault", "help"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(String::from_utf8(output.stdout).unwrap().contains("no-hello"));
}

#[test]
fn what_is_fed_to_the_console_is_read_from_it() {
    let folder = folder("input");
    // URXH twice, each sent back.
    let echo =
        Program::new().set(0, program::UART_TRANSMIT).load32(1, 0, 4).store32(1, 0, 0).load32(1, 0, 4).store32(1, 0, 0);
    let image = file(&folder, "image", &echo.print("\nanvil: success\n").power_off().bytes());
    let typed = file(&folder, "typed", b"ok");
    let output = emu(&["--image", &image, "--entry", "0", "--input", &typed]);
    assert_eq!(output.stdout, b"ok\nanvil: success\n");
}
