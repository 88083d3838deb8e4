//! What people did to a fleet: pauses, approvals, acknowledgements, cancelled upgrades. Who, how they were known, why and when; and
//! who ended it. Newest first.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    ActKind, BadQuestion, ClusterState, Filter, FleetPlanner, Name, PersonAct, Said, UpgradePolicy,
    find_cluster,
};

use super::pages::{FOREIGN, after, entries, next_after};
use super::text::first_rows;
use crate::room::Room;
use crate::words::minute;

/// Of these acts, those that concern who is asked about, newest first.
pub fn meant(
    acts: Vec<PersonAct>,
    desk: &FleetPlanner,
    filter: &Filter,
) -> Result<Vec<PersonAct>, BadQuestion> {
    let cluster = filter.cluster.as_deref();
    let cluster = cluster.map(|name| find_cluster(desk, name)).transpose()?;
    let cluster =
        cluster.map(|member| (desk.roster().cluster(member), desk.roster().policy(member)));
    let of_organisation = |act: &PersonAct| {
        let asked = filter.organisation.as_deref();
        asked.is_none_or(|asked| organisation(&act.what, desk).is_none_or(|of| **of == *asked))
    };
    let of_cluster =
        |act: &PersonAct| cluster.is_none_or(|(state, policy)| concerns(&act.what, state, policy));
    let mut meant: Vec<PersonAct> = acts
        .into_iter()
        .filter(|act| of_organisation(act) && of_cluster(act))
        .collect();
    meant.sort_by(|a, b| (Reverse(a.said.at), &a.what).cmp(&(Reverse(b.said.at), &b.what)));
    Ok(meant)
}

/// The organisation that it is about; none: all of them, or nobody knows.
fn organisation<'a>(what: &'a ActKind, desk: &'a FleetPlanner) -> Option<&'a Name> {
    match what {
        ActKind::Pause { organisation, .. } => organisation.as_ref(),
        ActKind::Approval { organisation, .. } => Some(organisation),
        ActKind::Acknowledgement { cluster, .. } | ActKind::Cancellation { cluster, .. } => {
            let member = desk.roster().find(cluster.as_str())?;
            Some(&desk.roster().cluster(member).organisation)
        }
    }
}

fn name_of<'a>(cluster: &ClusterId, desk: &'a FleetPlanner) -> Option<&'a Name> {
    let member = desk.roster().find(cluster.as_str())?;
    Some(&desk.roster().cluster(member).name)
}

fn act_json(act: &PersonAct, desk: &FleetPlanner) -> Value {
    let mut told = json!({
        "kind": kind(&act.what),
        "at": act.said.at.to_string(),
        "by": act.said.by,
        "knownBy": given(&act.said.known_by),
        "why": given(&act.said.why),
        "organisation": organisation(&act.what, desk),
        "sector": null,
        "cluster": null,
        "name": null,
        "version": null,
        "gate": null,
        "nodePool": null,
        "upgrade": null,
        "ended": act.ended.as_ref().map(said_json),
    });
    match &act.what {
        ActKind::Pause { sector, .. } => told["sector"] = json!(sector),
        ActKind::Approval { name, version, .. } => {
            told["name"] = json!(name);
            told["version"] = version.to_string().into();
        }
        ActKind::Acknowledgement { cluster, gate } => {
            told["cluster"] = cluster.as_str().into();
            told["name"] = json!(name_of(cluster, desk));
            told["gate"] = json!(gate);
        }
        ActKind::Cancellation {
            cluster,
            pool,
            version,
            upgrade,
        } => {
            told["cluster"] = cluster.as_str().into();
            told["name"] = json!(name_of(cluster, desk));
            told["version"] = version.to_string().into();
            told["nodePool"] = json!(pool);
            told["upgrade"] = upgrade.0.into();
        }
    }
    told
}

/// Who said something, how that is known, when and why.
pub fn said_json(said: &Said) -> Value {
    json!({
        "at": said.at.to_string(),
        "by": said.by,
        "knownBy": given(&said.known_by),
        "why": given(&said.why),
    })
}

/// A text that somebody gave.
fn given(text: &Name) -> Option<&Name> {
    (!text.is_empty()).then_some(text)
}

fn kind(what: &ActKind) -> &'static str {
    match what {
        ActKind::Pause { .. } => "pause",
        ActKind::Approval { .. } => "approval",
        ActKind::Acknowledgement { .. } => "acknowledgement",
        ActKind::Cancellation { .. } => "cancellation",
    }
}

/// Whether it is about that cluster, alone or among others.
fn concerns(what: &ActKind, state: &ClusterState, policy: &UpgradePolicy) -> bool {
    match what {
        ActKind::Pause {
            organisation,
            sector,
        } => {
            let of = organisation
                .as_ref()
                .is_none_or(|of| *of == state.organisation);
            of && sector
                .as_ref()
                .is_none_or(|of| Some(of) == policy.sector.as_ref())
        }
        ActKind::Approval {
            organisation, name, ..
        } => {
            let of = *organisation == state.organisation;
            of && name.as_ref().is_none_or(|name| *name == state.name)
        }
        ActKind::Acknowledgement { cluster, .. } | ActKind::Cancellation { cluster, .. } => {
            *cluster == state.id
        }
    }
}

fn words(what: &ActKind, desk: &FleetPlanner) -> String {
    let called = |cluster: &ClusterId| {
        name_of(cluster, desk).map_or_else(|| cluster.to_string(), ToString::to_string)
    };
    match what {
        ActKind::Pause {
            organisation,
            sector,
        } => {
            let of = organisation.as_ref().map_or("everywhere", |of| of);
            let place = sector
                .as_ref()
                .map_or_else(|| of.to_owned(), |sector| format!("{of}, sector {sector}"));
            format!("paused: {place}")
        }
        ActKind::Approval {
            organisation,
            name,
            version,
        } => {
            let whom = name.as_ref().map_or_else(
                || format!("all of {organisation}"),
                |name| format!("{name} of {organisation}"),
            );
            format!("approved: {version} for {whom}")
        }
        ActKind::Acknowledgement { cluster, gate } => {
            format!("acknowledged: gate {gate} for {}", called(cluster))
        }
        ActKind::Cancellation {
            cluster,
            pool,
            version,
            upgrade,
        } => {
            let pool = pool.as_ref();
            let pool = pool.map_or_else(String::new, |pool| format!("node pool {pool} of "));
            let number = upgrade.0;
            format!(
                "cancelled: {pool}{} to {version} (upgrade {number})",
                called(cluster)
            )
        }
    }
}

/// How what holds no longer came to its end.
fn end_word(what: &ActKind) -> &'static str {
    match what {
        ActKind::Pause { .. } => "resumed",
        ActKind::Approval { .. } | ActKind::Acknowledgement { .. } => "withdrawn",
        ActKind::Cancellation { .. } => "lifted",
    }
}

/// A page of them. It begins after so many of the page before; what was decided since then moves others to the next page.
pub fn page(acts: &[PersonAct], desk: &FleetPlanner, filter: &Filter) -> Result<Value, String> {
    let foreign = || format!("{FOREIGN}; leave it out to begin with the newest");
    let after = match after::<2>(filter)? {
        None => None,
        Some([at, same]) => {
            let at: Timestamp = at.parse().map_err(|_| foreign())?;
            let same: usize = same.parse().map_err(|_| foreign())?;
            Some((at, same))
        }
    };
    // Of those of the instant at which the last page ended, so many were on it.
    let begin = after.map_or(0, |(at, same)| {
        let older = acts.partition_point(|act| act.said.at > at);
        (older + same).min(acts.partition_point(|act| act.said.at >= at))
    });
    let rest = &acts[begin..];
    let shown = &rest[..rest.len().min(entries(filter))];
    let last = shown.last().filter(|_| shown.len() < rest.len());
    let next = last.map(|last| {
        let newer = acts.partition_point(|act| act.said.at > last.said.at);
        let same = begin + shown.len() - newer;
        next_after([&last.said.at.to_string(), &same.to_string()])
    });
    let mut page = json(shown, desk);
    page["next"] = json!(next);
    Ok(page)
}

pub fn json(acts: &[PersonAct], desk: &FleetPlanner) -> Value {
    json!({"acts": acts.iter().map(|act| act_json(act, desk)).collect::<Vec<_>>()})
}

/// The same as a table.
pub fn text(acts: &[PersonAct], desk: &FleetPlanner, room: Room) -> String {
    let or_dash = |text: &Name| given(text).map_or_else(|| "-".to_owned(), ToString::to_string);
    let row = |act: &PersonAct| {
        let ended = act.ended.as_ref().map_or_else(
            || "-".to_owned(),
            |ended| {
                let why = given(&ended.why).map_or_else(String::new, |why| format!(": {why}"));
                let (how, at) = (end_word(&act.what), minute(ended.at));
                format!("{how} {at} by {}{why}", ended.by)
            },
        );
        [
            minute(act.said.at),
            act.said.by.to_string(),
            words(&act.what, desk),
            or_dash(&act.said.why),
            ended,
        ]
    };
    match acts.is_empty() {
        true => "Nobody has paused, approved, acknowledged or cancelled anything.\n".to_owned(),
        false => {
            let head = ["AT", "BY", "WHAT", "WHY", "ENDED"];
            first_rows(head, acts.iter().map(row), room)
        }
    }
}
