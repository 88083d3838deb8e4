//! The rules of others beside the watch, held to the bar: at equal false halts none of them does better.

use anyhow::ensure;

use super::lines::Line;
use super::percent;
use crate::bench::bars::Bars;
use crate::bench::table::Table;

/// The most false halts of a rule that is compared.
const ALPHA: f64 = 0.001;

pub(super) fn table(lines: &[Line], bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "rule",
        "false halts",
        "failing",
        "found",
        "outcomes: mean",
        "median",
        "95 %",
        "exposed: median",
        "95 %",
    ]);
    for line in lines {
        let found = match line.number_if_any("found") {
            Some(found) => percent(found / line.number("releases")?),
            None => String::new(),
        };
        table.row([
            line.text("rule")?.to_owned(),
            percent(line.number("falseHalts")?),
            percent(line.number("failing")?),
            found,
            format!("{:.0}", line.outcomes("mean")?),
            line.outcomes("median")?.to_string(),
            line.outcomes("p95")?.to_string(),
            percent(line.exposed("median")?),
            percent(line.exposed("p95")?),
        ]);
    }
    let (ours, others) = contestants(lines)?;
    hold(&ours, &others, bars)?;
    Ok(table)
}

/// The watch, and the rules that halt good releases no more often than it may.
fn contestants(lines: &[Line]) -> anyhow::Result<(Vec<&Line>, Vec<&Line>)> {
    let ours = |line: &&Line| line.number_if_any("organisations") == Some(2.0);
    let is_bound = |line: &Line| line.flag("isBound").is_ok();
    let mut others = Vec::new();
    for line in lines.iter().filter(|line| !is_bound(line)) {
        if !line.flag("isOurs")? && line.number("falseHalts")? <= ALPHA {
            others.push(line);
        }
    }
    let ours: Vec<&Line> = lines.iter().filter(ours).collect();
    ensure!(
        !ours.is_empty() && !others.is_empty(),
        "there is nobody to compare"
    );
    Ok((ours, others))
}

/// No rule exposes fewer clusters, in the median and in the 95th percentile. A test that is made for one rate and looks once may be
/// sooner: it must give up for good on releases that the watch finds, at that rate and at every lower one.
fn hold(ours: &[&Line], others: &[&Line], bars: &mut Bars) -> anyhow::Result<()> {
    for ours in ours {
        let failing = ours.number("failing")?;
        for other in others {
            if other.number("failing")? != failing {
                continue;
            }
            let what = format!(
                "{} failing: {} beside the watch",
                percent(failing),
                other.text("rule")?
            );
            match other.number_if_any("madeFor") {
                Some(made_for) if made_for < failing => {}
                Some(_) => {
                    let missed = |line: &Line| Ok(line.number("releases")? - line.number("found")?);
                    let more: anyhow::Result<f64> = missed(other);
                    let fewer: anyhow::Result<f64> = missed(ours);
                    let what = format!("{what}, releases that it never halts");
                    bars.at_least(&what, more?, fewer? + 1.0);
                }
                None => {
                    for name in ["median", "p95"] {
                        let what = format!("{what}, {name}");
                        bars.at_least(&what, other.exposed(name)?, ours.exposed(name)?);
                    }
                }
            }
        }
    }
    Ok(())
}
