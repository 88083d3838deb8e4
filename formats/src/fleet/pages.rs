//! Pages of large answers. Each page is bounded, and the next one begins after a name, not at an
//! offset.
//!
//! Clusters come and go between two pages. A reader that goes on after the last name sees each
//! cluster that stays exactly once. A page ends when it is full, or when enough clusters were
//! looked at. So it may be short, or empty, and still have a next one.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::fleet::{
    ActiveUpgrade, ClusterIdx, Cursor, Decision, Filter, FleetPlanner, HistoryRow, Name, Start,
    StatusRow, Upgrade, UpgradeId, best_candidate,
};
use towpath_core::simulate::{Forecast, Outlook};
use towpath_core::version::Version;

use super::{cursor, json as shown};

/// The entries of a page if the question names no limit. The web adapter knows the most that can be asked for.
const ENTRIES: usize = 200;
/// The most clusters that are looked at for one page.
const MAX_LOOKED_AT: usize = 10_000;
/// The most clusters that are named in one row. The others are counted.
const MAX_NAMES: usize = 1_000;
/// Rows that name more clusters than this together are not all on one page.
const MAX_NAMES_OF_A_PAGE: usize = 10_000;

pub(super) const FOREIGN: &str = "`after` is not the `next` of an answer of this path";

/// How many entries a page has.
pub(super) fn entries(filter: &Filter) -> usize {
    filter.limit.unwrap_or(ENTRIES)
}

/// The names that the page before ended with: so many, or there was none. A filter that means nothing has no page.
pub(super) fn after<const N: usize>(filter: &Filter) -> Result<Option<[&str; N]>, String> {
    filter.check().map_err(|problem| problem.to_string())?;
    let Some(cursor) = &filter.after else {
        return Ok(None);
    };
    let names: Vec<&str> = cursor.0.iter().map(String::as_str).collect();
    let foreign = |_| format!("{FOREIGN}; leave it out to begin with the first page");
    names.try_into().map(Some).map_err(foreign)
}

/// An answer that is a list, and where it goes on.
fn page(entries: Value, next: Option<String>) -> Value {
    json!({"entries": entries, "next": next})
}

pub(super) fn next_after<const N: usize>(names: [&str; N]) -> String {
    cursor::write(&Cursor(names.map(str::to_owned).into()))
}

/// Where a cluster stands in the order of pages: organisation and id. A cluster that has left the fleet has no organisation.
type Key<'a> = (&'a str, &'a str);

/// What would be done now, cluster by cluster.
pub fn plan(
    desk: &FleetPlanner,
    decision: &Decision,
    expected: Option<&Outlook>,
    filter: &Filter,
) -> Result<Value, String> {
    let roster = desk.roster();
    let after = after::<2>(filter)?.map(|[organisation, id]| (organisation, id));
    let acts = Acts::of(desk, decision);
    let member = |member: ClusterIdx| {
        let state = roster.cluster(member);
        ((&*state.organisation, state.id.as_str()), Some(member))
    };
    let gone = acts
        .by_cluster
        .keys()
        .filter(|id| roster.find(id).is_none())
        .map(|id| (("", *id), None));
    let all = roster.numbers().map(member).chain(gone);
    let (looked_at, are_all) = first(all.filter(|(key, _)| after.is_none_or(|after| *key > after)));
    let (mut told, mut waiting, mut count) = (
        Decision {
            at: decision.at,
            ..Decision::default()
        },
        Vec::new(),
        0,
    );
    let mut on_their_way: BTreeMap<&str, Vec<ActiveUpgrade<'_>>> = BTreeMap::new();
    for one in ActiveUpgrade::all(desk) {
        let of_cluster = on_their_way.entry(one.upgrade.cluster.as_str());
        of_cluster.or_default().push(one);
    }
    let first_starts = expected.map(Outlook::first_starts);
    let mut active: Vec<ActiveUpgrade<'_>> = Vec::new();
    let mut last: Option<Key<'_>> = None;
    for (key, member) in &looked_at {
        if count >= entries(filter) {
            break;
        }
        last = Some(*key);
        let is_meant = |member: ClusterIdx| filter.is_meant(desk, member, decision.at);
        if !member.map_or(filter.is_everybody(), is_meant) {
            continue;
        }
        count += acts.add(key.1, &mut told);
        let of_cluster = on_their_way.remove(key.1).unwrap_or_default();
        count += of_cluster.len();
        let is_busy = acts.starts.contains_key(key.1) || !of_cluster.is_empty();
        active.extend(of_cluster);
        let best = member
            .filter(|_| !is_busy)
            .and_then(|member| best_candidate(desk, member, decision.at));
        if let (Some(member), Some(best)) = (member, best) {
            waiting.push(shown::wait(desk, *member, &best, first_starts.as_ref()));
            count += 1;
        }
    }
    let is_last = are_all && last == looked_at.last().map(|(key, _)| *key);
    let next = last
        .filter(|_| !is_last)
        .map(|(organisation, id)| next_after([organisation, id]));
    let mut plan = shown::decision(&told);
    let (planned, under_way): (Vec<_>, Vec<_>) = active.iter().partition(|one| one.is_planned());
    plan["planned"] = shown::upgrades(shown::active(desk, planned));
    plan["underWay"] = shown::upgrades(shown::active(desk, under_way));
    plan["waiting"] = Value::Array(waiting);
    // Once, and of all pages.
    plan["holds"] = match after {
        None => shown::holds(&filter.plan(desk, decision).holds),
        Some(_) => json!({}),
    };
    plan["next"] = json!(next);
    Ok(plan)
}

/// The first in order, as many as are looked at for one page, and whether those are all.
fn first<'a>(
    all: impl Iterator<Item = (Key<'a>, Option<ClusterIdx>)>,
) -> (Vec<(Key<'a>, Option<ClusterIdx>)>, bool) {
    let mut all: Vec<(Key<'_>, Option<ClusterIdx>)> = all.collect();
    let are_all = all.len() <= MAX_LOOKED_AT;
    if !are_all {
        all.select_nth_unstable(MAX_LOOKED_AT);
        all.truncate(MAX_LOOKED_AT);
    }
    all.sort_unstable();
    (all, are_all)
}

/// What a decision does, by cluster.
struct Acts<'a> {
    starts: BTreeMap<&'a str, Vec<&'a Start>>,
    by_cluster: BTreeMap<&'a str, Vec<Act>>,
    decision: &'a Decision,
}

/// One thing that is done about an upgrade, by its place in its list.
#[derive(Clone, Copy)]
enum Act {
    Cancel(usize),
    Begin(usize),
    End(usize),
    Overdue(usize),
}

impl<'a> Acts<'a> {
    fn of(desk: &'a FleetPlanner, decision: &'a Decision) -> Self {
        let of: BTreeMap<UpgradeId, &str> = desk
            .roster()
            .upgrades()
            .iter()
            .map(|upgrade| (upgrade.id, upgrade.cluster.as_str()))
            .collect();
        let mut by_cluster: BTreeMap<&str, Vec<Act>> = BTreeMap::new();
        let mut note = |upgrade: UpgradeId, act: Act| {
            // What nobody knows the cluster of still belongs to a page: the first.
            by_cluster
                .entry(of.get(&upgrade).copied().unwrap_or_default())
                .or_default()
                .push(act);
        };
        for (at, cancel) in decision.cancels.iter().enumerate() {
            note(cancel.upgrade, Act::Cancel(at));
        }
        for (at, upgrade) in decision.begins.iter().enumerate() {
            note(*upgrade, Act::Begin(at));
        }
        for (at, ended) in decision.ended.iter().enumerate() {
            note(ended.upgrade, Act::End(at));
        }
        for (at, overdue) in decision.overdue.iter().enumerate() {
            note(overdue.upgrade, Act::Overdue(at));
        }
        let mut starts: BTreeMap<&str, Vec<&Start>> = BTreeMap::new();
        for (_, start) in desk.pending_starts(decision) {
            let of_cluster = starts.entry(start.cluster.as_str()).or_default();
            of_cluster.push(start);
        }
        Self {
            starts,
            by_cluster,
            decision,
        }
    }

    /// Adds what is done about a cluster, and says how many entries that was.
    fn add(&self, id: &str, told: &mut Decision) -> usize {
        let starts = self.starts.get(id).map(Vec::as_slice).unwrap_or_default();
        told.starts.extend(starts.iter().copied().cloned());
        let acts = self
            .by_cluster
            .get(id)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for act in acts {
            match *act {
                Act::Cancel(at) => told.cancels.push(self.decision.cancels[at].clone()),
                Act::Begin(at) => told.begins.push(self.decision.begins[at]),
                Act::End(at) => told.ended.push(self.decision.ended[at].clone()),
                Act::Overdue(at) => told.overdue.push(self.decision.overdue[at].clone()),
            }
        }
        starts.len() + acts.len()
    }
}

/// Where everything stands, by organisation, sector and workload.
pub fn status(desk: &FleetPlanner, decision: &Decision, filter: &Filter) -> Result<Value, String> {
    let after = after::<3>(filter)?;
    let key = |organisation: &Name, sector: &Option<Name>, workload: &Name| {
        (organisation.clone(), sector.clone(), workload.clone())
    };
    // Sectors are written with a mark, so that none is not the same as one without a name.
    let is_after = |(organisation, sector, workload): &(Name, Option<Name>, Name)| {
        let sector = sector_text(sector.as_ref());
        after.is_none_or(|after| {
            (&**organisation, &*sector, &**workload) > (after[0], after[1], after[2])
        })
    };
    let limit = entries(filter);
    let mut rows: BTreeSet<(Name, Option<Name>, Name)> = BTreeSet::new();
    let by_place = Filter {
        held_by: None,
        ..filter.clone()
    };
    for member in desk.roster().numbers() {
        let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
        if !by_place.is_meant(desk, member, decision.at) {
            continue;
        }
        for workload in policy
            .workloads
            .iter()
            .filter(|one| filter.workload.as_ref().is_none_or(|only| ***one == **only))
        {
            let key = key(&state.organisation, &policy.sector, workload);
            if is_after(&key) && !rows.contains(&key) {
                rows.insert(key);
            }
            if rows.len() > limit + 1 {
                rows.pop_last();
            }
        }
    }
    let more = rows.len() > limit;
    if more {
        rows.pop_last();
    }
    let next = rows
        .last()
        .filter(|_| more)
        .map(|(organisation, sector, workload)| {
            next_after([organisation, &sector_text(sector.as_ref()), workload])
        });
    let is_meant = |member: ClusterIdx| {
        let (state, policy) = (desk.roster().cluster(member), desk.roster().policy(member));
        let on_page =
            |workload: &Name| rows.contains(&key(&state.organisation, &policy.sector, workload));
        policy.workloads.iter().any(on_page) && filter.is_meant(desk, member, decision.at)
    };
    let mut told: Vec<StatusRow> = towpath_core::fleet::status(desk, decision, &is_meant);
    told.retain(|row| rows.contains(&key(&row.organisation, &row.sector, &row.workload)));
    let left_out: Vec<usize> = told.iter_mut().map(|row| cut(&mut row.under_way)).collect();
    Ok(page(
        counted(shown::status(&told), "underWayLeftOut", &left_out),
        next,
    ))
}

fn sector_text(sector: Option<&Name>) -> String {
    sector.map_or_else(String::new, |sector| format!("={sector}"))
}

/// How long which version has run where, by organisation, version and workload.
pub fn history(desk: &FleetPlanner, filter: &Filter, now: Timestamp) -> Result<Value, String> {
    let after = match after::<3>(filter)? {
        None => None,
        Some([organisation, version, workload]) => match version.parse::<Version>() {
            Ok(version) => Some((organisation, version, workload)),
            Err(problem) => return Err(format!("{FOREIGN}: {problem}")),
        },
    };
    let unlimited = Filter {
        limit: None,
        ..filter.clone()
    };
    let mut rows = unlimited.history(desk, now);
    let is_after = |row: &HistoryRow| {
        after
            .as_ref()
            .is_none_or(|(organisation, version, workload)| {
                (&*row.organisation, &row.version, &*row.workload)
                    > (*organisation, version, *workload)
            })
    };
    rows.retain(is_after);
    let (mut names, mut left_out) = (0, Vec::new());
    let before = rows.len();
    for row in rows.iter_mut().take(entries(filter)) {
        if names > MAX_NAMES_OF_A_PAGE {
            break;
        }
        left_out.push(cut(&mut row.clusters));
        names += row.clusters.len();
    }
    rows.truncate(left_out.len());
    let next = rows.last().filter(|_| rows.len() < before);
    let next =
        next.map(|row| next_after([&row.organisation, &row.version.to_string(), &row.workload]));
    Ok(page(
        counted(shown::history(&rows), "clustersLeftOut", &left_out),
        next,
    ))
}

/// What will start, cluster by cluster: by organisation and name, then by time. The first page says who starts nothing.
pub fn forecast(outlook: Outlook, filter: &Filter) -> Result<Value, String> {
    let Outlook {
        starts: mut forecasts,
        idle,
    } = outlook;
    let after = after::<2>(filter)?;
    let place = |one: &Forecast| (one.organisation.clone(), one.cluster.clone());
    forecasts.retain(|one| {
        after.is_none_or(|after| (&*one.organisation, &*one.cluster) > (after[0], after[1]))
    });
    forecasts
        .sort_by(|a, b| (place(a), a.at, &a.to, &a.pool).cmp(&(place(b), b.at, &b.to, &b.pool)));
    let full = forecasts.get(entries(filter).saturating_sub(1)).map(place);
    // All of a cluster is on one page.
    let end = full.and_then(|last| forecasts.iter().position(|one| place(one) > last));
    let next = end
        .and_then(|end| forecasts.get(end.checked_sub(1)?))
        .map(|one| next_after([&one.organisation, &one.cluster]));
    forecasts.truncate(end.unwrap_or(forecasts.len()));
    let idle_left_out = idle.len().saturating_sub(MAX_NAMES);
    let mut page = shown::forecast(
        &Outlook {
            starts: forecasts,
            idle: match after {
                None => idle.into_iter().take(MAX_NAMES).collect(),
                Some(_) => Vec::new(),
            },
        },
        None,
    );
    page["idleLeftOut"] = json!(idle_left_out);
    page["next"] = json!(next);
    Ok(page)
}

/// The most upgrades that are read for one page.
pub const UPGRADES_LOOKED_AT: u32 = 1_000;

/// Before which upgrade the page begins; none for the newest.
pub fn upgrades_before(filter: &Filter) -> Result<Option<UpgradeId>, String> {
    let Some([id]) = after::<1>(filter)? else {
        return Ok(None);
    };
    let foreign = |_| format!("{FOREIGN}; leave it out to begin with the newest");
    id.parse().map(|id| Some(UpgradeId(id))).map_err(foreign)
}

/// Of the upgrades that were read, newest first, those of the clusters that were asked about.
pub fn upgrades(desk: &FleetPlanner, read: &[Upgrade], filter: &Filter, at: Timestamp) -> Value {
    let (told, next) = meant_upgrades(desk, read, filter, at);
    page(shown::upgrades(told), next)
}

/// An upgrade, and its cluster's name if the cluster is known.
pub type NamedUpgrade<'a> = (&'a Upgrade, Option<&'a Name>);

/// The same before they are written, and where the next page begins.
pub fn meant_upgrades<'a>(
    desk: &'a FleetPlanner,
    read: &'a [Upgrade],
    filter: &Filter,
    at: Timestamp,
) -> (Vec<NamedUpgrade<'a>>, Option<String>) {
    let (mut told, mut last) = (Vec::new(), None);
    for upgrade in read {
        if told.len() == entries(filter) {
            break;
        }
        last = Some(upgrade.id);
        match desk.roster().find(upgrade.cluster.as_str()) {
            Some(member) if filter.is_meant(desk, member, at) => {
                told.push((upgrade, Some(&desk.roster().cluster(member).name)));
            }
            Some(_) => {}
            // Of a cluster that has left the fleet, nobody knows where it was.
            None if filter.is_everybody() => told.push((upgrade, None)),
            None => {}
        }
    }
    let was_all =
        last == read.last().map(|upgrade| upgrade.id) && (read.len() as u32) < UPGRADES_LOOKED_AT;
    let next = last
        .filter(|_| !was_all)
        .map(|id| next_after([&id.0.to_string()]));
    (told, next)
}

/// Keeps the first of a list, and says how many it has left out.
fn cut<T>(list: &mut Vec<T>) -> usize {
    let left_out = list.len().saturating_sub(MAX_NAMES);
    list.truncate(MAX_NAMES);
    left_out
}

/// Adds to each row how many it has left out.
fn counted(mut rows: Value, name: &str, left_out: &[usize]) -> Value {
    for (row, left_out) in rows.as_array_mut().into_iter().flatten().zip(left_out) {
        row[name] = json!(left_out);
    }
    rows
}

#[cfg(test)]
mod tests;
