//! Kubelet skew: how many minor versions of Kubernetes a node may be behind the API server.
//!
//! OpenShift's policy: one on odd minor versions, two on even ones. Nodes of a paused pool keep their kubelet from update to update, so
//! the distance grows until the pool has to be unpaused. What follows is judged as if that was done, to the release that the
//! cluster then has.

use std::collections::BTreeMap;

use super::{not_given, refuse};
use crate::domain::fleet::Name;
use crate::domain::readiness::{Facts, Node};
use crate::domain::ready_reason::{Lag, ObjectKind, ReadyReason, behind};
use crate::domain::way::Step;
use crate::domain::{Fact, Minor, Verdict};

/// How many minor versions a kubelet may be older than the API server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MaxSkew {
    /// One on odd minor versions of OpenShift, two on even ones.
    #[default]
    OpenShift,
    Same(u8),
}

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

pub(super) fn judge(step: Step<'_>, facts: &Facts, max_skew: MaxSkew) -> Verdict {
    let (from, to) = (step.begins_in(), step.to_minor());
    match (step.is_minor(), from.kubernetes(), to.kubernetes()) {
        (false, _, _) => Verdict::recommend(),
        (true, None, _) => refuse(ReadyReason::KubernetesUnknown { minor: from }),
        (true, _, None) => refuse(ReadyReason::KubernetesUnknown { minor: to }),
        (true, Some(api_server), Some(next)) => match &facts.nodes {
            Fact::Unknown => not_given(ObjectKind::Node),
            Fact::Known(nodes) => {
                let groups = groups(step, facts, nodes, max_skew);
                let limit = max_skew.limit(step);
                let known = groups
                    .iter()
                    .map(|group| judge_group(group, api_server, next, limit));
                known.chain([judge_unknown(&groups)]).collect()
            }
        },
    }
}

/// How each pool stands after a step that changes the minor version; nothing if that cannot be said.
pub fn standings(step: Step<'_>, facts: &Facts, max_skew: MaxSkew) -> Vec<PoolStanding> {
    match (step.is_minor(), step.to_minor().kubernetes(), &facts.nodes) {
        (true, Some(next), Fact::Known(nodes)) => groups(step, facts, nodes, max_skew)
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
                    behind: kubelet.map(|kubelet| behind(kubelet, next)),
                    limit: max_skew.limit(step),
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
fn groups(step: Step<'_>, facts: &Facts, nodes: &[Node], max_skew: MaxSkew) -> Vec<Group> {
    let mut groups = grouped(facts, nodes);
    for group in &mut groups {
        for earlier in step.earlier() {
            group.after(earlier, max_skew);
        }
    }
    groups
}

/// By pool. Nodes of no pool are not updated together, so only those that are alike share a group.
fn grouped(facts: &Facts, nodes: &[Node]) -> Vec<Group> {
    let mut groups: BTreeMap<(Option<Name>, Option<Minor>), Group> = BTreeMap::new();
    for node in nodes {
        let kubelet = known(&node.kubelet);
        let pool = known(&node.pool);
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
    /// What a step leaves behind: nodes that follow updates are as the cluster is; the others only if they had to be updated for it.
    fn after(&mut self, step: Step<'_>, max_skew: MaxSkew) {
        let (Some(api_server), Some(next)) =
            (step.begins_in().kubernetes(), step.to_minor().kubernetes())
        else {
            return;
        };
        let had_to = step.is_minor()
            && self
                .oldest()
                .is_some_and(|old| behind(old, next) > max_skew.limit(step));
        match self.lag {
            Lag::Behind => self.raise(next),
            Lag::Paused | Lag::NoPool if had_to => self.raise(api_server),
            Lag::Paused | Lag::NoPool => {}
        }
    }

    /// Updates kubelets. What is not known stays so, and what is ahead is not taken back.
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
    let is_too_old = |kubelet: Minor| behind(kubelet, next) > limit && kubelet <= api_server;
    let too_old = group.those(|kubelet| kubelet.is_some_and(is_too_old));
    if let Some(kubelet) = group.oldest().filter(|_| !too_old.is_empty()) {
        verdicts.push(refuse(ReadyReason::KubeletTooOld {
            pool: group.pool.clone(),
            lag: group.lag,
            nodes: too_old,
            kubelet,
            needed: api_server,
            api_server: next,
            limit,
        }));
    }
    let newest = group
        .kubelets
        .iter()
        .filter_map(|(_, kubelet)| *kubelet)
        .max();
    if let Some(kubelet) = newest.filter(|newest| *newest > api_server) {
        let nodes = group.those(|kubelet| kubelet.is_some_and(|kubelet| kubelet > api_server));
        verdicts.push(refuse(ReadyReason::KubeletAhead {
            nodes,
            kubelet,
            api_server,
        }));
    }
    verdicts.into_iter().collect()
}

fn judge_unknown(groups: &[Group]) -> Verdict {
    let mut nodes: Vec<Name> = groups.iter().flat_map(Group::unknown).collect();
    nodes.sort();
    match nodes.is_empty() {
        true => Verdict::recommend(),
        false => refuse(ReadyReason::KubeletUnknown { nodes }),
    }
}

impl MaxSkew {
    /// What a step allows. Nodes of the release before are never too old: 4.2 to 4.3 went from 1.14 to 1.16.
    fn limit(self, step: Step<'_>) -> u64 {
        let stride = step
            .begins_in()
            .kubernetes()
            .zip(step.to_minor().kubernetes());
        self.of(step.to_minor())
            .max(stride.map_or(0, |(from, to)| behind(from, to)))
    }

    /// How many minor versions a kubelet may be behind a control plane of that minor version.
    fn of(self, control_plane: Minor) -> u64 {
        match (self, control_plane.minor % 2) {
            (Self::Same(limit), _) => u64::from(limit),
            (Self::OpenShift, 0) => 2,
            (Self::OpenShift, _) => 1,
        }
    }

    /// Whether kubelets of one minor version of OpenShift may run with an API server of another.
    pub fn allows(self, workers: Minor, control_plane: Minor) -> bool {
        let known = workers.kubernetes().zip(control_plane.kubernetes());
        known.is_some_and(|(kubelet, api_server)| {
            kubelet <= api_server && behind(kubelet, api_server) <= self.of(control_plane)
        })
    }
}

fn known<T: Clone>(fact: &Fact<T>) -> Option<T> {
    match fact {
        Fact::Known(value) => Some(value.clone()),
        Fact::Unknown => None,
    }
}
