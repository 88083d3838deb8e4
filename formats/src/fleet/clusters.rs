//! The clusters of a fleet, searched, filtered and sorted: as a page of JSON, and as a table.

use serde_json::{Value, json};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    ClusterKey, ClusterListing, ClusterPage, ClusterSort, Decision, Filter, FleetPlanner, Health,
    NoPolicy, SortValue,
};

use super::pages::{FOREIGN, after, entries, next_after};
use super::text::{first_rows, optional};
use crate::room::Room;
use crate::words::{counted, joined, minute};

/// The rows of a table, if nobody says how many.
const MAX_ROWS: usize = 50;

/// A page of the clusters, also of those without a policy.
pub fn page(
    desk: &FleetPlanner,
    decision: &Decision,
    filter: &Filter,
    sort: ClusterSort,
) -> Result<Value, String> {
    let after = after::<5>(filter)?;
    let after = after.map(|names| key(sort, names)).transpose()?;
    let page = filter.cluster_page(desk, decision, sort, after.as_ref(), entries(filter));
    let mut told = json(&page);
    told["next"] = json!(page.next.as_ref().map(|key| cursor(sort, key)));
    Ok(told)
}

fn cursor(sort: ClusterSort, key: &ClusterKey) -> String {
    let value = match &key.value {
        SortValue::Organisation => String::new(),
        SortValue::Name(name) => name.to_string(),
        SortValue::Version(version) => version.to_string(),
        SortValue::Seen(at) => at.to_string(),
    };
    let (organisation, name, id) = (&key.organisation, &key.name, key.id.as_str());
    next_after([sort.word(), &value, organisation, name, id])
}

fn key(sort: ClusterSort, names: [&str; 5]) -> Result<ClusterKey, String> {
    let foreign = || format!("{FOREIGN} and sort; leave it out to begin with the first page");
    let [of, value, organisation, name, id] = names;
    let value = match sort {
        _ if of != sort.word() => None,
        ClusterSort::Organisation => Some(SortValue::Organisation),
        ClusterSort::Name => Some(SortValue::Name(value.into())),
        ClusterSort::Version => value.parse().ok().map(SortValue::Version),
        ClusterSort::Seen => value.parse().ok().map(SortValue::Seen),
    };
    Ok(ClusterKey {
        value: value.ok_or_else(foreign)?,
        organisation: organisation.into(),
        name: name.into(),
        id: ClusterId::new(id).ok_or_else(foreign)?,
    })
}

pub fn json(page: &ClusterPage) -> Value {
    json!({
        "at": page.at.to_string(),
        "total": page.total,
        "matching": page.matching,
        "clusters": page.rows.iter().map(listing).collect::<Vec<_>>(),
    })
}

fn listing(listing: &ClusterListing) -> Value {
    let row = &listing.row;
    let why = match &listing.health {
        Health::Healthy => None,
        Health::Unhealthy { why } => Some(why),
    };
    let under_way = listing.upgrade.as_ref().map(|upgrade| {
        json!({
            "to": upgrade.to.to_string(),
            "state": upgrade.state.code(),
            "startAt": upgrade.start_at.to_string(),
        })
    });
    json!({
        "cluster": row.id.as_str(),
        "name": row.name,
        "organisation": row.organisation,
        "version": row.version.to_string(),
        "channel": row.channel.as_ref().map(ToString::to_string),
        "noPolicy": row.no_policy.map(|why| json!({"code": why.code(), "text": why.text()})),
        "schedule": row.schedule,
        "sector": row.sector,
        "mutexes": row.mutexes,
        "soakDays": row.soak_days,
        "workloads": row.workloads,
        "soaking": row.soaking.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seenAt": listing.seen_at.to_string(),
        "healthy": why.is_none(),
        "unhealthy": why,
        "answer": listing.answer.as_ref().map(|answer| answer.word()),
        "heldBy": listing.held.iter().map(|rule| rule.name()).collect::<Vec<_>>(),
        "to": listing.to.as_ref().map(ToString::to_string),
        "expected": listing.expected.map(|at| at.to_string()),
        "underWay": under_way,
    })
}

/// The table's rows, if nobody says how many.
pub fn rows_of_text(room: Room) -> usize {
    room.rows.unwrap_or(MAX_ROWS)
}

/// The same as a table.
pub fn text(page: &ClusterPage, room: Room) -> String {
    let head = [
        "CLUSTER",
        "ORGANISATION",
        "VERSION",
        "CHANNEL",
        "SCHEDULE",
        "SECTOR",
        "MUTEXES",
        "SOAK DAYS",
        "WORKLOADS",
        "SOAKING",
        "HELD BY",
        "SEEN",
    ];
    let row = |listing: &ClusterListing| {
        let row = &listing.row;
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            row.name.to_string(),
            row.organisation.to_string(),
            row.version.to_string(),
            or_dash(row.channel.as_ref().map(ToString::to_string)),
            match row.no_policy {
                Some(_) => "no policy".to_owned(),
                None => or_dash(row.schedule.clone()),
            },
            optional(row.sector.as_ref()),
            joined(&row.mutexes, "-"),
            or_dash(row.soak_days.map(|days| days.to_string())),
            joined(&row.workloads, "-"),
            joined(row.soaking.iter().rev().map(ToString::to_string), "-"),
            joined(listing.held.iter().map(|rule| rule.name()), "-"),
            minute(listing.seen_at),
        ]
    };
    let (matching, total) = (page.matching, counted(page.total, "cluster"));
    if page.rows.is_empty() {
        return format!("None of {total} is meant by the filters.\n");
    }
    let table = first_rows(head, page.rows.iter().map(row), room);
    let table = table + &room.fit(&without_policy(&page.rows));
    match (matching > page.rows.len(), matching < page.total) {
        (true, _) => {
            let shown = page.rows.len();
            format!(
                "{table}… the first {shown} of {matching} that are meant, of {total}; --limit shows more\n"
            )
        }
        (false, true) => format!("{table}{matching} of {total}\n"),
        (false, false) => table,
    }
}

/// Why clusters have no policy: a line for each reason.
fn without_policy(rows: &[ClusterListing]) -> String {
    let line = |why: NoPolicy| {
        let meant = rows.iter().filter(|one| one.row.no_policy == Some(why));
        let count = meant.count();
        (count > 0).then(|| {
            let told = counted(count, "cluster");
            format!("No policy, {told}: {}.\n", why.text())
        })
    };
    let lines: String = NoPolicy::ALL.into_iter().filter_map(line).collect();
    match lines.is_empty() {
        true => lines,
        false => format!("\n{lines}"),
    }
}
