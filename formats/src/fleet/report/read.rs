//! From bytes to a report. Known fields must be valid, and unknown fields are ignored.

use std::collections::BTreeMap;

use jiff::SignedDuration;
use serde::Deserialize;
use towpath_core::cluster::Platform;
use towpath_core::fleet::{
    AgentOutcome, AgentUpdate, Health, Labels, Name, NodePool, PreflightResult, PreflightState,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::{Arch, ReleaseName, Version};

use super::{
    HistoryEntry, MAX_BYTES, MAX_ENTRIES, MAX_ID_CHARACTERS, MAX_TEXT, MAX_WHY_BYTES, Report,
    ReportCondition,
};
use crate::graph::data::parse_time;
use crate::read::{Unique, shown};

/// Reads a report, or says in a sentence what is wrong with it.
pub fn read(bytes: &[u8]) -> Result<Report, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("the report is larger than {MAX_BYTES} bytes"));
    }
    let sent: ReportBody = serde_json::from_slice(bytes)
        .map_err(|error| format!("the report is not valid: {error}"))?;
    for (what, count) in [
        ("entries of the history", sent.history.len()),
        ("conditions", sent.conditions.len()),
        ("updates", sent.updates.len()),
        ("preflights", sent.preflights.len()),
        ("labels", sent.labels.0.len()),
        ("node pools", sent.node_pools.as_ref().map_or(0, Vec::len)),
    ] {
        if count > MAX_ENTRIES {
            return Err(format!(
                "there are {count} {what}; at most {MAX_ENTRIES} are allowed"
            ));
        }
    }
    let conditions = sent.conditions;
    conditions.iter().try_for_each(check_lengths)?;
    let is = |kind: &str, status: &str| {
        conditions
            .iter()
            .any(|c| c.r#type == kind && c.status == status)
    };
    Ok(Report {
        id: sent.id.map(|id| report_id(&id)).transpose()?,
        name: sent.name.map(|name| named("name", &name)).transpose()?,
        organisation: named("organisation", &sent.organisation)?,
        version: version(&sent.version)?,
        desired: sent.desired.map(|desired| version(&desired)).transpose()?,
        health: health(sent.healthy, sent.unhealthy_reason.as_deref(), &conditions),
        history: sent
            .history
            .into_iter()
            .map(history)
            .collect::<Result<_, _>>()?,
        updates: sent
            .updates
            .into_iter()
            .map(update)
            .collect::<Result<_, _>>()?,
        preflights: sent
            .preflights
            .into_iter()
            .map(preflight)
            .collect::<Result<_, _>>()?,
        platform: sent
            .platform
            .filter(|name| !name.is_empty())
            .map(|name| platform(&name))
            .transpose()?
            .into(),
        channel: sent
            .channel
            .filter(|name| !name.is_empty())
            .map(|name| channel(&name))
            .transpose()?,
        arch: sent
            .arch
            .map(|arch| named("arch", &arch))
            .transpose()?
            .map(Arch::new)
            .unwrap_or_default(),
        labels: labels(sent.labels.0)?,
        nodes: sent.nodes,
        pools: sent
            .node_pools
            .map(|pools| pools.into_iter().map(pool).collect::<Result<_, _>>())
            .transpose()?,
        sts: sent.sts.into(),
        wif: sent.wif.into(),
        at: sent.at.map(|at| parse_time(&at)).transpose()?,
        failing: is("Failing", "True"),
        progressing: is("Progressing", "True"),
        conditions,
    })
}

/// A report as it is sent.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "a report: an object")]
struct ReportBody {
    id: Option<String>,
    name: Option<String>,
    organisation: String,
    version: String,
    desired: Option<String>,
    healthy: Option<bool>,
    unhealthy_reason: Option<String>,
    #[serde(default)]
    history: Vec<SentHistory>,
    #[serde(default)]
    conditions: Vec<ReportCondition>,
    #[serde(default)]
    updates: Vec<SentUpdate>,
    #[serde(default)]
    preflights: Vec<SentPreflight>,
    platform: Option<String>,
    channel: Option<String>,
    arch: Option<String>,
    #[serde(default)]
    labels: Unique<String>,
    nodes: Option<u32>,
    node_pools: Option<Vec<SentPool>>,
    sts: Option<bool>,
    wif: Option<bool>,
    at: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "an entry of the history: an object")]
struct SentHistory {
    version: String,
    #[serde(default)]
    state: String,
    #[serde(alias = "startedTime")]
    started: Option<String>,
    #[serde(alias = "completionTime")]
    completed: Option<String>,
}

#[derive(Deserialize)]
#[serde(expecting = "a node pool: an object")]
struct SentPool {
    id: String,
    version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", expecting = "an update: an object")]
struct SentUpdate {
    to: String,
    outcome: String,
    #[serde(default)]
    why: String,
    started_at: String,
    took_seconds: Option<u32>,
    #[serde(default)]
    automatic: bool,
}

#[derive(Deserialize)]
#[serde(expecting = "a preflight: an object")]
struct SentPreflight {
    id: String,
    version: String,
    outcome: String,
    #[serde(default)]
    why: String,
    #[serde(default)]
    risks: Vec<String>,
}

pub(super) fn health(
    healthy: Option<bool>,
    why: Option<&str>,
    conditions: &[ReportCondition],
) -> Health {
    let sick = |c: &&ReportCondition| {
        matches!(
            (&*c.r#type, &*c.status),
            ("Failing", "True") | ("Available", "False")
        )
    };
    let unhealthy = |why: &str| Health::Unhealthy {
        why: shown(why).into(),
    };
    if let Some(condition) = conditions.iter().find(sick) {
        let said = [&condition.message, &condition.reason]
            .into_iter()
            .find(|text| !text.is_empty());
        let said = said.map_or(String::new(), |text| format!(": {text}"));
        return unhealthy(&format!(
            "{} is {}{said}",
            condition.r#type, condition.status
        ));
    }
    match healthy {
        Some(false) => unhealthy(
            why.filter(|why| !why.is_empty())
                .unwrap_or("it says so, and gives no reason"),
        ),
        Some(true) | None => Health::Healthy,
    }
}

fn check_lengths(condition: &ReportCondition) -> Result<(), String> {
    for (what, text) in [
        ("type", &condition.r#type),
        ("status", &condition.status),
        ("reason", &condition.reason),
    ] {
        if text.chars().count() > MAX_TEXT {
            return Err(format!(
                "the {what} of a condition is longer than {MAX_TEXT} characters"
            ));
        }
    }
    Ok(())
}

fn history(sent: SentHistory) -> Result<HistoryEntry, String> {
    if sent.state.chars().count() > MAX_TEXT {
        return Err(format!(
            "a state of the history is longer than {MAX_TEXT} characters"
        ));
    }
    let time = |text: Option<String>| text.map(|text| parse_time(&text)).transpose();
    Ok(HistoryEntry {
        version: version(&sent.version)?,
        state: sent.state,
        started: time(sent.started)?,
        completed: time(sent.completed)?,
    })
}

fn update(sent: SentUpdate) -> Result<AgentUpdate, String> {
    let outcome = AgentOutcome::of_code(&sent.outcome).ok_or_else(|| {
        let known = AgentOutcome::ALL.map(AgentOutcome::code).join(", ");
        format!(
            "the outcome of an update is {:?}; there are: {known}",
            shown(&sent.outcome)
        )
    })?;
    Ok(AgentUpdate {
        to: version(&sent.to)?,
        outcome,
        why: clipped(&sent.why, MAX_WHY_BYTES).into(),
        started_at: parse_time(&sent.started_at)?,
        took: sent
            .took_seconds
            .map(|seconds| SignedDuration::from_secs(seconds.into())),
        is_automatic: sent.automatic,
    })
}

fn preflight(sent: SentPreflight) -> Result<PreflightResult, String> {
    let over = PreflightState::ALL
        .into_iter()
        .filter(|state| state.is_over());
    let known: Vec<&str> = over.clone().map(PreflightState::code).collect();
    let mut over = over.filter(|state| state.code() == sent.outcome);
    let state = over.next().ok_or_else(|| {
        format!(
            "the outcome of a preflight is {:?}; there are: {}",
            shown(&sent.outcome),
            known.join(", ")
        )
    })?;
    let risks = sent.risks.iter().take(MAX_ENTRIES);
    Ok(PreflightResult {
        id: report_id(&sent.id)?,
        version: version(&sent.version)?,
        state,
        why: clipped(&sent.why, MAX_WHY_BYTES).into(),
        risks: risks
            .map(|name| named("a risk of a preflight", name))
            .collect::<Result<_, _>>()?,
    })
}

fn pool(sent: SentPool) -> Result<NodePool, String> {
    Ok(NodePool {
        id: named("the id of a node pool", &sent.id)?,
        version: version(&sent.version)?,
    })
}

fn labels(sent: BTreeMap<String, String>) -> Result<Labels, String> {
    let long = |text: &str| text.chars().count() > 4 * MAX_TEXT;
    match sent.iter().find(|(name, value)| long(name) || long(value)) {
        Some((name, _)) => Err(format!("label {:?} is too long", shown(name))),
        None => Ok(sent),
    }
}

fn named(what: &str, text: &str) -> Result<Name, String> {
    let fits = (1..=MAX_TEXT).contains(&text.chars().count());
    let is_name = fits && !text.chars().any(char::is_control);
    match is_name {
        true => Ok(text.into()),
        false => Err(format!(
            "{what} is {:?}; it must have 1 to {MAX_TEXT} characters on one line",
            shown(text)
        )),
    }
}

fn report_id(text: &str) -> Result<Name, String> {
    let is_id = (1..=MAX_ID_CHARACTERS).contains(&text.chars().count())
        && !text.chars().any(char::is_control);
    match is_id {
        true => Ok(text.into()),
        false => Err(format!(
            "the report's id must have 1 to {MAX_ID_CHARACTERS} characters on one line"
        )),
    }
}

/// A text on one line, cut off where it gets too long.
pub(super) fn clipped(text: &str, most_bytes: usize) -> String {
    let cut = text.floor_char_boundary(most_bytes);
    text[..cut]
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// A version; an architecture behind it is the payload's, and told elsewhere.
pub(super) fn version(text: &str) -> Result<Version, String> {
    ReleaseName::parse(text)
        .map(|name| name.version)
        .map_err(|error| error.to_string())
}

fn channel(text: &str) -> Result<ChannelName, String> {
    ChannelName::new(text).ok_or_else(|| format!("{:?} cannot be a channel's name", shown(text)))
}

fn platform(text: &str) -> Result<Platform, String> {
    Platform::new(text).ok_or_else(|| format!("{:?} cannot be a platform's name", shown(text)))
}

#[cfg(test)]
mod tests {
    use towpath_core::cluster::ClusterId;

    use super::*;

    const GOOD: &str = r#"{"name": "c", "organisation": "o", "version": "4.16.1", "desired": "4.16.2", "nodes": 3,
        "history": [{"version": "4.16.2", "state": "Partial", "startedTime": "2026-05-12T10:00:00Z"},
                    {"version": "4.16.1", "state": "Completed", "completionTime": "2026-05-01T10:00:00Z"}],
        "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True"}],
        "platform": "AWS", "channel": "stable-4.16", "arch": "arm64", "labels": {"tier": "dev"}, "id": "r-1",
        "updates": [{"to": "4.16.2", "outcome": "failed", "why": "etcd\n", "startedAt": "2026-05-12T10:00:00Z"},
                    {"to": "4.16.1", "outcome": "completed", "startedAt": "2026-05-01T09:00:00Z", "tookSeconds": 3600,
                     "automatic": true}],
        "at": "2026-05-12T10:30:00Z", "somethingNew": {"x": [1]}}"#;

    #[test]
    fn a_good_report() {
        let report = read(GOOD.as_bytes()).unwrap();
        let [failed, completed] = &*report.updates else {
            panic!("two updates: {:?}", report.updates)
        };
        assert_eq!(
            (failed.outcome, &*failed.why, failed.took),
            (AgentOutcome::Failed, "etcd ", None)
        );
        assert_eq!(
            (completed.took, completed.is_automatic),
            (Some(SignedDuration::from_hours(1)), true)
        );
        assert!(report.progressing && !report.failing && report.health.is_healthy());
        let received_at = "2026-05-12T10:30:05Z".parse().unwrap();
        let state = report.state(ClusterId::new("0f3a").unwrap(), received_at);
        assert_eq!(state.going_to, Some("4.16.2".parse().unwrap()));
        assert_eq!(state.version_since, "2026-05-01T10:00:00Z".parse().unwrap());
        assert_eq!(
            (state.last_seen, &*state.name),
            ("2026-05-12T10:30:00Z".parse().unwrap(), "c")
        );
        let before = "2026-05-12T10:29:00Z".parse().unwrap();
        assert_eq!(
            report
                .state(ClusterId::new("0f3a").unwrap(), before)
                .last_seen,
            before,
            "not in the future"
        );
    }

    #[test]
    fn health() {
        let with = |extra: &str| {
            let text = format!(r#"{{"organisation": "o", "version": "4.16.1", {extra}}}"#);
            match read(text.as_bytes()).unwrap().health {
                Health::Healthy => "healthy".to_owned(),
                Health::Unhealthy { why } => why.to_string(),
            }
        };
        for (extra, expected) in [
            (r#""healthy": true"#, "healthy"),
            (
                r#""conditions": [{"type": "Failing", "status": "Unknown"}]"#,
                "healthy",
            ),
            (r#""healthy": false, "unhealthyReason": "etcd""#, "etcd"),
            (r#""healthy": false"#, "it says so, and gives no reason"),
            (
                r#""healthy": true, "conditions": [{"type": "Failing", "status": "True"}]"#,
                "Failing is True",
            ),
            (
                r#""conditions": [{"type": "Available", "status": "False", "reason": "Down"}]"#,
                "Available is False: Down",
            ),
        ] {
            assert_eq!(with(extra), expected, "{extra}");
        }
    }

    #[test]
    fn what_is_refused() {
        let edited = |before: &str, after: &str| {
            assert!(GOOD.contains(before), "{before}");
            read(GOOD.replacen(before, after, 1).as_bytes()).unwrap_err()
        };
        let many = |entry: &str| vec![entry; MAX_ENTRIES + 1].join(",");
        let labels: Vec<String> = (0..=MAX_ENTRIES)
            .map(|n| format!("\"l{n}\": \"\""))
            .collect();
        for (error, expected) in [
            (
                edited("\"4.16.1\", \"desired", "\"4.16\", \"desired"),
                "\"4.16\" is not a version",
            ),
            (
                edited("\"organisation\": \"o\"", "\"organisation\": \"\""),
                "organisation is \"\"",
            ),
            (
                edited("\"organisation\": \"o\", ", ""),
                "missing field `organisation`",
            ),
            (
                edited("\"tier\": \"dev\"", "\"a\": \"1\", \"a\": \"2\""),
                "the key \"a\" stands twice",
            ),
            (
                edited("2026-05-12T10:30:00Z", "yesterday"),
                "\"yesterday\" is not an RFC 3339 date-time",
            ),
            (edited("\"nodes\": 3", "\"nodes\": -3"), "-3"),
            (
                edited("\"id\": \"r-1\"", "\"id\": \"\""),
                "the report's id must have 1 to 64 characters",
            ),
            (
                edited(
                    "\"id\": \"r-1\"",
                    &format!("\"id\": \"{}\"", "x".repeat(65)),
                ),
                "the report's id must have",
            ),
            (
                edited("\"outcome\": \"failed\"", "\"outcome\": \"fine\""),
                "there are: completed, failed, given-up",
            ),
            (
                edited("\"startedAt\": \"2026", "\"startedAt\": \"in 2026"),
                "is not an RFC 3339 date-time",
            ),
            (
                edited(
                    "{\"type\": \"Available\"",
                    &format!(
                        "{},{{\"type\": \"Available\"",
                        many(r#"{"type":"a","status":"b"}"#)
                    ),
                ),
                "67 conditions; at most 64",
            ),
            (
                edited("\"tier\": \"dev\"", &labels.join(",")),
                "65 labels; at most 64",
            ),
            (
                read(&vec![b' '; MAX_BYTES + 1]).unwrap_err(),
                "larger than 65536 bytes",
            ),
        ] {
            assert!(error.contains(expected), "{error} / {expected}");
        }
    }
}
