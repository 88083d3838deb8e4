//! What people name when they act on a fleet: organisations, clusters, versions and gates. A name that nobody knows is a typing error, so
//! it is refused and changes nothing.

use std::collections::BTreeSet;

use super::filter::{MAX_SHOWN, is_called};
use super::{Approval, BadQuestion, ClusterState, Name, VersionGate};
use crate::graph::Graph;
use crate::version::Version;

/// Every cluster that is known, with or without a policy, and every gate.
#[derive(Debug, Clone, Default)]
pub struct KnownFleet {
    pub clusters: Vec<ClusterState>,
    pub gates: Vec<VersionGate>,
}

impl KnownFleet {
    /// The clusters of an organisation, of which there is at least one.
    pub fn organisation(&self, name: &str) -> Result<Vec<&ClusterState>, BadQuestion> {
        let members = self.clusters.iter();
        let own: Vec<&ClusterState> = members.filter(|one| *one.organisation == *name).collect();
        match own.is_empty() {
            false => Ok(own),
            true => Err(BadQuestion::NobodyHas {
                what: "organisation",
                name: name.to_owned(),
                there: first(self.clusters.iter().map(|one| &one.organisation)),
            }),
        }
    }

    /// The cluster with this name or id, in this organisation if one is named.
    pub fn cluster(
        &self,
        name: &str,
        organisation: Option<&str>,
    ) -> Result<&ClusterState, BadQuestion> {
        let candidates = match organisation {
            Some(organisation) => self.organisation(organisation)?,
            None => self.clusters.iter().collect(),
        };
        let called = candidates.iter().filter(|one| is_called(one, name));
        match &*called.collect::<Vec<_>>() {
            [one] => Ok(one),
            [] => Err(BadQuestion::NobodyHas {
                what: "name or id",
                name: name.to_owned(),
                there: first(candidates.iter().map(|one| &one.name)),
            }),
            several => Err(BadQuestion::SeveralClusters {
                name: name.to_owned(),
                ids: several.iter().map(|one| one.id.to_string()).collect(),
            }),
        }
    }

    /// The clusters that an approval is about. Somebody must know its version: a cluster runs it or is offered it, or the graph has it.
    pub fn approved(
        &self,
        approval: &Approval,
        graph: Option<&Graph>,
    ) -> Result<Vec<&ClusterState>, BadQuestion> {
        let whose = Some(&*approval.organisation);
        let meant = match approval.cluster.as_deref() {
            Some(name) => vec![self.cluster(name, whose)?],
            None => self.organisation(&approval.organisation)?,
        };
        let offered = |one: &ClusterState| {
            one.offers
                .iter()
                .any(|offer| offer.version == approval.version)
        };
        let mut clusters = self.clusters.iter();
        let is_told = clusters.any(|one| one.version == approval.version || offered(one));
        let is_in_graph = |graph: &Graph| {
            let mut arches = graph.arches();
            arches.any(|arch| graph.find(&approval.version, arch).is_some())
        };
        if is_told || graph.is_some_and(is_in_graph) {
            return Ok(meant);
        }
        let offers = meant.iter().flat_map(|one| one.offers.iter());
        let there: BTreeSet<&Version> = offers.map(|offer| &offer.version).collect();
        let there = there.into_iter().rev().take(MAX_SHOWN);
        Err(BadQuestion::NoVersion {
            version: approval.version.clone(),
            there: there.map(ToString::to_string).collect(),
        })
    }

    /// Checks that there is a gate with this id.
    pub fn gate(&self, id: &str) -> Result<(), BadQuestion> {
        match self.gates.iter().any(|gate| *gate.id == *id) {
            true => Ok(()),
            false => Err(BadQuestion::NoGate {
                gate: id.to_owned(),
                there: first(self.gates.iter().map(|gate| &gate.id)),
            }),
        }
    }
}

/// The first names, each once.
fn first<'a>(names: impl Iterator<Item = &'a Name>) -> Vec<String> {
    let names: BTreeSet<&Name> = names.collect();
    let names = names.into_iter().take(MAX_SHOWN);
    names.map(|name| name.to_string()).collect()
}
