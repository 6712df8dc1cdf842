//! Parts the image's console output into plain text and defmt log frames, and decodes the frames.
//!
//! A frame stands between two zero bytes; plain text holds none. Inside, it is rzcobs-encoded, which never yields a zero.

use std::io::{Read, Write};
use std::path::Path;

use defmt_decoder::{DecodeError, Table};

use crate::failure::Failure;

/// Copies `console` to `out`, with each log frame replaced by its text line.
pub(crate) fn decode(elf: &Path, mut console: impl Read, mut out: impl Write) -> Result<(), Failure> {
    let failed = |what: String| Failure::failed(format!("cannot decode the log: {what}"));
    let bytes = std::fs::read(elf).map_err(|error| failed(format!("{}: {error}", elf.display())))?;
    let table = Table::parse(&bytes)
        .map_err(|error| failed(error.to_string()))?
        .ok_or_else(|| failed("the image holds no log strings".to_owned()))?;
    let mut in_frame = false;
    let mut frame = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = console.read(&mut buffer).map_err(|error| failed(error.to_string()))?;
        if count == 0 {
            break;
        }
        for &byte in buffer.get(..count).unwrap_or_default() {
            match (byte, in_frame) {
                (0, false) => in_frame = true,
                // No frame is empty: the encoder begins its first one with a zero of its own.
                (0, true) if frame.is_empty() => {}
                (0, true) => {
                    in_frame = false;
                    let line = line(&table, &frame);
                    frame.clear();
                    out.write_all(line.as_bytes()).map_err(|error| failed(error.to_string()))?;
                }
                (_, true) => frame.push(byte),
                (_, false) => out.write_all(&[byte]).map_err(|error| failed(error.to_string()))?,
            }
        }
        out.flush().map_err(|error| failed(error.to_string()))?;
    }
    if !frame.is_empty() {
        return Err(failed(format!("the console ended inside a log frame of {} bytes", frame.len())));
    }
    Ok(())
}

/// One frame as a line; a frame that does not decode is shown as such rather than dropped.
fn line(table: &Table, frame: &[u8]) -> String {
    let mut decoder = table.new_stream_decoder();
    decoder.received(frame);
    decoder.received(&[0]);
    match decoder.decode() {
        Ok(frame) => {
            let level = frame.level().map_or("", |level| level.as_str());
            match frame.display_timestamp() {
                Some(time) => format!("[{:>12}] {level}: {}\n", time.to_string(), frame.display_message()),
                None => format!("{level}: {}\n", frame.display_message()),
            }
        }
        Err(DecodeError::UnexpectedEof) => format!("(log frame cut short: {frame:02x?})\n"),
        Err(DecodeError::Malformed) => format!("(log frame not understood: {frame:02x?})\n"),
    }
}
