//! `cargo xtask bench fleet`: passes over fleets, and reports while graphs are served, against the bars that were set for them.

use clap::ValueEnum;

use super::bars::Bars;
use super::scratch::Scratch;
use super::{
    FleetOptions, fleet_files, fleet_passes, fleet_reports, fleet_service, fleet_views, tools,
};
use crate::Outcome;
use crate::say::say;

/// What can be measured alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Part {
    /// Passes over fleets of 10,000 to a million clusters.
    Passes,
    /// `towpath fleet plan` on files, as a whole.
    Files,
    /// What a page asks of 100,000 clusters, over HTTP.
    Views,
    /// Reports into PostgreSQL while graphs are served; and graphs with and without a fleet.
    Service,
}

/// Measures everything, prints everything, and only then says whether a bar was missed.
pub(super) fn run(options: &FleetOptions) -> anyhow::Result<Outcome> {
    let wanted = |part: Part| options.part.is_empty() || options.part.contains(&part);
    let mut bars = Bars::default();
    say(format!("load before: {}", load()))?;
    if wanted(Part::Passes) {
        fleet_passes::measure(&mut bars)?;
    }
    let with_binary = [Part::Files, Part::Views, Part::Service];
    if with_binary.into_iter().any(wanted) {
        let binary = tools::build_towpath(&options.options.profile)?;
        let scratch = Scratch::new("fleet")?;
        if wanted(Part::Files) {
            fleet_files::measure(&binary, &scratch)?;
        }
        if wanted(Part::Views) {
            fleet_views::measure(&binary, &scratch, &mut bars)?;
        }
        if wanted(Part::Service) {
            tools::install_missing()?;
            let service = fleet_service::Service::start(&binary, &scratch)?;
            fleet_reports::measure(&options.options, &service, &mut bars)?;
            service.compare_graphs(&options.options, &binary, &scratch, &mut bars)?;
        }
    }
    say(format!("\nload after: {}", load()))?;
    match bars.missed() {
        [] => say("every bar is met")?,
        missed => missed
            .iter()
            .try_for_each(|sentence| say(format!("missed: {sentence}")))?,
    }
    Ok(bars.outcome())
}

/// The machine's load average over one, five and fifteen minutes.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let figures: Vec<&str> = text.split(' ').take(3).collect();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{} on {cores} cores", figures.join(" "))
}
