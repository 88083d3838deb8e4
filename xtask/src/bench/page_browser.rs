//! The page in Debian's Chromium: how soon it can be used once the graph has come, and how it moves.
//!
//! A script of the page's own tests measures (`ui/tests/speed.mjs`). On a machine without a display each frame is drawn by the
//! processor, beside the service and the script.

use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::bars::Bars;
use super::median;
use super::table::Table;
use super::towpath::Towpath;
use crate::page;

/// The median time between two frames is below this, in milliseconds.
const FRAME: f64 = 17.0;

/// Channels, and how soon after their graph the page can be used, in milliseconds.
const CASES: [(&str, f64); 2] = [("candidate-4.14", 100.0), ("*", 1_000.0)];

pub(super) fn measured(towpath: &Towpath, bars: &mut Bars) -> anyhow::Result<Table> {
    let address = format!("http://127.0.0.1:{}", towpath.port);
    let mut node = Command::new("node");
    node.arg(page::folder().join("tests/speed.mjs"))
        .arg(address);
    node.args(CASES.map(|(channels, _)| channels));
    let output = node.stderr(Stdio::inherit()).output();
    let output = output.context("node cannot be run; install Debian's nodejs")?;
    ensure!(
        output.status.success(),
        "the browser did not finish; see above"
    );
    let told = String::from_utf8(output.stdout).context("what was measured is not text")?;
    let lines: Vec<&str> = told.lines().collect();
    ensure!(
        lines.len() == CASES.len(),
        "{} of {} cases were measured",
        lines.len(),
        CASES.len()
    );
    let mut table = Table::new([
        "channels",
        "usable after",
        "slowest",
        "frame",
        "95 of 100 within",
        "bars",
    ]);
    for ((channels, bar), line) in CASES.into_iter().zip(lines) {
        let told: Value = serde_json::from_str(line).context("what was measured is not JSON")?;
        let usable = figures(&told, "usable")?;
        let frames = figures(&told, "frames")?;
        ensure!(
            told["drawn"].as_u64() > Some(frames.len() as u64 / 2),
            "{channels}: the picture was not drawn again while it was dragged"
        );
        let slowest = usable.iter().copied().fold(0.0, f64::max);
        let (usable, frame, late) = (median(usable), median(frames.clone()), late(frames));
        let soon = bars.at_most(
            &format!("{channels}: the page can be used after, in ms"),
            usable,
            bar,
        );
        let smooth = bars.at_most(
            &format!("{channels}: median time between frames, in ms"),
            frame,
            FRAME,
        );
        table.row([
            channels.to_owned(),
            format!("{usable:.0} ms"),
            format!("{slowest:.0} ms"),
            format!("{frame:.1} ms"),
            format!("{late:.1} ms"),
            format!("{soon}, {smooth}"),
        ]);
    }
    Ok(table)
}

fn figures(told: &Value, name: &str) -> anyhow::Result<Vec<f64>> {
    let all = told[name].as_array().context("figures are missing")?;
    let figures: Option<Vec<f64>> = all.iter().map(Value::as_f64).collect();
    let figures = figures.context("a figure is no number")?;
    ensure!(!figures.is_empty(), "{name}: nothing was measured");
    Ok(figures)
}

/// 95 of 100 frames are no slower.
fn late(mut frames: Vec<f64>) -> f64 {
    frames.sort_by(f64::total_cmp);
    frames[(frames.len() - 1) * 95 / 100]
}
