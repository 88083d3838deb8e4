//! A pool and its nodes as the API has them, as what the core judges.
//!
//! A node belongs to the pool that the machine-config operator would give it to: a custom pool goes before `worker`, `master` before all.
//! The operator takes no node that two custom pools select. So a custom pool has to let go of nodes that have our label, by an expression
//! in its own selector; `worker` does so by itself. A node of the control plane can be in no custom pool, so those are never handed over.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use towpath_core::cluster::health::{DisruptionBudget, Selector};
use towpath_core::cluster::objects::CONTROL_PLANE_POOL;
use towpath_core::cluster::placement::zone_of;
use towpath_core::duration::MaxUnavailable;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Name;
use towpath_core::nodes::run::{
    Cordon, NodeMark, NodeUpdate, RebootRecord, RebootSettings, RebootView, RebootedNode,
    no_pool_beside, not_rendered, pool_beside_differs, pool_beside_unfit, pool_keeps_nodes,
};
use towpath_core::verdict::Reason;

use super::annotations::{self, REBOOTS};
use super::condition::CONDITION;
use super::{CORDONED, HANDED, MARK};
use crate::cluster::objects::{budgets_of, selector_of};
use crate::fields::{self, condition, labels, list, since, text};

/// The pool of all nodes that no custom pool selects.
const WORKER: &str = "worker";
const CURRENT: &str = "machineconfiguration.openshift.io/currentConfig";
const DESIRED: &str = "machineconfiguration.openshift.io/desiredConfig";
const STATE: &str = "machineconfiguration.openshift.io/state";
const WHY: &str = "machineconfiguration.openshift.io/reason";

/// What was read of a cluster, in this order.
#[derive(Debug, Clone, Default)]
pub struct PoolObjects {
    pub pools: Vec<Value>,
    pub nodes: Vec<Value>,
    pub budgets: Vec<Value>,
}

/// A pool that has opted in, or that a run has left something of.
#[derive(Debug, Clone)]
pub struct RebootPool {
    pub place: PoolPlace,
    pub has_asked: bool,
    pub settings: RebootSettings,
    pub record: Option<RebootRecord>,
    /// What we remember and what we told last, as it is written there.
    pub written: [Option<String>; 2],
    /// Without the pods of its nodes and those that wait.
    pub view: RebootView,
    pub nodes: BTreeMap<Name, PoolNode>,
    pub budgets: Vec<DisruptionBudget>,
}

/// A node as it is written to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolNode {
    pub resource_version: Name,
    pub taints: Vec<Value>,
    pub is_cordoned: bool,
    /// It has the note that we have cordoned it.
    pub has_note: bool,
}

/// A pool as it is written to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolPlace {
    pub name: Name,
    pub uid: Name,
    /// Writes name it, so that they change only what was read.
    pub resource_version: Name,
    /// What its status says already, ours included.
    pub conditions: Vec<Value>,
}

impl PoolPlace {
    pub fn of(pool: &Value) -> Self {
        Self {
            name: name_of(pool).into(),
            uid: text(pool, "/metadata/uid").into(),
            resource_version: text(pool, "/metadata/resourceVersion").into(),
            conditions: list(pool, "/status/conditions").to_vec(),
        }
    }
}

/// Whether a pool has anything of ours, right or wrong.
pub fn is_ours(pool: &Value) -> bool {
    let names = fields::annotations(pool);
    let is_annotated = names.keys().any(|name| name.starts_with(REBOOTS));
    is_annotated || condition(pool, CONDITION).is_some()
}

/// Reads the pool of this name, which is there. What is wrong with its settings is refused.
pub fn read_pool(objects: &PoolObjects, name: &str) -> Result<RebootPool, Vec<Finding>> {
    let place = Place::file(format!("MachineConfigPool {name}"));
    let wrong = |problem: String, remedy: &str| {
        let finding = Finding::error("bad-reboots", place.clone(), problem, remedy);
        vec![finding]
    };
    let own = objects.pools.iter().find(|pool| name_of(pool) == name);
    let own =
        own.ok_or_else(|| wrong("there is no such pool".to_owned(), "give one that there is"))?;
    let said = annotations::read(&place, &fields::annotations(own), at_most_away(own))?;
    if name == CONTROL_PLANE_POOL {
        let problem = "its nodes cannot be handed over: the machine-config operator gives no node of the control plane to a custom pool";
        let remedy = "remove its annotations towpath.dev/reboots…; the operator takes these nodes one by one, and `towpath nodes plan` says in which order";
        return Err(wrong(problem.to_owned(), remedy));
    }
    if selected_label(own).is_some() {
        let problem = "nodes are handed over to this pool, so it has none of its own";
        let remedy = "remove its annotations towpath.dev/reboots…, and put them on the pool whose nodes shall reboot";
        return Err(wrong(problem.to_owned(), remedy));
    }
    let pools = selectors(&objects.pools).map_err(|(pool, problem)| {
        let problem = format!("the nodeSelector of the pool {pool} cannot be read: {problem}");
        wrong(problem, "correct it")
    })?;
    let budgets = budgets_of(&objects.budgets)?;
    let value = handed_value(name);
    let is_beside = |pool: &&Value| selected_label(pool) == Some(value);
    let beside: Vec<&Value> = objects.pools.iter().filter(is_beside).collect();
    let wanted = text(own, "/spec/configuration/name");
    let is_own = |node: &&Value| belongs(name, &labels(node), &pools);
    let mut nodes: Vec<&Value> = objects.nodes.iter().filter(is_own).collect();
    let blocked =
        kept(name, &nodes, &pools).or_else(|| blocked(name, own, &beside, wanted, &said.settings));
    let place_of = |node: &Value| {
        let mut order = said.order.iter();
        order
            .position(|name| **name == *name_of(node))
            .unwrap_or(usize::MAX)
    };
    // As the operator takes them, where nobody says otherwise.
    nodes.sort_by_cached_key(|node| {
        let zone = zone_of(&labels(node)).cloned().unwrap_or_default();
        let created = text(node, "/metadata/creationTimestamp").to_owned();
        (place_of(node), zone, created, name_of(node).to_owned())
    });
    Ok(RebootPool {
        place: PoolPlace::of(own),
        has_asked: said.has_asked,
        settings: said.settings,
        record: said.record,
        written: [annotations::RECORD, annotations::STATUS]
            .map(|name| fields::annotations(own).remove(name)),
        view: RebootView {
            pool: name.into(),
            is_paused: own.pointer("/spec/paused") == Some(&Value::Bool(true)),
            wanted: wanted.into(),
            nodes: nodes.iter().map(|node| seen(node, wanted)).collect(),
            waiting: Vec::new(),
            blocked,
        },
        nodes: nodes.iter().map(|node| written_to(node)).collect(),
        budgets,
    })
}

/// What cannot be read is taken for the usual one, which is also the most careful.
fn at_most_away(pool: &Value) -> MaxUnavailable {
    let read = match pool.pointer("/spec/maxUnavailable") {
        Some(Value::Number(number)) => MaxUnavailable::read(&number.to_string()),
        Some(Value::String(text)) => MaxUnavailable::read(text),
        _ => None,
    };
    read.unwrap_or(MaxUnavailable::Count(1))
}

/// Which nodes each pool selects.
fn selectors(pools: &[Value]) -> Result<Vec<(&str, Selector)>, (String, String)> {
    let of = |pool| {
        let selector = selector_of(Value::pointer(pool, "/spec/nodeSelector"));
        match selector {
            Ok(selector) => Ok((name_of(pool), selector)),
            Err(problem) => Err((name_of(pool).to_owned(), problem)),
        }
    };
    pools.iter().map(of).collect()
}

/// The value that our label has on nodes of this pool.
pub(super) fn handed_value(pool: &str) -> &str {
    if pool == WORKER { "" } else { pool }
}

/// The value of our label that a pool selects, if it selects nothing else: nodes are handed over to it.
fn selected_label(pool: &Value) -> Option<&str> {
    let selector = pool.pointer("/spec/nodeSelector")?;
    let own = selector.get("matchLabels")?.as_object()?;
    let is_alone = own.len() == 1 && selector.get("matchExpressions").is_none();
    own.get(HANDED).filter(|_| is_alone)?.as_str()
}

/// Whether the operator updates the node as one of this pool, or would if it were not handed over.
fn belongs(pool: &str, labels: &BTreeMap<Name, Name>, pools: &[(&str, Selector)]) -> bool {
    let mut labels = labels.clone();
    labels.remove(HANDED);
    let selected = selecting(&labels, pools);
    let custom = selected.iter().filter(|name| **name != WORKER);
    let custom: Vec<&str> = custom.copied().collect();
    match custom.as_slice() {
        [] => pool == WORKER && selected.contains(WORKER),
        [only] => *only == pool && pool != CONTROL_PLANE_POOL,
        _ => false,
    }
}

/// The pools that select a node. As the operator has it, an empty selector selects nothing.
fn selecting<'p>(
    labels: &BTreeMap<Name, Name>,
    pools: &[(&'p str, Selector)],
) -> BTreeSet<&'p str> {
    let is_empty = |selector: &Selector| match selector {
        Selector::None => true,
        Selector::Those {
            labels,
            expressions,
        } => labels.is_empty() && expressions.is_empty(),
    };
    let selects =
        |(_, selector): &&(&str, Selector)| !is_empty(selector) && selector.matches(labels);
    let selected = pools.iter().filter(selects);
    selected.map(|(name, _)| *name).collect()
}

/// A custom pool that would keep a node once it is handed over: two custom pools would select that node, and the operator stops there.
fn kept(pool: &str, nodes: &[&Value], pools: &[(&str, Selector)]) -> Option<Reason> {
    let keeps = |node: &&Value| {
        let mut labels = labels(node);
        labels.insert(HANDED.into(), handed_value(pool).into());
        selecting(&labels, pools).contains(pool)
    };
    let is_custom = pool != WORKER;
    (is_custom && nodes.iter().any(keeps)).then(|| pool_keeps_nodes(&pool.into(), HANDED))
}

/// Why no node can be handed over now.
fn blocked(
    pool: &str,
    own: &Value,
    beside: &[&Value],
    wanted: &str,
    settings: &RebootSettings,
) -> Option<Reason> {
    if wanted.is_empty() {
        return Some(not_rendered());
    }
    let [beside] = beside else {
        let [first, ..] = beside else {
            let label = format!("{HANDED}={}", handed_value(pool));
            let file = (pool == WORKER).then_some("pool.yaml");
            return Some(no_pool_beside(&pool.into(), &label, file));
        };
        let why = "another pool selects the same label";
        return Some(pool_beside_unfit(&name_of(first).into(), why));
    };
    let name: Name = name_of(beside).into();
    let unfit = |why: &str| Some(pool_beside_unfit(&name, why));
    if beside.pointer("/spec/paused") == Some(&Value::Bool(true)) {
        return unfit("it is paused");
    }
    let is_degraded = |pool: &Value| {
        let degraded = condition(pool, "Degraded");
        degraded.is_some_and(|one| text(one, "/status") == "True")
    };
    // A node that could not be updated is told by that node itself.
    let cannot_render = condition(beside, "RenderDegraded");
    if cannot_render.is_some_and(|one| text(one, "/status") == "True") {
        return unfit("its configuration cannot be rendered");
    }
    let cannot_render = condition(own, "RenderDegraded");
    if is_degraded(own) && cannot_render.is_some_and(|one| text(one, "/status") == "True") {
        return Some(not_rendered());
    }
    let takes_all = match (at_most_away(beside), settings.at_most_away) {
        (MaxUnavailable::Percent(100), _) => true,
        (MaxUnavailable::Count(takes), MaxUnavailable::Count(limit)) => takes >= limit,
        _ => false,
    };
    if !takes_all {
        return unfit("its maxUnavailable is not 100%, so nodes would wait there");
    }
    let has = text(beside, "/spec/configuration/name");
    match hash(has) == hash(wanted) && !has.is_empty() {
        true => None,
        false => Some(pool_beside_differs(&name, has, wanted)),
    }
}

/// `rendered-worker-1a2b`: the part after the pool's name is the hash of what it says, so equal parts mean equal configurations.
fn hash(configuration: &str) -> &str {
    let parts = configuration.rsplit_once('-');
    parts.map_or(configuration, |(_, hash)| hash)
}

fn seen(node: &Value, wanted: &str) -> RebootedNode {
    let own = written_to(node).1;
    let ready = condition(node, "Ready");
    let is_ready = ready.is_some_and(|one| text(one, "/status") == "True");
    let unready_since = ready.map_or_else(
        || text(node, "/metadata/creationTimestamp").parse().ok(),
        |one| Some(since(one)),
    );
    let effects = own.taints.iter().filter(|taint| is_mark(taint));
    let effects: BTreeSet<&str> = effects.map(|taint| text(taint, "/effect")).collect();
    let mark = match (
        effects.contains("NoSchedule"),
        effects.contains("PreferNoSchedule"),
    ) {
        (true, _) => NodeMark::KeepOut,
        (false, true) => NodeMark::Avoid,
        (false, false) => NodeMark::None,
    };
    RebootedNode {
        name: name_of(node).into(),
        unready_since: unready_since.filter(|_| !is_ready),
        cordon: match (own.is_cordoned, own.has_note) {
            (false, _) => None,
            (true, true) => Some(Cordon::Ours),
            (true, false) => Some(Cordon::Others),
        },
        mark,
        is_handed: fields::labels(node).contains_key(HANDED),
        update: update(node, wanted),
        pods: Vec::new(),
        refused_by: None,
    }
}

/// How far the operator says that it is.
fn update(node: &Value, wanted: &str) -> NodeUpdate {
    let all = fields::annotations(node);
    let said = |name: &str| all.get(name).map_or("", String::as_str);
    let (current, desired) = (said(CURRENT), said(DESIRED));
    match said(STATE) {
        "Degraded" | "Unreconcilable" => return NodeUpdate::Failed(said(WHY).into()),
        _ => {}
    }
    let is_wanted = |name: &str| !name.is_empty() && hash(name) == hash(wanted);
    match (is_wanted(current), is_wanted(desired), said(STATE)) {
        // From one pool's name of a configuration to the other's nothing changes on the node.
        (true, true, _) => NodeUpdate::Done,
        (_, _, "Done") if current == desired => NodeUpdate::Waiting,
        _ => NodeUpdate::Working,
    }
}

fn written_to(node: &Value) -> (Name, PoolNode) {
    let own = PoolNode {
        resource_version: text(node, "/metadata/resourceVersion").into(),
        taints: list(node, "/spec/taints").to_vec(),
        is_cordoned: node.pointer("/spec/unschedulable") == Some(&Value::Bool(true)),
        has_note: fields::annotations(node).contains_key(CORDONED),
    };
    (name_of(node).into(), own)
}

pub(super) fn is_mark(taint: &Value) -> bool {
    text(taint, "/key") == MARK
}

fn name_of(object: &Value) -> &str {
    text(object, "/metadata/name")
}
