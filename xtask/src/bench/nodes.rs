//! `cargo xtask bench nodes`: how calm planned reboots of random clusters are, and how long a plan of 1,000 nodes takes.
//!
//! The core's own bench simulates, seeded; this holds its figures to their bars and prints the tables of docs/nodes.md.

use anyhow::ensure;

use super::bars::Bars;
use super::lines::{self, Line};
use super::table::Table;
use crate::Outcome;
use crate::say::say;

/// The core's bench.
const BENCH: &str = "nodes";
/// A plan may take so many seconds.
const LONGEST: f64 = 2.0;

/// Simulates, prints everything, and only then says whether a bar was missed.
pub(super) fn run() -> anyhow::Result<Outcome> {
    let mut bars = Bars::default();
    lines::build(BENCH)?;
    for part in ["clusters", "large"] {
        let lines = lines::of_part(BENCH, part)?;
        ensure!(!lines.is_empty(), "the bench printed no line of {part}");
        let table = match part {
            "clusters" => clusters(&lines, &mut bars)?,
            _ => large(&lines, &mut bars)?,
        };
        say(format!("\n{part}\n{table}"))?;
    }
    match bars.missed() {
        [] => say("\nevery bar is met")?,
        missed => missed
            .iter()
            .try_for_each(|sentence| say(format!("missed: {sentence}")))?,
    }
    Ok(bars.outcome())
}

fn clusters(lines: &[Line], bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "clusters",
        "pods",
        "bound",
        "moved more than once",
        "worst cluster",
        "without a plan",
        "waited",
        "uneven",
        "bar",
    ]);
    for line in lines {
        let (fill, has_surge) = (line.number("fill")?, line.flag("surge")?);
        let (pods, bound) = (line.number("pods")?, line.number("bound")?);
        let again = line.number("again")?;
        let kind = match has_surge {
            true => format!("{} at {fill} %, with surge", line.number("clusters")?),
            false => format!("{} at {fill} %", line.number("clusters")?),
        };
        let worst = line.number("worstTimesBound")?;
        let what = format!("{kind}: pods moved more than once");
        let bar = match has_surge {
            true => bars.at_most(&what, again / pods, 0.01),
            false => {
                let most = if fill < 70.0 { 1.2 } else { 1.5 };
                bars.at_most(
                    &format!("{what}, times the bound, worst cluster"),
                    worst,
                    most,
                )
            }
        };
        for never in ["waited", "stuck", "overdrawn", "uneven"] {
            bars.at_most(&format!("{kind}, {never}"), line.number(never)?, 0.0);
        }
        table.row([
            kind,
            pods.to_string(),
            bound.to_string(),
            format!("{again} ({:.2} %)", again * 100.0 / pods),
            match has_surge {
                true => String::new(),
                false => format!("{worst:.2} of its bound"),
            },
            line.number("unplannedAgain")?.to_string(),
            line.number("waited")?.to_string(),
            line.number("uneven")?.to_string(),
            bar,
        ]);
    }
    Ok(table)
}

fn large(lines: &[Line], bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new(["nodes", "pods", "maxUnavailable", "seconds", "bar"]);
    for line in lines {
        let (most, seconds) = (line.text("maxUnavailable")?, line.number("seconds")?);
        let bar = bars.at_most(&format!("a plan with {most} away"), seconds, LONGEST);
        table.row([
            line.number("nodes")?.to_string(),
            line.number("pods")?.to_string(),
            most.to_owned(),
            format!("{seconds:.2}"),
            bar,
        ]);
    }
    Ok(table)
}
