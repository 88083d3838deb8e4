//! Answers to questions about the fleet, from what was last decided: pages of JSON for machines, text for people.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    AgentUpdate, BadQuestion, Filter, Name, Preflight, Upgrade, find_cluster,
};
use towpath_core::simulate::Outlook;
use towpath_core::version::Version;
use towpath_formats::fleet::text::Expectations;
use towpath_formats::fleet::{Room, json, pages, text};
use towpath_web::{FleetAnswer, FleetForm, FleetRequest};

use super::published_fleet::DecidedFleet;

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
fn made(
    form: FleetForm,
    filter: &Filter,
    text: impl FnOnce(Room) -> String,
    json: impl FnOnce() -> Result<Value, String>,
) -> Result<Made, FleetAnswer> {
    let width = match form {
        FleetForm::Json => return json().map(Made::Json).map_err(bad_filter),
        FleetForm::Text { width } => width,
        FleetForm::Markdown => None,
    };
    let rows = filter.limit;
    Ok(Made::Text(text(Room {
        rows,
        width,
        ..Room::default()
    })))
}

pub(super) fn bad_filter(sentence: String) -> FleetAnswer {
    FleetAnswer::Refused {
        kind: "bad_filter",
        sentence,
    }
}

fn not_found(problem: BadQuestion) -> FleetAnswer {
    FleetAnswer::NotFound(problem.to_string())
}

/// Checks that a filter means something, and somebody.
fn check(published: &DecidedFleet, filter: &Filter) -> Result<(), FleetAnswer> {
    let is_rule = filter.check();
    is_rule.map_err(|problem| bad_filter(problem.to_string()))?;
    filter.check_names(&published.planner).map_err(not_found)
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
        FleetRequest::Clusters(filter) => {
            check(published, filter)?;
            let rows = || filter.clusters(planner, at);
            made(
                form,
                filter,
                |room| text::clusters(&rows(), room),
                || pages::clusters(planner, filter, at),
            )
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
        other => unreachable!("{other:?} is answered elsewhere"),
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
    days: u32,
    filter: &Filter,
    form: FleetForm,
) -> Result<Made, FleetAnswer> {
    let width = match form {
        FleetForm::Json => {
            let page = pages::forecast(outlook, filter);
            return page.map(Made::Json).map_err(bad_filter);
        }
        FleetForm::Text { width } => width,
        FleetForm::Markdown => None,
    };
    let rows = filter.limit;
    let room = Room {
        rows,
        width,
        ..Room::default()
    };
    let text = text::forecast(&outlook, days, room);
    Ok(Made::Text(text))
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
