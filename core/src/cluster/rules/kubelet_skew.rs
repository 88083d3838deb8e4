//! Kubelet skew: how many minor versions of Kubernetes a node may be behind the API server.
//!
//! The table of minor versions has the limit of each: one on odd minor versions of 4.x, two on even
//! ones, one to three in 5.x. Nodes of a paused pool keep their kubelet, so the distance grows with each update until the pool must be
//! unpaused. Later updates are judged as if that was done, and the pool had caught up with the
//! cluster.
//!
//! Where the control plane is hosted, nodes are in node pools, which are updated one by one. The table has a limit of its own for
//! them. Where nobody knows whether it is hosted, the stricter of the two counts.

use std::collections::BTreeMap;

use super::{StepQuestion, StepRule, not_given};
use crate::cluster::Fact;
use crate::cluster::objects::{
    CONTROL_PLANE_POOL, Facts, Lag, MachineConfigPool, Node, ObjectKind, Topology,
};
use crate::cluster::way::{Step, Workers};
use crate::fleet::Name;
use crate::verdict::{Code, Value, Verdict};
use crate::version::{Minor, Succession};

/// Nodes of a pool that follows updates would be too far behind the API server.
static KUBELET_TOO_OLD: Code = Code::new(
    "KubeletTooOld",
    "{count|node|nodes} of pool {pool} at Kubernetes {kubelet} would be {behind|minor version|minor versions} behind the API server's {apiServer}; the limit there is {limit}",
    "wait until all of pool {pool} is at Kubernetes {needed}",
)
.checked_by("oc get nodes")
.about("{pool}")
.with(SKEW_FACTS);

/// The same of a pool that is paused.
static PAUSED_POOL_TOO_OLD: Code = Code::new(
    "PausedPoolTooOld",
    "pool {pool} is paused and its {count|node|nodes} at Kubernetes {kubelet} would be {behind|minor version|minor versions} behind the API server's {apiServer}; the limit there is {limit}",
    "unpause pool {pool}, wait until all of it is at Kubernetes {needed}, and pause it again if it shall skip more",
)
.by(MachineConfigPool::UNPAUSE)
.checked_by("oc get nodes")
.about("{pool}")
.with(SKEW_FACTS);

/// The same of a node pool of a hosted control plane.
static NODE_POOL_TOO_OLD: Code = Code::new(
    "NodePoolTooOld",
    "node pool {pool} at Kubernetes {kubelet} would be {behind|minor version|minor versions} behind the hosted API server's {apiServer}; the limit there is {limit}",
    "update node pool {pool} to a release with Kubernetes {needed}, and wait until all its nodes have it",
)
.by("oc get nodepools --all-namespaces")
.checked_by("oc get nodes -l hypershift.openshift.io/nodePool={pool}")
.about("{pool}")
.with(SKEW_FACTS);

/// The same of nodes that are in no pool that we know of.
static UNPOOLED_NODE_TOO_OLD: Code = Code::new(
    "UnpooledNodeTooOld",
    "{nodes} (in no pool that we know of) at Kubernetes {kubelet} would be {behind|minor version|minor versions} behind the API server's {apiServer}; the limit there is {limit}",
    "update {nodes} to Kubernetes {needed}",
)
.checked_by("oc get nodes")
.with(SKEW_FACTS);

const SKEW_FACTS: &[(&str, &str)] = &[
    ("pool", "worker"),
    ("nodes", "w1, w2"),
    ("count", "2"),
    ("kubelet", "1.19"),
    ("needed", "1.21"),
    ("apiServer", "1.22"),
    ("behind", "3"),
    ("limit", "1"),
];

/// Nodes are ahead of the API server, which is never right.
static KUBELET_AHEAD: Code = Code::new(
    "KubeletAhead",
    "ahead of the API server's Kubernetes {apiServer}: {nodes} at {kubelet}",
    "find out why {nodes} came to be ahead; no update leaves a cluster like that",
)
.checked_by("oc get nodes")
.with(&[("nodes", "w1"), ("kubelet", "1.23"), ("apiServer", "1.22")]);

static KUBELET_UNKNOWN: Code = Code::new(
    "KubeletUnknown",
    "nobody can tell how old the kubelets of {nodes} are",
    "give the Nodes with `status.nodeInfo`: {nodes} lack it",
)
.by("{how}")
.with(&[
    ("nodes", "w1"),
    ("how", "oc get nodes -o yaml > nodes.yaml"),
]);

/// The table of minor versions has it, but not its Kubernetes.
static KUBERNETES_UNKNOWN: Code = Code::new(
    "KubernetesUnknown",
    "this towpath does not know which Kubernetes OpenShift {minor} has",
    "write it into a file for --minors, or use a towpath that knows OpenShift {minor}",
)
.with(&[("minor", "5.3")]);

/// Nodes of a pool as they are right after a step's control plane is updated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolStanding {
    /// The pool, if it is known.
    pub pool: Option<Name>,
    /// Why they may be behind.
    pub lag: Lag,
    pub nodes: Vec<Name>,
    /// The oldest kubelet among them; none if one is unknown.
    pub kubelet: Option<Minor>,
    /// How many minor versions it is behind then.
    pub behind: Option<u64>,
    pub limit: u64,
}

pub(super) static RULE: StepRule = StepRule::new(
    &[
        &KUBELET_TOO_OLD,
        &PAUSED_POOL_TOO_OLD,
        &NODE_POOL_TOO_OLD,
        &UNPOOLED_NODE_TOO_OLD,
        &KUBELET_AHEAD,
        &KUBELET_UNKNOWN,
        &KUBERNETES_UNKNOWN,
    ],
    judge,
);

fn judge(q: &StepQuestion<'_>) -> Verdict {
    let (step, minors) = (q.step, q.step.way().minors());
    // A minor version that the table does not have at all is refused by its own rule.
    let unknown = |minor: Minor| match minors.rows().contains_key(&minor) {
        true => Verdict::refuse(KUBERNETES_UNKNOWN.because([("minor", minor.into())])),
        false => Verdict::recommend(),
    };
    match (step.kubernetes_before(), step.kubernetes_after()) {
        _ if !step.is_minor() => Verdict::recommend(),
        (None, _) => unknown(step.begins_in()),
        (_, None) => unknown(step.to_minor()),
        (Some(api_server), Some(next)) => match &q.facts.nodes {
            Fact::Unknown => not_given(ObjectKind::Node),
            Fact::Known(nodes) => judge_nodes(q, nodes, api_server.minor, next.minor),
        },
    }
}

fn judge_nodes(q: &StepQuestion<'_>, nodes: &[Node], api_server: Minor, next: Minor) -> Verdict {
    let groups = groups(q.step, q.facts, nodes);
    let limit = limit(q.step, q.facts);
    let known = groups
        .iter()
        .map(|group| judge_group(group, api_server, next, limit));
    known.chain([judge_unknown(&groups)]).collect()
}

/// How each pool stands after a step that changes the minor version; nothing if that cannot be said.
pub fn standings(step: Step<'_>, facts: &Facts) -> Vec<PoolStanding> {
    match (step.is_minor(), step.kubernetes_after(), &facts.nodes) {
        (true, Some(next), Fact::Known(nodes)) => groups(step, facts, nodes)
            .into_iter()
            .map(|group| {
                let kubelet = group.oldest().filter(|_| group.unknown().is_empty());
                PoolStanding {
                    pool: group.pool.clone(),
                    lag: group.lag,
                    nodes: group
                        .kubelets
                        .iter()
                        .map(|(name, _)| name.clone())
                        .collect(),
                    kubelet,
                    behind: kubelet.map(|kubelet| kubelet.behind(next.minor)),
                    limit: limit(step, facts),
                }
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// Nodes that are updated together.
struct Group {
    pool: Option<Name>,
    lag: Lag,
    kubelets: Vec<(Name, Option<Minor>)>,
}

/// The nodes as they are before a step, if the ones before it were taken and what had to be updated for them was.
fn groups(step: Step<'_>, facts: &Facts, nodes: &[Node]) -> Vec<Group> {
    let mut groups = grouped(step, facts, nodes);
    for group in &mut groups {
        for earlier in step.earlier() {
            group.after(earlier, limit(earlier, facts));
        }
        if group.is_held_back(step) {
            group.lag = Lag::Paused;
        }
    }
    groups
}

/// By pool. Nodes of no pool are not updated together, so only those that are alike share a group. A node pool counts as one more
/// of its nodes: the next one that it makes.
fn grouped(step: Step<'_>, facts: &Facts, nodes: &[Node]) -> Vec<Group> {
    let next_nodes: Vec<Node> = facts
        .node_pools
        .iter()
        .map(|pool| {
            let kubernetes = |version| step.way().minors().kubernetes_of(version);
            let ships = pool.version.known().and_then(kubernetes);
            let verified = ships.filter(|ships| ships.is_verified);
            Node {
                name: format!("node pool {}", pool.name).into(),
                pool: Fact::Known(pool.name.clone()),
                kubelet: Fact::from(verified.map(|ships| ships.minor)),
            }
        })
        .collect();
    let mut groups: BTreeMap<(Option<Name>, Option<Minor>), Group> = BTreeMap::new();
    for node in nodes.iter().chain(&next_nodes) {
        let kubelet = node.kubelet.known().cloned();
        let pool = node.pool.known().cloned();
        let key = (pool.clone(), kubelet.filter(|_| pool.is_none()));
        let lag = facts.lag(node);
        let group = groups.entry(key).or_insert_with(|| Group {
            pool,
            lag,
            kubelets: Vec::new(),
        });
        group.kubelets.push((node.name.clone(), kubelet));
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.iter_mut().for_each(|group| group.kubelets.sort());
    groups
}

impl Group {
    /// Whether the plan has its pool paused during a step.
    fn is_held_back(&self, step: Step<'_>) -> bool {
        let is_of_workers = |pool: &Name| &**pool != CONTROL_PLANE_POOL;
        let has_plan = step.workers() != Workers::AsTheyAre && self.lag != Lag::NodePool;
        has_plan && self.pool.as_ref().is_some_and(is_of_workers)
    }

    /// What a step leaves behind: nodes that follow updates are as the cluster is; the others only if they had to be updated for it.
    fn after(&mut self, step: Step<'_>, limit: u64) {
        let (Some(api_server), Some(next)) = (step.kubernetes_before(), step.kubernetes_after())
        else {
            return;
        };
        let (api_server, next) = (api_server.minor, next.minor);
        let had_to = step.is_minor() && self.oldest().is_some_and(|old| old.behind(next) > limit);
        let is_held_back = self.is_held_back(step);
        if is_held_back && step.workers() == Workers::CatchUpAfter {
            self.lag = Lag::Behind;
            return self.raise(next);
        }
        let lag = if is_held_back { Lag::Paused } else { self.lag };
        match lag {
            Lag::Behind => self.raise(next),
            Lag::Paused | Lag::NodePool | Lag::NoPool if had_to => self.raise(api_server),
            Lag::Paused | Lag::NodePool | Lag::NoPool => {}
        }
    }

    /// Updates kubelets. Unknown ones stay unknown, and newer ones stay newer.
    fn raise(&mut self, to: Minor) {
        let kubelets = self
            .kubelets
            .iter_mut()
            .filter_map(|(_, kubelet)| kubelet.as_mut());
        kubelets.for_each(|kubelet| *kubelet = to.max(*kubelet));
    }

    fn oldest(&self) -> Option<Minor> {
        self.kubelets
            .iter()
            .filter_map(|(_, kubelet)| *kubelet)
            .min()
    }

    fn unknown(&self) -> Vec<Name> {
        self.those(|kubelet| kubelet.is_none())
    }

    fn those(&self, wanted: impl Fn(Option<Minor>) -> bool) -> Vec<Name> {
        self.kubelets
            .iter()
            .filter(|(_, kubelet)| wanted(*kubelet))
            .map(|(name, _)| name.clone())
            .collect()
    }
}

fn judge_group(group: &Group, api_server: Minor, next: Minor, limit: u64) -> Verdict {
    let mut verdicts = Vec::new();
    let is_too_old = |kubelet: Minor| kubelet.behind(next) > limit && kubelet <= api_server;
    let too_old = group.those(|kubelet| kubelet.is_some_and(is_too_old));
    if let Some(kubelet) = group.oldest().filter(|_| !too_old.is_empty()) {
        let code = match (&group.pool, group.lag) {
            (Some(_), Lag::Paused) => &PAUSED_POOL_TOO_OLD,
            (Some(_), Lag::NodePool) => &NODE_POOL_TOO_OLD,
            (Some(_), _) => &KUBELET_TOO_OLD,
            (None, _) => &UNPOOLED_NODE_TOO_OLD,
        };
        verdicts.push(Verdict::refuse(code.because([
            ("pool", group.pool.as_ref().into()),
            ("nodes", Value::list(&too_old)),
            ("count", (too_old.len() as u64).into()),
            ("kubelet", kubelet.into()),
            ("needed", api_server.into()),
            ("apiServer", next.into()),
            ("behind", kubelet.behind(next).into()),
            ("limit", limit.into()),
        ])));
    }
    let newest = group.kubelets.iter().filter_map(|(_, kubelet)| *kubelet);
    if let Some(kubelet) = newest.max().filter(|newest| *newest > api_server) {
        let nodes = group.those(|kubelet| kubelet.is_some_and(|kubelet| kubelet > api_server));
        verdicts.push(Verdict::refuse(KUBELET_AHEAD.because([
            ("nodes", Value::list(&nodes)),
            ("kubelet", kubelet.into()),
            ("apiServer", api_server.into()),
        ])));
    }
    verdicts.into_iter().collect()
}

fn judge_unknown(groups: &[Group]) -> Verdict {
    let mut nodes: Vec<Name> = groups.iter().flat_map(Group::unknown).collect();
    nodes.sort();
    match nodes.is_empty() {
        true => Verdict::recommend(),
        false => Verdict::refuse(KUBELET_UNKNOWN.because([
            ("nodes", Value::list(&nodes)),
            ("how", Value::Command(ObjectKind::Node.command())),
        ])),
    }
}

/// What a step allows. Nodes of the release before are never too old, unless the step skips a minor version: 4.2 to 4.3 went
/// from 1.14 to 1.16. Where nobody has verified the Kubernetes, only those are young enough.
fn limit(step: Step<'_>, facts: &Facts) -> u64 {
    let (before, after) = (step.kubernetes_before(), step.kubernetes_after());
    let stride = before
        .zip(after)
        .map_or(0, |(before, after)| before.minor.behind(after.minor));
    let (minors, to) = (step.way().minors(), step.to_minor());
    let (standalone, hosted) = (minors.kubelet_skew(to), minors.hosted_kubelet_skew(to));
    let of_table = match facts.topology {
        Fact::Known(Topology::Standalone) => standalone,
        Fact::Known(Topology::Hosted) => hosted,
        Fact::Unknown => standalone.min(hosted),
    };
    let is_verified = after.is_some_and(|after| after.is_verified);
    match step.succession() {
        Succession::Skip(_) if is_verified => of_table,
        Succession::Skip(_) => 0,
        _ if is_verified => of_table.max(stride),
        _ => stride,
    }
}
