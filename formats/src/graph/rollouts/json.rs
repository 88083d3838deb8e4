//! Windows that are running or to come, as JSON, the same on the command line and over HTTP.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::Platform;
use towpath_core::graph::{
    Audience, DeclaredHalt, FromVersion, NamedRule, RolloutStop, RolloutWindow, Share, Window,
};

use crate::graph::data;

/// A curve has one point more than steps.
const CURVE_STEPS: i32 = 32;

pub fn json(rows: &[RolloutWindow], now: Timestamp) -> Value {
    json!({"at": now.to_string(), "rollouts": rows.iter().map(|row| rollout(row, now)).collect::<Vec<_>>()})
}

pub(crate) fn rollout(row: &RolloutWindow, now: Timestamp) -> Value {
    let reaches = |thousandths| {
        row.window
            .reaches(Share::thousandths(thousandths))
            .to_string()
    };
    json!({
        "channel": row.channel.as_str(),
        "to": row.to.to_string(),
        "architectures": row.arches.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "state": if row.window.has_begun(now) { "running" } else { "toCome" },
        "start": row.window.start.to_string(),
        "end": row.window.end.to_string(),
        "ramp": row.window.ramp.name(),
        "share": row.window.share(now).as_fraction(),
        "reaches": {"10": reaches(100), "50": reaches(500), "90": reaches(900), "100": reaches(1000)},
        "curve": curve(&row.window),
        "place": row.rule.as_ref().map(|rule| rule.origin.to_string()),
        "name": row.rule.as_ref().map(name),
        "from": row.from.keys().map(ToString::to_string).collect::<Vec<_>>(),
        "blocked": row.stops.iter().map(stop).collect::<Vec<_>>(),
    })
}

/// The share at instants that divide the window evenly; both ends are among them.
fn curve(window: &Window) -> Vec<Value> {
    let length = window.end.duration_since(window.start);
    if length.is_zero() {
        return vec![json!([window.start.to_string(), 1.0])];
    }
    let point = |number: i32| {
        let at = match number {
            CURVE_STEPS => window.end,
            number => window
                .start
                .saturating_add(length / CURVE_STEPS * number)
                .unwrap_or(window.end),
        };
        let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
        // To six places: enough for a picture, and read back as the same number everywhere.
        let share = (window.share(at).as_fraction() * 1e6).round() / 1e6;
        json!([at.to_string(), share])
    };
    (0..=CURVE_STEPS).map(point).collect()
}

/// Which edges the rule is about, in the words of graph data.
fn name(rule: &NamedRule) -> &str {
    match &rule.from_version {
        None => "default",
        Some(FromVersion::Minor) => "minor",
        Some(FromVersion::Patch) => "patch",
        Some(FromVersion::Other(other)) => other,
    }
}

/// What a halt says about itself.
fn halt(halt: &DeclaredHalt) -> Value {
    json!({
        "by": halt.by,
        "at": halt.at.to_string(),
        "scope": data::scope_json(&halt.scope),
        "why": halt.why,
        "evidence": halt.evidence.as_ref().map(data::evidence_json),
        "text": halt.sentence(),
    })
}

fn stop(stop: &RolloutStop) -> Value {
    let platforms: Option<Vec<&str>> = match &stop.whom {
        Audience::Platforms(platforms) => Some(platforms.iter().map(Platform::as_str).collect()),
        Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_) => None,
    };
    json!({
        "origin": stop.origin.to_string(),
        "everybody": platforms.is_none(),
        "platforms": platforms.unwrap_or_default(),
        "from": stop.from.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "halt": stop.halt.as_deref().map(halt),
    })
}
