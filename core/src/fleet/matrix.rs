//! The fleet as a matrix: which versions run where, and for single clusters what the fleet says to each version.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{ClusterIdx, Filter, FleetPlanner};
use crate::cluster::ClusterId;
use crate::fleet::Name;
use crate::fleet::roster::{ClassIdx, VersionIdx};
use crate::table::Table;
use crate::verdict::Answer;
use crate::version::Version;

/// The most versions that have a column. Older ones are counted together.
pub const MATRIX_VERSIONS: usize = 60;

/// What a row of the matrix stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatrixBy {
    Organisation,
    #[default]
    Sector,
    Workload,
    Cluster,
}

/// Clusters by where they are and what they run, a column for each version, highest first. All pages have the same columns.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Matrix {
    pub versions: Vec<Version>,
    /// How many older versions have no column.
    pub left_out: usize,
    pub rows: Vec<MatrixRow>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatrixRow {
    pub place: MatrixPlace,
    pub cells: MatrixCells,
}

/// Where the clusters of a row are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatrixPlace {
    pub organisation: Name,
    pub sector: Option<Name>,
    pub workload: Option<Name>,
    /// Name and id, where the row is one cluster.
    pub cluster: Option<(Name, ClusterId)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatrixCells {
    /// How many clusters run each version, and how many run one without a column.
    Counts { on: Vec<u32>, others: u32 },
    /// What one cluster runs, and what the fleet says to each version that it could go to.
    One {
        version: Version,
        cells: Vec<Option<MatrixCell>>,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatrixCell {
    Runs,
    Candidate(Answer),
}

impl MatrixBy {
    pub const ALL: [Self; 4] = [
        Self::Organisation,
        Self::Sector,
        Self::Workload,
        Self::Cluster,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::Sector => "sector",
            Self::Workload => "workload",
            Self::Cluster => "cluster",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.name() == name)
    }
}

impl Filter {
    /// The first rows after a place, and whether there are more.
    pub fn matrix(
        &self,
        desk: &FleetPlanner,
        by: MatrixBy,
        after: Option<&MatrixPlace>,
        limit: usize,
        now: Timestamp,
    ) -> (Matrix, bool) {
        match by {
            MatrixBy::Cluster => self.matrix_of_clusters(desk, after, limit, now),
            _ => self.matrix_of_places(desk, by, after, limit, now),
        }
    }

    fn matrix_of_places(
        &self,
        desk: &FleetPlanner,
        by: MatrixBy,
        after: Option<&MatrixPlace>,
        limit: usize,
        now: Timestamp,
    ) -> (Matrix, bool) {
        let roster = desk.roster();
        // Numbers first: a fleet has many clusters and few policies.
        let mut on: BTreeMap<(ClassIdx, VersionIdx), u32> = BTreeMap::new();
        for member in self.members(desk, now) {
            let entry = roster.member(member);
            *on.entry((entry.class, entry.version)).or_default() += 1;
        }
        let mut rows: BTreeMap<MatrixPlace, BTreeMap<VersionIdx, u32>> = BTreeMap::new();
        for (&(class, version), count) in &on {
            for place in self.places(desk, class, by) {
                *rows.entry(place).or_default().entry(version).or_default() += count;
            }
        }
        let (columns, left_out) = columns(on.keys().map(|(_, version)| *version).collect());
        rows.retain(|place, _| after.is_none_or(|after| place > after));
        let has_more = rows.len() > limit;
        let rows: Vec<_> = rows.into_iter().take(limit).collect();
        let row = |(place, on): (MatrixPlace, BTreeMap<VersionIdx, u32>)| {
            let of = |version: &VersionIdx| on.get(version).copied().unwrap_or(0);
            let counts: Vec<u32> = columns.iter().map(of).collect();
            let others = on.values().sum::<u32>() - counts.iter().sum::<u32>();
            let cells = MatrixCells::Counts { on: counts, others };
            MatrixRow { place, cells }
        };
        let matrix = Matrix {
            rows: rows.into_iter().map(row).collect(),
            versions: columns
                .iter()
                .map(|version| roster.version(*version).clone())
                .collect(),
            left_out,
        };
        (matrix, has_more)
    }

    /// The rows that clusters of a class are counted in.
    fn places(&self, desk: &FleetPlanner, class: ClassIdx, by: MatrixBy) -> Vec<MatrixPlace> {
        let roster = desk.roster();
        let class = &roster.classes[class];
        let place = MatrixPlace {
            organisation: roster.organisations[class.organisation].id.clone(),
            sector: None,
            workload: None,
            cluster: None,
        };
        let sector = class.policy.sector.clone();
        let is_asked = |workload: &&Name| {
            self.workload
                .as_ref()
                .is_none_or(|only| ***workload == **only)
        };
        let with = |workload: &Name| MatrixPlace {
            workload: Some(workload.clone()),
            sector: sector.clone(),
            ..place.clone()
        };
        match by {
            MatrixBy::Organisation => vec![place],
            MatrixBy::Sector => vec![MatrixPlace { sector, ..place }],
            _ => class
                .policy
                .workloads
                .iter()
                .filter(is_asked)
                .map(with)
                .collect(),
        }
    }

    fn matrix_of_clusters(
        &self,
        desk: &FleetPlanner,
        after: Option<&MatrixPlace>,
        limit: usize,
        now: Timestamp,
    ) -> (Matrix, bool) {
        let roster = desk.roster();
        let key = |member: &ClusterIdx| {
            let state = roster.cluster(*member);
            (&state.organisation, &state.name, &state.id)
        };
        let is_after = |member: &ClusterIdx| {
            let last = after.and_then(|after| {
                let (name, id) = after.cluster.as_ref()?;
                Some((&after.organisation, name, id))
            });
            last.is_none_or(|last| key(member) > last)
        };
        let mut members: Vec<ClusterIdx> = self.members(desk, now).collect();
        let (columns, left_out) = columns(versions_of(desk, &members));
        members.retain(is_after);
        let has_more = members.len() > limit;
        if has_more {
            members.select_nth_unstable_by(limit, |a, b| key(a).cmp(&key(b)));
            members.truncate(limit);
        }
        members.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let versions: Vec<Version> = columns
            .iter()
            .map(|version| roster.version(*version).clone())
            .collect();
        let row = |member: &ClusterIdx| row_of_cluster(desk, *member, &versions, now);
        let matrix = Matrix {
            rows: members.iter().map(row).collect(),
            versions,
            left_out,
        };
        (matrix, has_more)
    }
}

/// What these clusters run or could go to.
fn versions_of(desk: &FleetPlanner, members: &[ClusterIdx]) -> BTreeSet<VersionIdx> {
    let roster = desk.roster();
    let mut is_used: Table<Version, bool> = Table::like(&roster.versions, false);
    for member in members {
        let entry = roster.member(*member);
        is_used[entry.version] = true;
        for candidate in &entry.candidates {
            is_used[candidate.version] = true;
        }
    }
    let used = is_used.numbered().filter(|(_, is_used)| **is_used);
    used.map(|(version, _)| version).collect()
}

fn row_of_cluster(
    desk: &FleetPlanner,
    member: ClusterIdx,
    versions: &[Version],
    now: Timestamp,
) -> MatrixRow {
    let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
    let candidates = desk.why(member, now).candidates;
    let answers: BTreeMap<&Version, &Answer> = candidates
        .iter()
        .map(|candidate| (&candidate.to, &candidate.verdict.answer))
        .collect();
    let cell = |version: &Version| match *version == state.version {
        true => Some(MatrixCell::Runs),
        false => answers
            .get(version)
            .map(|answer| MatrixCell::Candidate((*answer).clone())),
    };
    MatrixRow {
        place: MatrixPlace {
            organisation: state.organisation.clone(),
            sector: policy.sector.clone(),
            workload: None,
            cluster: Some((state.name.clone(), state.id.clone())),
        },
        cells: MatrixCells::One {
            version: state.version.clone(),
            cells: versions.iter().map(cell).collect(),
        },
    }
}

/// The versions that get a column, highest first, and how many do not.
fn columns(versions: BTreeSet<VersionIdx>) -> (Vec<VersionIdx>, usize) {
    let left_out = versions.len().saturating_sub(MATRIX_VERSIONS);
    let columns = versions.into_iter().rev().take(MATRIX_VERSIONS).collect();
    (columns, left_out)
}
