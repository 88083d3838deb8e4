//! What does our own graph offer to a cluster of the fleet?
//!
//! The answer has every edge from the cluster's version to a release of its channel, with the
//! graph rules' objections: rollouts, targeted blocks, risks. Answers that do not depend on the
//! cluster are kept and shared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::Sorting;
use crate::cluster::{Cluster, Fact};
use crate::fleet::{ClusterState, FleetPolicy, GraphObjection, Offer};
use crate::graph::rules::{Edges, ROLLOUT_WITHOUT_ID};
use crate::graph::{ChannelEdge, ChannelName, ChannelView, ClientClass, Graph, RingId, Situation};
use crate::rules::{Policy, Rule};
use crate::verdict::{Answer, Verdict};
use crate::version::{Arch, Version};

/// What most answers depend on.
type OfferKey = (ChannelName, Arch, ClientClass, RingId, Version);

/// Offers of one graph at one instant.
pub struct OfferBook<'a> {
    graph: &'a Graph,
    policy: &'static Policy<Edges>,
    now: Timestamp,
    /// Says the sectors of clusters, where the graph has rings and there is a policy.
    sorting: Option<Sorting<'a>>,
    /// None where a rollout asks for the cluster's id.
    shared: BTreeMap<OfferKey, Option<Arc<[Offer]>>>,
    nothing: Arc<[Offer]>,
}

impl<'a> OfferBook<'a> {
    /// A book that has answered nothing yet.
    pub fn new(graph: &'a Graph, now: Timestamp) -> Self {
        Self {
            graph,
            policy: Policy::graph(),
            now,
            sorting: None,
            shared: BTreeMap::new(),
            nothing: Arc::new([]),
        }
    }

    /// The same, where this policy says which sectors clusters are in. Without one, no cluster is known to be in a ring.
    pub fn sorted_by(self, policy: &'a FleetPolicy) -> Self {
        let sorting = Sorting::of(policy, self.graph);
        self.sorted(sorting)
    }

    pub(crate) fn sorted(self, sorting: Option<Sorting<'a>>) -> Self {
        Self { sorting, ..self }
    }

    /// Whether the graph can say what this cluster is offered: it has the cluster's channel, and its release.
    pub fn knows(&self, state: &ClusterState) -> bool {
        let channel = state.channel.as_ref();
        channel.is_some_and(|channel| self.graph.channel(channel.as_str()).is_some())
            && self.graph.find(&state.version, &state.arch).is_some()
    }

    /// What a cluster is offered. One that follows no channel is offered nothing.
    pub fn offers(&mut self, state: &ClusterState) -> Arc<[Offer]> {
        match &state.channel {
            Some(channel) => self.offers_in(state, channel),
            None => self.nothing.clone(),
        }
    }

    /// Adds what the cluster would be offered in other channels, the nearest first. What it has been offered already stays as it is.
    pub fn add_offers_in(&mut self, state: &mut ClusterState, channels: &[ChannelName]) {
        let mut offers: Vec<Offer> = state.offers.to_vec();
        for channel in channels {
            let more = self.offers_in(state, channel);
            let known: BTreeSet<Version> = offers.iter().map(|o| o.version.clone()).collect();
            let new = more.iter().filter(|offer| !known.contains(&offer.version));
            offers.extend(new.map(|offer| Offer {
                channel: Some(channel.clone()).filter(|_| state.channel.as_ref() != Some(channel)),
                ..offer.clone()
            }));
        }
        if offers.len() > state.offers.len() {
            state.offers = offers.into();
        }
    }

    fn offers_in(&mut self, state: &ClusterState, channel: &ChannelName) -> Arc<[Offer]> {
        let class = ClientClass::of(self.graph, &state.platform);
        let groups = self.sorting.as_ref().map(|known| known.groups(state));
        let groups = groups.unwrap_or_default();
        let in_graph = self.graph.channel(channel.as_str());
        let ring = in_graph.map_or(RingId::REST, |channel| channel.ring_of(groups.known()));
        let mut cluster = Cluster {
            platform: class.platform(),
            groups: match groups {
                Fact::Known(groups) => Fact::Known(Arc::new(groups)),
                Fact::Unknown => Fact::Unknown,
            },
            ..Cluster::anonymous(channel.clone(), state.arch.clone())
        };
        let key = (
            channel.clone(),
            state.arch.clone(),
            class,
            ring,
            state.version.clone(),
        );
        if !self.shared.contains_key(&key) {
            let (offers, by_id) = self.judge(&cluster, &state.version);
            self.shared.insert(key.clone(), (!by_id).then_some(offers));
        }
        if let Some(Some(offers)) = self.shared.get(&key) {
            return offers.clone();
        }
        cluster.id = Fact::Known(state.id.clone());
        self.judge(&cluster, &state.version).0
    }

    /// The offers, and whether the cluster's id makes a difference.
    fn judge(&self, cluster: &Cluster, version: &Version) -> (Arc<[Offer]>, bool) {
        let at = Situation {
            graph: self.graph,
            cluster,
            now: self.now,
        };
        let mut by_id = false;
        let (arch, channel) = (&cluster.arch, cluster.channel.as_str());
        let view = ChannelView::named(self.graph, channel, arch, self.now);
        let from = self.graph.find(version, arch);
        let edges = from.into_iter().flat_map(|from| view.edges_from(from));
        let offers = edges.map(|ChannelEdge { edge, .. }| {
            let verdict = self.policy.judge(&at.about(edge));
            by_id |= verdict
                .reasons
                .iter()
                .any(|reason| reason.is(&ROLLOUT_WITHOUT_ID));
            Offer {
                version: self.graph.release(edge.to).version.clone(),
                channel: None,
                objection: objection(self.graph, verdict).map(Box::new),
            }
        });
        let offers = offers.collect();
        (offers, by_id)
    }
}

fn objection(graph: &Graph, verdict: Verdict) -> Option<GraphObjection> {
    let (answer, risks) = match verdict.answer {
        Answer::Recommend => return None,
        // Waiting does not make a risk go away; the policy may accept it.
        Answer::RecommendUnless(risks) => {
            let name = |risk| graph.risk(risk).name.as_str().into();
            (Answer::Refuse, risks.into_iter().map(name).collect())
        }
        answer => (answer, BTreeSet::new()),
    };
    let verdict = Verdict { answer, ..verdict };
    Some(GraphObjection { verdict, risks })
}
