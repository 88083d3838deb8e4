//! The fleet of this test, and who may be upgraded at once in it, said a second time and independently of the core.
//!
//! | clusters | organisation | sector | may be upgraded at once |
//! |---|---|---|---|
//! | 00–05 | acme | stage | 2 of those that share a mutex |
//! | 06–11 | acme | blue | 50 % of those that share a mutex |
//! | 12–17 | acme | green | whoever has its mutexes for itself |
//! | 18–23 | zen | none | whoever has its mutexes for itself |
//!
//! `wan` is one mutex in both organisations, `rack` one in each. 13 goes not while 12 does. 23 is limited by nobody.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::cluster::ClusterId;
use towpath_core::finding::Place;
use towpath_core::fleet::{
    ClusterPolicy, FleetPolicy, Name, Offer, Organisation, Parallel, Pause, Sector, UpgradePolicy,
};
use towpath_core::version::Version;

use towpath_testing_store::{id, set, version};

pub(crate) const CLUSTERS: usize = 24;

/// The limits of AUS for 50 % of so many clusters, as it was seen to keep them.
const HALF_OF: [usize; 7] = [0, 1, 1, 2, 2, 2, 3];

/// An organisation, and a sector of it.
type SectorKey = (&'static str, Option<&'static str>);

/// A cluster, and what it needs.
pub(crate) struct Member {
    pub(crate) id: ClusterId,
    pub(crate) organisation: &'static str,
    pub(crate) sector: Option<&'static str>,
    declared: Vec<&'static str>,
    /// What its upgrade holds: equal keys are one mutex.
    pub(crate) mutexes: BTreeSet<&'static str>,
}

pub(crate) struct Fleet {
    pub(crate) members: BTreeMap<ClusterId, Member>,
}

impl Fleet {
    pub(crate) fn new() -> Self {
        let members = (0..CLUSTERS).map(Member::new);
        Self {
            members: members.map(|member| (member.id.clone(), member)).collect(),
        }
    }

    pub(crate) fn member(&self, id: &ClusterId) -> &Member {
        &self.members[id]
    }

    /// Why a cluster may not start while these others are under way.
    pub(crate) fn objection(
        &self,
        newcomer: &ClusterId,
        others: &BTreeSet<&ClusterId>,
    ) -> Option<String> {
        let newcomer = self.member(newcomer);
        let others = || {
            others
                .iter()
                .map(|id| self.member(id))
                .filter(|other| other.id != newcomer.id)
        };
        newcomer.mutexes.iter().find_map(|mutex| {
            let holders = others().filter(|other| other.mutexes.contains(mutex));
            let (counted, limit): (Vec<&Member>, usize) = match self.limit(newcomer, mutex) {
                Some(limit) => (
                    holders
                        .filter(|other| other.place() == newcomer.place())
                        .collect(),
                    limit,
                ),
                None => (holders.collect(), 1),
            };
            let names: Vec<&str> = counted.iter().map(|other| other.id.as_str()).collect();
            (names.len() >= limit)
                .then(|| format!("{mutex} is held by {names:?}; {limit} may hold it at once"))
        })
    }

    /// What is wrong with these being under way, however it came about.
    pub(crate) fn excess(&self, active: &BTreeSet<&ClusterId>) -> Option<String> {
        let members = || active.iter().map(|id| self.member(id));
        let mutexes: BTreeSet<&str> = members()
            .flat_map(|member| member.mutexes.iter().copied())
            .collect();
        mutexes.into_iter().find_map(|mutex| {
            let mut counts: BTreeMap<Option<SectorKey>, (usize, usize)> = BTreeMap::new();
            for holder in members().filter(|member| member.mutexes.contains(mutex)) {
                let limit = self.limit(holder, mutex);
                // Those that need it for themselves are one crowd, wherever they are.
                let entry = counts
                    .entry(limit.map(|_| holder.place()))
                    .or_insert((0, limit.unwrap_or(1)));
                entry.0 += 1;
            }
            let over = counts.into_iter().find(|(_, (held, limit))| held > limit);
            over.map(|(place, (held, limit))| {
                format!("{mutex} is held by {held} of {place:?}, {limit} may")
            })
        })
    }

    /// How many of a cluster's sector may hold the mutex at once; none: it must be the only one anywhere.
    fn limit(&self, member: &Member, mutex: &str) -> Option<usize> {
        let peers = || {
            self.members
                .values()
                .filter(|peer| peer.place() == member.place())
        };
        match member.sector {
            Some("stage") => Some(2),
            Some("blue") => {
                Some(HALF_OF[peers().filter(|peer| peer.mutexes.contains(mutex)).count()])
            }
            _ => None,
        }
    }

    /// What people want, as the core knows it.
    pub(crate) fn policy(&self) -> FleetPolicy {
        let organisations = ["acme", "zen"].map(|name| (name.into(), self.organisation(name)));
        FleetPolicy {
            organisations: organisations.into(),
        }
    }

    fn organisation(&self, name: &'static str) -> Organisation {
        let sectors = [
            ("stage", Some(Parallel::Count(2))),
            ("blue", Some(Parallel::Percent(50))),
            ("green", None),
        ];
        let own = self
            .members
            .values()
            .filter(|member| member.organisation == name);
        Organisation {
            id: name.into(),
            name: name.into(),
            environment: None,
            blocked_versions: Vec::new(),
            sectors: sectors
                .map(|(name, limit)| (name.into(), sector(name, limit)))
                .into(),
            clusters: own.map(Member::policy).collect(),
            defaults: Vec::new(),
            inherits_from: BTreeSet::new(),
            shared_mutexes: set(&["wan"]),
            disabled: false,
            origin: Place::file("fleet.yaml"),
        }
    }
}

impl Member {
    fn new(number: usize) -> Self {
        let (organisation, sector) = match number {
            0..6 => ("acme", Some("stage")),
            6..12 => ("acme", Some("blue")),
            12..18 => ("acme", Some("green")),
            _ => ("zen", None),
        };
        let declared = match number {
            1 | 2 => vec!["rack", "wan"],
            0..6 | 6..9 | 12 => vec!["rack"],
            9 | 10 | 11 | 15 | 18..21 => vec!["wan"],
            13 => vec!["rack", "c12"],
            14 | 16 => vec!["wall"],
            17 => vec!["wall", "wan"],
            21 | 22 => vec!["rack"],
            _ => vec![],
        };
        let key = |name: &&'static str| match (*name, organisation) {
            ("wan", _) => "*/wan",
            ("rack", "zen") => "zen/rack",
            ("rack", _) => "acme/rack",
            ("wall", _) => "acme/wall",
            _ => "acme/c12",
        };
        // Every cluster is a mutex of its own; only that of 12 is anybody else's.
        let mutexes = declared
            .iter()
            .map(key)
            .chain((number == 12).then_some("acme/c12"))
            .collect();
        Self {
            id: id(&format!("c{number:02}")),
            organisation,
            sector,
            declared,
            mutexes,
        }
    }

    fn place(&self) -> SectorKey {
        (self.organisation, self.sector)
    }

    pub(crate) fn is_covered_by(&self, pause: &Pause) -> bool {
        pause.covers(self.organisation, self.sector)
    }

    fn policy(&self) -> ClusterPolicy {
        let policy = UpgradePolicy {
            workloads: set(&["web"]),
            schedule: Some("* * * * *".parse().unwrap()),
            soak_days: Some(u32::from(self.sector == Some("green"))),
            mutexes: self.declared.iter().map(|name| Name::from(*name)).collect(),
            sector: self.sector.map(Name::from),
            ..UpgradePolicy::default()
        };
        ClusterPolicy {
            name: self.id.as_str().into(),
            id: Some(self.id.clone()),
            policy,
            left_alone: None,
            problems: Vec::new(),
            origin: Place::file("fleet.yaml"),
        }
    }
}

fn sector(name: &str, max_parallel: Option<Parallel>) -> Sector {
    Sector {
        name: name.into(),
        depends_on: Vec::new(),
        max_parallel,
        max_failures: None,
        straggler_days: None,
        origin: Place::file("fleet.yaml"),
    }
}

/// Releases never end: from each one goes to either of the next two.
pub(crate) fn offers(from: &Version) -> Vec<Offer> {
    let patch = patch(from);
    [patch + 1, patch + 2]
        .map(|patch| Offer::free(release(patch)))
        .into()
}

pub(crate) fn release(patch: u64) -> Version {
    version(&format!("4.9.{patch}"))
}

pub(crate) fn patch(version: &Version) -> u64 {
    version
        .to_string()
        .rsplit('.')
        .next()
        .unwrap()
        .parse()
        .unwrap()
}
