//! What is seen of a DaemonSet: its nodes, its pods, and the revision that new pods get.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::duration::MaxUnavailable;
use crate::fleet::Name;

/// How a DaemonSet is rolled out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonSettings {
    /// How many of its nodes may be without a ready pod. A percentage rounds up.
    pub at_most_away: MaxUnavailable,
    /// How long all canaries have to be ready before others follow.
    pub soak: SignedDuration,
    /// A pod that is not ready after this time is bad.
    pub patience: SignedDuration,
}

/// A DaemonSet as it was seen, all at one instant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonView {
    /// The revision that new pods get.
    pub wanted: Name,
    /// The nodes on which it has to run.
    pub nodes: Vec<DaemonNode>,
    pub pods: Vec<DaemonPod>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonNode {
    pub name: Name,
    /// What tells nodes apart that may fail differently. Empty where nobody has told.
    pub zone: Name,
    pub arch: Name,
    pub pool: Name,
    /// Whether the node itself is well. Nothing that happens on another speaks against a revision.
    pub is_ready: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonPod {
    pub name: Name,
    pub node: Name,
    /// Of the DaemonSet.
    pub revision: Name,
    pub created_at: Timestamp,
    /// None: it is not ready.
    pub ready_since: Option<Timestamp>,
    /// Why it will not become ready, as the kubelet says: `CrashLoopBackOff`, `ImagePullBackOff`.
    pub broken: Option<Name>,
    /// It has been deleted, and is not gone yet.
    pub is_leaving: bool,
}

impl Default for DaemonSettings {
    fn default() -> Self {
        Self {
            at_most_away: MaxUnavailable::Percent(10),
            soak: SignedDuration::from_mins(1),
            patience: SignedDuration::from_mins(10),
        }
    }
}

impl DaemonPod {
    /// Whether it does its work.
    pub fn works(&self) -> bool {
        self.ready_since.is_some() && !self.is_leaving
    }
}

impl DaemonView {
    /// The same, where somebody is about to delete these pods: they count as gone, and nobody else deletes them.
    pub fn while_going(mut self, pods: &BTreeSet<Name>) -> Self {
        for pod in &mut self.pods {
            pod.is_leaving |= pods.contains(&pod.name);
        }
        self
    }

    /// How many nodes may be without a ready pod.
    pub(super) fn most_away(&self, settings: &DaemonSettings) -> usize {
        let nodes = u32::try_from(self.nodes.len()).unwrap_or(u32::MAX);
        settings.at_most_away.rounded_up(nodes) as usize
    }

    /// The nodes on which no pod works, for whatever reason.
    pub(super) fn away(&self) -> usize {
        self.without_pod().count()
    }

    /// Those of them that are well: what is missing there is on its way.
    pub(super) fn under_way(&self) -> usize {
        self.without_pod().filter(|node| node.is_ready).count()
    }

    fn without_pod(&self) -> impl Iterator<Item = &DaemonNode> {
        let working: BTreeSet<&Name> = self.working().map(|pod| &pod.node).collect();
        let nodes = self.nodes.iter();
        nodes.filter(move |node| !working.contains(&node.name))
    }

    pub(super) fn working(&self) -> impl Iterator<Item = &DaemonPod> {
        self.pods.iter().filter(|pod| pod.works())
    }

    /// The nodes on which a pod of this revision works.
    pub(super) fn has(&self, revision: &Name) -> BTreeSet<&Name> {
        let of = self.working().filter(|pod| pod.revision == *revision);
        of.map(|pod| &pod.node).collect()
    }

    /// Pods of another revision that can be deleted, those first that do not work. A node that is not well keeps its pod: a new one
    /// would tell nothing.
    pub(super) fn outdated(&self, revision: &Name) -> Vec<&DaemonPod> {
        let is_well = |pod: &DaemonPod| {
            let mut own = self.nodes.iter().filter(|node| node.name == pod.node);
            own.next().is_some_and(|node| node.is_ready)
        };
        let mut pods: Vec<&DaemonPod> = self
            .pods
            .iter()
            .filter(|pod| pod.revision != *revision && !pod.is_leaving && is_well(pod))
            .collect();
        pods.sort_by_key(|pod| (pod.works(), &pod.node, &pod.name));
        pods
    }

    /// One node of each zone, architecture and pool: the first by name that is well.
    pub(super) fn canaries(&self) -> BTreeSet<Name> {
        let mut nodes: Vec<&DaemonNode> = self.nodes.iter().filter(|node| node.is_ready).collect();
        nodes.sort_by_key(|node| &node.name);
        let mut groups = BTreeSet::new();
        nodes.retain(|node| groups.insert((&node.zone, &node.arch, &node.pool)));
        nodes.into_iter().map(|node| node.name.clone()).collect()
    }

    /// A pod of this revision that speaks against it, and why.
    pub(super) fn bad(
        &self,
        revision: &Name,
        settings: &DaemonSettings,
        now: Timestamp,
    ) -> Option<(&DaemonPod, Name)> {
        let well: BTreeSet<&Name> = self
            .nodes
            .iter()
            .filter(|node| node.is_ready)
            .map(|node| &node.name)
            .collect();
        let mut own: Vec<&DaemonPod> = self
            .pods
            .iter()
            .filter(|pod| pod.revision == *revision && !pod.is_leaving && well.contains(&pod.node))
            .collect();
        own.sort_by_key(|pod| (&pod.node, &pod.name));
        own.into_iter().find_map(|pod| {
            let is_late =
                pod.ready_since.is_none() && now.duration_since(pod.created_at) > settings.patience;
            let late = || is_late.then(|| Name::from("it did not become ready in time"));
            Some((pod, pod.broken.clone().or_else(late)?))
        })
    }
}
