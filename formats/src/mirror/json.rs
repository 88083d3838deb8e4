//! What to mirror, as JSON. Field names are stable.

use serde_json::{Map, Value, json};
use towpath_core::graph::RiskId;
use towpath_core::mirror::smallest::SizeProof;
use towpath_core::mirror::{Presence, Purpose, Traveller};
use towpath_core::path::{Hop, NoPath, Plan};

use super::words::{barriers, sentence};
use super::{Item, MirrorReport, NoDigest};
use crate::path::barrier_json;

/// Everything there is to say.
pub fn json(told: &MirrorReport<'_>) -> Result<Value, NoDigest> {
    let items = told.items()?;
    let there = told
        .mirror
        .needs
        .iter()
        .filter(|need| need.place == Presence::There);
    let there = there.map(|need| {
        let release = told.graph.release(need.release);
        json!({"version": release.version.to_string(), "arch": release.arch.as_str()})
    });
    let proofs = told.mirror.proofs.iter().map(|(arch, proof)| {
        let (is_smallest, at_least) = match proof {
            SizeProof::Smallest => (true, None),
            SizeProof::GaveUp { at_least } => (false, Some(at_least)),
        };
        (
            arch.to_string(),
            json!({"smallest": is_smallest, "atLeast": at_least}),
        )
    });
    Ok(json!({
        "at": told.now.to_string(),
        "target": told.wish.target.to_string(),
        "channels": told.wish.channels.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "complete": told.mirror.stuck.is_empty(),
        "releases": items.iter().map(item).collect::<Vec<_>>(),
        "there": there.collect::<Vec<_>>(),
        "graphData": told.graph_data,
        "ways": told.mirror.plans.iter().map(|plan| way(told, plan)).collect::<Vec<_>>(),
        "waysAround": told.mirror.branches.iter().map(|branch| json!({
            "from": told.version(branch.from),
            "arch": told.graph.release(branch.from).arch.as_str(),
            "applying": names(told, branch.applying.iter()),
            "hops": branch.way.as_ref().map(|plan| hops(told, plan)),
        })).collect::<Vec<_>>(),
        "stuck": told.mirror.stuck.iter().map(|(who, why)| stuck(told, who, why)).collect::<Vec<_>>(),
        "sizes": proofs.collect::<Map<String, Value>>(),
    }))
}

fn item(item: &Item<'_>) -> Value {
    json!({
        "version": item.release.version.to_string(),
        "arch": item.release.arch.as_str(),
        "payload": &*item.release.payload,
        "digest": item.digest,
        "signature": item.signature(),
        "channel": item.need.channel.as_str(),
        "purpose": match item.need.purpose {
            Purpose::Way => "way",
            Purpose::WayAround => "wayAround",
            Purpose::Start => "start",
        },
    })
}

fn way(told: &MirrorReport<'_>, plan: &Plan) -> Value {
    let start = told.graph.release(plan.from);
    let is_on = |who: &&Traveller| {
        who.version == start.version && who.arch == start.arch && !who.name.is_empty()
    };
    json!({
        "from": start.version.to_string(),
        "arch": start.arch.as_str(),
        "clusters": told.wish.travellers.iter().filter(is_on).map(|who| &who.name).collect::<Vec<_>>(),
        "hops": hops(told, plan),
    })
}

fn hops(told: &MirrorReport<'_>, plan: &Plan) -> Vec<Value> {
    let hop = |hop: &Hop| {
        json!({
            "channel": hop.channel.as_str(),
            "from": told.version(hop.from),
            "to": told.version(hop.to),
            "risks": names(told, hop.risks.iter()),
            "opens": hop.opens.to_string(),
        })
    };
    plan.hops.iter().map(hop).collect()
}

fn stuck(told: &MirrorReport<'_>, who: &Traveller, why: &NoPath) -> Value {
    json!({
        "cluster": who.name,
        "version": who.version.to_string(),
        "arch": who.arch.as_str(),
        "code": why.code(),
        "text": sentence(told, who, why),
        "barriers": barriers(why).iter().map(|one| barrier_json(told.graph, one)).collect::<Vec<_>>(),
    })
}

fn names<'a>(told: &MirrorReport<'a>, risks: impl Iterator<Item = &'a RiskId>) -> Vec<&'a str> {
    risks
        .map(|risk| told.graph.risk(*risk).name.as_str())
        .collect()
}
