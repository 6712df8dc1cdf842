//! Installs what is missing: Rust components through rustup, Debian packages through apt.

use std::process::{Command, ExitCode};

use crate::failure::{Failure, Outcome};
use crate::shell::{self, say};

/// The target that the image is built for. It has no floating point, so there is no such state to save.
pub(crate) const TARGET: &str = "aarch64-unknown-none-softfloat";

/// Debian packages that building the emulator needs.
pub(crate) const EMULATOR: &[&str] = &["cmake", "clang", "libclang-dev", "make", "g++"];
/// Debian packages that make disk images.
pub(crate) const DISK: &[&str] = &["fdisk", "dosfstools", "mtools"];
/// Debian packages for the second machine.
pub(crate) const QEMU: &[&str] = &["qemu-system-arm"];

/// Installs everything that any command needs.
pub(crate) fn everything() -> Outcome {
    target()?;
    components(&["rustfmt", "clippy"])?;
    packages(&[EMULATOR, DISK, QEMU].concat())?;
    say("everything is installed");
    Ok(ExitCode::SUCCESS)
}

/// Installs the image's target.
pub(crate) fn target() -> Result<(), Failure> {
    let installed = rustup(&["target", "list", "--installed"])?;
    if installed.lines().any(|line| line.trim() == TARGET) {
        return Ok(());
    }
    say(&format!("installing the Rust target {TARGET}"));
    rustup(&["target", "add", TARGET]).map(drop)
}

/// Installs rustup components.
pub(crate) fn components(wanted: &[&str]) -> Result<(), Failure> {
    let installed = rustup(&["component", "list", "--installed"])?;
    for component in wanted {
        if !installed.lines().any(|line| line.starts_with(component)) {
            say(&format!("installing the Rust component {component}"));
            rustup(&["component", "add", component])?;
        }
    }
    Ok(())
}

fn rustup(arguments: &[&str]) -> Result<String, Failure> {
    shell::feed(Command::new("rustup").args(arguments).current_dir(shell::top()), "")
}

/// Installs Debian packages as root; otherwise tells the line to type.
pub(crate) fn packages(wanted: &[&str]) -> Result<(), Failure> {
    let missing: Vec<&str> = wanted.iter().copied().filter(|package| !is_installed(package)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    let is_root = shell::feed(Command::new("id").arg("-u"), "").is_ok_and(|user| user.trim() == "0");
    let has_apt = Command::new("apt-get").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_apt {
        return Err(Failure::usage(format!("missing, and this is no Debian machine; install by hand: {list}")));
    }
    if !is_root {
        return Err(Failure::usage(format!("missing Debian packages; run: sudo apt-get install -y {list}")));
    }
    say(&format!("installing Debian packages: {list}"));
    apt(&["update", "-qq"])?;
    apt(&[&["install", "-y", "-qq", "--no-install-recommends"], missing.as_slice()].concat())
}

fn apt(arguments: &[&str]) -> Result<(), Failure> {
    shell::feed(Command::new("apt-get").args(arguments).env("DEBIAN_FRONTEND", "noninteractive"), "").map(drop)
}

fn is_installed(package: &str) -> bool {
    Command::new("dpkg-query")
        .args(["-W", "-f=${Status}", package])
        .output()
        .is_ok_and(|output| output.stdout.ends_with(b"ok installed"))
}
