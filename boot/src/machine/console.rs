//! The serial console: one of two UARTs, behind one writer.

use core::fmt::{self, Write};
use core::sync::atomic::{AtomicBool, Ordering};

use hal::{Mmio, physical::PhysicalWindow};
use spin::{Mutex, MutexGuard};

/// How often a status register is looked at before output is given up: seconds at any speed of bus, minutes of none.
const PATIENCE: u32 = 1 << 22;

/// A UART that the boot loader has set up: nothing here changes its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uart {
    /// Samsung S5L style (Apple Silicon; m1n1 `src/uart.c`).
    S5l,
    /// Arm PrimeCell PL011 (QEMU's `virt`; Arm DDI 0183).
    Pl011,
}

/// Registers that a byte passes through.
struct Layout {
    status: usize,
    transmit: usize,
    receive: usize,
    /// Status bits of which `may_send_level` must be read before a byte is written.
    may_send: u32,
    may_send_level: u32,
    /// Status bits of which `received_level` says that a byte waits.
    received: u32,
    received_level: u32,
    /// Status bits of which `sent_level` says that the last bit has left.
    sent: u32,
    sent_level: u32,
}

impl Uart {
    const fn layout(self) -> Layout {
        match self {
            // UTRSTAT 0x10: receive ready 0, transmit buffer empty 1, all empty 2; UTXH 0x20, URXH 0x24.
            Self::S5l => Layout {
                status: 0x10,
                transmit: 0x20,
                receive: 0x24,
                may_send: 1 << 1,
                may_send_level: 1 << 1,
                received: 1,
                received_level: 1,
                sent: 1 << 2,
                sent_level: 1 << 2,
            },
            // UARTFR 0x18: busy 3, receive FIFO empty 4, transmit FIFO full 5; UARTDR 0x00.
            Self::Pl011 => Layout {
                status: 0x18,
                transmit: 0,
                receive: 0,
                may_send: 1 << 5,
                may_send_level: 0,
                received: 1 << 4,
                received_level: 0,
                sent: 1 << 3,
                sent_level: 0,
            },
        }
    }
}

/// A UART at its place.
#[derive(Debug)]
pub(crate) struct Console {
    uart: Uart,
    window: PhysicalWindow,
    /// Whether the text so far ends inside a line.
    inside_line: bool,
}

static CONSOLE: Mutex<Option<Console>> = Mutex::new(None);
/// Set by the last report, so that nothing waits for a lock that the interrupted code holds.
static BROKEN_IN: AtomicBool = AtomicBool::new(false);

impl Console {
    /// Waits, with a limit, for status bits to have a level.
    fn wait(&self, bits: u32, level: u32) -> bool {
        let status = self.uart.layout().status;
        (0..PATIENCE).any(|_| self.window.read32(status) & bits == level)
    }

    fn byte(&self, byte: u8) {
        let layout = self.uart.layout();
        // A UART that never takes a byte (no cable with flow control, say) costs its patience once per byte and no more.
        if self.wait(layout.may_send, layout.may_send_level) {
            self.window.write32(layout.transmit, u32::from(byte));
        }
    }

    fn bytes(&self, bytes: &[u8]) {
        for &byte in bytes {
            self.byte(byte);
        }
    }

    fn text(&mut self, text: &str) {
        for &byte in text.as_bytes() {
            if byte == b'\n' {
                // A terminal on a serial line moves down and not back on a line feed alone.
                self.byte(b'\r');
            }
            self.byte(byte);
            self.inside_line = byte != b'\n';
        }
    }

    fn received(&self) -> Option<u8> {
        let layout = self.uart.layout();
        let waits = self.window.read32(layout.status) & layout.received == layout.received_level;
        waits.then(|| (self.window.read32(layout.receive) & 0xff) as u8)
    }
}

/// Makes this UART the console.
pub(crate) fn install(uart: Uart, window: PhysicalWindow) {
    *lock() = Some(Console { uart, window, inside_line: false });
}

fn lock() -> MutexGuard<'static, Option<Console>> {
    if BROKEN_IN.load(Ordering::Relaxed) {
        // SAFETY: the code that may have held the lock was interrupted by the report that set the flag, and never runs
        // again: exceptions do not return, and a panic does not unwind.
        unsafe { CONSOLE.force_unlock() };
    }
    CONSOLE.lock()
}

/// Writes text to the console; text before [`install`] is lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output;

/// The output for a last report: takes the console from whatever was interrupted.
pub(crate) fn forced() -> Output {
    BROKEN_IN.store(true, Ordering::Relaxed);
    Output
}

impl Write for Output {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if let Some(console) = lock().as_mut() {
            console.text(text);
        }
        Ok(())
    }
}

/// Writes bytes as they are: log frames.
#[cfg_attr(not(feature = "defmt"), expect(dead_code, reason = "only log frames are not text"))]
pub(crate) fn raw(bytes: &[u8]) {
    if let Some(console) = lock().as_ref() {
        console.bytes(bytes);
    }
}

/// A byte that someone typed.
pub(crate) fn received() -> Option<u8> {
    lock().as_ref().and_then(Console::received)
}

/// Waits until the last byte has left, before power goes.
pub(crate) fn drain() {
    if let Some(console) = lock().as_ref() {
        let layout = console.uart.layout();
        console.wait(layout.sent, layout.sent_level);
    }
}

/// Ends the line that was begun, if one was: what comes next is to be read at the start of a line.
pub(crate) fn end_line() {
    if let Some(console) = lock().as_mut()
        && console.inside_line
    {
        console.text("\n");
    }
}

/// Whether there is a console.
pub(crate) fn is_installed() -> bool {
    lock().is_some()
}

/// Writes one line with the time since entry before it, as the log's lines have it.
pub(crate) fn line(text: fmt::Arguments<'_>) {
    let micros = boot::microseconds(super::clock::since_entry());
    let _ = writeln!(Output, "[{:5}.{:06}] {text}", micros / 1_000_000, micros % 1_000_000);
}
