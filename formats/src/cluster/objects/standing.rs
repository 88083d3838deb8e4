//! A cluster's state, from its ClusterVersion: what the agent looks at before it starts anything.
//!
//! Unreadable parts are left out with a warning: an offer, a time, a condition. None of that makes
//! a cluster take more.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::agent::{
    Advice, ClusterRisk, ClusterStanding, Condition, OptIn, Past, Status, UpdateOffer, UpdateTarget,
};
use towpath_core::cluster::objects::Progress;
use towpath_core::fleet::Name;
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;

use super::cluster_version::text;
use super::documents::Object;
use crate::graph::data::parse_time;
use crate::read::{Node, Reader, Value, shown};

/// By this annotation a cluster opts in whose API has no property for it.
pub const OPT_IN: &str = "towpath.dev/automatic-updates";
/// The `mode` of a request that asks for checks, and for no update.
const PREFLIGHT: &str = "Preflight";
/// The most offers, conditions, risks, and entries of the history, each.
const MAX_ENTRIES: usize = 1_000;

pub(super) fn read(reader: &mut Reader, object: &Object) -> ClusterStanding {
    let (spec, status) = (object.node.get("spec"), object.node.get("status"));
    let list = |name: &str| entries(status.and_then(|status| status.get(name)));
    let risks: BTreeMap<Name, ClusterRisk> = list("conditionalUpdateRisks")
        .iter()
        .map(|node| (text(node, "name").into(), risk(node)))
        .collect();
    let mut offers: Vec<UpdateOffer> = list("availableUpdates")
        .iter()
        .filter_map(|release| offer(reader, release, Advice::Recommended, BTreeSet::new()))
        .collect();
    for update in list("conditionalUpdates") {
        let offered = update.get("release").and_then(|release| {
            let advice = advice(update);
            let names = match advice {
                Advice::Recommended => BTreeSet::new(),
                _ => risk_names(update, &risks),
            };
            offer(reader, release, advice, names)
        });
        offers.extend(offered);
    }
    let desired_update = spec.and_then(|spec| spec.get("desiredUpdate"));
    let is_preflight = desired_update.is_some_and(|node| text(node, "mode") == PREFLIGHT);
    let (preflight, update) = match is_preflight {
        true => (desired_update, None),
        // A mode that we do not know may be an update: it holds.
        false => (None, desired_update),
    };
    let accepted = entries(desired_update.and_then(|node| node.get("acceptRisks")));
    ClusterStanding {
        opt_in: opt_in(object, spec),
        channel: spec.and_then(|spec| ChannelName::new(text(spec, "channel"))),
        desired: status.and_then(|status| status.get("desired")).map(asked),
        asked: update.map(asked),
        preflight: preflight.map(asked),
        is_observed: is_observed(object, status),
        accepted_risks: named(accepted),
        risks,
        conditions: list("conditions")
            .iter()
            .map(|node| (text(node, "type").into(), condition(node)))
            .collect(),
        past: list("history").iter().filter_map(past).collect(),
        offers: one_each(offers),
    }
}

/// Whether the status is about the newest specification.
fn is_observed(object: &Object, status: Option<&Node>) -> bool {
    let number = |node: Option<&Node>, name: &str| match &node?.get(name)?.value {
        Value::Whole(number) => Some(*number),
        _ => None,
    };
    let newest = number(object.node.get("metadata"), "generation");
    let observed = number(status, "observedGeneration");
    newest.is_some() && newest == observed
}

/// Of a target that is offered with risks and without, the risks count, as clusters have it.
fn one_each(offers: Vec<UpdateOffer>) -> Vec<UpdateOffer> {
    // What comes later has risks.
    let by_version: BTreeMap<Version, UpdateOffer> = offers
        .into_iter()
        .map(|offer| (offer.version.clone(), offer))
        .collect();
    by_version.into_values().collect()
}

/// The property, where there is one; else the annotation. Anything but a plain yes is none.
fn opt_in(object: &Object, spec: Option<&Node>) -> OptIn {
    let property = spec
        .and_then(|spec| spec.get("automaticUpdates"))
        .map(|node| &node.value);
    let annotations = object
        .node
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"));
    let is_wanted = match property {
        Some(value) => *value == Value::Flag(true),
        None => annotations.is_some_and(|annotations| text(annotations, OPT_IN) == "true"),
    };
    if is_wanted {
        OptIn::Wanted
    } else {
        OptIn::NotWanted
    }
}

fn asked(node: &Node) -> UpdateTarget {
    let given = |name| Some(text(node, name)).filter(|text| !text.is_empty());
    let version = given("version").map(|text| text.parse().map_err(|_| text.into()));
    UpdateTarget {
        version: version.clone().and_then(Result::ok),
        unread: version.and_then(Result::err),
        image: given("image").map(Into::into),
        arch: given("architecture").map(Into::into),
    }
}

/// The names of entries that have one.
fn named(entries: &[Node]) -> BTreeSet<Name> {
    let names = entries.iter().map(|node| text(node, "name"));
    names
        .filter(|name| !name.is_empty())
        .map(Name::from)
        .collect()
}

/// A risk, and whether the cluster says that it applies.
fn risk(node: &Node) -> ClusterRisk {
    let conditions = entries(node.get("conditions"));
    let applies = conditions
        .iter()
        .find(|node| text(node, "type") == "Applies");
    ClusterRisk {
        message: text(node, "message").into(),
        applies: applies.map(condition),
    }
}

/// The risks of an update that apply, or may: by `riskNames`, where the cluster has that, else by `risks`.
fn risk_names(update: &Node, known: &BTreeMap<Name, ClusterRisk>) -> BTreeSet<Name> {
    let by_name = entries(update.get("riskNames")).iter();
    let by_name: BTreeSet<Name> = by_name.filter_map(Node::as_text).map(Name::from).collect();
    if by_name.is_empty() {
        return named(entries(update.get("risks")));
    }
    let is_out = |name: &Name| {
        let applies = known.get(name).and_then(|risk| risk.applies.as_ref());
        applies.is_some_and(|condition| condition.status == Status::False)
    };
    by_name.into_iter().filter(|name| !is_out(name)).collect()
}

fn offer(
    reader: &mut Reader,
    release: &Node,
    advice: Advice,
    risks: BTreeSet<Name>,
) -> Option<UpdateOffer> {
    let (version, image) = (text(release, "version"), text(release, "image"));
    match version.parse() {
        Ok(version) if !image.is_empty() => Some(UpdateOffer {
            version,
            image: image.into(),
            advice,
            risks,
        }),
        _ => {
            let problem = format!(
                "an update to {:?} with the image {:?} is no offer",
                shown(version),
                shown(image)
            );
            let remedy = "look at what its upstream answers";
            reader.warning("bad-offer", release, problem, remedy);
            None
        }
    }
}

/// What the cluster has found out about an update with risks. Saying nothing is not knowing.
fn advice(update: &Node) -> Advice {
    let conditions = entries(update.get("conditions"));
    let found = conditions
        .iter()
        .find(|condition| text(condition, "type") == "Recommended")
        .map(condition);
    match found {
        Some(Condition {
            status: Status::True,
            ..
        }) => Advice::Recommended,
        Some(Condition {
            status: Status::False,
            reason,
            message,
            ..
        }) => Advice::NotRecommended { reason, message },
        Some(Condition {
            status: Status::Unknown,
            reason,
            message,
            ..
        }) => Advice::NotKnown { reason, message },
        None => Advice::NotKnown {
            reason: "NotEvaluated".into(),
            message: "its risks have not been weighed".into(),
        },
    }
}

fn condition(node: &Node) -> Condition {
    let status = match text(node, "status") {
        "True" => Status::True,
        "False" => Status::False,
        _ => Status::Unknown,
    };
    let since = time(node, "lastTransitionTime");
    Condition {
        status,
        reason: text(node, "reason").into(),
        message: text(node, "message").into(),
        since,
    }
}

fn past(node: &Node) -> Option<Past> {
    let progress = match text(node, "state") {
        "Completed" => Progress::Completed,
        _ => Progress::Partial,
    };
    let version = text(node, "version").parse().ok()?;
    Some(Past {
        version,
        progress,
        started: time(node, "startedTime"),
        ended: time(node, "completionTime"),
    })
}

fn time(node: &Node, name: &str) -> Option<Timestamp> {
    parse_time(text(node, name)).ok()
}

fn entries(list: Option<&Node>) -> &[Node] {
    let items = list.map_or(&[][..], Node::items);
    &items[..items.len().min(MAX_ENTRIES)]
}
