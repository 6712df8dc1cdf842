//! Standard input as the console's keyboard.

use std::io::{self, IsTerminal, Read};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver};

/// What a terminal sends for Ctrl-D: the end of what is typed, for whoever reads it at the console.
pub(crate) const END: u8 = 0x04;
/// What a terminal sends for Ctrl-C once it no longer makes a signal of it.
const INTERRUPT: u8 = 0x03;
/// The exit code of a program that Ctrl-C ended, as shells have it.
const INTERRUPTED: i32 = 130;

/// The terminal's settings before they were changed.
static BEFORE: OnceLock<String> = OnceLock::new();

/// Gives the terminal back as it was, when it goes out of scope.
#[derive(Debug)]
pub struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        restore();
    }
}

/// Hands on what is typed, byte by byte where standard input is a terminal. Ctrl-C then comes as a byte and ends the
/// emulator here, so that the terminal is given back first; the end of input is handed on as Ctrl-D.
pub(crate) fn listen() -> Receiver<Vec<u8>> {
    let terminal = io::stdin().is_terminal();
    if terminal {
        take();
    }
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while let Ok(length @ 1..) = io::stdin().read(&mut buffer) {
            let typed = buffer.get(..length).unwrap_or_default().to_vec();
            if terminal && typed.contains(&INTERRUPT) {
                restore();
                std::process::exit(INTERRUPTED);
            }
            if sender.send(typed).is_err() {
                return;
            }
        }
        // Nobody listens any more at the end of a run.
        let _ = sender.send(vec![END]);
    });
    receiver
}

/// Without stty the console still works, a line at a time.
fn take() {
    let Ok(output) = stty(&["-g"]).stdout(Stdio::piped()).output() else { return };
    if let Ok(settings) = String::from_utf8(output.stdout)
        && output.status.success()
        && BEFORE.set(settings.trim().into()).is_ok()
    {
        let _ = stty(&["-icanon", "-echo", "-isig"]).status();
    }
}

fn restore() {
    if let Some(before) = BEFORE.get() {
        let _ = stty(&[before]).status();
    }
}

fn stty(arguments: &[&str]) -> Command {
    let mut command = Command::new("stty");
    command.args(arguments).stdin(Stdio::inherit()).stderr(Stdio::null());
    command
}
