//! Runs the tool as a person does, and reads what it prints.

#![allow(dead_code, reason = "each test file is a program of its own and uses a part of this")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What one call of the tool gave.
pub struct Call {
    /// The exit code; 255 when a signal ended it.
    pub code: i32,
    /// Standard output: the image's console.
    pub console: String,
    /// Standard error: what the tool itself said.
    pub said: String,
}

impl Call {
    /// The last line that the tool said.
    pub fn last_word(&self) -> &str {
        self.said.trim_end().lines().last().unwrap_or_default()
    }

    /// All of it, for the message of a failed assertion.
    pub fn all(&self) -> String {
        format!("exit code {}\n--- console\n{}\n--- said\n{}", self.code, self.console, self.said)
    }

    /// Asserts success.
    pub fn succeeded(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.all());
        self
    }

    /// Asserts the exit code, and that one line tells why: the last one said holds each of `words`.
    pub fn failed_with(self, code: i32, words: &[&str]) -> Self {
        assert_eq!(self.code, code, "{}", self.all());
        for word in words {
            assert!(self.last_word().contains(word), "the last word lacks {word:?}: {}", self.all());
        }
        self
    }
}

/// Calls the tool with these arguments.
pub fn xtask(arguments: &[&str]) -> Call {
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
pub fn run(arguments: &[&str]) -> Call {
    xtask(&[&["run"], arguments].concat())
}

/// Runs another program and gives its standard output.
pub fn tool(program: &str, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(program).args(arguments).output().unwrap_or_else(|error| panic!("{program}: {error}"));
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A file of this test program alone, in cargo's folder for them.
pub fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A disk made by the tool with these options.
pub fn disk(name: &str, options: &[&str]) -> String {
    let path = scratch(name).display().to_string();
    xtask(&[&["disk", "make", &path, "--force"], options].concat()).succeeded();
    path
}
