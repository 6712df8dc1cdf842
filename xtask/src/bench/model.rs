//! What flushes cost, by policy and by cache mode: the driver on models, in virtual time. The same figures in each run, and
//! none of them measured on a drive.

use std::fmt;

use serde_json::Value;

use super::plot::{label, rectangle};
use crate::failure::Failure;
use crate::shell;

/// Policies: name of the case, words for a person, writers.
const POLICIES: [(&str, &str, u32); 4] = [
    ("strict", "strict", 1),
    ("strict-16", "strict", 16),
    ("coalesce-16", "coalesce", 16),
    ("deferred-1s", "deferred (1 s)", 1),
];
/// Loads on a drive whose write cache is off: name of the case, words for a person.
const LOADS: [(&str, &str); 3] = [
    ("buffered-4k-flush", "4 at once, then a flush"),
    ("randwrite-4k-flush/qd1", "depth 1, a flush each"),
    ("randwrite-4k-flush/qd32", "depth 32, a flush each"),
];
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
/// Where bars begin in a panel, their length, and where a panel ends.
const LEFT: f64 = 160.0;
const LENGTH: f64 = 480.0;
const LINE: f64 = 22.0;
const COLOURS: [&str; 2] = ["#c0504d", "#6c8ebf"];

/// The figures.
#[derive(Debug)]
pub(super) struct Flushes {
    /// Rows of the report, each marked as modelled.
    pub(super) rows: Vec<Value>,
}

/// Builds the driver with its models and runs them.
pub(super) fn measure() -> Result<Flushes, Failure> {
    let mut run = shell::cargo("run");
    let text = shell::feed(run.args(["--release", "--package", "nvme", "--example", "durability"]), "")?;
    read(&text)
}

fn read(text: &str) -> Result<Flushes, Failure> {
    let rows: Vec<Value> =
        serde_json::from_str(text).map_err(|error| Failure::failed(format!("modelled figures: {error}")))?;
    match rows.iter().find(|row| row.get("modelled") != Some(&Value::Bool(true))) {
        Some(row) => Err(Failure::failed(format!("modelled figures: not marked as such: {row}"))),
        None => Ok(Flushes { rows }),
    }
}

impl Flushes {
    /// One figure; not a number if there is no such row.
    fn value(&self, case: &str, metric: &str) -> f64 {
        let case = format!("model/{case}");
        let has = |row: &&Value, key: &str, value: &str| row.get(key).and_then(Value::as_str) == Some(value);
        let row = self.rows.iter().find(|row| has(row, "case", &case) && has(row, "metric", metric));
        row.and_then(|row| row.get("value")).and_then(Value::as_f64).unwrap_or(f64::NAN)
    }

    fn policy(&self, name: &str, metric: &str) -> f64 {
        self.value(&format!("randwrite-4k-flush/{name}"), metric)
    }

    /// An SVG with two panels of bars: writes a second by policy, and by cache mode.
    pub(super) fn draw(&self) -> String {
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
        );
        let middle = WIDTH / 2.0;
        label(
            &mut out,
            middle,
            20.0,
            "middle",
            "Modelled, not measured: 4 KiB writes a second, on a scale of powers of ten",
        );
        label(
            &mut out,
            middle,
            48.0,
            "middle",
            "M1's times: a write 80 us, a flush 17.5 ms; a flush behind each write",
        );
        let mut y = 58.0;
        for (name, title, writers) in POLICIES {
            let title = format!("{title}, {writers} writer{}", if writers == 1 { "" } else { "s" });
            let (rate, ratio) = (self.policy(name, "iops"), self.policy(name, "ratio_to_strict"));
            bar(&mut out, y, &title, rate, ratio, "#6c8ebf");
            y += LINE;
        }
        y += 30.0;
        label(
            &mut out,
            middle,
            y - 10.0,
            "middle",
            "A write cache that is off, and a flush of 500 us: flushes sent (red), and spared (blue)",
        );
        for (name, title) in LOADS {
            for (mode, colour) in ["write-back", "write-through"].into_iter().zip(COLOURS) {
                let of = |metric| self.value(&format!("{name}/{mode}"), metric);
                bar(
                    &mut out,
                    y,
                    if mode == "write-back" { title } else { "" },
                    of("iops"),
                    of("ratio_to_write_back"),
                    colour,
                );
                y += LINE * 0.75;
            }
            y += LINE * 0.25;
        }
        out += "</svg>\n";
        out
    }
}

/// One bar, from ten writes a second to a million, with its figures behind it.
fn bar(out: &mut String, y: f64, title: &str, rate: f64, ratio: f64, colour: &str) {
    let length = (rate.max(10.0).log10() - 1.0) / 5.0 * LENGTH;
    label(out, LEFT - 8.0, y + 11.0, "end", title);
    rectangle(out, (LEFT, y), (length, LINE * 0.6), colour);
    label(out, LEFT + length + 6.0, y + 11.0, "start", &format!("{rate:.0} ({ratio:.1} x)"));
}

impl fmt::Display for Flushes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "Flushes: the driver on models of drives, in virtual time. All of it is modelled, nothing measured on a drive.\n"
        )?;
        writeln!(f, "M1's times (a write 80 us, a flush 17.5 ms), 4 KiB random writes with a flush behind each:\n")?;
        writeln!(f, "policy           writers   writes/s   flushes/write   to strict")?;
        for (name, title, writers) in POLICIES {
            let of = |metric| self.policy(name, metric);
            let (rate, flushes, ratio) = (of("iops"), of("flushes_per_io"), of("ratio_to_strict"));
            writeln!(f, "{title:<16} {writers:>7} {rate:>10.1} {flushes:>15.5} {ratio:>11.2}   (modelled)")?;
        }
        writeln!(f, "\nA write cache that is present and off, and a flush that takes 500 us all the same:\n")?;
        writeln!(f, "load                       flushes sent   spared (writes/s)       ratio")?;
        for (name, title) in LOADS {
            let of = |mode: &str, metric| self.value(&format!("{name}/{mode}"), metric);
            let (back, through) = (of("write-back", "iops"), of("write-through", "iops"));
            let ratio = of("write-through", "ratio_to_write_back");
            writeln!(f, "{title:<24} {back:>14.1} {through:>19.1} {ratio:>11.2}   (modelled)")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, metric: &str, value: f64) -> String {
        super::super::row(&format!("model/{case}"), metric, value, "1", true).to_string()
    }

    #[test]
    fn a_row_that_is_not_marked_as_modelled_is_refused() {
        let row = row("x", "iops", 1.0);
        assert!(read(&format!("[{row}]")).is_ok());
        assert!(read(&format!("[{row},{}]", row.replace("true", "false"))).is_err());
        assert!(read("no list").is_err());
    }

    #[test]
    fn table_and_drawing_have_each_figure_and_say_that_it_is_modelled() {
        let rows = [
            row("randwrite-4k-flush/strict", "iops", 57.25),
            row("randwrite-4k-flush/deferred-1s", "ratio_to_strict", 219.5),
            row("buffered-4k-flush/write-through", "iops", 98_765.0),
            row("buffered-4k-flush/write-through", "ratio_to_write_back", 12.75),
        ];
        let figures = read(&format!("[{}]", rows.join(","))).unwrap_or_else(|_| panic!("rows"));
        let table = figures.to_string();
        for figure in ["57.2", "219.50", "98765.0", "12.75"] {
            assert!(table.contains(figure), "{figure}: {table}");
        }
        assert_eq!(table.matches("(modelled)").count(), POLICIES.len() + LOADS.len());
        let drawing = figures.draw();
        assert!(drawing.contains("Modelled, not measured") && drawing.contains("98765 (12.8 x)"), "{drawing}");
    }

    #[test]
    fn a_bar_is_as_long_as_its_power_of_ten() {
        let mut out = String::new();
        bar(&mut out, 0.0, "x", 1000.0, 1.0, "red");
        assert!(out.contains(&format!("width=\"{:.1}\"", LENGTH * 0.4)), "{out}");
    }
}
