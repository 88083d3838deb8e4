//! `towpath rollouts show --fleet-size`: the power cards of a release's windows.

use clap::{ArgGroup, Args};
use serde_json::Value;
use towpath_core::feedback::FeedbackPolicy;
use towpath_core::graph::RolloutWindow;
use towpath_formats::graph::rollouts::{FLEET_SIZES, power_json, power_text};

use crate::feedback::FeedbackArgs;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("windows").multiple(true))]
pub(super) struct PowerArgs {
    /// How many clusters follow the channel: also show which failure rates a watch can see before so many have the release.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(FLEET_SIZES), group = "windows")]
    fleet_size: Option<u64>,
    #[command(flatten)]
    feedback: FeedbackArgs,
}

/// Of how many clusters the cards are, and how these are watched.
pub(super) struct PowerCards {
    clusters: u64,
    policy: FeedbackPolicy,
}

impl PowerArgs {
    /// None: no cards are asked for.
    pub(super) fn cards(&self) -> anyhow::Result<Option<PowerCards>> {
        let Some(clusters) = self.fleet_size else {
            return Ok(None);
        };
        let policy = self.feedback.policy()?;
        Ok(Some(PowerCards { clusters, policy }))
    }

    /// As a service is asked for it; that goes by its own policy.
    pub(super) fn asked(&self) -> Option<String> {
        self.fleet_size.map(|clusters| clusters.to_string())
    }
}

impl PowerCards {
    pub(super) fn text(&self, rows: &[RolloutWindow]) -> String {
        power_text(rows, self.clusters, &self.policy)
    }

    pub(super) fn json(&self, rows: &[RolloutWindow]) -> Value {
        power_json(rows, self.clusters, &self.policy)
    }
}
