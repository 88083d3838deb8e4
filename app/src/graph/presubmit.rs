//! The presubmit check of `towpath graph lint --base`: releases and edges that a change takes from clusters, and edges that it gives to too many at once.

use anyhow::{Context, bail};
use clap::{ArgGroup, Args};
use jiff::Timestamp;
use towpath_core::change::{PresubmitOptions, presubmit};
use towpath_core::finding::Finding;
use towpath_core::graph::Share;
use towpath_core::lint::blind_windows;
use towpath_core::version::Version;
use towpath_formats::SourceFile;
use towpath_formats::graph::data;
use towpath_formats::graph::rollouts::FLEET_SIZES;

use crate::feedback::FeedbackArgs;
use crate::sources::Sources;

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("windows").multiple(true))]
pub(crate) struct PresubmitArgs {
    /// Also check the change since this revision or directory: edges that clusters lose, and edges that too many gain at once.
    #[arg(long, value_name = "REV|DIR", group = "windows")]
    base: Option<String>,
    /// Accept what the change does to this release: another window, a removed block, or that it leaves a channel. Repeatable.
    #[arg(long, value_name = "RELEASE", requires = "base")]
    allow_window_change: Vec<Version>,
    /// The largest share of the fleet, in percent, that may gain an edge at once.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = percent, requires = "base")]
    max_gain: Share,
    #[command(flatten)]
    feedback: FeedbackArgs,
    /// How many clusters follow a channel: find windows in which a watch could not see a bad release in time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(FLEET_SIZES), group = "windows")]
    fleet_size: Option<u64>,
}

impl PresubmitArgs {
    /// What there is to say about the change to these files of graph data; nothing without a base, or about files that
    /// cannot be used anyway.
    pub(super) fn findings(
        &self,
        sources: &mut Sources,
        files: &[SourceFile],
        now: Timestamp,
    ) -> anyhow::Result<Vec<Finding>> {
        let Some(base) = &self.base else {
            return Ok(Vec::new());
        };
        if sources.releases()?.is_none() {
            bail!(
                "--base needs the edges between releases, and graph data has none; add --releases WHERE"
            );
        }
        let spec = sources.settings().beside(base)?;
        let base = sources.graph_data_at(&spec).with_context(|| {
            format!("the base {base:?} cannot be read, so the change cannot be checked")
        })?;
        let base = sources.graph_of(&base)?;
        let Ok((data, _)) = data::read(files) else {
            return Ok(Vec::new());
        };
        let new = sources.graph_of(&data)?;
        Ok(presubmit(&base, &new, now, &self.options()?))
    }

    /// Windows that are too fast for the fleet; nothing without its size, or about files that cannot be used anyway.
    pub(super) fn blind_windows(
        &self,
        files: &[SourceFile],
        now: Timestamp,
    ) -> anyhow::Result<Vec<Finding>> {
        let (Some(clusters), Ok((data, _))) = (self.fleet_size, data::read(files)) else {
            return Ok(Vec::new());
        };
        Ok(blind_windows(
            &data,
            clusters,
            &self.feedback.policy()?,
            now,
        ))
    }

    fn options(&self) -> anyhow::Result<PresubmitOptions> {
        Ok(PresubmitOptions {
            allowed_gain: self.max_gain,
            feedback: self.feedback.policy()?,
            allowed_releases: self.allow_window_change.iter().cloned().collect(),
        })
    }
}

/// A share as people type it: `1`, `0.5`, `2.5%`.
fn percent(text: &str) -> Result<Share, String> {
    let wrong = || {
        format!(
            "{text:?} is not a percentage; write a number from 0 to 100 with at most one decimal, as in 2.5"
        )
    };
    let number = text.trim_end_matches('%').trim_end();
    let (whole, tenth) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !(is_number(whole) && is_number(tenth) && tenth.len() == 1) {
        return Err(wrong());
    }
    let thousandths = format!("{whole}{tenth}")
        .parse::<u16>()
        .map_err(|_| wrong())?;
    if thousandths <= 1000 {
        Ok(Share::thousandths(thousandths))
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_typed_in_percent() {
        assert_eq!(percent("1"), Ok(Share::thousandths(10)));
        assert_eq!(percent("2.5%"), Ok(Share::thousandths(25)));
        assert_eq!(percent("100"), Ok(Share::WHOLE));
        for wrong in ["", "-1", "100.1", "1.25", "1.", "x", "99999999"] {
            assert!(percent(wrong).is_err(), "{wrong:?}");
        }
    }
}
