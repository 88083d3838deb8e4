//! The options of what becomes of updates of clusters that do not report: a file, and a Prometheus. `serve` and `fleet run` share them.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use serde::Deserialize;
use towpath_formats::fleet::outcomes_query;
use towpath_formats::timespan::TimeSpan;
use towpath_sources::{Http, HttpAccess, Prometheus};

use super::{DAY, SECOND, first_given, within, written};

const ASK_EVERY: TimeSpan = TimeSpan::seconds(60);

/// As they were typed on the command line or in a file.
#[derive(Debug, Default, Clone, Deserialize, Args)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct OutcomesOptions {
    /// What became of updates of clusters that do not report: a file with one JSON object on each line. It is read again when it changes.
    #[arg(
        long,
        env = "TOWPATH_OUTCOMES",
        value_name = "FILE",
        help_heading = "Fleet"
    )]
    pub(crate) outcomes: Option<PathBuf>,
    /// Ask this Prometheus what became of updates of clusters that do not report: the address without /api/v1.
    #[arg(
        long,
        env = "TOWPATH_OUTCOMES_PROMETHEUS",
        value_name = "URL",
        help_heading = "Fleet"
    )]
    pub(crate) outcomes_prometheus: Option<String>,
    /// What to ask there, in PromQL. [default: a query of cluster_version, see docs/rollouts.md]
    #[arg(
        long,
        env = "TOWPATH_OUTCOMES_QUERY",
        value_name = "PROMQL",
        help_heading = "Fleet"
    )]
    pub(crate) outcomes_query: Option<String>,
    /// The file with the token for --outcomes-prometheus. It is read for each question.
    #[arg(
        long,
        env = "TOWPATH_OUTCOMES_TOKEN",
        value_name = "FILE",
        help_heading = "Fleet"
    )]
    pub(crate) outcomes_token: Option<PathBuf>,
    /// Ask --outcomes-prometheus this often. [default: 1m, where that is given]
    #[arg(
        long,
        env = "TOWPATH_OUTCOMES_EVERY",
        value_name = "DURATION",
        help_heading = "Fleet"
    )]
    pub(crate) outcomes_every: Option<TimeSpan>,
}

/// Where to learn of updates of clusters that do not report.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutcomesSettings {
    pub(crate) file: Option<PathBuf>,
    pub(crate) query: Option<OutcomesQuerySettings>,
}

#[derive(Debug, Clone)]
pub(crate) struct OutcomesQuerySettings {
    pub(crate) url: String,
    pub(crate) query: String,
    pub(crate) token: Option<PathBuf>,
    pub(crate) every: Duration,
}

impl OutcomesOptions {
    pub(super) fn or(self, other: Self) -> Self {
        first_given! { self, other;
            outcomes, outcomes_prometheus, outcomes_query, outcomes_token, outcomes_every
        }
    }

    /// The flag that tells of a fleet, if one was given.
    pub(super) fn flag(&self) -> Option<&'static str> {
        let flags = [
            ("--outcomes", self.outcomes.is_some()),
            ("--outcomes-prometheus", self.outcomes_prometheus.is_some()),
        ];
        flags
            .into_iter()
            .find(|(_, is_given)| *is_given)
            .map(|(flag, _)| flag)
    }

    pub(super) fn settings(&self) -> anyhow::Result<OutcomesSettings> {
        Ok(OutcomesSettings {
            file: self.outcomes.clone(),
            query: self.query_settings()?,
        })
    }

    /// What would be ignored is refused, and so is a query that no Prometheus answers.
    fn query_settings(&self) -> anyhow::Result<Option<OutcomesQuerySettings>> {
        let Some(url) = self.outcomes_prometheus.clone() else {
            let more = [
                ("--outcomes-query", self.outcomes_query.is_some()),
                ("--outcomes-token", self.outcomes_token.is_some()),
                ("--outcomes-every", self.outcomes_every.is_some()),
            ];
            if let Some((flag, _)) = more.iter().find(|(_, is_given)| *is_given) {
                bail!("{flag} is for a Prometheus; add --outcomes-prometheus URL, or remove it");
            }
            return Ok(None);
        };
        let query = self.outcomes_query.clone();
        let query = query.unwrap_or_else(|| outcomes_query::DEFAULT_QUERY.to_owned());
        if let Err(problem) = outcomes_query::check(&query) {
            bail!("--outcomes-query: {problem}; correct it, or leave it out");
        }
        let every = self.outcomes_every.unwrap_or(ASK_EVERY);
        let every = within("outcomesEvery", every, SECOND..=DAY)?;
        Ok(Some(OutcomesQuerySettings {
            url,
            query,
            token: self.outcomes_token.clone(),
            every: every.unsigned(),
        }))
    }
}

impl OutcomesQuerySettings {
    /// The Prometheus that is asked, reached as sources are.
    pub(crate) fn prometheus(&self, access: &HttpAccess) -> anyhow::Result<Prometheus> {
        let http = Http::new(access).map_err(|finding| anyhow::anyhow!("{finding}"))?;
        let made = Prometheus::new(http, &self.url, &self.query, self.token.clone());
        made.map_err(|problem| {
            anyhow::anyhow!("--outcomes-prometheus {problem}; write it as in https://prometheus.example.com, with a token in --outcomes-token FILE, or allow plain HTTP with --plain-http")
        })
    }
}

/// As a file has it.
impl fmt::Display for OutcomesSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            writeln!(f, "outcomes: {file:?}")?;
        }
        let Some(query) = &self.query else {
            return Ok(());
        };
        let url = super::redact::without_secrets(&query.url);
        writeln!(f, "outcomesPrometheus: {url:?}")?;
        writeln!(f, "outcomesQuery: {:?}", query.query)?;
        if let Some(token) = &query.token {
            writeln!(f, "outcomesToken: {token:?}")?;
        }
        writeln!(f, "outcomesEvery: {}", written(query.every))
    }
}
