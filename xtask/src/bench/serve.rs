//! `cargo xtask bench serve`: the graph service on the real data, against the bars that were set for it.

use super::bars::Bars;
use super::real_data::{self, RealData};
use super::scratch::Scratch;
use super::towpath::{Inputs, Towpath};
use super::{Options, median, memory, reloads, speed, tools};
use crate::Outcome;
use crate::say::say;

/// From start to ready on the real data.
const READY_SECONDS: f64 = 1.0;

/// Measures everything, prints everything, and only then says whether a bar was missed.
pub(super) fn run(options: &Options) -> anyhow::Result<Outcome> {
    let source = real_data::find()?;
    tools::install_missing()?;
    let binary = tools::build_towpath(&options.profile)?;
    let scratch = Scratch::new("serve")?;
    let data = RealData::prepare(&source, &binary, &scratch)?;
    let inputs = Inputs::new(&data.phased, &data.releases);
    let mut bars = Bars::default();
    let mut ready_after = Vec::new();
    for _ in 1..options.rounds {
        ready_after.push(
            Towpath::start(&binary, &inputs, &scratch)?
                .ready_after
                .as_secs_f64(),
        );
    }
    let towpath = Towpath::start(&binary, &inputs, &scratch)?;
    ready_after.push(towpath.ready_after.as_secs_f64());
    let seconds = median(ready_after);
    say(format!(
        "\nready after {seconds:.3} s; bar: {}",
        bars.at_most("seconds to ready", seconds, READY_SECONDS)
    ))?;

    data.ensure_platforms_matter(&towpath)?;
    speed::measure(options, &data, &towpath, &scratch, &mut bars)?;
    reloads::measure(options, &data, &towpath, &scratch, &mut bars)?;
    drop(towpath);
    memory::measure(&binary, &data, &scratch, &mut bars)?;

    say("")?;
    match bars.missed() {
        [] => say("every bar is met")?,
        missed => missed
            .iter()
            .try_for_each(|sentence| say(format!("missed: {sentence}")))?,
    }
    Ok(bars.outcome())
}
