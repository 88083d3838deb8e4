//! An explanation as JSON. Field names are stable.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use towpath_core::cluster::Fact;
use towpath_core::graph::{EdgeStatus, ExplainedRelease, ReleaseStanding, Risk};

use super::ExplainReport;
use crate::graph::cincinnati;
use crate::path::commands::{begin, set_channel};
use crate::verdict::{reasons, share};
use crate::words::platform_warning;

/// Everything there is to say.
pub fn json(told: &ExplainReport<'_>) -> Value {
    let (at, explanation) = (told.at, told.explanation);
    let (standing, channels) = match &explanation.standing {
        ReleaseStanding::InChannel => ("inChannel", None),
        ReleaseStanding::Enters(_) => ("enters", None),
        ReleaseStanding::NotInChannel(others) => ("notInChannel", Some(others)),
        ReleaseStanding::Unknown => ("unknown", None),
        ReleaseStanding::NoChannel => ("noChannel", None),
    };
    let enters = match &explanation.standing {
        ReleaseStanding::Enters(start) => Some(start.to_string()),
        _ => None,
    };
    let risks: BTreeMap<&str, &Risk> = explanation
        .candidates
        .iter()
        .flat_map(|one| one.risks(at))
        .map(|risk| (risk.name.as_str(), risk))
        .collect();
    json!({
        "at": at.now.to_string(),
        "channel": at.cluster.channel.as_str(),
        "arch": at.cluster.arch.as_str(),
        "id": known(&at.cluster.id).map(|id| id.as_str()),
        "platform": known(&at.cluster.platform).map(|platform| platform.as_str()),
        "warnings": platform_warning(&at.cluster.platform).into_iter().collect::<Vec<_>>(),
        "from": told.from.to_string(),
        "standing": standing,
        "entersAt": enters,
        "otherChannels": channels.map(|names| names.iter().map(|name| name.as_str()).collect::<Vec<_>>()),
        "candidates": explanation.candidates.iter().map(|one| candidate(told, one)).collect::<Vec<_>>(),
        "risks": risks.values().map(|risk| cincinnati::risk(risk)).collect::<Vec<_>>(),
        "edgesToOtherChannels": explanation.elsewhere,
    })
}

fn candidate(told: &ExplainReport<'_>, candidate: &ExplainedRelease) -> Value {
    let release = candidate.release.map(|id| told.at.graph.release(id));
    json!({
        "to": candidate.to.to_string(),
        "payload": release.map(|release| &*release.payload),
        "url": release.and_then(|release| release.metadata.get("url")).map(|url| &**url),
        "kind": candidate.kind().name(),
        "answer": candidate.verdict.answer.word(),
        "share": candidate.share.map(share),
        "offered": candidate.verdict.is_offered(),
        "offeredFrom": candidate.offered_from(told.at.now).map(|from| from.to_string()),
        "risks": candidate.risks(told.at).iter().map(|risk| risk.name.as_str()).collect::<Vec<_>>(),
        "reasons": reasons(&candidate.verdict.reasons),
        "commands": commands(told, candidate),
    })
}

/// What takes the update; nothing if the cluster would refuse it.
fn commands(told: &ExplainReport<'_>, candidate: &ExplainedRelease) -> Vec<String> {
    let has_risks = match candidate.kind() {
        EdgeStatus::Offered => false,
        EdgeStatus::Conditional => true,
        _ => return Vec::new(),
    };
    let channel = &told.at.cluster.channel;
    vec![set_channel(channel), begin(&candidate.to, has_risks)]
}

/// What is known, or nothing.
pub(crate) fn known<T>(fact: &Fact<T>) -> Option<&T> {
    match fact {
        Fact::Known(value) => Some(value),
        Fact::Unknown => None,
    }
}
