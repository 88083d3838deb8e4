//! The agenda: when clusters may start, as a page of JSON, and as a table.

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::fleet::{
    AgendaKey, AgendaQuestion, AgendaRow, AgendaSpan, Filter, FleetPlanner, FleetPolicy, SpanKind,
};

use super::pages::{FOREIGN, after, entries, next_after};
use super::text::first_rows;
use crate::room::Room;
use crate::words::{first_names, joined, minute};

/// The most clusters of a calendar that are named in a table.
const MAX_NAMES: usize = 4;
/// The most spans of a kind that stand in a table.
const MAX_SPANS: usize = 3;

/// A page of calendars, from one time until another.
pub fn page(
    desk: &FleetPlanner,
    policy: &FleetPolicy,
    filter: &Filter,
    [from, until]: [Timestamp; 2],
    now: Timestamp,
) -> Result<Value, String> {
    let after = after::<2>(filter)?.map(key).transpose()?;
    let question = AgendaQuestion {
        from,
        until,
        after: after.as_ref(),
        limit: entries(filter),
    };
    let (rows, next) = filter.agenda(desk, policy, &question, now);
    let mut page = json(&rows, [from, until]);
    let next = next.map(|(organisation, number)| next_after([&organisation, &number.to_string()]));
    page["next"] = json!(next);
    Ok(page)
}

fn key([organisation, number]: [&str; 2]) -> Result<AgendaKey, String> {
    let foreign = |_| format!("{FOREIGN}; leave it out to begin with the first page");
    Ok((organisation.into(), number.parse().map_err(foreign)?))
}

pub fn json(rows: &[AgendaRow], [from, until]: [Timestamp; 2]) -> Value {
    json!({
        "from": from.to_string(),
        "until": until.to_string(),
        "calendars": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn row(row: &AgendaRow) -> Value {
    json!({
        "organisation": row.organisation,
        "clusters": row.clusters,
        "names": row.names,
        "schedule": row.schedule.as_ref().map(|schedule| schedule.as_str()),
        "nextStart": row.next_start.map(|at| at.to_string()),
        "place": row.place.as_ref().map(ToString::to_string),
        "spans": row.spans.iter().map(span).collect::<Vec<_>>(),
        "isCut": row.is_cut,
    })
}

fn span(span: &AgendaSpan) -> Value {
    json!({
        "kind": span.kind.name(),
        "from": span.from.to_string(),
        "until": span.until.to_string(),
        "timeZone": span.time_zone,
        "why": span.why,
    })
}

/// The same as a table, with the first spans of each kind.
pub fn text(rows: &[AgendaRow], room: Room) -> String {
    let head = [
        "ORGANISATION",
        "CLUSTERS",
        "SCHEDULE",
        "NEXT START",
        "STARTS",
        "WINDOWS",
        "EXCLUSIONS",
        "POLICY",
    ];
    let row = |row: &AgendaRow| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        let schedule = row.schedule.as_ref();
        [
            row.organisation.to_string(),
            match row.clusters.saturating_sub(row.names.len()) {
                0 => first_names(&row.names, MAX_NAMES),
                _ => format!(
                    "{} and {} more",
                    joined(row.names.iter().take(MAX_NAMES), "-"),
                    row.clusters - MAX_NAMES
                ),
            },
            or_dash(schedule.map(|schedule| schedule.as_str().to_owned())),
            or_dash(row.next_start.map(minute)),
            spans(row, SpanKind::Schedule),
            spans(row, SpanKind::Window),
            spans(row, SpanKind::Exclusion),
            or_dash(row.place.as_ref().map(ToString::to_string)),
        ]
    };
    if rows.is_empty() {
        return "No cluster has a policy and is meant by the filters.\n".to_owned();
    }
    first_rows(head, rows.iter().map(row), room)
}

fn spans(row: &AgendaRow, kind: SpanKind) -> String {
    let all: Vec<String> = row
        .spans
        .iter()
        .filter(|span| span.kind == kind)
        .map(|span| match span.from == span.until {
            true => minute(span.from),
            false => format!("{} to {}", minute(span.from), minute(span.until)),
        })
        .collect();
    let more = all.len().saturating_sub(MAX_SPANS);
    let more = (more > 0).then(|| format!("and {more} more"));
    joined(all.into_iter().take(MAX_SPANS).chain(more), "-")
}
