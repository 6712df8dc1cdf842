//! Other programs, and where things lie in the tree.

use std::ffi::OsStr;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// The top of the tree.
pub(crate) fn top() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| top().join("target"), |path| top().join(path))
}

/// Where cargo keeps the sources of dependencies.
pub(crate) fn cargo_home() -> PathBuf {
    let named = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).unwrap_or_default()
}

/// Where the compiler keeps the sources of its library.
pub(crate) fn sysroot() -> Result<PathBuf, Failure> {
    let path = feed(Command::new("rustc").args(["--print", "sysroot"]).current_dir(top()), "")?;
    Ok(PathBuf::from(path.trim()))
}

/// Tells the person what is being done.
pub(crate) fn say(what: &str) {
    eprintln!("xtask: {what}");
}

/// A call of one of this tool's own commands, as a person types it.
pub(crate) fn xtask(subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(top()).args(["xtask", subcommand]);
    command
}

/// A call of cargo in the tree, quiet unless a person is looking.
pub(crate) fn cargo(subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(top()).arg(subcommand);
    if !std::io::stderr().is_terminal() {
        command.arg("--quiet");
    }
    command
}

/// Runs a command to its end, and wants it to succeed.
pub(crate) fn must(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| missing(command.get_program(), &error))?;
    if status.success() { Ok(()) } else { Err(Failure::failed(format!("{} failed ({status})", line(command)))) }
}

/// Runs a command with `input` on its standard input, wants it to succeed, and gives what it printed.
pub(crate) fn feed(command: &mut Command, input: &str) -> Result<String, Failure> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| missing(command.get_program(), &error))?;
    if let Some(mut standard_input) = child.stdin.take() {
        // A program that ends early closes the pipe; its exit status then tells why.
        let _ = standard_input.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(|error| Failure::failed(format!("{}: {error}", line(command))))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        Ok(text)
    } else {
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(Failure::failed(format!("{} failed ({}): {}", line(command), output.status, complaint.trim())))
    }
}

fn missing(program: &OsStr, error: &std::io::Error) -> Failure {
    Failure::usage(format!("cannot run {}: {error}", program.to_string_lossy()))
}

/// The command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}
