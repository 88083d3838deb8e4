//! The clusters of a fleet whose offers a change alters.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use crate::fleet::{ClusterState, Offer, OfferBook};
use crate::graph::{ChannelName, Graph};
use crate::version::Version;

/// The clusters of one channel, and what a change means for them now.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TouchedClusters {
    /// How many follow the channel.
    pub clusters: usize,
    /// To how many something else is offered.
    pub touched: usize,
    /// How many are offered something they were not, or with fewer risks to weigh.
    pub gain: usize,
    /// How many are no longer offered something, or with more risks to weigh.
    pub lose: usize,
}

/// What a change means for clusters now, by channel. Those that follow none are offered nothing by our graph, before and after.
pub fn touched(
    base: &Graph,
    new: &Graph,
    clusters: &[ClusterState],
    now: Timestamp,
) -> BTreeMap<ChannelName, TouchedClusters> {
    let (mut before, mut after) = (OfferBook::new(base, now), OfferBook::new(new, now));
    let mut all: BTreeMap<ChannelName, TouchedClusters> = BTreeMap::new();
    for cluster in clusters {
        let Some(channel) = &cluster.channel else {
            continue;
        };
        let (before, after) = (before.offers(cluster), after.offers(cluster));
        let (before, after) = (offered(&before), offered(&after));
        let count = all.entry(channel.clone()).or_default();
        count.clusters += 1;
        count.touched += usize::from(before != after);
        count.gain += usize::from(
            after
                .iter()
                .any(|(to, risks)| !is_as_good(before.get(to), risks)),
        );
        count.lose += usize::from(
            before
                .iter()
                .any(|(to, risks)| !is_as_good(after.get(to), risks)),
        );
    }
    all
}

/// The targets that are offered, each with the risks to weigh.
fn offered(offers: &[Offer]) -> BTreeMap<&Version, BTreeSet<&Arc<str>>> {
    let shown = offers.iter().filter_map(|offer| match &offer.objection {
        None => Some((&offer.version, BTreeSet::new())),
        Some(hold) if hold.risks.is_empty() => None,
        Some(hold) => Some((&offer.version, hold.risks.iter().collect())),
    });
    shown.collect()
}

/// Whether an offer has no risks that another does not have.
fn is_as_good(offer: Option<&BTreeSet<&Arc<str>>>, other: &BTreeSet<&Arc<str>>) -> bool {
    offer.is_some_and(|risks| risks.is_subset(other))
}
