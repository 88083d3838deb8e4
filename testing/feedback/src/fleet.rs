//! Simulated fleets: clusters with a class and an organisation.

use std::sync::Arc;

use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{HaltScope, UpdateClass};
use towpath_core::fleet::Name;
use towpath_core::version::{Arch, Minor, Version};

use crate::Chance;

const PLATFORMS: [(&str, u64); 6] = [
    ("AWS", 40),
    ("Azure", 20),
    ("VSphere", 20),
    ("BareMetal", 10),
    ("GCP", 6),
    ("None", 4),
];
const ARCHITECTURES: [(&str, u64); 4] = [("amd64", 92), ("arm64", 4), ("s390x", 2), ("ppc64le", 2)];

/// Real fleets have a few clusters on each of many platforms.
const MANY_PLATFORMS: [(&str, u64); 10] = [
    ("AWS", 38),
    ("Azure", 20),
    ("VSphere", 20),
    ("BareMetal", 8),
    ("GCP", 5),
    ("OpenStack", 4),
    ("None", 2),
    ("Nutanix", 1),
    ("IBMCloud", 1),
    ("oVirt", 1),
];

/// Which platforms the clusters of a fleet are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    Six,
    Ten,
}

/// How large a fleet is, and in how many hands.
#[derive(Debug, Clone, Copy)]
pub struct FleetShape {
    pub clusters: usize,
    pub organisations: u64,
}

#[derive(Debug, Clone)]
pub struct SimulatedCluster {
    pub id: ClusterId,
    pub organisation: Name,
    pub class: UpdateClass,
    pub from: Version,
}

/// A fleet whose clusters run `from` or, a fifth of them, `from_before`, a release of the minor version before.
pub fn fleet(
    shape: FleetShape,
    from: &Version,
    from_before: &Version,
    chance: &mut Chance,
) -> Vec<SimulatedCluster> {
    let froms = [(from.clone(), 4), (from_before.clone(), 1)];
    fleet_of(shape, Mix::Six, &froms, chance)
}

/// A fleet whose clusters run these releases, by weight.
pub fn fleet_of(
    shape: FleetShape,
    mix: Mix,
    froms: &[(Version, u64)],
    chance: &mut Chance,
) -> Vec<SimulatedCluster> {
    let platforms: &[(&str, u64)] = match mix {
        Mix::Six => &PLATFORMS,
        Mix::Ten => &MANY_PLATFORMS,
    };
    let platform = |(name, weight): &(&str, u64)| (Platform::new(name).unwrap(), *weight);
    let platforms: Vec<(Platform, u64)> = platforms.iter().map(platform).collect();
    let arches = ARCHITECTURES.map(|(name, weight)| (Arch::new(name), weight));
    let name = |number: u64| Arc::from(format!("organisation-{number}"));
    let organisations: Vec<Name> = (0..shape.organisations).map(name).collect();
    let cluster = |number: usize| {
        let from = chance.one_of(froms).clone();
        SimulatedCluster {
            id: ClusterId::new(&format!("cluster-{number:06}")).unwrap(),
            organisation: organisations[chance.below(shape.organisations) as usize].clone(),
            class: UpdateClass {
                from: Minor::of(&from),
                platform: Fact::Known(chance.one_of(&platforms).clone()),
                arch: chance.one_of(&arches).clone(),
            },
            from,
        }
    };
    (0..shape.clusters).map(cluster).collect()
}

impl SimulatedCluster {
    pub fn is_in(&self, scope: &HaltScope) -> bool {
        scope.has(&self.class)
    }
}
