//! Ramps: what each exposes, and that none of those that were tried does better than the stages.

use anyhow::Context;

use super::lines::Line;
use super::percent;
use crate::bench::bars::Bars;
use crate::bench::table::Table;

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
            percent(line.number("failing")?),
            line.number("releases")?.to_string(),
            percent(line.number("mean")?),
            percent(line.exposed("median")?),
            percent(line.exposed("p95")?),
        ]);
        hold(line, lines, bars)?;
    }
    Ok(table)
}

/// On average no ramp exposes fewer clusters than stages do.
fn hold(line: &Line, lines: &[Line], bars: &mut Bars) -> anyhow::Result<()> {
    let (hours, failing) = (line.number("hours")?, line.number("failing")?);
    let is_same = |other: &&Line| {
        other.number_if_any("hours") == Some(hours)
            && other.number_if_any("failing") == Some(failing)
            && other.text_if_any("ramp") == Some("stages")
    };
    let stages = lines.iter().find(is_same).context("there are no stages")?;
    let what = format!(
        "{hours} h, {} failing, mean: {} beside stages",
        percent(failing),
        line.text("ramp")?
    );
    if line.text("ramp")? != "stages" {
        bars.at_least(&what, line.number("mean")?, stages.number("mean")?);
    }
    Ok(())
}
