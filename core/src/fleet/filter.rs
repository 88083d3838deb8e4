//! Filters: the part of the fleet that a question is about. The command line and the HTTP API
//! share them.

use super::ClusterIdx;
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::clusters::has_text;
use super::{CandidateWhy, Decision, FleetPlanner, HistoryRow, StatusRow, history, status};
use crate::cluster::ClusterId;
use crate::fleet::{ClusterState, Name, NameClash, RuleId};
use crate::verdict::Answer;
use crate::version::Version;

/// Which part of the fleet is asked about. What is none leaves nothing out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    pub organisation: Option<String>,
    pub sector: Option<String>,
    pub workload: Option<String>,
    /// This cluster, by id or name.
    pub cluster: Option<String>,
    /// Held back by this rule, by its [name](RuleId::name).
    pub held_by: Option<String>,
    /// With this text in the name or the id.
    pub search: Option<String>,
    /// On this version.
    pub version: Option<Version>,
    /// Not seen since then.
    pub silent_since: Option<Timestamp>,
    /// The most entries of a page; one or more.
    pub limit: Option<usize>,
    /// Only what comes after this: where the last page ended.
    pub after: Option<Cursor>,
}

/// The names that a page ended with. Only the page's maker knows their meaning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(pub Vec<String>);

/// Why a question about the fleet has no answer, and what to ask instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadQuestion {
    #[error("there is no rule {0:?}; the rules are {rules}", rules = rule_names())]
    NoRule(String),
    #[error("{0} is known, but no policy selects it; name it in its organisation's file")]
    NoPolicy(String),
    #[error("there is no cluster {0}; `towpath fleet clusters` lists them")]
    NoCluster(String),
    #[error("{name} is the name of {} clusters; use an id: {}", ids.len(), ids.join(", "))]
    SeveralClusters { name: String, ids: Vec<String> },
    #[error("no cluster has the {what} {name:?}; {}", there_are(there))]
    NobodyHas {
        /// Organisation, sector or workload.
        what: &'static str,
        name: String,
        there: Vec<String>,
    },
    #[error("nobody knows a version {version}; {}", versions_there(there))]
    NoVersion {
        version: Version,
        /// What is available to the clusters that are meant, highest first.
        there: Vec<String>,
    },
    #[error("there is no gate {gate:?}; {}", gates_there(there))]
    NoGate { gate: String, there: Vec<String> },
    #[error("a forecast is for 1 to {most} days")]
    Days { most: u32 },
}

/// How many names are shown where one is wrong.
pub(super) const MAX_SHOWN: usize = 20;

fn there_are(names: &[String]) -> String {
    match names.is_empty() {
        true => "no cluster has any".to_owned(),
        false => format!("there are: {}", names.join(", ")),
    }
}

fn versions_there(versions: &[String]) -> String {
    match versions.is_empty() {
        true => {
            "name the graph (--graph-data, --releases), or ask the service that has it (--server)"
                .to_owned()
        }
        false => format!("available are: {}", versions.join(", ")),
    }
}

fn gates_there(gates: &[String]) -> String {
    match gates.is_empty() {
        true => "no list (`versionGates`) and no OCM-style API has told of any".to_owned(),
        false => format!("there are: {}", gates.join(", ")),
    }
}

fn rule_names() -> String {
    RuleId::all()
        .map(RuleId::name)
        .collect::<Vec<_>>()
        .join(", ")
}

impl Filter {
    /// Whether it means something.
    pub fn check(&self) -> Result<(), BadQuestion> {
        match &self.held_by {
            Some(rule) if RuleId::named(rule).is_none() => Err(BadQuestion::NoRule(rule.clone())),
            _ => Ok(()),
        }
    }

    /// Whether each name in it is that of some cluster, organisation, sector or workload. A name that nobody has is mistyped.
    pub fn check_names(&self, desk: &FleetPlanner) -> Result<(), BadQuestion> {
        if let Some(cluster) = &self.cluster {
            find_cluster(desk, cluster)?;
        }
        let there = desk.roster().names_in_use();
        let asked = [
            ("organisation", &self.organisation),
            ("sector", &self.sector),
            ("workload", &self.workload),
        ];
        for ((what, name), there) in asked.into_iter().zip(there) {
            if let Some(name) = name.as_ref().filter(|name| !there.contains(&***name)) {
                let there = there.into_iter().take(MAX_SHOWN).map(str::to_owned);
                return Err(BadQuestion::NobodyHas {
                    what,
                    name: name.clone(),
                    there: there.collect(),
                });
            }
        }
        Ok(())
    }

    /// The same where clusters without a policy are asked about too.
    pub fn check_names_of_all(&self, desk: &FleetPlanner) -> Result<(), BadQuestion> {
        let is_other = |name: &String| {
            let mut others = desk.roster().unmanaged();
            others.any(|state| is_called(state, name))
        };
        let is_of = |organisation: &String| {
            let mut others = desk.roster().unmanaged();
            others.any(|state| *state.organisation == **organisation)
        };
        Self {
            cluster: self.cluster.clone().filter(|name| !is_other(name)),
            organisation: self.organisation.clone().filter(|of| !is_of(of)),
            ..self.clone()
        }
        .check_names(desk)
    }

    /// Whether nobody is left out, except by the page.
    pub fn is_everybody(&self) -> bool {
        let everybody = Self {
            limit: self.limit,
            after: self.after.clone(),
            ..Self::default()
        };
        *self == everybody
    }

    /// Whether a cluster is among those asked about.
    pub fn is_meant(&self, desk: &FleetPlanner, member: ClusterIdx, now: Timestamp) -> bool {
        let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
        let is = |only: &Option<String>, is: &dyn Fn(&str) -> bool| only.as_deref().is_none_or(is);
        self.is_like(state)
            && is(&self.sector, &|only| policy.sector.as_deref() == Some(only))
            && is(&self.workload, &|only| policy.workloads.contains(only))
            && is(&self.held_by, &|only| {
                RuleId::named(only).is_some_and(|rule| desk.is_held_by(member, rule, now))
            })
    }

    /// The same of a cluster that has no policy: so it has no sector and no workload, and no rule holds it.
    pub(super) fn is_meant_without_policy(&self, state: &ClusterState) -> bool {
        let by_policy = [&self.sector, &self.workload, &self.held_by];
        by_policy.iter().all(|only| only.is_none()) && self.is_like(state)
    }

    /// Whether what is known of a cluster is what is asked for, whatever its policy.
    fn is_like(&self, state: &ClusterState) -> bool {
        let is = |only: &Option<String>, is: &dyn Fn(&str) -> bool| only.as_deref().is_none_or(is);
        is(&self.organisation, &|only| *state.organisation == *only)
            && is(&self.cluster, &|only| is_called(state, only))
            && is(&self.search, &|part| {
                has_text(&state.name, part) || has_text(state.id.as_str(), part)
            })
            && self
                .version
                .as_ref()
                .is_none_or(|only| state.version == *only)
            && self
                .silent_since
                .is_none_or(|since| state.last_seen < since)
    }

    /// The clusters that are asked about, in the order in which they are looked at.
    pub(super) fn members<'a>(
        &'a self,
        desk: &'a FleetPlanner,
        now: Timestamp,
    ) -> impl Iterator<Item = ClusterIdx> + 'a {
        let members = desk.roster().in_order().iter().copied();
        members.filter(move |member| self.is_meant(desk, *member, now))
    }

    /// How many clusters each rule holds.
    pub fn holds(&self, desk: &FleetPlanner, now: Timestamp) -> BTreeMap<RuleId, u64> {
        let mut counts = BTreeMap::new();
        for code in self
            .members(desk, now)
            .flat_map(|member| desk.held_by(member, now))
        {
            *counts.entry(code).or_default() += 1;
        }
        counts
    }

    pub fn status(&self, desk: &FleetPlanner, decision: &Decision) -> Vec<StatusRow> {
        let is_meant = |member| self.is_meant(desk, member, decision.at);
        let mut rows = status(desk, decision, &is_meant);
        if let Some(only) = &self.workload {
            rows.retain(|row| *row.workload == **only);
        }
        rows
    }

    /// The history. Where clusters were chosen, rows that one of them is on.
    pub fn history(&self, desk: &FleetPlanner, now: Timestamp) -> Vec<HistoryRow> {
        let mut rows = history(desk.roster());
        let chosen = self.sector.is_some() || self.cluster.is_some() || self.held_by.is_some();
        let meant = chosen.then(|| self.names(desk, now));
        let is =
            |name: &Name, only: &Option<String>| only.as_ref().is_none_or(|only| **name == **only);
        rows.retain_mut(|row| {
            if let Some(meant) = &meant {
                row.clusters
                    .retain(|name| meant.contains(&(row.organisation.clone(), name.clone())));
            }
            is(&row.organisation, &self.organisation)
                && is(&row.workload, &self.workload)
                && (meant.is_none() || !row.clusters.is_empty())
        });
        rows.truncate(self.limit.unwrap_or(usize::MAX));
        rows
    }

    /// The clusters that are asked about, by organisation and name.
    pub fn names(&self, desk: &FleetPlanner, now: Timestamp) -> BTreeSet<(Name, Name)> {
        let name = |member| {
            let state = desk.roster().cluster(member);
            (state.organisation.clone(), state.name.clone())
        };
        self.members(desk, now).map(name).collect()
    }
}

/// A cluster's name or id, as a person types it.
pub(super) fn is_called(state: &ClusterState, name: &str) -> bool {
    *state.name == *name || ClusterId::new(name).is_some_and(|id| id == state.id)
}

/// The candidate that is expected first, else held least.
pub fn best_candidate(
    desk: &FleetPlanner,
    member: ClusterIdx,
    now: Timestamp,
) -> Option<CandidateWhy> {
    best_of(desk.why(member, now).candidates)
}

/// Of these candidates, the one that is expected first, else held least.
pub fn best_of(candidates: Vec<CandidateWhy>) -> Option<CandidateWhy> {
    let rank = |candidate: &CandidateWhy| match candidate.verdict.answer {
        Answer::Recommend | Answer::RecommendUnless(_) => (0, Timestamp::MIN, 0),
        Answer::Wait { until: Some(until) } => (1, until, 0),
        Answer::Wait { until: None } => (2, Timestamp::MIN, candidate.verdict.reasons.len()),
        Answer::Refuse => (3, Timestamp::MIN, candidate.verdict.reasons.len()),
    };
    candidates.into_iter().min_by_key(rank)
}

/// The cluster of that name or id.
pub fn find_cluster(desk: &FleetPlanner, name: &str) -> Result<ClusterIdx, BadQuestion> {
    let roster = desk.roster();
    let members = roster.numbers();
    // Who only says that it has another's name is found by its id.
    let is_called_so = |member: &ClusterIdx| {
        let state = roster.cluster(*member);
        let is_taken = matches!(roster.name_clash(*member), Some(NameClash::Taken { .. }));
        is_called(state, name) && (!is_taken || state.id.as_str() == name)
    };
    let named: Vec<ClusterIdx> = members.filter(is_called_so).collect();
    let name = name.to_owned();
    match &*named {
        [one] => Ok(*one),
        [] if roster.unmanaged().any(|state| is_called(state, &name)) => {
            Err(BadQuestion::NoPolicy(name))
        }
        [] => Err(BadQuestion::NoCluster(name)),
        several => {
            let id = |member: &ClusterIdx| roster.cluster(*member).id.as_str().to_owned();
            let ids = several.iter().map(id).collect();
            Err(BadQuestion::SeveralClusters { name, ids })
        }
    }
}

/// The cluster of that name or id that no policy is about.
pub fn find_unmanaged<'a>(desk: &'a FleetPlanner, name: &str) -> Option<&'a ClusterState> {
    desk.roster()
        .unmanaged()
        .find(|state| is_called(state, name))
}
