//! One run of the image.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a run left.
pub(crate) struct Outcome {
    pub(crate) code: Option<i32>,
    pub(crate) console: String,
    pub(crate) errors: String,
    pub(crate) json: Value,
}

/// A file of one test's own.
pub(crate) fn path(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("image");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// Writes such a file, and gives its path as an argument.
pub(crate) fn file(name: &str, bytes: &[u8]) -> String {
    let path = path(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().into()
}

/// The flat image.
pub(crate) fn image() -> String {
    std::env::var("ANVIL_IMAGE").unwrap_or_else(|_| {
        panic!("ANVIL_IMAGE is not set: it names the flat image to test with; `cargo xtask test` builds it and sets it")
    })
}

/// The emulator with the image; `name` is one test's own.
pub(crate) fn run(name: &str, arguments: &[&str]) -> Outcome {
    type_in(name, arguments, b"")
}

/// The same with something on standard input.
pub(crate) fn type_in(name: &str, arguments: &[&str], input: &[u8]) -> Outcome {
    start(name, &image(), arguments, input)
}

/// The same with another image.
pub(crate) fn run_image(name: &str, image: &str, arguments: &[&str]) -> Outcome {
    start(name, image, arguments, b"")
}

fn start(name: &str, image: &str, arguments: &[&str], input: &[u8]) -> Outcome {
    let json = path(&format!("{name}.json"));
    // A figure of an earlier run would be taken for one of this run.
    let _ = fs::remove_file(&json);
    let mut command = Command::new(env!("CARGO_BIN_EXE_emu"));
    command.args(["--image", image, "--json", json.to_str().unwrap()]).args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Outcome {
        code: output.status.code(),
        console: text(output.stdout),
        errors: text(output.stderr),
        json: fs::read(json).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default(),
    }
}

impl Outcome {
    /// Everything that was said, for a failed assertion.
    pub(crate) fn all(&self) -> String {
        format!("code {:?}\n{}\n{}", self.code, self.console, self.errors)
    }

    /// The run succeeded and broke no rule.
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.all());
        assert_eq!(self.errors, "");
        assert_eq!(self.json["violations"], Value::Array(Vec::new()));
        self
    }

    /// The run ended with this reason, said once by the image and repeated by the emulator, and broke no rule.
    pub(crate) fn failed_with(self, words: &[&str]) -> Self {
        assert_eq!(self.code, Some(1), "{}", self.all());
        let said: Vec<_> = self.console.lines().filter(|line| line.starts_with("anvil: ")).collect();
        let [reason] = said[..] else { panic!("one verdict is wanted: {}", self.all()) };
        assert_eq!(self.errors.lines().collect::<Vec<_>>(), [reason.replacen("anvil", "emu", 1)]);
        assert!(reason.starts_with("anvil: failure: "), "{reason}");
        assert!(words.iter().all(|word| reason.contains(word)), "{words:?} are wanted in: {reason}");
        assert_eq!(self.json["violations"], Value::Array(Vec::new()));
        self
    }

    /// No register was touched but those of the console and of the watchdog.
    pub(crate) fn touched_nothing(self) -> Self {
        let registers = self.json["mmio"]["by_register"].as_object().unwrap();
        let ours = |name: &&String| name.starts_with("UART_") || name.starts_with("WDT_");
        let others: Vec<_> = registers.keys().filter(|name| !ours(name)).collect();
        assert!(others.is_empty(), "{others:?}");
        self
    }
}
