//! Command lines from someone at the console.

use hal::{Clock, Platform};
use heapless::String;

use super::{Monitor, Next, promise};
use crate::reason::Reason;
use crate::step;

const PROMPT: &str = "anvil> ";
/// The longest line.
const LINE: usize = 120;

const BACKSPACE: u8 = 0x08;
const DELETE: u8 = 0x7f;
/// Ctrl-C: forgets the line.
const CANCEL: u8 = 0x03;
/// Ctrl-D on an empty line: the end.
const END: u8 = 0x04;
/// Looks for input after which the coprocessor is served: some milliseconds' worth.
const SERVE: u32 = 4096;

impl<P: Platform<Clock: Clone>> Monitor<'_, P> {
    /// Reads lines with `received`, which never waits, and runs them until `shutdown`. A line that fails is told of, and
    /// the next one is asked for.
    ///
    /// # Errors
    /// Only what ends all work: the coprocessor crashed, or the output failed.
    pub fn interact(&mut self, mut received: impl FnMut() -> Option<u8>) -> Result<(), Reason> {
        loop {
            self.put(PROMPT)?;
            let Some(line) = self.typed(&mut received)? else { return Ok(()) };
            match self.line(&line) {
                Ok(Next::Command) => {}
                Ok(Next::Shutdown) => return Ok(()),
                Err(reason) => {
                    writeln!(self.out, "{reason}").map_err(Reason::new)?;
                    if self.storage.is_lost() {
                        return Err(reason);
                    }
                }
            }
        }
    }

    /// The next line; `None` if its end was typed instead.
    fn typed(&mut self, received: &mut impl FnMut() -> Option<u8>) -> Result<Option<String<LINE>>, Reason> {
        step::enter("waiting for a command");
        let mut line = String::new();
        let mut idle = 0;
        loop {
            let Some(byte) = received() else {
                // The wait for a person has no limit; what it must not do is let the coprocessor's messages pile up, or
                // flushes wait that were answered.
                promise::poll(self.storage);
                idle += 1;
                if idle % SERVE == 0 {
                    self.storage.serve()?;
                }
                self.controller()?.clock().relax();
                continue;
            };
            match byte {
                b'\r' | b'\n' => {
                    self.put("\n")?;
                    return Ok(Some(line));
                }
                END if line.is_empty() => {
                    self.put("\n")?;
                    return Ok(None);
                }
                CANCEL => {
                    line.clear();
                    self.put("\n")?;
                    self.put(PROMPT)?;
                }
                BACKSPACE | DELETE if line.pop().is_some() => self.put("\u{8} \u{8}")?,
                // A full line takes no more, and shows it by no echo.
                b' '..=b'~' if line.push(char::from(byte)).is_ok() => {
                    self.out.write_char(char::from(byte)).map_err(Reason::new)?;
                }
                _ => {}
            }
        }
    }

    fn put(&mut self, text: &str) -> Result<(), Reason> {
        self.out.write_str(text).map_err(Reason::new)
    }
}
