//! What does our own graph offer to a cluster of the fleet?
//!
//! Every edge from its version to a release of its channel, with what the graph's rules have against it: rollouts,
//! targeted blocks, risks. Answers that do not depend on who asks are kept and shared.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use crate::domain::fleet::{ClusterState, Objection, Offer, OfferHold};
use crate::domain::{
    Answer, Arch, ChannelName, Cluster, Edge, Fact, Graph, Reason, Situation, Verdict, Version,
};
use crate::rules::{Policy, Rule};

/// What most answers depend on: channel, architecture, platform and version.
type Asked = (ChannelName, Arch, Option<String>, Version);

/// Offers of one graph at one instant.
pub struct OfferBook<'a> {
    graph: &'a Graph,
    policy: Policy,
    now: Timestamp,
    /// None where a rollout asks for the cluster's id.
    shared: BTreeMap<Asked, Option<Arc<[Offer]>>>,
    nothing: Arc<[Offer]>,
}

impl<'a> OfferBook<'a> {
    /// A book that has answered nothing yet.
    pub fn new(graph: &'a Graph, now: Timestamp) -> Self {
        Self {
            graph,
            policy: Policy::graph(),
            now,
            shared: BTreeMap::new(),
            nothing: Arc::new([]),
        }
    }

    /// What a cluster is offered. One that follows no channel is offered nothing.
    pub fn offers(&mut self, state: &ClusterState) -> Arc<[Offer]> {
        let Some(channel) = &state.channel else {
            return self.nothing.clone();
        };
        let platform = match &state.platform {
            Fact::Known(platform) => Some(platform.as_str().to_ascii_lowercase()),
            Fact::Unknown => None,
        };
        let key = (
            channel.clone(),
            state.arch.clone(),
            platform,
            state.version.clone(),
        );
        let mut cluster = Cluster {
            id: Fact::Unknown,
            platform: state.platform.clone(),
            channel: channel.clone(),
            arch: state.arch.clone(),
        };
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
        let offers = edges(&at, version).map(|edge| {
            let verdict = self.policy.judge(edge, &at);
            by_id |= verdict
                .reasons
                .iter()
                .any(|reason| matches!(reason, Reason::RolloutWithoutId { .. }));
            Offer {
                version: self.graph.release(edge.to).version.clone(),
                hold: hold(self.graph, &verdict).map(Box::new),
            }
        });
        let offers = offers.collect();
        (offers, by_id)
    }
}

/// The edges from a version to releases that have entered the cluster's channel.
fn edges<'a>(at: &Situation<'a>, version: &Version) -> impl Iterator<Item = Edge> + 'a {
    let (graph, now) = (at.graph, at.now);
    let channel = graph.channel(at.cluster.channel.as_str());
    let entered = move |release| {
        let place = channel.and_then(|channel| channel.membership(release));
        place.is_some_and(|place| place.start <= now)
    };
    let from = graph
        .find(version, &at.cluster.arch)
        .filter(|from| entered(*from));
    let edges = from.map_or(&[][..], |from| graph.edges_from(from));
    edges.iter().copied().filter(move |edge| entered(edge.to))
}

fn hold(graph: &Graph, verdict: &Verdict) -> Option<OfferHold> {
    let (until, risks) = match &verdict.answer {
        Answer::Recommend => return None,
        Answer::RecommendUnless(risks) => (
            None,
            risks
                .iter()
                .map(|risk| graph.risk(*risk).name.as_str().into())
                .collect(),
        ),
        Answer::Wait { until } => (*until, [].into()),
        Answer::Refuse => (None, [].into()),
    };
    let told = |reason: &Reason| Objection {
        code: reason.code().into(),
        sentence: reason.to_string().into(),
    };
    Some(OfferHold {
        until,
        risks,
        reasons: verdict.reasons.iter().map(told).collect(),
    })
}
