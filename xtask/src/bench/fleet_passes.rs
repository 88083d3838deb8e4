//! Passes: how long it takes to decide, from 10,000 clusters to a million, and how that grows.
//!
//! Each size has a process of its own, so that its memory is its own. The core decides on one thread.
//!
//! A pass starts with a numbered fleet (names looked up, clusters sorted, patterns matched) and no judgements. Numbering
//! happens only when policies change, so the bars leave it out. It has its own column, and one together with the pass.

use std::process::Stdio;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::bars::Bars;
use super::table::{Table, shown_micros};
use crate::say::say;
use crate::workspace;

const SIZES: [usize; 5] = [10_000, 30_000, 100_000, 300_000, 1_000_000];
/// How much faster a pass must be that has little or nothing to do.
const FASTER: f64 = 10.0;
/// How much more a cluster may cost among a million than among ten thousand, if the cost grows linearly: the caches end in between.
const GROWTH: f64 = 2.0;
const PEAK_MIB: f64 = 4096.0;

/// The time limit of a full pass for a number of clusters, in seconds.
fn full_seconds(clusters: usize) -> Option<f64> {
    match clusters {
        10_000 => Some(0.05),
        100_000 => Some(1.0),
        1_000_000 => Some(15.0),
        _ => None,
    }
}

/// What was measured at one size, times in microseconds.
#[derive(Debug, PartialEq)]
struct Row {
    clusters: usize,
    number: f64,
    full: f64,
    idle: f64,
    report: f64,
    peak_mib: f64,
}

impl Row {
    fn per_cluster(&self) -> f64 {
        self.full / self.clusters as f64
    }

    /// From an input in memory to a decision.
    fn number_and_pass(&self) -> f64 {
        self.number + self.full
    }
}

/// Measures each size.
pub(super) fn measure(bars: &mut Bars) -> anyhow::Result<()> {
    say("building the core's bench")?;
    let built = bench(&["--no-run"])
        .status()
        .context("cargo cannot be run")?;
    ensure!(
        built.success(),
        "the core's bench cannot be built; see above"
    );
    let rows: Vec<Row> = SIZES
        .into_iter()
        .map(measured)
        .collect::<anyhow::Result<_>>()?;
    let title = "passes: 20 candidates each, five sectors holding back, one core; the best of five, of a million one";
    say(format!(
        "\n{title}\n{}\n\nbars\n{}",
        curve(&rows),
        held(&rows, bars)
    ))
}

fn measured(clusters: usize) -> anyhow::Result<Row> {
    let output = bench(&["--", &clusters.to_string()])
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(
        output.status.success(),
        "the bench of {clusters} clusters failed; see above"
    );
    let text = String::from_utf8_lossy(&output.stdout);
    read(&text, clusters).with_context(|| format!("the bench's output is not understood:\n{text}"))
}

fn bench(arguments: &[&str]) -> std::process::Command {
    let bench = [
        "bench",
        "--quiet",
        "--package",
        "towpath-core",
        "--bench",
        "fleet",
    ];
    workspace::cargo(&[&bench[..], arguments].concat())
}

/// Reads the line of a size.
fn read(text: &str, clusters: usize) -> anyhow::Result<Row> {
    let line = text
        .lines()
        .find(|line| line.starts_with('{'))
        .context("there is no line of JSON")?;
    let line: Value = serde_json::from_str(line)?;
    let figure = |name: &str| {
        line[name]
            .as_f64()
            .with_context(|| format!("there is no {name}"))
    };
    ensure!(
        figure("clusters")? == clusters as f64,
        "it is about another size"
    );
    Ok(Row {
        clusters,
        number: figure("number_us")?,
        full: figure("full_us")?,
        idle: figure("idle_us")?,
        report: figure("report_us")?,
        peak_mib: figure("peak_kib")? / 1024.0,
    })
}

fn curve(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "clusters",
        "numbering",
        "full pass",
        "per cluster",
        "growth",
        "both",
        "growth",
        "idle pass",
        "times faster",
        "after one report",
        "times faster",
        "peak (VmHWM)",
    ]);
    let both = |row: &Row| row.number_and_pass() / row.clusters as f64;
    for row in rows {
        table.row([
            row.clusters.to_string(),
            shown_micros(row.number),
            shown_micros(row.full),
            format!("{:.2} us", row.per_cluster()),
            format!("{:.2}", row.per_cluster() / rows[0].per_cluster()),
            shown_micros(row.number_and_pass()),
            format!("{:.2}", both(row) / both(&rows[0])),
            shown_micros(row.idle),
            format!("{:.0}", row.full / row.idle.max(1.0)),
            shown_micros(row.report),
            format!("{:.0}", row.full / row.report.max(1.0)),
            format!("{:.0} MiB", row.peak_mib),
        ]);
    }
    table
}

/// Holds the figures to their bars.
fn held(rows: &[Row], bars: &mut Bars) -> Table {
    let mut table = Table::new([
        "clusters",
        "full pass, s",
        "idle, times faster",
        "after one report",
        "peak, MiB",
    ]);
    for row in rows {
        let Some(most) = full_seconds(row.clusters) else {
            continue;
        };
        let what = |figure: &str| format!("{} clusters, {figure}", row.clusters);
        let peak = match row.clusters {
            1_000_000 => bars.at_most(&what("peak memory in MiB"), row.peak_mib, PEAK_MIB),
            _ => "-".to_owned(),
        };
        table.row([
            row.clusters.to_string(),
            bars.at_most(&what("seconds of a full pass"), row.full / 1e6, most),
            bars.at_least(
                &what("how much faster an idle pass is"),
                row.full / row.idle.max(1.0),
                FASTER,
            ),
            bars.at_least(
                &what("how much faster one report is"),
                row.full / row.report.max(1.0),
                FASTER,
            ),
            peak,
        ]);
    }
    if let [first, .., last] = rows {
        let growth = last.per_cluster() / first.per_cluster();
        let verdict = bars.at_most("growth of the cost per cluster", growth, GROWTH);
        table.row([
            "growth".to_owned(),
            verdict,
            "-".to_owned(),
            "-".to_owned(),
            "-".to_owned(),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(clusters: usize, full: f64) -> Row {
        Row {
            clusters,
            number: 1.0,
            full,
            idle: full / 10.0,
            report: full / 9.0,
            peak_mib: 4096.0,
        }
    }

    #[test]
    fn a_line_of_the_bench_is_read() {
        let line = r#"{"clusters":10000,"candidates":20,"make_us":9,"number_us":7,"full_us":40,"idle_us":2,"report_us":3,"peak_kib":2048}"#;
        let expected = Row {
            clusters: 10_000,
            number: 7.0,
            full: 40.0,
            idle: 2.0,
            report: 3.0,
            peak_mib: 2.0,
        };
        assert_eq!(read(&format!("warm\n{line}\n"), 10_000).unwrap(), expected);
        assert!(read(line, 20_000).is_err() && read("", 10_000).is_err());
    }

    #[test]
    fn each_bar_is_held_at_its_size() {
        let mut bars = Bars::default();
        held(
            &[
                row(10_000, 50_000.0),
                row(30_000, 9e9),
                row(1_000_000, 10_000_000.0),
            ],
            &mut bars,
        );
        assert_eq!(bars.missed().len(), 2, "{:?}", bars.missed());
        assert!(
            bars.missed()
                .iter()
                .all(|sentence| sentence.contains("how much faster one report is"))
        );
        held(
            &[row(10_000, 50_001.0), row(1_000_000, 10_100_000.0)],
            &mut bars,
        );
        assert!(
            bars.missed()
                .iter()
                .any(|sentence| sentence.starts_with("10000 clusters, seconds of a full pass"))
        );
        assert!(
            bars.missed()
                .iter()
                .any(|sentence| sentence.starts_with("growth of the cost"))
        );
    }
}
