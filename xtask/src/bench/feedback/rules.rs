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

/// No rule exposes fewer clusters, in the median and in the 95th percentile; one that is made for a single rate may be better
/// there, and must be worse at the others.
fn hold(ours: &[&Line], others: &[&Line], bars: &mut Bars) -> anyhow::Result<()> {
    for ours in ours {
        let failing = ours.number("failing")?;
        for other in others {
            let made_for = other.number_if_any("madeFor");
            if other.number("failing")? != failing || made_for.is_some_and(|rate| rate >= failing) {
                continue;
            }
            for name in ["median", "p95"] {
                let what = format!(
                    "{} failing, {name}: {} beside the watch",
                    percent(failing),
                    other.text("rule")?
                );
                bars.at_least(&what, other.exposed(name)?, ours.exposed(name)?);
            }
        }
    }
    // Made for a higher rate than it meets, a rule misses the lower ones.
    for other in others {
        let failing = other.number("failing")?;
        let Some(made_for) = other
            .number_if_any("madeFor")
            .filter(|rate| *rate > failing)
        else {
            continue;
        };
        let found = other.number("found")? / other.number("releases")?;
        let what = format!(
            "{} failing, part that a rule made for {} finds",
            percent(failing),
            percent(made_for)
        );
        bars.at_most(&what, found, 0.95);
    }
    Ok(())
}
