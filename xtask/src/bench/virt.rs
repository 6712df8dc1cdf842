//! QEMU's machine: what shadow doorbells are worth, by the table by which they were judged when QEMU got them.
//!
//! Each point is booted anew. Time is taken without QEMU's trace, as the median of some boots; doorbell writes are counted
//! by QEMU in one more boot, between the marks that the image prints around its reads.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::row;
use crate::failure::Failure;
use crate::image::Image;
use crate::shell::say;
use crate::virt::{self, Disk, End, Input, Level, Run, Setup, Watch};
use crate::{disk as disks, setup, shell};

/// Commands in flight.
const DEPTHS: [u64; 4] = [1, 4, 16, 64];
/// Boots of which the median is taken.
const BOOTS: usize = 3;
/// Reads in a boot whose time is taken, and in one whose doorbells are counted.
const TIMED: u64 = 16384;
const COUNTED: u64 = 4096;
/// The most seconds of one boot.
const LIMIT: u64 = 120;
/// Memory that is a file system.
const MEMORY: &str = "/dev/shm";

/// How doorbells are rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// A register write for each command and for each completion.
    Plain,
    /// A register write for each batch.
    Batched,
    /// For each batch, and only where the device asks for it.
    Shadow,
}

impl Variant {
    pub(super) const ALL: [Self; 3] = [Self::Plain, Self::Batched, Self::Shadow];

    /// Its name in the rows.
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Batched => "noshadow",
            Self::Shadow => "shadow",
        }
    }

    /// Its name for a person.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Batched => "batched",
            Self::Shadow => "batched and shadow doorbells",
        }
    }

    /// The monitor's lines that measure it.
    fn line(self, reads: u64, depth: u64) -> String {
        let (doorbells, word) = match self {
            Self::Plain => ("off", " plain"),
            Self::Batched => ("off", ""),
            Self::Shadow => ("on", ""),
        };
        format!("anvil.cmd=\"doorbells {doorbells}\" anvil.cmd=\"bench randread {reads} {depth}{word}\"")
    }
}

/// One depth: figures in the order of [`Variant::ALL`].
#[derive(Clone, Debug)]
pub(super) struct Depth {
    pub(super) depth: u64,
    /// Reads per second.
    pub(super) rate: [f64; 3],
    /// Doorbell writes per read.
    pub(super) doorbells: [f64; 3],
}

/// The whole table.
#[derive(Clone, Debug)]
pub(super) struct Table(pub(super) Vec<Depth>);

/// Boots and measures all points.
pub(super) fn measure(image: &Image) -> Result<Table, Failure> {
    setup::packages(setup::QEMU)?;
    let file = Backing::new()?;
    let disk = Disk::open(&file.0, None, false, None)?;
    let mut table = Vec::new();
    for depth in DEPTHS {
        say(&format!("virt: 4 KiB random reads, {depth} in flight"));
        let mut times = [const { Vec::new() }; 3];
        // Variants take turns, so that whatever else the host does meanwhile hits all of them.
        for _ in 0..BOOTS {
            for (variant, times) in Variant::ALL.into_iter().zip(&mut times) {
                times.push(rate(&boot(image, &disk, &variant.line(TIMED, depth), false)?)?);
            }
        }
        let mut doorbells = [0.0; 3];
        for (variant, doorbells) in Variant::ALL.into_iter().zip(&mut doorbells) {
            *doorbells = counted(&boot(image, &disk, &variant.line(COUNTED, depth), true)?)? / COUNTED as f64;
        }
        table.push(Depth { depth, rate: times.map(median), doorbells });
    }
    Ok(Table(table))
}

fn boot(image: &Image, disk: &Disk, line: &str, traced: bool) -> Result<Run, Failure> {
    let setup = Setup {
        level: Level::One,
        kernel: &image.flat,
        disk,
        nvme: &[],
        namespace: None,
        root_port: false,
        line,
        arguments: &[],
    };
    let watch = Watch { input: Input::None, limit: Some(LIMIT), traced, shown: false, frames: None };
    let run = virt::boot(&setup, &watch)?;
    match &run.end {
        End::Success => Ok(run),
        other => Err(Failure::failed(format!("{line}: {other:?}"))),
    }
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

impl Table {
    /// The rows of the report.
    pub(super) fn rows(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for point in &self.0 {
            let [plain, batched, _] = point.rate;
            for (variant, (rate, doorbells)) in
                Variant::ALL.into_iter().zip(point.rate.into_iter().zip(point.doorbells))
            {
                let case = format!("virt/randread-4k/qd{}/{}", point.depth, variant.name());
                rows.push(row(&case, "iops", rate, "1/s", false));
                rows.push(row(&case, "mmio_writes_per_io", doorbells, "1", false));
                if variant == Variant::Shadow {
                    rows.push(row(&case, "ratio_to_noshadow", rate / batched, "1", false));
                    rows.push(row(&case, "ratio_to_plain", rate / plain, "1", false));
                }
            }
        }
        rows
    }
}

/// The table by which QEMU's patch of 2018 was judged.
impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "4 KiB random reads on QEMU's virt and nvme, the disk a file in memory ({MEMORY}).")?;
        writeln!(
            f,
            "This is emulation without hardware virtualisation; reads per second are the median of {BOOTS} boots,"
        )?;
        writeln!(f, "doorbell writes are those to IO queues that QEMU itself counted in a further boot.\n")?;
        writeln!(f, "       reads per second, shadow doorbells            doorbell writes per read")?;
        writeln!(f, "depth  without plain  without batched        with   ratio   plain  batched  shadow")?;
        for point in &self.0 {
            let ([plain, batched, shadow], [one, two, three]) = (point.rate, point.doorbells);
            writeln!(
                f,
                "{:>5}  {plain:>13.0}  {batched:>15.0}  {shadow:>10.0}  {:>6.2}  {one:>6.3}  {two:>7.3}  {three:>6.3}",
                point.depth,
                shadow / batched
            )?;
        }
        writeln!(f, "\nThe ratio is that of batched code with and without shadow doorbells.")
    }
}

/// A copy of the example disk in memory, while it is needed.
struct Backing(PathBuf);

impl Backing {
    fn new() -> Result<Self, Failure> {
        let folder = if Path::new(MEMORY).is_dir() { PathBuf::from(MEMORY) } else { shell::target() };
        let file = Self(folder.join(format!("anvil-bench-{}.img", std::process::id())));
        std::fs::copy(disks::example()?, &file.0)
            .map_err(|error| Failure::failed(format!("{}: {error}", file.0.display())))?;
        Ok(file)
    }
}

impl Drop for Backing {
    fn drop(&mut self) {
        // Nothing is lost if it stays.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        Table(vec![Depth { depth: 16, rate: [100.0, 200.0, 500.0], doorbells: [2.0, 0.5, 0.1] }])
    }

    #[test]
    fn the_rows_name_machine_load_depth_and_variant() {
        let rows = table().rows();
        let find = |case: &str, metric: &str| {
            rows.iter()
                .find(|row| row["case"] == case && row["metric"] == metric)
                .map(|row| row["value"].as_f64().unwrap())
        };
        assert_eq!(find("virt/randread-4k/qd16/shadow", "iops"), Some(500.0));
        assert_eq!(find("virt/randread-4k/qd16/shadow", "ratio_to_noshadow"), Some(2.5));
        assert_eq!(find("virt/randread-4k/qd16/noshadow", "mmio_writes_per_io"), Some(0.5));
        assert_eq!(find("virt/randread-4k/qd16/plain", "iops"), Some(100.0));
    }

    #[test]
    fn the_table_says_that_it_is_emulation() {
        let text = table().to_string();
        assert!(text.contains("emulation without hardware virtualisation"), "{text}");
        assert!(
            text.lines()
                .any(|line| line.split_whitespace().eq(["16", "100", "200", "500", "2.50", "2.000", "0.500", "0.100"])),
            "{text}"
        );
    }

    #[test]
    fn the_median_is_the_middle_one() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    }
}
