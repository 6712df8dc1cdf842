//! What flushes cost, and what is gained where they are shared, deferred or spared: the driver on models, in virtual time.
//!
//! Prints rows `{"case":…,"metric":…,"value":…,"unit":…,"modelled":true}` as one JSON list, the same in each run.
//! `cargo xtask bench` runs it; the page `docs/durability.md` says what the rows mean.
//!
//! **All of this is modelled.** The timings are assumptions, each with its reason in `drive`; nothing here was measured on a drive.

mod drive;
mod load;

use std::error::Error;

use drive::{Cache, Drive};
use load::{Load, Measured};
use nvme::FlushPolicy;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// One figure.
struct Row {
    case: String,
    metric: &'static str,
    value: f64,
    unit: &'static str,
}

impl Row {
    /// Names here are plain words, so nothing needs escaping.
    fn json(&self) -> String {
        let Self { case, metric, value, unit } = self;
        format!(r#"{{"case":"{case}","metric":"{metric}","value":{value:.6},"unit":"{unit}","modelled":true}}"#)
    }
}

/// The rows of one case, against the case that it is compared with.
fn rows(case: &str, measured: Measured, ratio: &'static str, base: Measured) -> Vec<Row> {
    let row = |metric, value, unit| Row { case: format!("model/{case}"), metric, value, unit };
    vec![
        row("iops", measured.rate(), "1/s"),
        row("flushes_per_io", measured.flushes_per_write(), "1"),
        row(ratio, measured.rate() / base.rate(), "1"),
    ]
}

/// M1: random writes of 4 KiB with a flush behind each, by policy.
fn policies() -> Outcome<Vec<Row>> {
    let one = Load { writers: 1, burst: 1, flushes: 1000 };
    let many = Load { writers: 16, burst: 1, flushes: 3200 };
    let fast = Load { writers: 1, burst: 1, flushes: 60_000 };
    let run = |load: Load, policy| load.run(&mut Drive::m1(policy)?);
    let strict = run(one, FlushPolicy::Strict)?;
    let deferred = FlushPolicy::Deferred { max_delay: FlushPolicy::USUAL };
    let cases = [
        ("strict", strict),
        ("strict-16", run(many, FlushPolicy::Strict)?),
        ("coalesce-16", run(many, FlushPolicy::Coalesce)?),
        ("deferred-1s", run(fast, deferred)?),
    ];
    let case = |(name, measured)| rows(&format!("randwrite-4k-flush/{name}"), measured, "ratio_to_strict", strict);
    Ok(cases.into_iter().flat_map(case).collect())
}

/// A drive whose write cache is present and off: a driver that knows it against one that does not.
fn enable_bit() -> Outcome<Vec<Row>> {
    let loads = [
        ("buffered-4k-flush", Load { writers: 1, burst: 4, flushes: 1000 }),
        ("randwrite-4k-flush/qd1", Load { writers: 1, burst: 1, flushes: 2000 }),
        ("randwrite-4k-flush/qd32", Load { writers: 32, burst: 1, flushes: 6400 }),
    ];
    let mut all = Vec::new();
    for (name, load) in loads {
        let back = load.run(&mut Drive::data_centre(Cache::Unreadable)?)?;
        let through = load.run(&mut Drive::data_centre(Cache::Off)?)?;
        for (mode, measured) in [("write-back", back), ("write-through", through)] {
            all.extend(rows(&format!("{name}/{mode}"), measured, "ratio_to_write_back", back));
        }
    }
    Ok(all)
}

fn figures() -> Outcome<Vec<Row>> {
    let mut all = policies()?;
    all.extend(enable_bit()?);
    Ok(all)
}

fn main() -> Outcome<()> {
    let lines: Vec<String> = figures()?.iter().map(Row::json).collect();
    println!("[\n{}\n]", lines.join(",\n"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(rows: &[Row], case: &str, metric: &str) -> f64 {
        let row = rows.iter().find(|row| row.case == format!("model/{case}") && row.metric == metric);
        row.unwrap_or_else(|| panic!("no row {case} {metric}")).value
    }

    #[test]
    fn policies_gain_on_m1_what_they_should() {
        let rows = policies().unwrap();
        let of = |case: &str, metric| value(&rows, &format!("randwrite-4k-flush/{case}"), metric);
        assert!((55.0..=60.0).contains(&of("strict", "iops")), "{}", of("strict", "iops"));
        assert_eq!(of("strict", "flushes_per_io"), 1.0);
        assert!(of("deferred-1s", "iops") >= 12_000.0, "{}", of("deferred-1s", "iops"));
        assert!(of("deferred-1s", "ratio_to_strict") >= 200.0);
        assert!(of("coalesce-16", "ratio_to_strict") >= 14.0, "{}", of("coalesce-16", "ratio_to_strict"));
    }

    #[test]
    fn sixteen_writers_gain_by_sharing_flushes_and_not_by_being_sixteen() {
        let rows = policies().unwrap();
        let of = |case: &str, metric| value(&rows, &format!("randwrite-4k-flush/{case}"), metric);
        assert_eq!(of("strict-16", "flushes_per_io"), 1.0);
        assert!(of("strict-16", "ratio_to_strict") < 1.1, "{}", of("strict-16", "ratio_to_strict"));
        assert!(of("coalesce-16", "flushes_per_io") < 1.0 / 14.0);
    }

    #[test]
    fn deferred_flushes_reach_the_device_all_the_same() {
        let rows = policies().unwrap();
        let flushes = value(&rows, "randwrite-4k-flush/deferred-1s", "flushes_per_io");
        let rate = value(&rows, "randwrite-4k-flush/deferred-1s", "iops");
        // At least one in each second.
        assert!(flushes * rate >= 1.0, "{} a second", flushes * rate);
    }

    #[test]
    fn honouring_the_enable_bit_gains_what_the_patch_of_2026_saw() {
        let rows = enable_bit().unwrap();
        for (load, least) in
            [("buffered-4k-flush", 10.0), ("randwrite-4k-flush/qd1", 10.0), ("randwrite-4k-flush/qd32", 25.0)]
        {
            let of = |mode: &str, metric| value(&rows, &format!("{load}/{mode}"), metric);
            let ratio = of("write-through", "ratio_to_write_back");
            assert!(ratio >= least, "{load}: {ratio}");
            assert_eq!(of("write-through", "flushes_per_io"), 0.0, "{load}");
            assert!(of("write-back", "flushes_per_io") >= 0.25, "{load}");
        }
    }

    #[test]
    fn a_run_gives_the_same_figures_each_time() {
        let lines = || figures().unwrap().iter().map(Row::json).collect::<Vec<_>>();
        assert_eq!(lines(), lines());
    }
}
