//! What firmware wrote into shared memory: read by value, and shown as one line of text.

use core::fmt;

use hal::{DmaPool, DmaRegion};

/// Bytes that firmware wrote, and may still be changing.
pub trait Memory {
    /// How many bytes there are.
    fn size(&self) -> usize;

    /// Copies bytes from `offset` on; what lies beyond the end reads as zero.
    fn read(&self, offset: usize, bytes: &mut [u8]);
}

impl<P: DmaPool> Memory for DmaRegion<P> {
    fn size(&self) -> usize {
        Self::size(self)
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        self.read_bytes(offset, bytes);
    }
}

impl Memory for [u8] {
    fn size(&self) -> usize {
        self.len()
    }

    fn read(&self, offset: usize, bytes: &mut [u8]) {
        let rest = self.get(offset..).unwrap_or_default();
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = rest.get(index).copied().unwrap_or_default();
        }
    }
}

/// Text in one line: printable ASCII as it is, every other byte (and the backslash) as an escape.
///
/// Text of more than 256 bytes, or that does not fit into `N` characters, is cut and ends with three dots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line<const N: usize>(heapless::String<N>);

impl<const N: usize> Line<N> {
    /// Reads text of at most `size` bytes at `offset`: up to the first NUL, without the white space before it.
    pub(crate) fn read(memory: &(impl Memory + ?Sized), offset: usize, size: usize) -> Self {
        // More bytes than characters can be shown are of no use; the one byte more tells that there are more.
        let mut raw = [0; LONGEST + 1];
        let wanted = size.min(raw.len());
        let raw = raw.get_mut(..wanted).unwrap_or_default();
        memory.read(offset, raw);
        Self::escape(raw)
    }

    /// The line for these bytes: up to the first NUL, without the white space before it.
    pub fn escape(bytes: &[u8]) -> Self {
        let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
        let mut line = heapless::String::new();
        // Where the line can be cut so that no escape is torn and the dots fit.
        let mut cut = 0;
        for (index, &byte) in text.trim_ascii_end().iter().enumerate() {
            if index == LONGEST || push_escaped(&mut line, byte).is_err() {
                line.truncate(cut);
                let dots = line.push_str(DOTS);
                debug_assert!(dots.is_ok() || N < DOTS.len());
                break;
            }
            if line.len() + DOTS.len() <= N {
                cut = line.len();
            }
        }
        Self(line)
    }

    /// The line.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<const N: usize> fmt::Display for Line<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What ends a line that was cut.
const DOTS: &str = "...";

/// Bytes of the longest text that is looked at. Entries of the firmware's log are below that (Linux keeps their size in a
/// byte).
const LONGEST: usize = 256;

fn push_escaped<const N: usize>(line: &mut heapless::String<N>, byte: u8) -> Result<(), heapless::CapacityError> {
    const HEX: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
    let digit = |value: u8| HEX.get(usize::from(value)).copied().unwrap_or('?');
    match byte {
        b'\\' => line.push_str("\\\\"),
        b'\n' => line.push_str("\\n"),
        b'\t' => line.push_str("\\t"),
        b' '..=b'~' => line.push(char::from(byte)),
        _ => {
            let mut escape = heapless::String::<4>::new();
            for character in ['\\', 'x', digit(byte >> 4), digit(byte & 0xf)] {
                escape.push(character)?;
            }
            line.push_str(&escape)
        }
    }
}
