//! Checks that need a whole organisation: duplicates, soak that can never begin, entries without
//! effect.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::{Name, Organisation, UpgradePolicy};

use super::organisation::Rules;

/// Finds clusters that stand in the organisation twice, by name or by id; all of them are held back.
pub(super) fn duplicates(organisation: &mut Organisation, findings: &mut Vec<Finding>) {
    let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    let mut by_id: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, cluster) in organisation.clusters.iter().enumerate() {
        by_name.entry(&cluster.name).or_default().push(index);
        if let Some(id) = &cluster.id {
            by_id.entry(id.as_str()).or_default().push(index);
        }
    }
    let groups = by_name
        .iter()
        .map(|group| ("cluster", group))
        .chain(by_id.iter().map(|group| ("the id", group)));
    let mut found: Vec<(usize, Finding)> = Vec::new();
    for (what, (name, indices)) in groups.filter(|(_, (_, indices))| indices.len() > 1) {
        let place = |index: usize| &organisation.clusters[index].origin;
        for (rank, index) in indices.iter().enumerate() {
            let other = place(indices[usize::from(rank == 0)]);
            let more = match indices.len() {
                2 => String::new(),
                all => format!(", and {} more times", all - 2),
            };
            let problem = format!("{what} {name:?} stands here and at {other}{more}");
            found.push((
                *index,
                Finding::error(
                    "duplicate-cluster",
                    place(*index).clone(),
                    problem,
                    "keep one of them",
                ),
            ));
        }
    }
    for (index, finding) in found {
        findings.push(finding.clone());
        organisation.clusters[index].problems.push(finding);
    }
}

/// Lets every cluster and default know what is wrong with its organisation and its sector.
pub(super) fn tell(organisation: &mut Organisation, rules: &Rules) {
    for cluster in &mut organisation.clusters {
        cluster
            .problems
            .extend(rules.problems_of(cluster.policy.sector.as_ref()).cloned());
        settle(&mut cluster.problems);
    }
    for default in &mut organisation.defaults {
        default
            .problems
            .extend(rules.problems_of(default.policy.sector.as_ref()).cloned());
        settle(&mut default.problems);
    }
}

fn settle(problems: &mut Vec<Finding>) {
    problems.sort();
    problems.dedup();
}

/// What is probably not meant.
pub(crate) fn warnings(organisation: &Organisation, findings: &mut Vec<Finding>) {
    let clusters = organisation
        .clusters
        .iter()
        .map(|entry| (&entry.policy, &entry.origin));
    let defaults = organisation
        .defaults
        .iter()
        .map(|entry| (&entry.policy, &entry.origin));
    let all: Vec<(&UpgradePolicy, &Place)> = clusters.chain(defaults).collect();
    if organisation.inherits_from.is_empty() {
        soak_that_never_begins(&all, findings);
    }
    sectors_without_effect(organisation, &all, findings);
}

fn soak_that_never_begins(all: &[(&UpgradePolicy, &Place)], findings: &mut Vec<Finding>) {
    let begins = |policy: &UpgradePolicy| policy.soak_days.is_none_or(|days| days == 0);
    let beginners = all.iter().filter(|(policy, _)| begins(policy));
    let begun: BTreeSet<&Name> = beginners
        .flat_map(|(policy, _)| &policy.workloads)
        .collect();
    let mut told: BTreeSet<&Name> = BTreeSet::new();
    for (policy, place) in all {
        for workload in policy
            .workloads
            .iter()
            .filter(|workload| !begun.contains(workload))
        {
            if told.insert(workload) {
                let problem = format!(
                    "workload {:?} can never start: none of its clusters has soakDays 0",
                    &**workload
                );
                let remedy = "give one of its clusters `soakDays: 0`, so that the others have something to wait for";
                findings.push(Finding::warning(
                    "no-first-cluster",
                    (*place).clone(),
                    problem,
                    remedy,
                ));
            }
        }
    }
}

fn sectors_without_effect(
    organisation: &Organisation,
    all: &[(&UpgradePolicy, &Place)],
    findings: &mut Vec<Finding>,
) {
    // Whether any of a sector's clusters declares a mutex.
    let mut used: BTreeMap<&Name, bool> = BTreeMap::new();
    for (policy, _) in all {
        if let Some(sector) = &policy.sector {
            *used.entry(sector).or_default() |= !policy.mutexes.is_empty();
        }
    }
    for sector in organisation.sectors.values() {
        let (name, place) = (&*sector.name, sector.origin.clone());
        match used.get(&sector.name) {
            None => {
                let problem = format!("no cluster is in sector {name:?}");
                findings.push(Finding::warning(
                    "unused-sector",
                    place,
                    problem,
                    "put clusters in it, or remove it",
                ));
            }
            Some(false) if sector.max_parallel.is_some() => {
                let problem = format!(
                    "the limit of sector {name:?} has no effect: none of its clusters has mutexes"
                );
                let remedy = "give its clusters a mutex: the limit counts those that share one";
                findings.push(Finding::warning(
                    "limit-without-mutex",
                    place,
                    problem,
                    remedy,
                ));
            }
            Some(_) => {}
        }
    }
}
