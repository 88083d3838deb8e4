//! The sectors as a pipeline: as a page of JSON, and as a table.

use serde_json::{Map, Value, json};
use towpath_core::fleet::{Decision, Filter, FleetPlanner, Name, PipelineSector, SectorSoak};
use towpath_core::verdict::Days;

use super::json::next_start;
use super::pages::{after, entries, next_after};
use super::text::{first_rows, optional};
use crate::room::Room;
use crate::words::{joined, minute};

/// The most versions of a sector whose soak is told. Older ones are counted.
const MAX_SOAKING: usize = 50;
/// The most versions of a sector whose soak stands in a table.
const MAX_SHOWN: usize = 4;

/// A page: as many organisations as the filter's limit.
pub fn page(desk: &FleetPlanner, decision: &Decision, filter: &Filter) -> Result<Value, String> {
    let after = after::<1>(filter)?.map(|[organisation]| organisation);
    let (rows, has_more) = filter.pipeline(desk, decision, after, entries(filter));
    let last = rows.last().filter(|_| has_more);
    let next = last.map(|row| next_after([&*row.organisation]));
    let mut page = json(&rows, decision);
    page["next"] = json!(next);
    Ok(page)
}

/// The sectors of each organisation.
pub fn json(rows: &[PipelineSector], decision: &Decision) -> Value {
    let organisations = rows.chunk_by(|a, b| a.organisation == b.organisation);
    let organisation = |sectors: &[PipelineSector]| {
        json!({
            "organisation": sectors.first().map(|one| &one.organisation),
            "sectors": sectors.iter().map(sector).collect::<Vec<_>>(),
        })
    };
    json!({
        "at": decision.at.to_string(),
        "organisations": organisations.map(organisation).collect::<Vec<_>>(),
    })
}

fn sector(row: &PipelineSector) -> Value {
    let versions = row.versions.iter();
    let versions = versions.map(|(version, count)| (version.to_string(), json!(count)));
    let held = row.held.iter();
    let held = held.map(|(rule, count)| (rule.name().to_owned(), json!(count)));
    let soaking = row.soaking.iter().take(MAX_SOAKING);
    json!({
        "sector": row.sector,
        "dependsOn": row.depends_on,
        "clusters": row.clusters,
        "versions": versions.collect::<Map<_, _>>(),
        "soaking": soaking.map(soak).collect::<Vec<_>>(),
        "soakingLeftOut": row.soaking.len().saturating_sub(MAX_SOAKING),
        "heldBy": held.collect::<Map<_, _>>(),
        "planned": row.planned,
        "underWay": row.under_way,
        "next": row.next.as_ref().map(next_start),
    })
}

fn soak(soak: &SectorSoak) -> Value {
    json!({
        "version": soak.version.to_string(),
        "workload": soak.workload,
        "haveSeconds": soak.have_seconds,
        "needSeconds": soak.need_seconds,
        "adding": soak.adding,
        "waiting": soak.waiting,
        "expected": soak.expected.map(|at| at.to_string()),
    })
}

/// The same as a table.
pub fn text(rows: &[PipelineSector], room: Room) -> String {
    let head = [
        "ORGANISATION",
        "SECTOR",
        "AFTER",
        "CLUSTERS",
        "RUNS",
        "SOAKING",
        "UNDER WAY",
        "NEXT",
        "HELD BY",
    ];
    let row = |row: &PipelineSector| {
        let versions = row.versions.iter().rev();
        let versions = versions.map(|(version, count)| format!("{count} × {version}"));
        let soaking = row.soaking.iter().take(MAX_SHOWN);
        let soaking = soaking.map(|soak| {
            let expected = soak.expected.map(|at| format!(" until {}", minute(at)));
            let (have, need) = (Days(soak.have_seconds), Days(soak.need_seconds));
            let (version, workload) = (&soak.version, &soak.workload);
            let expected = expected.unwrap_or_default();
            format!("{version} {workload} {have}/{need} d{expected}")
        });
        let under_way = [(row.under_way, "running"), (row.planned, "planned")];
        let under_way = under_way.into_iter().filter(|(count, _)| *count > 0);
        let next = row.next.as_ref().map(|next| {
            let sure = if next.starts { "" } else { "about " };
            format!("{} → {} {sure}{}", next.cluster, next.to, minute(next.at))
        });
        let held = row.held.iter();
        let held = held.map(|(rule, count)| format!("{} {count}", rule.name()));
        [
            row.organisation.to_string(),
            optional(row.sector.as_ref()),
            joined(row.depends_on.iter().map(Name::to_string), "-"),
            row.clusters.to_string(),
            joined(versions, "-"),
            joined(soaking, "-"),
            joined(
                under_way.map(|(count, word)| format!("{count} {word}")),
                "-",
            ),
            next.unwrap_or_else(|| "-".to_owned()),
            joined(held, "-"),
        ]
    };
    if rows.is_empty() {
        return "No cluster has a policy and is meant by the filters.\n".to_owned();
    }
    first_rows(head, rows.iter().map(row), room)
}
