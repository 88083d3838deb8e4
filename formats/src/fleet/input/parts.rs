//! The parts: what belongs to each organisation, and the rest. Policies and offers are in tables,
//! because most clusters share them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet as core;

use super::objection::Offer;
use super::records::{
    Approval, Cluster, Gate, Minimum, MinorColumns, Organisation, Pause, Policy, Preflight, Soak,
    TakenBack, Upgrade,
};
use super::stored::{Join, Stored, Tables, Text, restore_all, store_all};
use super::{in_order, sort};

#[derive(Default, Serialize, Deserialize)]
pub(super) struct Whole<'a> {
    pub(super) organisations: BTreeMap<Text<'a>, Part<'a>>,
    pub(super) rest: Rest<'a>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part<'a> {
    organisation: Option<Organisation<'a>>,
    policies: Vec<Policy<'a>>,
    offers: Vec<Vec<Offer<'a>>>,
    clusters: Vec<Cluster<'a>>,
    upgrades: Vec<Upgrade<'a>>,
    soak: Vec<Soak<'a>>,
    approvals: Vec<Approval<'a>>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rest<'a> {
    upgrades: Vec<Upgrade<'a>>,
    gates: Vec<Gate<'a>>,
    pauses: Vec<Pause<'a>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    preflights: Vec<Preflight<'a>>,
    /// Decisions from before anybody could take something back have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    taken_back: Option<TakenBack<'a>>,
    inherited: BTreeMap<Text<'a>, Minimum<'a>>,
    /// Decisions from before the rule about minor versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    minors: Option<BTreeMap<Text<'a>, MinorColumns<'a>>>,
}

impl<'a> Whole<'a> {
    /// The parts of all organisations, by id, and the rest; every list sorted.
    pub(super) fn of(input: &'a core::FleetInput) -> Self {
        let none = Tables::default();
        let mut whole = Self::default();
        for (id, organisation) in &input.policy.organisations {
            let clusters = organisation.clusters.iter().map(|entry| &entry.policy);
            let defaults = organisation.defaults.iter().map(|entry| &entry.policy);
            let tables = Tables {
                policies: distinct(clusters.chain(defaults)),
                ..Tables::default()
            };
            let part = whole.part(id);
            part.policies = store_all(tables.policies.iter().copied(), &tables);
            part.organisation = Some(Stored::store(organisation, &tables));
        }
        let mut clusters: BTreeMap<&str, Vec<&core::ClusterState>> = BTreeMap::new();
        let mut home: BTreeMap<&ClusterId, &str> = BTreeMap::new();
        for cluster in &input.clusters {
            clusters
                .entry(&cluster.organisation)
                .or_default()
                .push(cluster);
            home.insert(&cluster.id, &cluster.organisation);
        }
        for (id, mut clusters) in clusters {
            clusters.sort_by(|a, b| a.id.cmp(&b.id));
            let tables = Tables {
                offers: distinct(clusters.iter().map(|cluster| &cluster.offers)),
                ..Tables::default()
            };
            let part = whole.part(id);
            part.offers = store_all(tables.offers.iter().copied(), &tables);
            part.clusters = store_all(clusters, &tables);
        }
        let mut upgrades: Vec<&core::Upgrade> = input.upgrades.iter().collect();
        upgrades.sort_by(|a, b| in_order(a, b));
        for upgrade in upgrades {
            let list = match home.get(&upgrade.cluster) {
                Some(id) => &mut whole.part(id).upgrades,
                None => &mut whole.rest.upgrades,
            };
            list.push(Stored::store(upgrade, &none));
        }
        for sum in sorted(&input.soak) {
            let soak = &mut whole.part(&sum.organisation).soak;
            soak.push(Stored::store(sum, &none));
        }
        for approval in sorted(&input.approvals) {
            let approvals = &mut whole.part(&approval.organisation).approvals;
            approvals.push(Stored::store(approval, &none));
        }
        whole.rest.gates = store_all(sorted(&input.gates), &none);
        whole.rest.pauses = store_all(sorted(&input.pauses), &none);
        whole.rest.preflights = store_all(sorted(&input.preflights), &none);
        let anything = input.taken_back != core::TakenBack::default();
        let taken_back = || Stored::store(&input.taken_back, &none);
        whole.rest.taken_back = anything.then(taken_back);
        whole.rest.inherited = Stored::store(&input.inherited, &none);
        whole.rest.minors = Stored::store(&input.minors, &none);
        whole
    }

    fn part(&mut self, id: &'a str) -> &mut Part<'a> {
        self.organisations.entry(id.into()).or_default()
    }

    /// Puts the parts together again.
    pub(super) fn join(self) -> Result<core::FleetInput, String> {
        let join = &mut Join::default();
        let mut input = core::FleetInput::default();
        for (id, part) in self.organisations {
            join.organisation = join.name(&id);
            join.policies = part.policies.restore(join)?;
            join.offers = part.offers.restore(join)?;
            if let Some(organisation) = part.organisation.restore(join)? {
                let organisations = &mut input.policy.organisations;
                organisations.insert(join.organisation.clone(), organisation);
            }
            append(part.clusters, &mut input.clusters, join)?;
            append(part.upgrades, &mut input.upgrades, join)?;
            append(part.soak, &mut input.soak, join)?;
            append(part.approvals, &mut input.approvals, join)?;
        }
        append(self.rest.upgrades, &mut input.upgrades, join)?;
        input.gates = self.rest.gates.restore(join)?;
        input.pauses = self.rest.pauses.restore(join)?;
        input.preflights = self.rest.preflights.restore(join)?;
        if let Some(taken_back) = self.rest.taken_back {
            input.taken_back = taken_back.restore(join)?;
        }
        input.inherited = self.rest.inherited.restore(join)?;
        input.minors = self.rest.minors.restore(join)?;
        sort(&mut input);
        Ok(input)
    }
}

fn append<'a, D, W: Stored<'a, D>>(
    from: Vec<W>,
    to: &mut Vec<D>,
    join: &mut Join,
) -> Result<(), String> {
    to.append(&mut restore_all(from, join)?);
    Ok(())
}

pub(super) fn sorted<'a, T: Ord>(values: impl IntoIterator<Item = &'a T>) -> Vec<&'a T> {
    let mut sorted: Vec<&T> = values.into_iter().collect();
    sorted.sort();
    sorted
}

/// Each value once, in order.
fn distinct<'a, T: Ord>(values: impl IntoIterator<Item = &'a T>) -> Vec<&'a T> {
    let mut distinct = sorted(values);
    distinct.dedup();
    distinct
}
