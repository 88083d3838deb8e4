//! What a change means for clients, as JSON.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use towpath_core::change::{
    ChannelDiff, Diff, EdgeChange, EdgeKind, ReleaseChange, ReleaseKind, TouchedClusters, When,
    Whom,
};
use towpath_core::graph::{ChannelName, ClientClass};
use towpath_core::version::ReleaseName;

/// Every difference; whom it touches, if there is a fleet to ask about; and the releases that are newly listed and not
/// known, so that nothing can be told about them.
pub fn json(
    diff: &Diff,
    touched: Option<&BTreeMap<ChannelName, TouchedClusters>>,
    unknown: &BTreeSet<ReleaseName>,
) -> Value {
    json!({
        "at": diff.at.to_string(),
        "channels": diff.channels.iter().map(channel).collect::<Vec<_>>(),
        "clusters": touched.map(clusters),
        "unknownReleases": unknown.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

fn channel(channel: &ChannelDiff) -> Value {
    let counts: Map<String, Value> = EdgeKind::ALL
        .into_iter()
        .map(|kind| (kind.code().to_owned(), json!(channel.edges(kind))))
        .collect();
    json!({
        "channel": channel.channel.as_str(),
        "arch": channel.arch.as_str(),
        "releases": channel.releases.iter().map(release).collect::<Vec<_>>(),
        "edgeCounts": counts,
        "edges": channel.edges.iter().map(edges).collect::<Vec<_>>(),
    })
}

fn release(change: &ReleaseChange) -> Value {
    let (code, before, after) = match &change.kind {
        ReleaseKind::Appears(after) => ("appears", None, Some(after)),
        ReleaseKind::Disappears => ("disappears", None, None),
        ReleaseKind::Moves { before, after } => ("moves", Some(before), Some(after)),
    };
    json!({
        "version": change.version.to_string(),
        "change": code,
        "before": before.map(entry),
        "after": after.map(entry),
    })
}

/// `"now"`, or the time.
fn entry(when: &When) -> String {
    match when {
        When::Now => "now".to_owned(),
        When::Over(window) => window.start.to_string(),
    }
}

fn edges(change: &EdgeChange) -> Value {
    json!({
        "to": change.to.to_string(),
        "change": change.kind.code(),
        "for": whom(&change.whom),
        "ring": change.ring,
        "risks": {
            "added": change.risks.added,
            "removed": change.risks.removed,
            "reworded": change.risks.reworded,
        },
        "before": change.before.as_ref().map(when),
        "after": change.after.as_ref().map(when),
        "from": change.from.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}

/// `"now"`, or the window.
fn when(when: &When) -> Value {
    match when {
        When::Now => json!("now"),
        When::Over(window) => json!({
            "start": window.start.to_string(),
            "end": window.end.to_string(),
            "ramp": window.ramp.name(),
        }),
    }
}

/// The platforms that blocks name, and whether any other, or one that is unknown, is meant.
fn whom(whom: &Whom) -> Value {
    let Whom::Some { on, .. } = whom else {
        return json!("everybody");
    };
    let named = on.iter().filter_map(|class| match class {
        ClientClass::On(platform) => Some(platform.as_str()),
        ClientClass::OnAnother | ClientClass::Unknown => None,
    });
    json!({
        "platforms": named.collect::<Vec<_>>(),
        "otherPlatforms": on.contains(&ClientClass::OnAnother),
        "unknownPlatform": on.contains(&ClientClass::Unknown),
    })
}

fn clusters(touched: &BTreeMap<ChannelName, TouchedClusters>) -> Value {
    let one = |(channel, count): (&ChannelName, &TouchedClusters)| {
        json!({
            "channel": channel.as_str(),
            "clusters": count.clusters,
            "touched": count.touched,
            "gain": count.gain,
            "lose": count.lose,
        })
    };
    touched.iter().map(one).collect()
}
