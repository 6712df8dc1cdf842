//! `disk make`: a raw disk image, made by Debian's tools for partitions and FAT.
//!
//! The image has the shape of a disk that an M1 boots from, small: Apple's boot container, an EFI system partition with
//! files, and a partition of known content. The partition table is written by `fdisk` and the file system by `mkfs.fat`
//! and mtools, so that what reads them is held against tools that are not the project's.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, ExitCode};

use crate::failure::{Failure, Outcome};
use crate::setup;
use crate::shell::{self, say};

/// The commands under `disk`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Command {
    /// Make a raw disk image with a GPT, an EFI system partition with files, and a partition of known content.
    Make(Options),
}

/// What state the partition table is left in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Table {
    /// Primary and backup agree.
    #[default]
    Good,
    /// There is none.
    None,
    /// The primary header is damaged, the backup is good.
    BrokenPrimary,
    /// Both headers are damaged.
    BrokenBoth,
}

/// The options of `disk make`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The file to make.
    file: PathBuf,
    /// Its size, in bytes or with a suffix K, M or G (powers of 1024); at least 32M.
    #[arg(long, default_value = "64M", value_parser = size)]
    size: u64,
    /// Bytes in a logical block.
    #[arg(long, default_value = "4096", value_parser = ["512", "1024", "2048", "4096"])]
    block_size: String,
    /// What becomes of the partition table.
    #[arg(long, value_enum, default_value = "good")]
    table: Table,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

/// Where the partitions begin and end, in bytes; the last one ends where the disk's own table copy begins.
const CONTAINER: u64 = 1 << 20;
const SYSTEM: u64 = 4 << 20;
const DATA: u64 = 20 << 20;
/// How much of the data partition is filled: 4096 blocks of 4096 bytes, or what fits.
const FILLED: u64 = 16 << 20;
const SMALLEST: u64 = 32 << 20;

/// Runs a command under `disk`.
pub(crate) fn disk(command: &Command) -> Outcome {
    match command {
        Command::Make(options) => make(options).map(|()| ExitCode::SUCCESS),
    }
}

/// The disk that `run` uses when none is given; made once.
pub(crate) fn example() -> Result<PathBuf, Failure> {
    let folder = shell::target().join("disk");
    fs::create_dir_all(&folder).map_err(|error| Failure::failed(format!("{}: {error}", folder.display())))?;
    let file = folder.join("example.img");
    if !file.exists() {
        say(&format!("making a disk: {}", file.display()));
        // Under another name until it is whole, so that a run that is stopped leaves no half disk behind.
        let half = folder.join(format!("half-{}.img", std::process::id()));
        make(&Options {
            file: half.clone(),
            size: 64 << 20,
            block_size: "4096".into(),
            table: Table::Good,
            force: true,
        })?;
        fs::rename(&half, &file).map_err(|error| Failure::failed(format!("{}: {error}", file.display())))?;
    }
    Ok(file)
}

fn make(options: &Options) -> Result<(), Failure> {
    setup::packages(setup::DISK)?;
    let path = &options.file;
    let cannot = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let block: u64 = options.block_size.parse().map_err(|_| Failure::usage("--block-size: not a number"))?;
    if options.size < SMALLEST || !options.size.is_multiple_of(block) {
        return Err(Failure::usage(format!(
            "--size {}: at least {SMALLEST} bytes and a multiple of {block} are needed",
            options.size
        )));
    }
    if path.exists() && !options.force {
        return Err(Failure::usage(format!("{} exists; --force replaces it", path.display())));
    }
    let file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(path).map_err(cannot)?;
    file.set_len(options.size).map_err(cannot)?;
    fill(&file, options.size).map_err(cannot)?;
    if options.table != Table::None {
        partition(path, block, options.size)?;
    }
    let system = system_partition(path, block)?;
    file.write_all_at(&system, SYSTEM).map_err(cannot)?;
    if matches!(options.table, Table::BrokenPrimary | Table::BrokenBoth) {
        damage(&file, block).map_err(cannot)?;
    }
    if options.table == Table::BrokenBoth {
        damage(&file, options.size - block).map_err(cannot)?;
    }
    Ok(())
}

/// Writes the table with fdisk, with fixed identities so that two disks of one size are the same.
fn partition(path: &Path, block: u64, size: u64) -> Result<(), Failure> {
    // The backup table takes 33 blocks of 512 bytes or 5 of 4096; a whole MiB keeps the end aligned.
    let partitions = [
        (CONTAINER, SYSTEM, "69646961-6700-11AA-AA11-00306543ECAC", "iBootSystemContainer"),
        (SYSTEM, DATA, "C12A7328-F81F-11D2-BA4B-00A0C93EC93B", "EFI system partition"),
        (DATA, size - CONTAINER, "0FC63DAF-8483-4772-8E79-3D69D8477DE4", "known content"),
    ];
    let mut script = String::from("g\n");
    for (index, (start, end, ..)) in partitions.iter().enumerate() {
        script += &format!("n\n{}\n{}\n{}\n", index + 1, start / block, end / block - 1);
    }
    script += "x\ni\n414E5649-4C00-4000-8000-000000000000\n";
    for (index, (_, _, kind, name)) in partitions.iter().enumerate() {
        let number = index + 1;
        script += &format!("n\n{number}\n{name}\nu\n{number}\n414E5649-4C00-4000-8000-00000000000{number}\n");
        script += &format!("r\nt\n{number}\n{kind}\nx\n");
    }
    script += "r\nw\n";
    let mut fdisk = Program::new("fdisk");
    fdisk.args(["-b", &block.to_string(), "-w", "never", "-W", "never"]).arg(path);
    shell::feed(&mut fdisk, &script)?;
    let listed = shell::feed(Program::new("fdisk").args(["-b", &block.to_string(), "-l"]).arg(path), "")?;
    if partitions.iter().all(|(start, ..)| listed.contains(&format!(" {} ", start / block))) {
        Ok(())
    } else {
        Err(Failure::failed(format!("fdisk did not make the partitions it was asked for:\n{listed}")))
    }
}

/// The content of the EFI system partition: a FAT file system with files that a boot loader would look for.
fn system_partition(disk: &Path, block: u64) -> Result<Vec<u8>, Failure> {
    let mut name = disk.as_os_str().to_owned();
    name.push(".esp");
    let scratch = Scratch(PathBuf::from(name));
    let cannot = |error: std::io::Error| Failure::usage(format!("{}: {error}", scratch.0.display()));
    File::create(&scratch.0).and_then(|file| file.set_len(DATA - SYSTEM)).map_err(cannot)?;
    let mut format = Program::new("mkfs.fat");
    format.args(["-S", &block.to_string(), "-n", "ANVIL", "-i", "414e5649", "--invariant"]).arg(&scratch.0);
    shell::feed(&mut format, "")?;
    let tool = |name: &str| {
        let mut program = Program::new(name);
        program.env("SOURCE_DATE_EPOCH", "1767225600").arg("-i").arg(&scratch.0);
        program
    };
    shell::feed(tool("mmd").args(["::EFI", "::EFI/BOOT", "::m1n1"]), "")?;
    for (target, content) in [
        ("::EFI/BOOT/BOOTAA64.TXT", "The place of a next stage.\n".to_owned()),
        ("::m1n1/readme.txt", (0..2000).map(|line| format!("line {line} of a file over several clusters\n")).collect()),
    ] {
        let mut copy = tool("mcopy");
        shell::feed(copy.args(["-", target]), &content)?;
    }
    fs::read(&scratch.0).map_err(cannot)
}

/// A file that goes away with its owner, however that ends.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        // Nothing is lost if it stays.
        let _ = fs::remove_file(&self.0);
    }
}

/// Fills the data partition: each 4096-byte block begins with its number and goes on with a sequence made from it.
fn fill(file: &File, size: u64) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(file);
    out.seek(SeekFrom::Start(DATA))?;
    for block in DATA / 4096..(DATA + FILLED).min(size - CONTAINER) / 4096 {
        let mut state = block;
        for _ in 0..4096 / 8 {
            out.write_all(&state.to_le_bytes())?;
            // A linear congruential step (Knuth's constants): no two blocks are alike, and none is compressible to a run.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        }
    }
    out.flush()
}

/// Flips one bit of the table header at `offset`, in a field that its checksum covers.
fn damage(file: &File, offset: u64) -> std::io::Result<()> {
    let mut byte = [0];
    let field = offset + 56;
    file.read_exact_at(&mut byte, field)?;
    file.write_all_at(&[byte[0] ^ 1], field)
}

fn size(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.trim_end_matches(['B', 'b']).char_indices().last() {
        Some((end, 'K' | 'k')) => (text.get(..end), 10),
        Some((end, 'M' | 'm')) => (text.get(..end), 20),
        Some((end, 'G' | 'g')) => (text.get(..end), 30),
        _ => (Some(text), 0),
    };
    let number: u64 = digits.and_then(|digits| digits.parse().ok()).ok_or("not a number with a suffix K, M or G")?;
    number.checked_mul(1 << shift).filter(|size| *size < 1 << 50).ok_or_else(|| "too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn a_size_takes_a_binary_suffix_and_nothing_else() {
        assert_eq!(size("4096"), Ok(4096));
        assert_eq!(size("64M"), Ok(64 << 20));
        assert_eq!(size("2g"), Ok(2 << 30));
        for bad in ["", "M", "-1", "1T", "64 M", "99999999999G", "0x10"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
