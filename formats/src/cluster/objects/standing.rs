//! A cluster's state, from its ClusterVersion: what the agent looks at before it starts anything.
//!
//! Unreadable parts are left out with a warning: an offer, a time, a condition. None of that makes
//! a cluster take more.

use std::collections::BTreeMap;

use jiff::Timestamp;
use towpath_core::agent::{
    Advice, ClusterStanding, Condition, OptIn, Past, Status, UpdateOffer, UpdateTarget,
};
use towpath_core::cluster::objects::Progress;
use towpath_core::version::Version;

use super::cluster_version::text;
use super::documents::Object;
use crate::graph::data::parse_time;
use crate::read::{Node, Reader, Value, shown};

/// By this annotation a cluster opts in whose API has no property for it.
pub const OPT_IN: &str = "towpath.dev/automatic-updates";
/// The most offers, conditions, and entries of the history, each.
const MAX_ENTRIES: usize = 1_000;

pub(super) fn read(reader: &mut Reader, object: &Object) -> ClusterStanding {
    let (spec, status) = (object.node.get("spec"), object.node.get("status"));
    let list = |name: &str| entries(status.and_then(|status| status.get(name)));
    let mut offers: Vec<UpdateOffer> = list("availableUpdates")
        .iter()
        .filter_map(|release| offer(reader, release, Advice::Recommended))
        .collect();
    for update in list("conditionalUpdates") {
        let offered = update
            .get("release")
            .and_then(|release| offer(reader, release, advice(update)));
        offers.extend(offered);
    }
    ClusterStanding {
        opt_in: opt_in(object, spec),
        desired: status.and_then(|status| status.get("desired")).map(asked),
        asked: spec.and_then(|spec| spec.get("desiredUpdate")).map(asked),
        conditions: list("conditions")
            .iter()
            .map(|node| (text(node, "type").into(), condition(node)))
            .collect(),
        past: list("history").iter().filter_map(past).collect(),
        offers: one_each(offers),
    }
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

fn offer(reader: &mut Reader, release: &Node, advice: Advice) -> Option<UpdateOffer> {
    let (version, image) = (text(release, "version"), text(release, "image"));
    match version.parse() {
        Ok(version) if !image.is_empty() => Some(UpdateOffer {
            version,
            image: image.into(),
            advice,
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
