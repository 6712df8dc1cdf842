//! Runs the tool as a person does, and reads what it prints.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What one call of the tool gave.
pub(crate) struct Call {
    /// The exit code; 255 when a signal ended it.
    pub(crate) code: i32,
    /// Standard output: the image's console.
    pub(crate) console: String,
    /// Standard error: what the tool itself said.
    pub(crate) said: String,
}

impl Call {
    /// The last line that the tool said.
    pub(crate) fn last_word(&self) -> &str {
        self.said.trim_end().lines().last().unwrap_or_default()
    }

    /// All of it, for the message of a failed assertion.
    pub(crate) fn all(&self) -> String {
        format!("exit code {}\n--- console\n{}\n--- said\n{}", self.code, self.console, self.said)
    }

    /// Asserts success.
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.all());
        self
    }

    /// Asserts the exit code, and that one line tells why: the last one said holds each of `words`.
    pub(crate) fn failed_with(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}", self.all());
        for word in words {
            assert!(self.last_word().contains(word), "the last word lacks {word:?}: {}", self.all());
        }
        self
    }
}

/// Calls the tool with these arguments.
pub(crate) fn xtask(arguments: &[&str]) -> Call {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .expect("the tool can be started");
    Call {
        code: output.status.code().unwrap_or(255),
        console: String::from_utf8_lossy(&output.stdout).into_owned(),
        said: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// Runs the image with these further arguments.
pub(crate) fn run(arguments: &[&str]) -> Call {
    xtask(&[&["run"], arguments].concat())
}

/// Runs another program and gives its standard output.
pub(crate) fn tool(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A file of this test program alone, in cargo's folder for them.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A disk made by the tool with these options.
pub(crate) fn disk(name: &str, options: &[&str]) -> String {
    let path = scratch(name).display().to_string();
    xtask(&[&["disk", "make", &path, "--force"], options].concat()).succeeded();
    path
}

/// Runs the image on QEMU's machine with these further arguments.
pub(crate) fn virt(arguments: &[&str]) -> Call {
    run(&[&["--machine", "virt"], arguments].concat())
}

/// The figures that a run wrote, and the run, which succeeded.
pub(crate) fn figures(name: &str, arguments: &[&str]) -> (Value, Call) {
    let (figures, call) = account(name, arguments);
    (figures, call.succeeded())
}

/// The figures that a run wrote, and the run, however it ended.
pub(crate) fn account(name: &str, arguments: &[&str]) -> (Value, Call) {
    let path = scratch(name).display().to_string();
    let call = run(&[&["--json", &path], arguments].concat());
    let text = std::fs::read_to_string(&path).expect("the figures were written");
    (serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}")), call)
}

/// What `sha256sum` says of blocks of a file.
pub(crate) fn sum(path: &str, block_size: u64, first: u64, count: u64) -> String {
    let bytes = format!("dd if={path} bs={block_size} skip={first} count={count} status=none | sha256sum");
    let text = String::from_utf8(tool("sh", &["-c", &bytes])).expect("a digest is text");
    text.split_whitespace().next().expect("a digest").to_owned()
}

/// How many commands of that name the device has seen.
pub(crate) fn commands(figures: &Value, name: &str) -> u64 {
    assert!(figures.pointer("/commands").is_some_and(Value::is_object), "no commands in {figures:#}");
    figures.pointer(&format!("/commands/{name}")).map_or(0, |count| count.as_u64().expect("a count"))
}

/// A file of `blkdebug` rules: each request of this kind, or those that touch a sector of 512 bytes, fails with EIO.
pub(crate) fn rules(name: &str, kind: &str, sector: Option<u64>) -> String {
    let place = sector.map(|sector| format!("sector = \"{sector}\"\n")).unwrap_or_default();
    let path = scratch(name);
    let rule = format!("[inject-error]\nevent = \"none\"\niotype = \"{kind}\"\nerrno = \"5\"\nonce = \"off\"\n{place}");
    std::fs::write(&path, rule).unwrap();
    path.display().to_string()
}

/// Blocks as the monitor's `write` fills them: each with its number and the byte, eight bytes each, over and over.
pub(crate) fn written(first: u64, count: u64, byte: u8, block_size: usize) -> Vec<u8> {
    let block = |number: u64| [number.to_le_bytes(), [byte; 8]].concat().repeat(block_size / 16);
    (first..first + count).flat_map(block).collect()
}

/// A count in the figures.
pub(crate) fn count(figures: &Value, path: &str) -> u64 {
    figures.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("no {path} in {figures:#}"))
}
