//! How releases are watched, for commands that say beforehand what a watch will see: the policy that `serve` reads.

use std::path::PathBuf;

use clap::Args;
use towpath_core::feedback::FeedbackPolicy;
use towpath_formats::timespan::TimeSpan;

/// Means something only where windows are checked: the command has a group `windows`.
#[derive(Debug, Args)]
pub(crate) struct FeedbackArgs {
    /// The feedback policy that the service reads: with alpha, base rate and delay of each channel. [default: the built-in one]
    #[arg(long, value_name = "FILE", requires = "windows")]
    feedback: Option<PathBuf>,
    /// How long it takes from an offer to a known outcome, in every channel: 4h, PT90M, 1d. [default: the policy's delay, 4h]
    #[arg(long, value_name = "DURATION", requires = "windows")]
    feedback_latency: Option<TimeSpan>,
}

impl FeedbackArgs {
    pub(crate) fn policy(&self) -> anyhow::Result<FeedbackPolicy> {
        let policy = super::read(self.feedback.as_deref())?.policy;
        Ok(match self.feedback_latency {
            Some(latency) => policy.with_delay(latency.signed()),
            None => policy,
        })
    }
}
