//! QEMU's machine: what shadow doorbells are worth.
//!
//! Each point is booted anew. Time is taken without QEMU's trace, as the median of some boots; doorbell writes are counted
//! by QEMU in one more boot, between the marks that the image prints around its reads.

use std::path::{Path, PathBuf};

use super::table::{Depth, Figures, Table, Variant};
use crate::failure::Failure;
use crate::image::Image;
use crate::shell::say;
use crate::virt::{self, Disk, End, Input, Level, Run, Scratch, Setup, Watch};
use crate::{disk as disks, setup, shell};

/// Commands in flight.
const DEPTHS: [u64; 4] = [1, 4, 16, 64];
/// Boots of which the median is taken.
const BOOTS: usize = 5;
/// Reads in a boot whose time is taken, for each command in flight up to eight of them: a second or two, over which what else
/// the host does evens out.
const TIMED: u64 = 16384;
/// Reads in a boot whose doorbells are counted.
const COUNTED: u64 = 4096;
/// The most seconds of one boot.
const LIMIT: u64 = 120;
/// Memory that is a file system.
const MEMORY: &str = "/dev/shm";

/// Boots and measures all points.
pub(super) fn measure(image: &Image) -> Result<Table, Failure> {
    setup::packages(setup::QEMU)?;
    let file = in_memory()?;
    let mut bench = Bench { image, disk: Disk::open(&file.0, None, false, None)?, arguments: Vec::new() };
    let engine = bench.choose_engine()?;
    let mut points = Vec::new();
    for depth in DEPTHS {
        say(&format!("virt: 4 KiB random reads, {depth} in flight"));
        points.push(bench.point(depth)?);
    }
    Ok(Table { points, boots: BOOTS, disk: format!("a file in {}, read by {engine}", place().display()) })
}

/// What all boots have in common.
struct Bench<'a> {
    image: &'a Image,
    disk: Disk,
    /// More arguments for QEMU.
    arguments: Vec<String>,
}

impl Bench<'_> {
    /// How QEMU reads the file: by io_uring, which answers from memory at once; where the kernel has none to give, by
    /// QEMU's threads, and then much of the time is theirs.
    fn choose_engine(&mut self) -> Result<&'static str, Failure> {
        self.arguments = ["-set", "drive.disk.aio=io_uring"].map(String::from).to_vec();
        match self.run("", false)?.end {
            End::Refused(_) => {
                self.arguments.clear();
                Ok("threads")
            }
            _ => Ok("io_uring"),
        }
    }

    fn point(&self, depth: u64) -> Result<Depth, Failure> {
        let mut rates = Variant::ALL.map(|_| Vec::new());
        // Variants take turns, so that whatever else the host does meanwhile hits all of them.
        for _ in 0..BOOTS {
            for (variant, rates) in Variant::ALL.into_iter().zip(&mut rates) {
                rates.push(rate(&self.success(&line(variant, TIMED * depth.min(8), depth), false)?)?);
            }
        }
        let mut doorbells = Figures::default();
        for (variant, doorbells) in Variant::ALL.into_iter().zip(&mut doorbells) {
            *doorbells = counted(&self.success(&line(variant, COUNTED, depth), true)?)? / COUNTED as f64;
        }
        Ok(Depth { depth, rate: rates.map(median), doorbells })
    }

    fn success(&self, line: &str, traced: bool) -> Result<Run, Failure> {
        let run = self.run(line, traced)?;
        match &run.end {
            End::Success => Ok(run),
            other => Err(Failure::failed(format!("{line}: {other:?}"))),
        }
    }

    fn run(&self, line: &str, traced: bool) -> Result<Run, Failure> {
        let setup = Setup {
            level: Level::One,
            kernel: &self.image.flat,
            disk: &self.disk,
            nvme: &[],
            namespace: None,
            root_port: false,
            line,
            arguments: &self.arguments,
        };
        virt::boot(&setup, &Watch { input: Input::None, limit: Some(LIMIT), traced, shown: false, frames: None })
    }
}

/// The monitor's lines that measure a variant.
fn line(variant: Variant, reads: u64, depth: u64) -> String {
    let (doorbells, word) = match variant {
        Variant::Plain => ("off", " plain"),
        Variant::PlainShadow => ("on", " plain"),
        Variant::Batched => ("off", ""),
        Variant::Shadow => ("on", ""),
    };
    format!("anvil.cmd=\"doorbells {doorbells}\" anvil.cmd=\"bench randread {reads} {depth}{word}\"")
}

/// Reads per second, by the image's own clock: QEMU's, which is the host's.
fn rate(run: &Run) -> Result<f64, Failure> {
    let text = run.console.text();
    let figures = text.lines().rev().find_map(|line| {
        let (reads, rest) = line.split_once(" reads, ")?;
        let micros = rest.split_once(", in ")?.1.split_once(" us: ")?.0;
        Some((reads.rsplit(' ').next()?.parse::<f64>().ok()?, micros.parse::<f64>().ok()?))
    });
    match figures {
        Some((reads, micros)) if micros > 0.0 => Ok(reads * 1e6 / micros),
        _ => Err(Failure::failed(format!("the bench printed no figures:\n{text}"))),
    }
}

/// Doorbell writes to IO queues between the marks.
fn counted(run: &Run) -> Result<f64, Failure> {
    let marks = run.events.iter().flat_map(|events| &events.marks);
    let at = |name: &str| marks.clone().find(|(mark, _)| mark == name).map(|(_, counts)| counts.io_doorbells());
    match (at("bench-start"), at("bench-end")) {
        (Some(start), Some(end)) => Ok(end.saturating_sub(start) as f64),
        _ => Err(Failure::failed("QEMU's log holds no marks of the bench")),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// Where the disk is: in memory, or in the target directory where there is no such place.
fn place() -> PathBuf {
    let memory = Path::new(MEMORY);
    if memory.is_dir() { memory.to_path_buf() } else { shell::target() }
}

/// A copy of the example disk.
fn in_memory() -> Result<Scratch, Failure> {
    let file = Scratch(place().join(format!("anvil-bench-{}.img", std::process::id())));
    std::fs::copy(disks::example()?, &file.0)
        .map_err(|error| Failure::failed(format!("{}: {error}", file.0.display())))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    }

    #[test]
    fn shadow_doorbells_and_batches_are_switched_off_by_their_own_words() {
        assert_eq!(line(Variant::Plain, 8, 4), r#"anvil.cmd="doorbells off" anvil.cmd="bench randread 8 4 plain""#);
        assert_eq!(line(Variant::Shadow, 8, 4), r#"anvil.cmd="doorbells on" anvil.cmd="bench randread 8 4""#);
    }
}
