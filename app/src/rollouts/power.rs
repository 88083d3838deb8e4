//! `towpath rollouts show --fleet-size`: the power cards of a release's windows.

use clap::Args;
use serde_json::Value;
use towpath_core::feedback::WatchSettings;
use towpath_core::graph::RolloutWindow;
use towpath_formats::graph::rollouts::{power_json, power_text};
use towpath_formats::timespan::TimeSpan;

#[derive(Debug, Args)]
pub(super) struct PowerArgs {
    /// How many clusters follow the channel: also show which failure rates a watch can see before so many have the release.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    fleet_size: Option<u64>,
    /// How long it takes until the outcome of an update is known: 4h, PT90M, 1d.
    #[arg(
        long,
        value_name = "DURATION",
        default_value = "4h",
        requires = "fleet_size"
    )]
    feedback_latency: TimeSpan,
}

impl PowerArgs {
    pub(super) fn text(&self, rows: &[RolloutWindow]) -> String {
        let of = |clusters| power_text(rows, clusters, &self.settings());
        self.fleet_size.map_or_else(String::new, of)
    }

    /// With the cards, if they are asked for.
    pub(super) fn json(&self, rows: &[RolloutWindow], mut told: Value) -> Value {
        if let Some(clusters) = self.fleet_size {
            told["power"] = power_json(rows, clusters, &self.settings());
        }
        told
    }

    fn settings(&self) -> WatchSettings {
        WatchSettings {
            delay: self.feedback_latency.signed(),
            ..WatchSettings::default()
        }
    }
}
