//! What people have decided about a fleet and still stands: pauses, approvals, acknowledgements. Who, why and when; newest first.

use std::cmp::Reverse;

use jiff::Timestamp;
use serde_json::{Value, json};
use towpath_core::cluster::ClusterId;
use towpath_core::fleet::{
    Approval, BadQuestion, ClusterState, Filter, FleetPlanner, Name, Pause, UpgradePolicy,
    find_cluster,
};
use towpath_core::version::Version;

use super::pages::{FOREIGN, after, entries, next_after};
use super::text::first_rows;
use crate::room::Room;
use crate::words::minute;

/// Something that a person has decided.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct StandingAct {
    pub at: Timestamp,
    pub by: Name,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// No new upgrade starts there.
    Pause {
        organisation: Option<Name>,
        sector: Option<Name>,
        why: Name,
    },
    Approval {
        organisation: Name,
        /// A cluster's name; none: all of the organisation.
        name: Option<Name>,
        version: Version,
    },
    Acknowledgement {
        cluster: ClusterId,
        gate: Name,
    },
}

impl From<Pause> for StandingAct {
    fn from(pause: Pause) -> Self {
        Self {
            at: pause.at,
            by: pause.by,
            what: What::Pause {
                organisation: pause.organisation,
                sector: pause.sector,
                why: pause.why,
            },
        }
    }
}

impl From<Approval> for StandingAct {
    fn from(approval: Approval) -> Self {
        Self {
            at: approval.at,
            by: approval.by,
            what: What::Approval {
                organisation: approval.organisation,
                name: approval.cluster,
                version: approval.version,
            },
        }
    }
}

/// Of these acts, those that concern who is asked about, newest first.
pub fn meant(
    acts: Vec<StandingAct>,
    desk: &FleetPlanner,
    filter: &Filter,
) -> Result<Vec<StandingAct>, BadQuestion> {
    let cluster = filter.cluster.as_deref();
    let cluster = cluster.map(|name| find_cluster(desk, name)).transpose()?;
    let cluster =
        cluster.map(|member| (desk.roster().cluster(member), desk.roster().policy(member)));
    let of_organisation = |act: &StandingAct| {
        let asked = filter.organisation.as_deref();
        asked.is_none_or(|asked| act.organisation(desk).is_none_or(|of| **of == *asked))
    };
    let of_cluster =
        |act: &StandingAct| cluster.is_none_or(|(state, policy)| act.what.concerns(state, policy));
    let mut meant: Vec<StandingAct> = acts
        .into_iter()
        .filter(|act| of_organisation(act) && of_cluster(act))
        .collect();
    meant.sort_by(|a, b| (Reverse(a.at), &a.what).cmp(&(Reverse(b.at), &b.what)));
    Ok(meant)
}

impl StandingAct {
    /// The organisation that it is about; none: all of them, or nobody knows.
    fn organisation<'a>(&'a self, desk: &'a FleetPlanner) -> Option<&'a Name> {
        match &self.what {
            What::Pause { organisation, .. } => organisation.as_ref(),
            What::Approval { organisation, .. } => Some(organisation),
            What::Acknowledgement { cluster, .. } => {
                let member = desk.roster().find(cluster.as_str())?;
                Some(&desk.roster().cluster(member).organisation)
            }
        }
    }

    fn json(&self, desk: &FleetPlanner) -> Value {
        let mut told = json!({
            "kind": self.what.kind(),
            "at": self.at.to_string(),
            "by": self.by,
            "why": null,
            "organisation": self.organisation(desk),
            "sector": null,
            "cluster": null,
            "name": null,
            "version": null,
            "gate": null,
        });
        match &self.what {
            What::Pause { sector, why, .. } => {
                told["sector"] = json!(sector);
                told["why"] = json!(why);
            }
            What::Approval { name, version, .. } => {
                told["name"] = json!(name);
                told["version"] = version.to_string().into();
            }
            What::Acknowledgement { cluster, gate } => {
                let member = desk.roster().find(cluster.as_str());
                told["cluster"] = cluster.as_str().into();
                told["name"] = json!(member.map(|member| &desk.roster().cluster(member).name));
                told["gate"] = json!(gate);
            }
        }
        told
    }
}

impl What {
    fn kind(&self) -> &'static str {
        match self {
            Self::Pause { .. } => "pause",
            Self::Approval { .. } => "approval",
            Self::Acknowledgement { .. } => "acknowledgement",
        }
    }

    /// Whether it is about that cluster, alone or among others.
    fn concerns(&self, state: &ClusterState, policy: &UpgradePolicy) -> bool {
        match self {
            Self::Pause {
                organisation,
                sector,
                ..
            } => {
                let of = organisation
                    .as_ref()
                    .is_none_or(|of| *of == state.organisation);
                of && sector
                    .as_ref()
                    .is_none_or(|of| Some(of) == policy.sector.as_ref())
            }
            Self::Approval {
                organisation, name, ..
            } => {
                let of = *organisation == state.organisation;
                of && name.as_ref().is_none_or(|name| *name == state.name)
            }
            Self::Acknowledgement { cluster, .. } => *cluster == state.id,
        }
    }

    fn words(&self, desk: &FleetPlanner) -> [String; 2] {
        match self {
            Self::Pause {
                organisation,
                sector,
                why,
            } => {
                let of = organisation.as_ref().map_or("everywhere", |of| of);
                let place = sector
                    .as_ref()
                    .map_or_else(|| of.to_owned(), |sector| format!("{of}, sector {sector}"));
                [format!("paused: {place}"), why.to_string()]
            }
            Self::Approval {
                organisation,
                name,
                version,
            } => {
                let whom = name.as_ref().map_or_else(
                    || format!("all of {organisation}"),
                    |name| format!("{name} of {organisation}"),
                );
                [format!("approved: {version} for {whom}"), "-".to_owned()]
            }
            Self::Acknowledgement { cluster, gate } => {
                let member = desk.roster().find(cluster.as_str());
                let name = member.map_or(cluster.as_str(), |member| {
                    &*desk.roster().cluster(member).name
                });
                [
                    format!("acknowledged: gate {gate} for {name}"),
                    "-".to_owned(),
                ]
            }
        }
    }
}

/// A page of them. It begins after so many of the page before; what was decided since then moves others to the next page.
pub fn page(acts: &[StandingAct], desk: &FleetPlanner, filter: &Filter) -> Result<Value, String> {
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
        let older = acts.partition_point(|act| act.at > at);
        (older + same).min(acts.partition_point(|act| act.at >= at))
    });
    let rest = &acts[begin..];
    let shown = &rest[..rest.len().min(entries(filter))];
    let last = shown.last().filter(|_| shown.len() < rest.len());
    let next = last.map(|last| {
        let newer = acts.partition_point(|act| act.at > last.at);
        let same = begin + shown.len() - newer;
        next_after([&last.at.to_string(), &same.to_string()])
    });
    let mut page = json(shown, desk);
    page["next"] = json!(next);
    Ok(page)
}

pub fn json(acts: &[StandingAct], desk: &FleetPlanner) -> Value {
    json!({"acts": acts.iter().map(|act| act.json(desk)).collect::<Vec<_>>()})
}

/// The same as a table.
pub fn text(acts: &[StandingAct], desk: &FleetPlanner, room: Room) -> String {
    let row = |act: &StandingAct| {
        let [what, why] = act.what.words(desk);
        [minute(act.at), act.by.to_string(), what, why]
    };
    match acts.is_empty() {
        true => "Nothing is paused, approved or acknowledged.\n".to_owned(),
        false => first_rows(["AT", "BY", "WHAT", "WHY"], acts.iter().map(row), room),
    }
}
