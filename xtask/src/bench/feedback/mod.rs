//! `cargo xtask bench feedback`: how often the watch halts good releases, and how many clusters have a bad one when it halts.
//!
//! The core's own bench simulates, seeded; this holds its figures to their bars and prints the tables of docs/feedback.md.

mod incidents;
mod lines;
mod ramps;
mod rules;

use std::path::PathBuf;

use anyhow::ensure;
use clap::{Args, ValueEnum};

use super::bars::Bars;
use super::table::Table;
use crate::Outcome;
use crate::say::say;
use lines::Line;

#[derive(Debug, Args)]
pub(crate) struct FeedbackOptions {
    /// Only this part; may be given more than once. [default: all]
    #[arg(long, value_enum)]
    part: Vec<FeedbackPart>,
    /// Write the table of incidents into this page, as docs/incidents.md has it.
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum FeedbackPart {
    /// 10,000 good releases of each kind: how many are halted.
    FalseHalts,
    /// Bad releases: how many clusters have one when it is halted.
    Exposure,
    /// The same with the rules of others.
    Rules,
    /// The same with more and fewer doublings, and in stages.
    Ramps,
    /// The named risks of the real graph data, replayed. Needs TOWPATH_REAL_DATA.
    Incidents,
}

const PARTS: [FeedbackPart; 5] = [
    FeedbackPart::FalseHalts,
    FeedbackPart::Exposure,
    FeedbackPart::Rules,
    FeedbackPart::Ramps,
    FeedbackPart::Incidents,
];
/// A count contradicts a rate if it, or a larger one, has a probability below this.
const DOUBT: f64 = 0.01;

/// Simulates, prints everything, and only then says whether a bar was missed.
pub(super) fn run(options: &FeedbackOptions) -> anyhow::Result<Outcome> {
    let mut bars = Bars::default();
    let wanted = |part: &FeedbackPart| options.part.is_empty() || options.part.contains(part);
    let is_real_data_there = std::env::var_os("TOWPATH_REAL_DATA").is_some();
    ensure!(
        is_real_data_there || !wanted(&FeedbackPart::Incidents),
        "the part incidents needs the real data: set TOWPATH_REAL_DATA to its folder, or name other parts with --part"
    );
    ensure!(
        options.page.is_none() || wanted(&FeedbackPart::Incidents),
        "--page is written by the part incidents; add --part incidents"
    );
    lines::build()?;
    for part in PARTS.into_iter().filter(wanted) {
        let value = part.to_possible_value();
        let name = value.as_ref().map_or("", |value| value.get_name());
        let lines = lines::of_part(name)?;
        ensure!(!lines.is_empty(), "the bench printed no line of {name}");
        let table = match part {
            FeedbackPart::FalseHalts => false_halts(&lines, &mut bars)?,
            FeedbackPart::Exposure => exposure(&lines, &mut bars)?,
            FeedbackPart::Rules => rules::table(&lines, &mut bars)?,
            FeedbackPart::Ramps => ramps::table(&lines, &mut bars)?,
            FeedbackPart::Incidents => {
                let replay = incidents::Replay::of(&lines)?;
                if let Some(page) = &options.page {
                    replay.write(page)?;
                }
                replay.table(&mut bars)
            }
        };
        say(format!("\n{name}\n{table}"))?;
    }
    match bars.missed() {
        [] => say("\nevery bar is met")?,
        missed => missed
            .iter()
            .try_for_each(|sentence| say(format!("missed: {sentence}")))?,
    }
    Ok(bars.outcome())
}

/// The rule as a whole is held to α, and each of its ways to half of it.
fn false_halts(lines: &[Line], bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "good releases",
        "α",
        "releases",
        "halted",
        "against history",
        "against others",
        "bar",
    ]);
    for line in lines {
        let (kind, alpha) = (line.text("kind")?, line.number("alpha")?);
        let releases = line.number("releases")?;
        let mut met = Vec::new();
        for (name, rate) in [
            ("halted", alpha),
            ("againstHistory", alpha / 2.0),
            ("againstOthers", alpha / 2.0),
        ] {
            let doubt = lines::at_least(line.number(name)?, releases, rate);
            met.push(bars.at_least(
                &format!("{kind}, α {alpha}, {name}: probability of so many"),
                doubt,
                DOUBT,
            ));
        }
        let bar = match met.iter().all(|met| met.ends_with(" met")) {
            true => "met",
            false => "MISSED",
        };
        table.row([
            kind.to_owned(),
            alpha.to_string(),
            releases.to_string(),
            line.number("halted")?.to_string(),
            line.number("againstHistory")?.to_string(),
            line.number("againstOthers")?.to_string(),
            bar.to_owned(),
        ]);
    }
    Ok(table)
}

/// The bars of median and 95th percentile, for windows of so many hours.
fn exposure_bar(line: &Line) -> anyhow::Result<Option<(f64, f64)>> {
    let is_held = line.number("failing")? == 0.2
        && line.number("pollingMinutes")? == 0.0
        && line.text("ramp")? == "exponential";
    Ok(match line.number("hours")? {
        24.0 if is_held => Some((0.012, 0.02)),
        48.0 if is_held => Some((0.006, 0.011)),
        _ => None,
    })
}

fn exposure(lines: &[Line], bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "window",
        "asks within",
        "failing",
        "releases",
        "found",
        "median",
        "95 %",
        "bars",
    ]);
    for line in lines {
        let (median, p95) = (line.exposed("median")?, line.exposed("p95")?);
        let window = format!("{} h {}", line.number("hours")?, line.text("ramp")?);
        let bar = exposure_bar(line)?.map(|(most_median, most_p95)| {
            let median = bars.at_most(&format!("{window}, median"), median, most_median);
            let p95 = bars.at_most(&format!("{window}, 95th percentile"), p95, most_p95);
            format!("{median}, {p95}")
        });
        table.row([
            window,
            format!("{} min", line.number("pollingMinutes")?),
            percent(line.number("failing")?),
            line.number("releases")?.to_string(),
            line.number("found")?.to_string(),
            percent(median),
            percent(p95),
            bar.unwrap_or_default(),
        ]);
    }
    Ok(table)
}

fn percent(part: f64) -> String {
    format!("{:.2} %", part * 100.0)
}
