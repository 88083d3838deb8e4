//! Windows that are running or to come, as JSON, the same on the command line and over HTTP.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::Platform;
use towpath_core::graph::{Audience, RolloutStop, RolloutWindow, Share};

pub fn json(rows: &[RolloutWindow], now: Timestamp) -> Value {
    json!({"at": now.to_string(), "rollouts": rows.iter().map(|row| rollout(row, now)).collect::<Vec<_>>()})
}

fn rollout(row: &RolloutWindow, now: Timestamp) -> Value {
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
        "from": row.from.keys().map(ToString::to_string).collect::<Vec<_>>(),
        "blocked": row.stops.iter().map(stop).collect::<Vec<_>>(),
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
    })
}
