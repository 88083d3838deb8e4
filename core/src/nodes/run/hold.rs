//! Why a node does not begin, and what ends a run: the codes, and who gives them.

use jiff::{SignedDuration, Timestamp};

use super::view::{Cordon, NodeUpdate, RebootView, RebootedNode};
use super::{RebootPace, RebootRecord, RebootSettings};
use crate::verdict::{Code, Reason, Value};

static NODE_FAILED: Code = Code::new(
    "NodeUpdateFailed",
    "node {node} could not be updated: {why}",
    "look at the machine-config daemon's log on that node, correct it, and go on with `towpath nodes run --resume`",
)
.checked_by("oc describe node {node}")
.with(&[("node", "worker-3"), ("why", "unexpected on-disk state")]);

static NODE_LATE: Code = Code::new(
    "NodeNotBack",
    "node {node} was handed over and is not back after {minutes|minute|minutes}",
    "look at the machine's console; once the node is ready, go on with `towpath nodes run --resume`",
)
.checked_by("oc describe node {node}")
.with(&[("node", "worker-3"), ("minutes", "45")]);

static NODE_LOST: Code = Code::new(
    "UpdatedNodeNotReady",
    "node {node} is updated and not ready",
    "find out whether the update broke it before others follow",
)
.checked_by("oc describe node {node}")
.with(&[("node", "worker-3")]);

static PODS_WAIT: Code = Code::new(
    "PodsWaitForNode",
    "a pod has waited for a node since {since}",
    "make room: add a node, or lower what pods request",
)
.checked_by("oc get pods --all-namespaces --field-selector=status.phase=Pending")
.with(&[("since", "2026-01-02T03:04:05Z")]);

static DRAIN_REFUSED: Code = Code::new(
    "DrainRefused",
    "pods of node {node} may not be evicted: {why}",
    "wait for the pods that the budget counts to be ready, or change the budget",
)
.with(&[
    ("node", "worker-3"),
    ("why", "the budget shop/db allows no eviction"),
]);

static DRAIN_SLOW: Code = Code::new(
    "DrainTooSlow",
    "node {node} still has {pods|pod|pods} after {minutes|minute|minutes}",
    "look at what the pods do when they are told to end",
)
.with(&[("node", "worker-3"), ("pods", "2"), ("minutes", "30")]);

static SET_ASIDE: Code = Code::new(
    "NodeSetAside",
    "node {node} is tried again at {until}: {why}",
    "wait, or correct what its drain met",
)
.with(&[
    ("node", "worker-3"),
    ("until", "2026-01-02 03:04 UTC"),
    ("why", "shop/db allows no eviction"),
]);

static AT_LIMIT: Code = Code::new(
    "NodesAway",
    "{away|node is|nodes are} away, and at most {limit} may be",
    "wait for a node to come back",
)
.with(&[("away", "1"), ("limit", "1")]);

static AT_PACE: Code = Code::new(
    "PaceReached",
    "{begun|node has|nodes have} begun within {minutes|minute|minutes}, and at most {most} may",
    "wait, or allow more nodes in that time",
)
.with(&[("begun", "3"), ("minutes", "10"), ("most", "3")]);

static BY_HAND: Code = Code::new(
    "CordonedByOthers",
    "node {node} is cordoned, and not by us",
    "uncordon it when whoever cordoned it is done",
)
.by("oc adm uncordon {node}")
.with(&[("node", "worker-3")]);

static NOT_READY: Code = Code::new(
    "RebootNodeNotReady",
    "node {node} is not ready",
    "see to it that it is ready; a node that is not is not drained",
)
.with(&[("node", "worker-3")]);

/// The reasons of this file.
pub(super) const RUN_CODES: [&Code; 11] = [
    &NODE_FAILED,
    &NODE_LATE,
    &NODE_LOST,
    &PODS_WAIT,
    &DRAIN_REFUSED,
    &DRAIN_SLOW,
    &SET_ASIDE,
    &AT_LIMIT,
    &AT_PACE,
    &BY_HAND,
    &NOT_READY,
];

/// What speaks for ending the run at once.
pub(super) fn bad_sign(
    view: &RebootView,
    settings: &RebootSettings,
    record: &RebootRecord,
    now: Timestamp,
) -> Option<Reason> {
    let of_node = |node: &RebootedNode| {
        let name = ("node", (&node.name).into());
        let handed_at = record.handed.get(&node.name).filter(|_| node.is_out());
        if let (NodeUpdate::Failed(why), true) = (&node.update, node.is_handed) {
            return Some(NODE_FAILED.because([name, ("why", why.into())]));
        }
        if handed_at.is_some_and(|at| now.duration_since(*at) > settings.back_within) {
            let minutes = minutes(settings.back_within);
            return Some(NODE_LATE.because([name, ("minutes", minutes)]));
        }
        let unready_since = node.unready_since.filter(|_| node.is_updated());
        let is_lost = unready_since.is_some_and(|at| now.duration_since(at) > settings.lost_after);
        (is_lost && handed_at.is_none()).then(|| NODE_LOST.because([name]))
    };
    view.nodes.iter().find_map(of_node).or_else(|| {
        let since = view.waiting_since(record.started)?;
        let is_long = now.duration_since(since) > settings.pods_wait;
        is_long.then(|| PODS_WAIT.because([("since", since.into())]))
    })
}

/// Why no further node may begin now.
pub(super) fn holds_all(
    view: &RebootView,
    settings: &RebootSettings,
    record: &RebootRecord,
    now: Timestamp,
) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if let Some(since) = view.waiting_since(record.started) {
        reasons.push(PODS_WAIT.because([("since", since.into())]));
    }
    let (away, limit) = (view.away(), view.rounded_down(settings.at_most_away));
    if away >= limit {
        reasons.push(AT_LIMIT.because([("away", number(away)), ("limit", number(limit))]));
    }
    if let Some(pace) = settings.pace
        && let Some(until) = pace_until(view, pace, record, now)
    {
        let facts = [
            ("begun", number(begun(pace, record, now).len())),
            ("minutes", minutes(pace.within)),
            ("most", number(view.rounded_down(pace.nodes))),
        ];
        reasons.push(AT_PACE.because(facts).until(until));
    }
    reasons
}

/// How many may begin now.
pub(super) fn room(
    view: &RebootView,
    settings: &RebootSettings,
    record: &RebootRecord,
    now: Timestamp,
) -> usize {
    let limit = view.rounded_down(settings.at_most_away);
    let room = limit.saturating_sub(view.away());
    let left = settings.pace.map_or(usize::MAX, |pace| {
        let most = view.rounded_down(pace.nodes);
        most.saturating_sub(begun(pace, record, now).len())
    });
    room.min(left)
}

/// When those began that count now. One that lies ahead of a clock that was set back counts too.
fn begun(pace: RebootPace, record: &RebootRecord, now: Timestamp) -> Vec<Timestamp> {
    let counts = |at: &Timestamp| now.duration_since(*at) < pace.within;
    let mut begun: Vec<Timestamp> = record.began.values().copied().filter(counts).collect();
    begun.sort();
    begun
}

/// When the pace lets the next one begin, if it does not now.
fn pace_until(
    view: &RebootView,
    pace: RebootPace,
    record: &RebootRecord,
    now: Timestamp,
) -> Option<Timestamp> {
    let (begun, most) = (begun(pace, record, now), view.rounded_down(pace.nodes));
    let first = begun.get(begun.len().checked_sub(most)?)?;
    first.checked_add(pace.within).ok()
}

/// Why this node does not begin, though others may.
pub(super) fn holds(node: &RebootedNode, record: &RebootRecord, now: Timestamp) -> Option<Reason> {
    let name = ("node", (&node.name).into());
    match &node.update {
        NodeUpdate::Waiting => {}
        NodeUpdate::Failed(why) => return Some(NODE_FAILED.because([name, ("why", why.into())])),
        NodeUpdate::Working | NodeUpdate::Done => return None,
    }
    if let Some(aside) = record.set_aside.get(&node.name)
        && aside.until > now
    {
        let why = ("why", Value::text(aside.why.text()));
        return Some(SET_ASIDE.because([name, why]).until(aside.until));
    }
    if node.cordon == Some(Cordon::Others) {
        return Some(BY_HAND.because([name]));
    }
    if !node.is_ready() {
        return Some(NOT_READY.because([name]));
    }
    let budget = node.refused_by.as_ref()?;
    let why = format!("the budget {budget} allows no eviction");
    Some(DRAIN_REFUSED.because([name, ("why", Value::text(why))]))
}

/// Why the drain of this node is given up.
pub(super) fn gives_up(
    node: &RebootedNode,
    settings: &RebootSettings,
    record: &RebootRecord,
    now: Timestamp,
) -> Option<Reason> {
    let name = ("node", (&node.name).into());
    let is_longer = |since: Option<&Timestamp>, most| {
        since.is_none_or(|since| now.duration_since(*since) >= most)
    };
    let refused = record.refused.get(&node.name);
    if refused.is_some() && is_longer(refused, settings.refused_for) {
        let said = node.pods.iter().find_map(|pod| pod.refused.clone());
        let why = said.unwrap_or_else(|| "the API refuses".into());
        return Some(DRAIN_REFUSED.because([name, ("why", (&why).into())]));
    }
    let began = record.began.get(&node.name);
    is_longer(began, settings.drain_within).then(|| {
        let minutes = minutes(settings.drain_within);
        DRAIN_SLOW.because([
            name,
            ("pods", number(node.pods.len())),
            ("minutes", minutes),
        ])
    })
}

fn number(count: usize) -> Value {
    Value::Number(count as u64)
}

fn minutes(span: SignedDuration) -> Value {
    Value::Number(span.as_mins().unsigned_abs())
}
