//! The table by which QEMU's patch of 2018 for shadow doorbells was judged: depth, without, with, ratio.

use std::fmt;

use serde_json::Value;

use super::row;

/// How doorbells are rung.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variant {
    /// A register write for each command and for each completion.
    Plain,
    /// For each command and each completion, but only where the device asks for it: what the patch of 2018 compared.
    PlainShadow,
    /// A register write for each batch.
    Batched,
    /// For each batch, and only where the device asks for it.
    Shadow,
}

/// A figure for each of [`Variant::ALL`].
pub(super) type Figures = [f64; 4];

impl Variant {
    pub(super) const ALL: [Self; 4] = [Self::Plain, Self::PlainShadow, Self::Batched, Self::Shadow];

    /// Its name in the rows.
    fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::PlainShadow => "plain-shadow",
            Self::Batched => "noshadow",
            Self::Shadow => "shadow",
        }
    }

    /// Its name for a person.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::PlainShadow => "plain, shadow doorbells",
            Self::Batched => "batched",
            Self::Shadow => "batched, shadow doorbells",
        }
    }
}

/// One depth: figures in the order of [`Variant::ALL`].
#[derive(Clone, Debug)]
pub(super) struct Depth {
    /// Commands in flight.
    pub(super) depth: u64,
    /// Reads per second.
    pub(super) rate: Figures,
    /// Doorbell writes per read.
    pub(super) doorbells: Figures,
}

/// The whole table.
#[derive(Clone, Debug)]
pub(super) struct Table {
    pub(super) points: Vec<Depth>,
    /// Boots of which a rate is the median.
    pub(super) boots: usize,
    /// What was read.
    pub(super) disk: String,
}

impl Table {
    /// The rows of the report.
    pub(super) fn rows(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        for point in &self.points {
            let [plain, _, batched, _] = point.rate;
            for (variant, (rate, doorbells)) in
                Variant::ALL.into_iter().zip(point.rate.into_iter().zip(point.doorbells))
            {
                let case = format!("virt/randread-4k/qd{}/{}", point.depth, variant.name());
                rows.push(row(&case, "iops", rate, "1/s", false));
                rows.push(row(&case, "mmio_writes_per_io", doorbells, "1", false));
                match variant {
                    Variant::Plain => {}
                    Variant::PlainShadow | Variant::Batched => {
                        rows.push(row(&case, "ratio_to_plain", rate / plain, "1", false));
                    }
                    Variant::Shadow => {
                        rows.push(row(&case, "ratio_to_plain", rate / plain, "1", false));
                        rows.push(row(&case, "ratio_to_noshadow", rate / batched, "1", false));
                    }
                }
            }
        }
        rows
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { boots, disk, .. } = self;
        writeln!(f, "4 KiB random reads on QEMU's virt with its nvme; the disk is {disk}.")?;
        writeln!(
            f,
            "This is emulation without hardware virtualisation. Reads per second are the median of {boots} boots;"
        )?;
        writeln!(f, "doorbell writes are those to IO queues, as QEMU itself counted them in a further boot.\n")?;
        writeln!(
            f,
            "        a doorbell for each command              a doorbell for each batch           writes per read"
        )?;
        writeln!(
            f,
            "depth   without      with    ratio       without      with    ratio    one each         in batches"
        )?;
        for point in &self.points {
            let ([plain, plain_shadow, batched, shadow], [one, two, three, four]) = (point.rate, point.doorbells);
            writeln!(
                f,
                "{:>5} {plain:>9.0} {plain_shadow:>9.0} {:>8.2}     {batched:>9.0} {shadow:>9.0} {:>8.2}   {one:>5.3} {two:>6.3}    {three:>5.3} {four:>6.3}",
                point.depth,
                plain_shadow / plain,
                shadow / batched,
            )?;
        }
        writeln!(f, "\nwithout, with: shadow doorbells, reads per second; writes per read: without, with.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let points = vec![Depth { depth: 16, rate: [100.0, 150.0, 200.0, 500.0], doorbells: [2.0, 1.0, 0.5, 0.1] }];
        Table { points, boots: 3, disk: "memory".into() }
    }

    #[test]
    fn the_rows_name_machine_load_depth_and_variant() {
        let rows = table().rows();
        let find = |case: &str, metric: &str| {
            let row = rows.iter().find(|row| row["case"] == case && row["metric"] == metric);
            row.map(|row| row["value"].as_f64().unwrap())
        };
        assert_eq!(find("virt/randread-4k/qd16/shadow", "iops"), Some(500.0));
        assert_eq!(find("virt/randread-4k/qd16/shadow", "ratio_to_noshadow"), Some(2.5));
        assert_eq!(find("virt/randread-4k/qd16/noshadow", "mmio_writes_per_io"), Some(0.5));
        assert_eq!(find("virt/randread-4k/qd16/plain", "iops"), Some(100.0));
        assert_eq!(find("virt/randread-4k/qd16/plain-shadow", "ratio_to_plain"), Some(1.5));
    }

    #[test]
    fn the_table_says_that_it_is_emulation_and_has_a_line_for_each_depth() {
        let text = table().to_string();
        assert!(text.contains("emulation without hardware virtualisation"), "{text}");
        let wanted = ["16", "100", "150", "1.50", "200", "500", "2.50", "2.000", "1.000", "0.500", "0.100"];
        assert!(text.lines().any(|line| line.split_whitespace().eq(wanted)), "{text}");
    }
}
