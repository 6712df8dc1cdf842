//! `test`: every test there is.

use std::process::ExitCode;

use crate::failure::Outcome;
use crate::image::{self, Log};
use crate::shell::{self, say};
use crate::{disk, run, setup};

/// Builds what the tests run on, then runs them.
pub(crate) fn test() -> Outcome {
    setup::packages(&[setup::EMULATOR, setup::DISK, setup::QEMU].concat())?;
    say("libraries and models, on the host");
    shell::must(shell::cargo("test").arg("--no-fail-fast"))?;
    shell::must(shell::cargo("test").args(["--package", "boot", "--lib"]))?;
    let text = image::build(Log::Text)?;
    image::build(Log::Defmt)?;
    run::emulator()?;
    disk::example()?;
    say("the emulator");
    shell::must(shell::cargo("test").args(["--release", "--package", "emu"]).env("ANVIL_IMAGE", &text.flat))?;
    say("the true image: on the emulated M1 and on QEMU, with real disks and bad input");
    shell::must(shell::cargo("test").args(["--package", "xtask", "--no-fail-fast"]))?;
    say("all tests passed");
    Ok(ExitCode::SUCCESS)
}
