//! An agent's report about its cluster, made from the cluster's own objects and no larger than a
//! report may be.
//!
//! The report always fits: long messages are cut first, then old entries are left out. It reads
//! back as it was.

use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use towpath_core::agent::{self, Past, Status};
use towpath_core::cluster::objects::Progress;
use towpath_core::cluster::{Fact, Platform};
use towpath_core::fleet::{AgentUpdate, Labels, Name, PreflightResult};
use towpath_core::version::{Arch, Version};

use super::read::{clipped, health, version};
use super::{HistoryEntry, MAX_BYTES, MAX_TEXT, MAX_WHY_BYTES, Report, ReportCondition, write};
use crate::cluster::objects::ClusterObjects;

/// Conditions that are worth more than others, where not all have room.
const IMPORTANT: [&str; 5] = [
    "Available",
    "Failing",
    "Progressing",
    "ReleaseAccepted",
    "Upgradeable",
];
/// How much of it is taken: of each text, and of each list. The first that fits.
const MEASURES: [Measure; 4] = [
    Measure {
        text_bytes: 1024,
        entries: 64,
    },
    Measure {
        text_bytes: 256,
        entries: 64,
    },
    Measure {
        text_bytes: 64,
        entries: 32,
    },
    Measure {
        text_bytes: 0,
        entries: 8,
    },
];

/// What an agent knows when it reports.
#[derive(Debug, Clone)]
pub struct Seen<'a> {
    /// The report's name: another for each report, the same each time that one is sent.
    pub id: &'a str,
    pub objects: &'a ClusterObjects,
    /// The organisation that the cluster belongs to.
    pub organisation: &'a str,
    /// Its name; none: it is known by its id.
    pub name: Option<&'a str>,
    pub labels: &'a Labels,
    /// What it runs on ([`platform_of`]).
    pub platform: Fact<Platform>,
    /// What became of updates since the last report, newest first.
    pub updates: &'a [AgentUpdate],
    /// What became of preflights since the last report.
    pub preflights: &'a [PreflightResult],
    /// When the objects were read.
    pub at: Timestamp,
}

struct Measure {
    text_bytes: usize,
    entries: usize,
}

impl Report {
    /// The report of what was seen; else why there is none, in a sentence.
    pub fn of(seen: &Seen<'_>) -> Result<Self, String> {
        let standing = &seen.objects.standing;
        let current = standing
            .current()
            .ok_or("the cluster has completed no update and no installation yet")?;
        let current = plain(current)?;
        let fits = |report: &Self| write(report).len() <= MAX_BYTES;
        let report = MEASURES
            .iter()
            .map(|measure| measured(seen, &current, measure))
            .find(fits);
        let report = report.ok_or(
            "the report is too large even without messages; give the cluster fewer labels",
        )?;
        // Names and labels are a person's: what the service would not take is said here, where they stand.
        super::read(&write(&report))
    }
}

fn measured(seen: &Seen<'_>, current: &Version, measure: &Measure) -> Report {
    let ClusterObjects {
        standing,
        facts,
        arch,
        channel,
        ..
    } = seen.objects;
    let conditions = conditions(seen, measure);
    let is = |kind: &str| {
        conditions
            .iter()
            .any(|c| c.r#type == kind && c.status == "True")
    };
    Report {
        id: Some(seen.id.into()),
        name: seen.name.map(Name::from),
        organisation: seen.organisation.into(),
        version: current.clone(),
        desired: standing
            .desired
            .as_ref()
            .and_then(|desired| plain(desired.version.as_ref()?).ok()),
        health: health(None, None, &conditions),
        history: standing
            .past
            .iter()
            .filter_map(history)
            .take(measure.entries)
            .collect(),
        updates: updates(seen, measure),
        preflights: preflights(seen, measure),
        platform: seen.platform.clone(),
        channel: match channel {
            Fact::Known(channel) => Some(channel.clone()),
            Fact::Unknown => None,
        },
        arch: match arch {
            Fact::Known(arch) => arch.clone(),
            Fact::Unknown => Arch::default(),
        },
        labels: seen.labels.clone(),
        nodes: match &facts.nodes {
            Fact::Known(nodes) => u32::try_from(nodes.len()).ok(),
            Fact::Unknown => None,
        },
        pools: None,
        sts: Fact::Unknown,
        wif: Fact::Unknown,
        at: Some(seen.at),
        failing: is("Failing"),
        progressing: is("Progressing"),
        conditions,
    }
}

fn conditions(seen: &Seen<'_>, measure: &Measure) -> Vec<ReportCondition> {
    let said = seen.objects.standing.conditions.iter();
    let mut said: Vec<_> = said
        .filter(|(name, _)| (1..=MAX_TEXT).contains(&name.chars().count()))
        .collect();
    said.sort_by_key(|(name, _)| (!IMPORTANT.contains(&&***name), (*name).clone()));
    said.into_iter()
        .take(measure.entries)
        .map(|(name, said)| condition(name, said, measure))
        .collect()
}

fn condition(name: &str, said: &agent::Condition, measure: &Measure) -> ReportCondition {
    let status = match said.status {
        Status::True => "True",
        Status::False => "False",
        Status::Unknown => "Unknown",
    };
    ReportCondition {
        r#type: clipped(name, MAX_TEXT),
        status: status.to_owned(),
        reason: clipped(&said.reason, MAX_TEXT),
        message: clipped(&said.message, measure.text_bytes),
    }
}

/// None if its version is one that no report can have.
fn history(past: &Past) -> Option<HistoryEntry> {
    let state = match past.progress {
        Progress::Completed => "Completed",
        Progress::Partial => "Partial",
    };
    let (started, completed) = (past.started, past.ended);
    Some(HistoryEntry {
        version: plain(&past.version).ok()?,
        state: state.to_owned(),
        started,
        completed,
    })
}

/// All of them, however large the rest is: nobody tells of them a second time.
fn updates(seen: &Seen<'_>, measure: &Measure) -> Vec<AgentUpdate> {
    let update = |update: &AgentUpdate| {
        Some(AgentUpdate {
            to: plain(&update.to).ok()?,
            why: clipped(&update.why, measure.text_bytes.min(MAX_WHY_BYTES)).into(),
            took: update.took.map(|took| {
                SignedDuration::from_secs(took.as_secs().clamp(0, i64::from(u32::MAX)))
            }),
            ..update.clone()
        })
    };
    seen.updates
        .iter()
        .filter_map(update)
        .take(super::MAX_ENTRIES)
        .collect()
}

/// Nor does anybody tell of these a second time.
fn preflights(seen: &Seen<'_>, measure: &Measure) -> Vec<PreflightResult> {
    let preflight = |preflight: &PreflightResult| {
        let why = measure.text_bytes.min(MAX_WHY_BYTES);
        let is_name = |name: &&Name| {
            (1..=MAX_TEXT).contains(&name.chars().count()) && !name.chars().any(char::is_control)
        };
        let risks = preflight.risks.iter().filter(is_name);
        Some(PreflightResult {
            version: plain(&preflight.version).ok()?,
            why: clipped(&preflight.why, why).into(),
            risks: risks.take(measure.entries).cloned().collect(),
            ..preflight.clone()
        })
    };
    seen.preflights
        .iter()
        .filter_map(preflight)
        .take(super::MAX_ENTRIES)
        .collect()
}

/// A version as it reads back: an architecture behind it is the payload's.
fn plain(of: &Version) -> Result<Version, String> {
    version(&of.to_string())
}

/// What a cluster runs on, from its Infrastructure object in JSON.
pub fn platform_of(infrastructure: &[u8]) -> Fact<Platform> {
    #[derive(Deserialize)]
    struct Infrastructure {
        status: Option<InfrastructureStatus>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct InfrastructureStatus {
        platform: Option<String>,
        platform_status: Option<PlatformStatus>,
    }
    #[derive(Deserialize)]
    struct PlatformStatus {
        r#type: Option<String>,
    }
    let status = serde_json::from_slice::<Infrastructure>(infrastructure)
        .ok()
        .and_then(|object| object.status);
    let named = status.and_then(|status| {
        status
            .platform_status
            .and_then(|of| of.r#type)
            .or(status.platform)
    });
    Fact::from(named.as_deref().and_then(Platform::new))
}
