//! Bytes as text, in the form of `hexdump -C`.

use core::fmt::{self, Write};

const WIDTH: usize = 16;

/// Writes lines of 16 bytes with their offsets; runs of equal lines become one `*`.
#[derive(Debug)]
pub struct Dump {
    offset: u64,
    last: Option<[u8; WIDTH]>,
    squeezing: bool,
}

impl Dump {
    /// A dump whose first byte has this offset.
    pub fn starting_at(offset: u64) -> Self {
        Self { offset, last: None, squeezing: false }
    }

    /// Adds bytes. Their number is a multiple of 16 in every call, as whole blocks are.
    ///
    /// # Errors
    /// Those of the output.
    pub fn add(&mut self, bytes: &[u8], out: &mut dyn Write) -> fmt::Result {
        let (lines, _) = bytes.as_chunks::<WIDTH>();
        for line in lines {
            if self.last.as_ref() == Some(line) {
                if !self.squeezing {
                    out.write_str("*\n")?;
                }
                self.squeezing = true;
            } else {
                self.line(line, out)?;
                self.last = Some(*line);
                self.squeezing = false;
            }
            self.offset += WIDTH as u64;
        }
        Ok(())
    }

    /// Writes the offset behind the last byte.
    ///
    /// # Errors
    /// Those of the output.
    pub fn end(self, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "{:08x}", self.offset)
    }

    fn line(&self, line: &[u8; WIDTH], out: &mut dyn Write) -> fmt::Result {
        write!(out, "{:08x} ", self.offset)?;
        for (index, byte) in line.iter().enumerate() {
            let gap = if index % 8 == 0 { " " } else { "" };
            write!(out, "{gap}{byte:02x} ")?;
        }
        out.write_str(" |")?;
        for &byte in line {
            out.write_char(if (0x20..0x7f).contains(&byte) { char::from(byte) } else { '.' })?;
        }
        out.write_str("|\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_look_like_those_of_hexdump() {
        let mut bytes = [0u8; 96];
        bytes[..11].copy_from_slice(b"EFI PART\x00\x00\x01");
        bytes[80] = 0xff;
        let (mut out, mut dump) = (String::new(), Dump::starting_at(4096));
        dump.add(&bytes, &mut out).unwrap();
        dump.end(&mut out).unwrap();
        assert_eq!(
            out,
            "00001000  45 46 49 20 50 41 52 54  00 00 01 00 00 00 00 00  |EFI PART........|\n\
             00001010  00 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n\
             *\n\
             00001050  ff 00 00 00 00 00 00 00  00 00 00 00 00 00 00 00  |................|\n\
             00001060\n"
        );
    }

    #[test]
    fn a_run_of_equal_lines_goes_on_across_calls() {
        let (mut out, mut dump) = (String::new(), Dump::starting_at(0));
        dump.add(&[0; 32], &mut out).unwrap();
        dump.add(&[0; 32], &mut out).unwrap();
        dump.end(&mut out).unwrap();
        assert_eq!(out.lines().skip(1).collect::<Vec<_>>(), ["*", "00000040"]);
    }
}
