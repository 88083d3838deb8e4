//! The clusters with their policies: rows for metrics, and pages of a table that is searched, filtered and sorted.
//!
//! A page looks at every cluster once and compares keys. Only the rows of the page are made, so a page of 100,000 clusters costs
//! little more than one of a hundred.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{ClusterIdx, Decision, Filter, FleetPlanner, Start, best_candidate};
use crate::cluster::ClusterId;
use crate::fleet::{ClusterState, Health, Name, RuleId, Upgrade};
use crate::graph::ChannelName;
use crate::verdict::Answer;
use crate::version::Version;

/// A cluster, and what its policy says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterRow {
    pub organisation: Name,
    pub name: Name,
    pub id: ClusterId,
    pub version: Version,
    /// None: nobody has told.
    pub channel: Option<ChannelName>,
    /// As it is written. None if it cannot be read; then the cluster never starts.
    pub schedule: Option<String>,
    pub sector: Option<Name>,
    pub mutexes: BTreeSet<Name>,
    pub soak_days: Option<u32>,
    pub workloads: BTreeSet<Name>,
    /// Versions that it waits for to soak.
    pub soaking: BTreeSet<Version>,
    /// Why it has no policy, if it has none. Then nothing starts there, and nothing above is from a policy.
    pub no_policy: Option<NoPolicy>,
}

/// Why no policy is about a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoPolicy {
    /// No file is about its organisation.
    NoOrganisation,
    /// Its organisation's file names neither its id nor its name, and no default has its labels.
    NotSelected,
}

impl NoPolicy {
    /// All of them, in the order of the texts.
    pub const ALL: [Self; 2] = [Self::NoOrganisation, Self::NotSelected];

    pub fn code(self) -> &'static str {
        match self {
            Self::NoOrganisation => "NoOrganisation",
            Self::NotSelected => "NotSelected",
        }
    }

    /// Why, as a sentence.
    pub fn text(self) -> &'static str {
        match self {
            Self::NoOrganisation => "no policy file is about the organisation",
            Self::NotSelected => {
                "the organisation's policy names neither the cluster nor labels that it has"
            }
        }
    }
}

/// A cluster of a table: its policy if it has one, how it is, and where it goes next.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterListing {
    pub row: ClusterRow,
    pub seen_at: Timestamp,
    pub health: Health,
    /// About the version that it goes to next; none if there is none.
    pub answer: Option<Answer>,
    pub held: BTreeSet<RuleId>,
    /// The version that is planned, under way, about to start, or held least.
    pub to: Option<Version>,
    /// When that starts, if it is known.
    pub expected: Option<Timestamp>,
    /// Its upgrade that is planned or runs.
    pub upgrade: Option<Upgrade>,
}

/// The order of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClusterSort {
    /// By organisation, then by name.
    #[default]
    Organisation,
    Name,
    /// The lowest first.
    Version,
    /// The longest silent first.
    Seen,
}

/// A part of a table.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterPage {
    pub at: Timestamp,
    /// How many clusters there are.
    pub total: usize,
    /// How many of them are asked about.
    pub matching: usize,
    pub rows: Vec<ClusterListing>,
    /// Where the next page begins, if there is one.
    pub next: Option<ClusterKey>,
}

/// Where a cluster stands in a table: by what it is sorted, then by organisation, name and id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ClusterKey {
    pub value: SortValue,
    pub organisation: Name,
    pub name: Name,
    pub id: ClusterId,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortValue {
    Organisation,
    Name(Name),
    Version(Version),
    Seen(Timestamp),
}

/// The same, borrowed.
type KeyRef<'a> = (ValueRef<'a>, &'a str, &'a str, &'a str);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ValueRef<'a> {
    Organisation,
    Name(&'a str),
    Version(&'a Version),
    Seen(Timestamp),
}

/// A cluster that is known, with a policy or without.
#[derive(Clone, Copy)]
enum Known<'a> {
    Member(ClusterIdx, &'a ClusterState),
    Unmanaged(&'a ClusterState),
}

impl ClusterSort {
    pub const ALL: [Self; 4] = [Self::Organisation, Self::Name, Self::Version, Self::Seen];

    pub fn word(self) -> &'static str {
        match self {
            Self::Organisation => "organisation",
            Self::Name => "name",
            Self::Version => "version",
            Self::Seen => "seen",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.word() == word)
    }

    fn key(self, state: &ClusterState) -> KeyRef<'_> {
        let value = match self {
            Self::Organisation => ValueRef::Organisation,
            Self::Name => ValueRef::Name(&state.name),
            Self::Version => ValueRef::Version(&state.version),
            Self::Seen => ValueRef::Seen(state.last_seen),
        };
        (value, &state.organisation, &state.name, state.id.as_str())
    }
}

impl ClusterKey {
    fn of(sort: ClusterSort, state: &ClusterState) -> Self {
        Self {
            value: match sort {
                ClusterSort::Organisation => SortValue::Organisation,
                ClusterSort::Name => SortValue::Name(state.name.clone()),
                ClusterSort::Version => SortValue::Version(state.version.clone()),
                ClusterSort::Seen => SortValue::Seen(state.last_seen),
            },
            organisation: state.organisation.clone(),
            name: state.name.clone(),
            id: state.id.clone(),
        }
    }

    fn borrowed(&self) -> KeyRef<'_> {
        let value = match &self.value {
            SortValue::Organisation => ValueRef::Organisation,
            SortValue::Name(name) => ValueRef::Name(name),
            SortValue::Version(version) => ValueRef::Version(version),
            SortValue::Seen(at) => ValueRef::Seen(*at),
        };
        (value, &self.organisation, &self.name, self.id.as_str())
    }
}

impl ClusterRow {
    fn new(desk: &FleetPlanner, member: ClusterIdx) -> Self {
        let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
        let soaking = policy.workloads.iter();
        let soaking = soaking.flat_map(|workload| desk.soak_of(member, workload));
        Self {
            schedule: policy
                .schedule
                .as_ref()
                .map(|cron| cron.as_str().to_owned()),
            sector: policy.sector.clone(),
            mutexes: policy.mutexes.clone(),
            soak_days: policy.soak_days,
            workloads: policy.workloads.clone(),
            soaking: soaking.map(|(version, ..)| version).collect(),
            no_policy: None,
            ..Self::without_policy(desk, state)
        }
    }

    /// Of a cluster that no policy is about.
    fn without_policy(desk: &FleetPlanner, state: &ClusterState) -> Self {
        let has_file = desk.roster().has_organisation(&state.organisation);
        Self {
            organisation: state.organisation.clone(),
            name: state.name.clone(),
            id: state.id.clone(),
            version: state.version.clone(),
            channel: state.channel.clone(),
            schedule: None,
            sector: None,
            mutexes: BTreeSet::new(),
            soak_days: None,
            workloads: BTreeSet::new(),
            soaking: BTreeSet::new(),
            no_policy: Some(match has_file {
                true => NoPolicy::NotSelected,
                false => NoPolicy::NoOrganisation,
            }),
        }
    }
}

impl Filter {
    /// The clusters that are asked about and have a policy, by organisation, name and id.
    pub fn clusters(&self, desk: &FleetPlanner, now: Timestamp) -> Vec<ClusterRow> {
        let mut rows: Vec<ClusterRow> = self
            .members(desk, now)
            .map(|member| ClusterRow::new(desk, member))
            .collect();
        rows.sort();
        rows
    }

    /// A page of the clusters that are asked about, also of those without a policy.
    pub fn cluster_page(
        &self,
        desk: &FleetPlanner,
        decision: &Decision,
        sort: ClusterSort,
        after: Option<&ClusterKey>,
        limit: usize,
    ) -> ClusterPage {
        let (roster, now) = (desk.roster(), decision.at);
        let members = roster
            .numbers()
            .filter(|member| self.is_meant(desk, *member, now))
            .map(|member| Known::Member(member, roster.cluster(member)));
        let others = roster.unmanaged();
        let others = others.filter(|state| self.is_meant_without_policy(state));
        let meant: Vec<Known<'_>> = members.chain(others.map(Known::Unmanaged)).collect();
        let matching = meant.len();
        let after = after.map(ClusterKey::borrowed);
        let mut rest: Vec<Known<'_>> = meant;
        rest.retain(|known| after.is_none_or(|after| known.key(sort) > after));
        let has_more = rest.len() > limit;
        if has_more {
            rest.select_nth_unstable_by(limit, |a, b| a.key(sort).cmp(&b.key(sort)));
            rest.truncate(limit);
        }
        rest.sort_unstable_by(|a, b| a.key(sort).cmp(&b.key(sort)));
        let last = rest.last().filter(|_| has_more);
        let next = last.map(|known| ClusterKey::of(sort, known.state()));
        let starts: BTreeMap<ClusterIdx, &Start> = desk.pending_starts(decision).collect();
        let listing = |known: Known<'_>| match known {
            Known::Member(member, _) => of_member(desk, member, starts.get(&member).copied(), now),
            Known::Unmanaged(state) => {
                ClusterListing::new(ClusterRow::without_policy(desk, state), state)
            }
        };
        ClusterPage {
            at: now,
            total: roster.len() + roster.unmanaged().count(),
            matching,
            rows: rest.into_iter().map(listing).collect(),
            next,
        }
    }
}

impl<'a> Known<'a> {
    fn state(self) -> &'a ClusterState {
        match self {
            Self::Member(_, state) | Self::Unmanaged(state) => state,
        }
    }

    fn key(self, sort: ClusterSort) -> KeyRef<'a> {
        sort.key(self.state())
    }
}

impl ClusterListing {
    /// A cluster of which no policy says anything.
    fn new(row: ClusterRow, state: &ClusterState) -> Self {
        Self {
            row,
            seen_at: state.last_seen,
            health: state.health.clone(),
            answer: None,
            held: BTreeSet::new(),
            to: None,
            expected: None,
            upgrade: None,
        }
    }
}

fn of_member(
    desk: &FleetPlanner,
    member: ClusterIdx,
    start: Option<&Start>,
    now: Timestamp,
) -> ClusterListing {
    let roster = desk.roster();
    let state = roster.cluster(member);
    let known = ClusterListing {
        held: desk.held_by(member, now),
        ..ClusterListing::new(ClusterRow::new(desk, member), state)
    };
    if let Some(upgrade) = roster.upgrade_of(member) {
        return ClusterListing {
            to: Some(upgrade.to.clone()),
            expected: Some(upgrade.start_at),
            upgrade: Some(upgrade.clone()),
            ..known
        };
    }
    if let Some(start) = start {
        return ClusterListing {
            answer: Some(Answer::Recommend),
            to: Some(start.to.clone()),
            expected: Some(start.at),
            ..known
        };
    }
    match best_candidate(desk, member, now) {
        Some(best) => ClusterListing {
            to: Some(best.to),
            expected: best.verdict.answer.until(),
            answer: Some(best.verdict.answer),
            ..known
        },
        None => known,
    }
}

/// Whether a text has another in it, with ASCII letters in either case.
pub(super) fn has_text(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let Some(first) = part.first() else {
        return true;
    };
    let mut windows = text.windows(part.len());
    windows.any(|window| window[0].eq_ignore_ascii_case(first) && window.eq_ignore_ascii_case(part))
}
