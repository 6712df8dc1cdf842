//! The command line. `xtask run` passes most of it through.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// Runs an arm64 image on an emulated Apple T8103 with its ANS storage coprocessor.
#[derive(Debug, Parser)]
#[command(name = "emu")]
pub struct Options {
    /// The image: Linux arm64 format, or raw with --entry
    #[arg(long, value_name = "FILE")]
    pub image: Option<PathBuf>,
    /// Where to enter the image, in bytes from its start (decimal, or hexadecimal with 0x)
    #[arg(long, value_name = "OFFSET", value_parser = number)]
    pub entry: Option<u64>,
    /// What X0 points to: a flattened device tree, or iBoot's boot_args (which need an Apple tree from --tree FILE)
    #[arg(long, value_enum, default_value_t = Argument::Fdt)]
    pub x0: Argument,
    /// A raw disk image of 4096-byte blocks; without it the disk is 16 MiB of zeros
    #[arg(long, value_name = "FILE")]
    pub disk: Option<PathBuf>,
    /// Let writes reach the disk, and tell the image that it may arm them: for all blocks, or for FIRST..LAST (inclusive)
    #[arg(long, value_name = "FIRST..LAST", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = blocks)]
    pub rw: Option<String>,
    /// Tell the image to answer flushes at once and perform them up to this many milliseconds later
    #[arg(long, value_name = "MILLISECONDS", value_parser = clap::value_parser!(u32).range(1..=60_000))]
    pub defer: Option<u32>,
    /// The device tree: fdt generates one, FILE is a .dtb (or an Apple tree, with --x0 boot_args)
    #[arg(long, value_name = "fdt|FILE", default_value = "fdt")]
    pub tree: PathBuf,
    /// What the image finds the coprocessor doing
    #[arg(long, value_enum, default_value_t = Ans::Stopped)]
    pub ans: Ans,
    /// A line for the image's monitor; may be given several times
    #[arg(long, value_name = "LINE")]
    pub cmd: Vec<String>,
    /// Type at the image's console; Ctrl-C ends the emulator, the end of input is typed as Ctrl-D
    #[arg(long)]
    pub interactive: bool,
    /// Bytes that wait at the image's console, with a Ctrl-D behind them
    #[arg(long, value_name = "FILE", conflicts_with = "interactive")]
    pub input: Option<PathBuf>,
    /// Something that goes wrong on purpose, or help for the list; may be given several times
    #[arg(long, value_name = "PLAN")]
    pub fault: Vec<String>,
    /// The start of every chance that the models take
    #[arg(long, value_name = "N", default_value = "1", value_parser = number)]
    pub seed: u64,
    /// Write the run's figures there
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write every register access there
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// How the image logs; the console's bytes pass through in both cases, but frames are no lines
    #[arg(long, value_enum, default_value_t = Log::Text)]
    pub log: Log,
    /// RAM in bytes, or with a suffix K, M or G; the host gives only what is touched
    #[arg(long, value_name = "SIZE", default_value = "4G", value_parser = size)]
    pub ram: u64,
    /// The most emulated time, in seconds (interactive runs have no limit unless one is given)
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<u64>,
    /// The most instructions
    #[arg(long, value_name = "N", default_value = "20000000000", value_parser = number)]
    pub instructions: u64,
    /// List what --fault takes, as --fault help does
    #[arg(long)]
    pub list_faults: bool,
}

/// What X0 points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Argument {
    /// A flattened device tree.
    Fdt,
    /// iBoot's boot_args.
    #[value(name = "boot_args")]
    BootArgs,
}

/// What the image finds the coprocessor doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Ans {
    /// Shut down.
    Stopped,
    /// Left running by the boot loader.
    Running,
}

/// How the image logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Log {
    /// Plain text.
    Text,
    /// defmt frames, which whoever reads the output decodes.
    Defmt,
}

fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| "a number, decimal or hexadecimal with 0x".into())
}

/// Blocks by number, both ends included; empty for all. The image reads the text itself.
fn blocks(text: &str) -> Result<String, String> {
    let ordered = text.split_once("..").is_some_and(|(first, last)| match (number(first), number(last)) {
        (Ok(first), Ok(last)) => first <= last,
        _ => false,
    });
    if ordered || text.is_empty() { Ok(text.into()) } else { Err("FIRST..LAST, such as 0..99".into()) }
}

fn size(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.char_indices().next_back() {
        Some((at, 'K')) => (text.get(..at).unwrap_or_default(), 1 << 10),
        Some((at, 'M')) => (text.get(..at).unwrap_or_default(), 1 << 20),
        Some((at, 'G')) => (text.get(..at).unwrap_or_default(), 1 << 30),
        _ => (text, 1),
    };
    let bytes = number(digits)?.checked_mul(unit).ok_or("too large")?;
    // The image stands 8 MiB into RAM; a T8103 has at most 16 GiB.
    if !(16 << 20..=16 << 30).contains(&bytes) || !bytes.is_multiple_of(0x4000) {
        return Err("16M to 16G, in whole pages of 16 KiB".into());
    }
    Ok(bytes)
}

/// Seconds, with a fraction if wanted, as nanoseconds.
fn seconds(text: &str) -> Result<u64, String> {
    let wrong = || String::from("seconds, such as 60 or 0.5");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > 9 || !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let whole: u64 = whole.parse().map_err(|_| wrong())?;
    let fraction: u64 = format!("{fraction:0<9}").parse().map_err(|_| wrong())?;
    let all = whole.checked_mul(1_000_000_000).and_then(|all| all.checked_add(fraction)).ok_or_else(wrong)?;
    // More than a year would only overflow the clock.
    (1..=31_536_000_000_000_000).contains(&all).then_some(all).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_times_and_ranges_are_read_and_nonsense_is_not() {
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("1G"), Ok(1 << 30));
        assert_eq!(seconds("0.5"), Ok(500_000_000));
        assert_eq!(seconds("60"), Ok(60_000_000_000));
        for bad in ["", "M", "1", "20000001", "99G", "-1M"] {
            assert!(size(bad).is_err(), "{bad}");
        }
        for good in ["", "0..0", "100..0x1ff"] {
            assert_eq!(blocks(good), Ok(good.into()));
        }
        for bad in ["all", "1", "2..1", "1..", "..1", "1..2..3"] {
            assert!(blocks(bad).is_err(), "{bad}");
        }
        for bad in ["", "0", "-1", "1e3", ".5", "1.0000000001", "99999999999999"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
