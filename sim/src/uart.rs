//! The debug console: a Samsung S5L UART that sends at once and receives from a queue (m1n1 uart.c).

use std::collections::VecDeque;

const ULCON: u64 = 0x00;
const UCON: u64 = 0x04;
const UFCON: u64 = 0x08;
const UTRSTAT: u64 = 0x10;
const UFSTAT: u64 = 0x18;
const UTXH: u64 = 0x20;
const URXH: u64 = 0x24;
const UBRDIV: u64 = 0x28;
const UFRACVAL: u64 = 0x2c;

const RX_READY: u32 = 1 << 0;
const TX_EMPTY: u32 = 1 << 1 | 1 << 2;
const RX_FULL: u32 = 1 << 8;

/// One UART as the boot loader left it: 115200 baud, both directions by polling.
#[derive(Debug)]
pub(crate) struct Uart {
    line: u32,
    control: u32,
    fifo: u32,
    divisor: u32,
    fraction: u32,
    input: VecDeque<u8>,
    output: Vec<u8>,
}

impl Uart {
    pub(crate) fn new() -> Self {
        Self { line: 3, control: 5, fifo: 1, divisor: 12, fraction: 0, input: VecDeque::new(), output: Vec::new() }
    }

    pub(crate) fn type_in(&mut self, bytes: &[u8]) {
        self.input.extend(bytes);
    }

    pub(crate) fn output(&self) -> &[u8] {
        &self.output
    }

    pub(crate) fn read(&mut self, offset: u64) -> u32 {
        let waiting = u32::try_from(self.input.len()).unwrap_or(u32::MAX);
        match offset {
            ULCON => self.line,
            UCON => self.control,
            UFCON => self.fifo,
            UTRSTAT => TX_EMPTY | if waiting > 0 { RX_READY } else { 0 },
            UFSTAT => waiting.min(15) | if waiting > 15 { RX_FULL } else { 0 },
            URXH => self.input.pop_front().unwrap_or(0).into(),
            UBRDIV => self.divisor,
            UFRACVAL => self.fraction,
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, offset: u64, value: u32) {
        match offset {
            ULCON => self.line = value,
            UCON => self.control = value,
            // The two reset bits clear themselves.
            UFCON => self.fifo = value & !6,
            UTXH => self.output.extend(value.to_le_bytes().first()),
            UBRDIV => self.divisor = value,
            UFRACVAL => self.fraction = value,
            _ => {}
        }
    }
}
