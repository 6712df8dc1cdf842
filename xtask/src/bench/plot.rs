//! The table as a drawing: bars by depth, one colour for each way to ring doorbells.

use std::fmt::Write;

use super::table::{Depth, Figures, Table, Variant};

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;
/// Where a panel's bars stand, from its left and from the top.
const LEFT: f64 = 60.0;
const TOP: f64 = 60.0;
const FLOOR: f64 = 260.0;
const PANEL: f64 = WIDTH / 2.0;
const COLOURS: [&str; 4] = ["#b0b0b0", "#e0a090", "#6c8ebf", "#c0504d"];

/// An SVG with two panels: reads per second, and doorbell writes per read.
pub(super) fn draw(table: &Table) -> String {
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
    );
    label(
        &mut out,
        WIDTH / 2.0,
        20.0,
        "middle",
        "4 KiB random reads on QEMU: emulation without hardware virtualisation",
    );
    for (index, (variant, colour)) in Variant::ALL.into_iter().zip(COLOURS).enumerate() {
        let x = 40.0 + index as f64 * 185.0;
        rectangle(&mut out, (x, HEIGHT - 20.0), (10.0, 10.0), colour);
        label(&mut out, x + 15.0, HEIGHT - 11.0, "start", variant.title());
    }
    panel(&mut out, 0.0, "reads per second", &table.points, |depth| depth.rate, 0);
    panel(&mut out, PANEL, "doorbell writes per read", &table.points, |depth| depth.doorbells, 2);
    out += "</svg>\n";
    out
}

fn panel(out: &mut String, left: f64, title: &str, depths: &[Depth], of: fn(&Depth) -> Figures, digits: usize) {
    let most = depths.iter().flat_map(of).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let group = (PANEL - LEFT - 20.0) / depths.len().max(1) as f64;
    let bar = group / 5.0;
    label(out, left + PANEL / 2.0, TOP - 18.0, "middle", title);
    for (number, depth) in depths.iter().enumerate() {
        let start = left + LEFT + number as f64 * group;
        for (index, (value, colour)) in of(depth).into_iter().zip(COLOURS).enumerate() {
            let height = (FLOOR - TOP) * value / most;
            let x = start + index as f64 * bar;
            rectangle(out, (x, FLOOR - height), (bar - 1.0, height), colour);
        }
        label(out, start + 2.0 * bar, FLOOR + 14.0, "middle", &format!("depth {}", depth.depth));
    }
    for part in 0..=4 {
        let value = most * f64::from(part) / 4.0;
        let y = FLOOR - (FLOOR - TOP) * f64::from(part) / 4.0;
        label(out, left + LEFT - 6.0, y + 4.0, "end", &format!("{value:.digits$}"));
        rectangle(out, (left + LEFT - 3.0, y), (PANEL - LEFT - 17.0, 0.5), "#808080");
    }
}

pub(super) fn rectangle(out: &mut String, (x, y): (f64, f64), (width, height): (f64, f64), colour: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
    );
}

pub(super) fn label(out: &mut String, x: f64, y: f64, anchor: &str, text: &str) {
    let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_a_bar_of_its_height() {
        let depth = Depth { depth: 4, rate: [50.0, 75.0, 80.0, 100.0], doorbells: [2.0, 1.5, 1.0, 0.0] };
        let drawing = draw(&Table { points: vec![depth], boots: 1, disk: "x".into() });
        for height in ["200.0", "160.0", "150.0", "100.0", "0.0"] {
            assert!(drawing.contains(&format!("height=\"{height}\"")), "{drawing}");
        }
        assert_eq!(drawing.matches("depth 4").count(), 2);
    }
}
