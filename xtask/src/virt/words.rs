//! What the image is told through `/chosen/bootargs`: QEMU puts the text of `-append` there.

use crate::failure::Failure;

/// The blocks that the image may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writable {
    /// All blocks of the disk.
    All,
    /// From the first to the last, both included.
    Blocks(u64, u64),
}

impl Writable {
    /// The value of `--rw`: none for all blocks, or `FIRST..LAST`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || String::from("FIRST..LAST, such as 0..99, is wanted");
        if text.is_empty() {
            return Ok(Self::All);
        }
        let number = |text: &str| match text.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).map_err(|_| wrong()),
            None => text.parse().map_err(|_| wrong()),
        };
        let (first, last) = text.split_once("..").ok_or_else(wrong)?;
        let (first, last): (u64, u64) = (number(first)?, number(last)?);
        if first <= last { Ok(Self::Blocks(first, last)) } else { Err(wrong()) }
    }

    /// As `FIRST..LAST`, if it is not for all blocks.
    pub(crate) fn range(self) -> Option<String> {
        match self {
            Self::All => None,
            Self::Blocks(first, last) => Some(format!("{first}..{last}")),
        }
    }
}

/// The most bytes of the line. Linux takes no longer argument of a program than 128 KiB.
const MOST: usize = 120 << 10;

/// The line that asks for `commands` in order, for a dialogue after them, arms `writable`, and defers flushes for so many
/// milliseconds.
pub(crate) fn line(
    commands: &[String],
    interactive: bool,
    writable: Option<Writable>,
    deferral: Option<u32>,
) -> Result<String, Failure> {
    let mut words = Vec::new();
    for command in commands {
        // The line has no escape for either.
        if command.contains(|character: char| character == '"' || character.is_control()) {
            return Err(Failure::usage(format!(
                "--cmd {command:?}: on --machine virt a line holds no double quote and no control character"
            )));
        }
        words.push(format!("anvil.cmd=\"{command}\""));
    }
    if interactive {
        words.push("anvil.interactive".to_owned());
    }
    if let Some(writable) = writable {
        words.push(format!("anvil.rw={}", writable.range().as_deref().unwrap_or("all")));
    }
    if let Some(milliseconds) = deferral {
        words.push(format!("anvil.defer={milliseconds}"));
    }
    let line = words.join(" ");
    if line.len() > MOST {
        return Err(Failure::usage(format!("--cmd: {} bytes for QEMU's -append, at most {MOST} fit", line.len())));
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_quoted_and_come_in_order() {
        let commands = ["info".to_owned(), "read 0 1".to_owned()];
        assert_eq!(
            line(&commands, true, Some(Writable::Blocks(3, 9)), Some(250)).unwrap(),
            r#"anvil.cmd="info" anvil.cmd="read 0 1" anvil.interactive anvil.rw=3..9 anvil.defer=250"#
        );
        assert_eq!(line(&[], false, Some(Writable::All), None).unwrap(), "anvil.rw=all");
        assert_eq!(line(&[], false, None, None).unwrap(), "");
    }

    #[test]
    fn what_the_line_cannot_carry_is_refused() {
        for command in ["say \"x\"", "a\nb", "\0"] {
            assert!(line(&[command.to_owned()], false, None, None).is_err(), "{command:?}");
        }
        assert!(line(&vec!["read 0 1".to_owned(); 6000], false, None, None).is_err());
    }

    #[test]
    fn a_range_has_two_ends_in_order() {
        assert_eq!(Writable::parse(""), Ok(Writable::All));
        assert_eq!(Writable::parse("0..0x10"), Ok(Writable::Blocks(0, 16)));
        for bad in ["all", "1", "2..1", "1..", "..1", "1..2..3", "-1..2"] {
            assert!(Writable::parse(bad).is_err(), "{bad}");
        }
    }
}
