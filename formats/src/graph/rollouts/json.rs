//! Windows that are running or to come, as JSON, the same on the command line and over HTTP.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::Platform;
use towpath_core::feedback::FleetOutcomes;
use towpath_core::graph::{
    Audience, DeclaredHalt, NamedRule, RingName, RolloutStop, RolloutWindow, Share, Turn, Window,
};

use super::stages::stages_json;
use crate::graph::data;

/// A curve has one point more than steps.
const CURVE_STEPS: i32 = 32;

/// Without outcomes, those of each row are null.
pub fn json(rows: &[RolloutWindow], outcomes: Option<&FleetOutcomes>, now: Timestamp) -> Value {
    let row = |row: &RolloutWindow| {
        let mut told = rollout(row, now);
        told["outcomes"] = super::outcomes::json(outcomes, &row.to);
        told
    };
    json!({
        "at": now.to_string(),
        "outcomesAt": outcomes.map(|outcomes| outcomes.at.to_string()),
        "rollouts": rows.iter().map(row).collect::<Vec<_>>(),
        // Only a service sees windows change, and adds them.
        "changedWindows": [],
    })
}

pub(crate) fn rollout(row: &RolloutWindow, now: Timestamp) -> Value {
    let reaches = |thousandths| {
        let at = row.window.reaches(Share::thousandths(thousandths));
        (!row.window.is_held()).then(|| at.to_string())
    };
    json!({
        "channel": row.channel.as_str(),
        "to": row.to.to_string(),
        "whose": whose(&row.whose),
        "ring": row.whose.ring().map(RingName::as_str),
        "architectures": row.arches.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "state": state(&row.window, now),
        "start": row.window.start.to_string(),
        "end": row.window.end.to_string(),
        "ramp": row.window.ramp.name(),
        "stages": row.window.ramp.stages().map(|_| stages_json(&row.window)),
        "share": row.window.share(now).as_fraction(),
        "reaches": {"10": reaches(100), "50": reaches(500), "90": reaches(900), "100": reaches(1000)},
        "curve": curve(&row.window),
        "place": row.rule.as_ref().map(|rule| rule.origin.to_string()),
        "name": row.rule.as_ref().map(|rule| name(rule, &row.whose)),
        "from": row.from.keys().map(ToString::to_string).collect::<Vec<_>>(),
        "blocked": row.stops.iter().map(stop).collect::<Vec<_>>(),
    })
}

/// Which edges the rule is about, and whose window it is where it has rings.
fn name(rule: &NamedRule, whose: &Turn) -> String {
    match whose {
        Turn::Everybody => rule.edges.to_string(),
        whose => format!("{}, {whose}", rule.edges),
    }
}

/// Whose window it is, for machines.
fn whose(turn: &Turn) -> &'static str {
    match turn {
        Turn::Everybody => "everybody",
        Turn::Ring(_) => "ring",
        Turn::EverybodyElse => "everybodyElse",
    }
}

/// The share at instants that divide the window evenly, both ends among them; of stages, just before each and with it.
fn curve(window: &Window) -> Vec<Value> {
    let length = window.end.duration_since(window.start);
    if length.is_zero() {
        let share = if window.is_held() { 0.0 } else { 1.0 };
        return vec![json!([window.start.to_string(), share])];
    }
    let point = |at: Timestamp, share: Share| {
        let at = Timestamp::from_second(at.as_second()).unwrap_or(at);
        // To six places: enough for a picture, and read back as the same number everywhere.
        let share = (share.as_fraction() * 1e6).round() / 1e6;
        json!([at.to_string(), share])
    };
    if let Some(stages) = window.ramp.stages() {
        let before = [Share::NONE].into_iter().chain(stages.shares());
        let stages = window.bends().zip(before.zip(stages.shares()));
        return stages
            .flat_map(|(at, (before, with))| [point(at, before), point(at, with)])
            .collect();
    }
    let evenly = (0..=CURVE_STEPS).map(|number| match number {
        CURVE_STEPS => window.end,
        number => window
            .start
            .saturating_add(length / CURVE_STEPS * number)
            .unwrap_or(window.end),
    });
    evenly
        .map(|at| Timestamp::from_second(at.as_second()).unwrap_or(at))
        .map(|at| point(at, window.share(at)))
        .collect()
}

fn state(window: &Window, now: Timestamp) -> &'static str {
    match window.has_begun(now) {
        _ if window.is_held() => "held",
        true => "running",
        false => "toCome",
    }
}

/// What a halt says about itself.
pub(super) fn halt(halt: &DeclaredHalt) -> Value {
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
