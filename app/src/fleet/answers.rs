//! Answers to questions about the fleet, from what was last decided: pages of JSON for machines, text for people.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    AgendaQuestion, AgentUpdate, BadQuestion, Filter, Name, Preflight, Upgrade, find_cluster,
};
use towpath_core::simulate::Outlook;
use towpath_core::version::Version;
use towpath_formats::fleet::text::Expectations;
use towpath_formats::fleet::{Room, agenda, clusters, json, matrix, pages, pipeline, text};
use towpath_web::{FleetAnswer, FleetForm, FleetRequest};

use super::published_fleet::DecidedFleet;

/// The days of a calendar, if nobody says how many, …
const CALENDAR_DAYS: i64 = 14;
/// … and the most.
const MAX_CALENDAR_DAYS: i64 = 92;

/// An answer that is not written yet.
pub(super) enum Made {
    Json(Value),
    Text(String),
}

impl Made {
    pub(super) fn written(self) -> FleetAnswer {
        match self {
            Self::Json(value) => FleetAnswer::Json(value.to_string()),
            Self::Text(text) => FleetAnswer::Text(text),
        }
    }
}

/// Makes the form that is wanted. A table has as many rows as a page of the filter.
pub(super) fn made(
    form: FleetForm,
    filter: &Filter,
    text: impl FnOnce(Room) -> String,
    json: impl FnOnce() -> Result<Value, String>,
) -> Result<Made, FleetAnswer> {
    match room(form, filter.limit) {
        None => json().map(Made::Json).map_err(bad_filter),
        Some(room) => Ok(Made::Text(text(room))),
    }
}

/// The room that a text has; none: JSON is wanted.
pub(super) fn room(form: FleetForm, rows: Option<usize>) -> Option<Room> {
    let width = match form {
        FleetForm::Json => return None,
        FleetForm::Text { width } => width,
        FleetForm::Markdown => None,
    };
    Some(Room {
        rows,
        width,
        ..Room::default()
    })
}

pub(super) fn bad_filter(sentence: String) -> FleetAnswer {
    FleetAnswer::Refused {
        kind: "bad_filter",
        sentence,
    }
}

pub(super) fn not_found(problem: BadQuestion) -> FleetAnswer {
    FleetAnswer::NotFound(problem.to_string())
}

/// Checks that a filter means something, and somebody.
pub(super) fn check(published: &DecidedFleet, filter: &Filter) -> Result<(), FleetAnswer> {
    check_rule(filter)?;
    filter.check_names(&published.planner).map_err(not_found)
}

fn check_rule(filter: &Filter) -> Result<(), FleetAnswer> {
    let is_rule = filter.check();
    is_rule.map_err(|problem| bad_filter(problem.to_string()))
}

/// Verdicts are those of the decision's instant; without one yet, of now.
pub(super) fn instant(published: &DecidedFleet, now: Timestamp) -> Timestamp {
    if published.decision.at == Timestamp::default() {
        now
    } else {
        published.decision.at
    }
}

/// Answers a question that needs nothing but the last decision.
pub(super) fn ask(
    published: &DecidedFleet,
    question: &FleetRequest,
    form: FleetForm,
    now: Timestamp,
) -> Result<Made, FleetAnswer> {
    let DecidedFleet {
        planner, decision, ..
    } = published;
    let at = instant(published, now);
    match question {
        FleetRequest::Status(filter) => {
            check(published, filter)?;
            let rows = || filter.status(planner, decision);
            made(
                form,
                filter,
                |room| text::status(&rows(), room),
                || pages::status(planner, decision, filter),
            )
        }
        FleetRequest::Clusters { filter, sort } => {
            check_rule(filter)?;
            filter.check_names_of_all(planner).map_err(not_found)?;
            let table = |room: Room| {
                let rows = clusters::rows_of_text(room);
                let page = filter.cluster_page(planner, decision, *sort, None, rows);
                clusters::text(&page, room)
            };
            made(form, filter, table, || {
                clusters::page(planner, decision, filter, *sort)
            })
        }
        FleetRequest::Holds(filter) => {
            check(published, filter)?;
            let counts = filter.holds(planner, at);
            made(
                form,
                filter,
                |_| text::holds(&counts),
                || Ok(json::holds(&counts)),
            )
        }
        FleetRequest::History(filter) => {
            check(published, filter)?;
            let rows = || filter.history(planner, at);
            let table = |room: Room| match form {
                FleetForm::Markdown => text::history_markdown(&rows()),
                _ => text::history(&rows(), room.width),
            };
            made(form, filter, table, || pages::history(planner, filter, at))
        }
        FleetRequest::Sectors(filter) => {
            check(published, filter)?;
            let rows = |room: Room| {
                let most = room.rows.unwrap_or(usize::MAX);
                filter.pipeline(planner, decision, None, most).0
            };
            made(
                form,
                filter,
                |room| pipeline::text(&rows(room), room),
                || pipeline::page(planner, decision, filter),
            )
        }
        FleetRequest::Matrix { by, filter } => {
            check(published, filter)?;
            let table = |room: Room| {
                let most = room.rows.unwrap_or(matrix::MAX_ROWS);
                let (told, has_more) = filter.matrix(planner, *by, None, most, at);
                matrix::text(&told, *by, has_more, room)
            };
            made(form, filter, table, || {
                matrix::page(planner, *by, filter, at)
            })
        }
        FleetRequest::Calendar {
            filter,
            from,
            until,
        } => {
            check(published, filter)?;
            let span = calendar_span(*from, *until, at)?;
            let policy = &published.policy;
            let table = |room: Room| {
                let question = AgendaQuestion {
                    from: span[0],
                    until: span[1],
                    after: None,
                    limit: room.rows.unwrap_or(matrix::MAX_ROWS),
                };
                agenda::text(&filter.agenda(planner, policy, &question, at).0, room)
            };
            made(form, filter, table, || {
                agenda::page(planner, policy, filter, span, at)
            })
        }
        other => unreachable!("{other:?} is answered elsewhere"),
    }
}

/// From when until when a calendar is asked for.
pub(super) fn calendar_span(
    from: Option<Timestamp>,
    until: Option<Timestamp>,
    now: Timestamp,
) -> Result<[Timestamp; 2], FleetAnswer> {
    let days = |days: i64| SignedDuration::from_hours(24 * days);
    let from = from.unwrap_or(now);
    let until = until.or_else(|| from.checked_add(days(CALENDAR_DAYS)).ok());
    let length = until.map(|until| from.duration_until(until));
    let fits = length
        .is_some_and(|length| length > SignedDuration::ZERO && length <= days(MAX_CALENDAR_DAYS));
    match until.filter(|_| fits) {
        Some(until) => Ok([from, until]),
        None => Err(FleetAnswer::Refused {
            kind: "bad_calendar",
            sentence: format!(
                "a calendar ends after it begins, and has at most {MAX_CALENDAR_DAYS} days; change from or until"
            ),
        }),
    }
}

pub(super) fn plan(
    published: &DecidedFleet,
    filter: &Filter,
    expected: Option<Expectations<'_>>,
    form: FleetForm,
) -> Result<Made, FleetAnswer> {
    let DecidedFleet {
        planner, decision, ..
    } = published;
    check(published, filter)?;
    made(
        form,
        filter,
        |room| text::plan(planner, &filter.plan(planner, decision), expected, room),
        || pages::plan(planner, decision, expected.map(|one| one.outlook), filter),
    )
}

/// What became of the preflights that are meant.
pub(super) fn preflights(
    published: &DecidedFleet,
    preflights: &[Preflight],
    filter: &Filter,
    form: FleetForm,
    now: Timestamp,
) -> Result<Made, FleetAnswer> {
    check(published, filter)?;
    let meant = filter.preflights(&published.planner, preflights, now);
    made(
        form,
        filter,
        |room| text::preflights(meant.iter().copied(), room.width),
        || Ok(json::preflights(meant.iter().copied())),
    )
}

/// Whom a forecast is asked about.
pub(super) fn meant(
    published: &DecidedFleet,
    filter: &Filter,
    now: Timestamp,
) -> Result<BTreeSet<(Name, Name)>, FleetAnswer> {
    check(published, filter)?;
    Ok(filter.names(&published.planner, instant(published, now)))
}

pub(super) fn forecast(
    outlook: Outlook,
    from: Timestamp,
    days: u32,
    filter: &Filter,
    form: FleetForm,
) -> Result<Made, FleetAnswer> {
    match room(form, filter.limit) {
        None => {
            let mut page = pages::forecast(outlook, filter).map_err(bad_filter)?;
            page["at"] = from.to_string().into();
            Ok(Made::Json(page))
        }
        Some(room) => Ok(Made::Text(text::forecast(&outlook, days, room))),
    }
}

/// The cluster of that name or id, and when it was last seen.
pub(super) fn whose(
    published: &DecidedFleet,
    cluster: &str,
) -> Result<(ClusterId, Timestamp), FleetAnswer> {
    let member = find_cluster(&published.planner, cluster).map_err(not_found)?;
    let state = published.planner.roster().cluster(member);
    Ok((state.id.clone(), state.last_seen))
}

/// Why a cluster does, or does not, go where it could.
pub(super) fn why(
    published: &DecidedFleet,
    cluster: &str,
    version: Option<&Version>,
    updates: Option<&[AgentUpdate]>,
    form: FleetForm,
    now: Timestamp,
) -> Result<Made, FleetAnswer> {
    let DecidedFleet {
        planner, decision, ..
    } = published;
    let member = find_cluster(planner, cluster).map_err(not_found)?;
    let at = instant(published, now);
    let why = match version {
        Some(version) => planner.why_not(member, version, at),
        None => planner.why(member, at),
    };
    made(
        form,
        &Filter::default(),
        |_| text::why(planner, decision, member, &why, updates.unwrap_or_default()),
        || {
            let told = json::why(planner, decision, member, &why);
            let told = json::with_updates(told, updates);
            let id = &planner.roster().cluster(member).id;
            Ok(json::with_preflights(told, planner.roster().preflights(id)))
        },
    )
}

/// The cluster whose upgrades are asked for; none if it is not one alone. One that has left the fleet is found by its id.
pub(super) fn upgraded(
    published: &DecidedFleet,
    filter: &Filter,
) -> Result<Option<ClusterId>, FleetAnswer> {
    let others = Filter {
        cluster: None,
        ..filter.clone()
    };
    check(published, &others)?;
    let Some(cluster) = &filter.cluster else {
        return Ok(None);
    };
    match find_cluster(&published.planner, cluster) {
        Ok(member) => Ok(Some(published.planner.roster().cluster(member).id.clone())),
        Err(problem) => ClusterId::new(cluster)
            .map(Some)
            .ok_or_else(|| not_found(problem)),
    }
}

/// Of the upgrades that were read, those that are asked for. If they are one cluster's, there must be some, or the cluster is known.
pub(super) fn upgrades(
    published: &DecidedFleet,
    read: &[Upgrade],
    whose: Option<ClusterId>,
    filter: &Filter,
    form: FleetForm,
) -> Result<Made, FleetAnswer> {
    let (planner, at) = (&published.planner, published.decision.at);
    if let (Some(id), true) = (&whose, read.is_empty())
        && planner.roster().find(id.as_str()).is_none()
    {
        return Err(not_found(BadQuestion::NoCluster(id.to_string())));
    }
    let meant = Filter {
        cluster: None,
        ..filter.clone()
    };
    made(
        form,
        filter,
        |room| {
            let (told, _) = pages::meant_upgrades(planner, read, &meant, at);
            text::upgrades(told, room.width)
        },
        || Ok(pages::upgrades(planner, read, &meant, at)),
    )
}
