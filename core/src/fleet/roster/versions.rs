//! Versions and their numbers: the higher number is the higher version.

use std::collections::{BTreeMap, BTreeSet};

use super::{Candidate, Roster, VersionIdx};
use crate::fleet::{ClusterState, FleetInput, Offer, Organisation, Product, UpgradePolicy};
use crate::table::{Idx, Table};
use crate::version::Version;

impl Roster {
    /// A roster that knows the versions of an input, and nothing else yet.
    pub(super) fn of_versions(input: &FleetInput) -> Self {
        let versions = versions(input);
        let finals = versions
            .numbered()
            .filter_map(|(number, version)| Some((packed(version)?, number)));
        Self {
            finals: finals.collect(),
            versions,
            ..Self::default()
        }
    }

    pub(crate) fn version(&self, version: VersionIdx) -> &Version {
        &self.versions[version]
    }

    pub(crate) fn version_number(&self, version: &Version) -> Option<VersionIdx> {
        match packed(version) {
            Some(key) => self
                .finals
                .binary_search_by_key(&key, |(key, _)| *key)
                .ok()
                .map(|at| self.finals[at].1),
            None => self
                .versions
                .rows()
                .binary_search(version)
                .ok()
                .map(Idx::new),
        }
    }

    /// The number of a version of the input that the roster was built from.
    pub(super) fn known_version(&self, version: &Version) -> VersionIdx {
        self.version_number(version)
            .expect("every version has a number")
    }

    /// The cluster's offers above its version, highest first, and each once. One in another channel counts only if the policy lets
    /// the cluster be switched there.
    pub(super) fn candidates(
        &self,
        state: &ClusterState,
        policy: &UpgradePolicy,
    ) -> Box<[Candidate]> {
        let above = self.known_version(&state.version);
        let is_open = |offer: &Offer| {
            let channel = offer.channel.as_ref();
            channel.is_none_or(|channel| policy.follows.as_deref() == Some(channel.stream()))
        };
        let offers = state.offers.iter().enumerate();
        let offers = offers.filter(|(_, offer)| is_open(offer));
        let numbered = offers.map(|(at, offer)| Candidate {
            version: self.known_version(&offer.version),
            offer: Idx::new(at),
            holds: 0,
        });
        let mut candidates: Vec<Candidate> = numbered
            .filter(|candidate| candidate.version > above)
            .collect();
        candidates.sort_by(|a, b| (b.version, a.offer).cmp(&(a.version, b.offer)));
        candidates.dedup_by_key(|candidate| candidate.version);
        candidates.into()
    }
}

/// Every version there is, in order.
fn versions(input: &FleetInput) -> Table<Version> {
    let mut all = VersionSet::default();
    // Clusters often share their list of offers: look once at each.
    let mut last: Option<*const Offer> = None;
    for state in &input.clusters {
        all.add(&state.version);
        if last.replace(state.offers.as_ptr()) != Some(state.offers.as_ptr()) {
            state
                .offers
                .iter()
                .for_each(|offer| all.add(&offer.version));
        }
        if let Product::HostedControlPlane { pools } = &state.product {
            pools.iter().for_each(|pool| all.add(&pool.version));
        }
    }
    let soaked = input.soak.iter().map(|sum| &sum.version);
    let upgrades = input
        .upgrades
        .iter()
        .flat_map(|upgrade| [&upgrade.from, &upgrade.to]);
    let lowest = input
        .inherited
        .values()
        .flat_map(|minimum| minimum.version.iter().chain(minimum.of_workload.values()));
    let pins = input
        .policy
        .organisations
        .values()
        .flat_map(policies_of)
        .filter_map(|policy| policy.pin.as_ref());
    soaked
        .chain(upgrades)
        .chain(lowest)
        .chain(pins)
        .for_each(|version| all.add(version));
    all.sorted()
}

fn policies_of(organisation: &Organisation) -> impl Iterator<Item = &UpgradePolicy> {
    let named = organisation.clusters.iter().map(|entry| &entry.policy);
    named.chain(organisation.defaults.iter().map(|entry| &entry.policy))
}

/// There are few versions and they are met often, so that is made cheap.
#[derive(Default)]
struct VersionSet<'a> {
    finals: BTreeMap<u64, &'a Version>,
    others: BTreeSet<&'a Version>,
}

impl<'a> VersionSet<'a> {
    fn add(&mut self, version: &'a Version) {
        match packed(version) {
            Some(key) => drop(self.finals.entry(key).or_insert(version)),
            None => drop(self.others.insert(version)),
        }
    }

    fn sorted(self) -> Table<Version> {
        let all: BTreeSet<&Version> = self.finals.into_values().chain(self.others).collect();
        all.into_iter().cloned().collect()
    }
}

/// A final release's version as one number, in the order of versions; none for what does not fit.
fn packed(version: &Version) -> Option<u64> {
    let fits = version.major() < 1 << 16 && version.minor() < 1 << 24 && version.patch() < 1 << 24;
    let is_final = version.pre_release().is_empty();
    (fits && is_final).then(|| version.major() << 48 | version.minor() << 24 | version.patch())
}
