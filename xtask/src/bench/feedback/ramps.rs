//! Ramps: what each exposes, and that none of those that were tried does better than the stages.

use anyhow::Context;

use super::lines::Line;
use super::percent;
use crate::bench::bars::Bars;
use crate::bench::table::Table;

/// The line that is a bound, and what stands for all rates together.
const BOUND: &str = "no ramp at all can do better";
const ALL_RATES: f64 = 0.0;
/// The stages are for rates that nobody knows beforehand. They expose at most so many times what the best ramp for exactly these
/// releases does.
const FROM_BEST: f64 = 1.25;

pub(super) fn table(lines: &[Line], bars: &mut Bars) -> anyhow::Result<Table> {
    let mut table = Table::new([
        "window", "ramp", "failing", "releases", "mean", "median", "95 %",
    ]);
    for line in lines {
        let simulated = if line.flag("isSimulated")? {
            ", simulated"
        } else {
            ""
        };
        table.row([
            format!("{} h", line.number("hours")?),
            format!("{}{simulated}", line.text("ramp")?),
            rate(line)?,
            line.number("releases")?.to_string(),
            percent(line.number("mean")?),
            percent(line.exposed("median")?),
            percent(line.exposed("p95")?),
        ]);
        hold(line, lines, bars)?;
    }
    Ok(table)
}

/// On average no ramp that was tried exposes fewer clusters than stages do, and none at all much fewer.
fn hold(line: &Line, lines: &[Line], bars: &mut Bars) -> anyhow::Result<()> {
    let (hours, failing) = (line.number("hours")?, line.number("failing")?);
    let is_same = |other: &&Line| {
        other.number_if_any("hours") == Some(hours)
            && other.number_if_any("failing") == Some(failing)
            && other.text_if_any("ramp") == Some("stages")
    };
    let stages = lines.iter().find(is_same).context("there are no stages")?;
    let (ramp, mean) = (line.text("ramp")?, line.number("mean")?);
    let what = format!(
        "{hours} h, {} failing, mean: {ramp} beside stages",
        rate(line)?
    );
    match ramp {
        "stages" => {}
        BOUND if failing == ALL_RATES => {
            let most = mean * FROM_BEST;
            bars.at_most(
                &format!("{what}, times {FROM_BEST}"),
                stages.number("mean")?,
                most,
            );
        }
        BOUND => {
            bars.at_most(&what, mean, stages.number("mean")?);
        }
        _ => {
            bars.at_least(&what, mean, stages.number("mean")?);
        }
    }
    Ok(())
}

fn rate(line: &Line) -> anyhow::Result<String> {
    let failing = line.number("failing")?;
    Ok(match failing == ALL_RATES {
        true => "all three".to_owned(),
        false => percent(failing),
    })
}
