//! Standard input as the console's keyboard.

use std::io::{self, IsTerminal, Read};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};

/// Hands on what is typed, byte by byte where standard input is a terminal.
pub(crate) fn listen() -> Receiver<Vec<u8>> {
    set_terminal(&["-icanon", "-echo"]);
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 256];
        while let Ok(length @ 1..) = io::stdin().read(&mut buffer) {
            let typed = buffer.get(..length).unwrap_or_default().to_vec();
            if sender.send(typed).is_err() {
                break;
            }
        }
    });
    receiver
}

/// Gives the terminal back as a shell wants it. Ctrl-C ends the emulator without this: `stty sane` then helps.
pub fn restore() {
    set_terminal(&["icanon", "echo"]);
}

fn set_terminal(settings: &[&str]) {
    if io::stdin().is_terminal() {
        // Without stty the console still works, a line at a time.
        let _ = Command::new("stty").args(settings).stdin(Stdio::inherit()).stderr(Stdio::null()).status();
    }
}
