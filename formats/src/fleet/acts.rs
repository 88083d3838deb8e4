//! What somebody did to a fleet, as text and as JSON: the same words from the command line and from the service.

use serde_json::{Value, json};
use towpath_core::finding::Finding;
use towpath_core::fleet::{CancelledUpgrade, Said, Upgrade};
use towpath_core::version::Version;

use super::standing::said_json;
use crate::findings;
use crate::words::{counted, second};

/// An act that is recorded.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    Paused {
        place: PausePlace,
        /// How many clusters it covers, if anybody knows.
        clusters: Option<usize>,
        /// Why the sector's name could not be checked.
        unchecked: Option<String>,
    },
    Resumed {
        place: PausePlace,
        pauses: u64,
    },
    Approved {
        version: Version,
        organisation: String,
        /// None: all clusters of the organisation.
        cluster: Option<String>,
        /// How many clusters it is about.
        clusters: usize,
    },
    Acknowledged {
        gate: String,
        id: String,
        name: String,
    },
    Withdrawn {
        consent: Consent,
        /// Who had consented.
        given: Vec<Said>,
        /// What still consents, in words.
        still: Vec<String>,
    },
    /// A planned upgrade was called off.
    Cancelled {
        upgrade: Upgrade,
        /// The cluster's name.
        name: String,
        /// Somebody had done so before; nothing changed.
        before: Option<CancelledUpgrade>,
    },
    /// Cancelled upgrades of a cluster may be planned again.
    Lifted {
        id: String,
        name: String,
        lifted: Vec<CancelledUpgrade>,
    },
    Forgotten {
        id: String,
        name: String,
    },
    Imported(Imported),
}

/// What a person consents to, and may take back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    Approval {
        version: Version,
        organisation: String,
        /// None: all clusters of the organisation.
        cluster: Option<String>,
    },
    Acknowledgement {
        gate: String,
        id: String,
        name: String,
    },
}

/// Where a pause holds; everywhere by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PausePlace {
    pub organisation: Option<String>,
    pub sector: Option<String>,
}

/// What an import has recorded.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Imported {
    /// None: only soak was imported.
    pub clusters: Option<ImportedClusters>,
    /// None: the list tells of no soak.
    pub soak: Option<ImportedSoak>,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedClusters {
    pub all: usize,
    /// How many of them are new or changed.
    pub changed: usize,
}

/// Soak that was imported, in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImportedSoak {
    pub sums: usize,
    pub kept: i64,
    /// What Towpath had counted itself already.
    pub already: i64,
}

impl PausePlace {
    /// As part of a sentence: "paused …".
    pub fn words(&self) -> String {
        match (&self.organisation, &self.sector) {
            (None, None) => "everywhere".to_owned(),
            (Some(org), None) => format!("in organisation {org}"),
            (None, Some(sector)) => format!("in sector {sector} of every organisation"),
            (Some(org), Some(sector)) => format!("in sector {sector} of organisation {org}"),
        }
    }

    /// As part of a sentence: "no pause of …".
    pub fn noun(&self) -> String {
        match (&self.organisation, &self.sector) {
            (None, None) => "the whole fleet".to_owned(),
            (Some(org), None) => format!("organisation {org}"),
            (None, Some(sector)) => format!("sector {sector} of every organisation"),
            (Some(org), Some(sector)) => format!("sector {sector} of organisation {org}"),
        }
    }
}

impl Act {
    /// Whether all of it was done as it was asked for.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::Paused { unchecked, .. } => unchecked.is_none(),
            Self::Imported(imported) => !imported.findings.iter().any(Finding::is_error),
            _ => true,
        }
    }
}

/// For people.
pub fn text(act: &Act) -> String {
    match act {
        Act::Paused {
            place, unchecked, ..
        } => {
            let place = place.words();
            let unchecked = unchecked.as_ref().map_or_else(String::new, |problem| {
                format!("But the sector's name could not be checked, because not all of the policy can be read: {problem}\n")
            });
            format!(
                "Paused {place}. The next pass cancels planned upgrades; running ones continue.\n{unchecked}"
            )
        }
        Act::Resumed { place, .. } => {
            format!("New upgrades may start again {}.\n", place.words())
        }
        Act::Approved {
            version,
            organisation,
            cluster,
            ..
        } => {
            let whom = whom(organisation, cluster.as_deref());
            format!("{version} is approved for {whom}.\n")
        }
        Act::Withdrawn {
            consent,
            given,
            still,
        } => withdrawn_text(consent, given, still),
        Act::Cancelled {
            upgrade,
            name,
            before,
        } => cancelled_text(upgrade, name, before.as_ref()),
        Act::Lifted { name, lifted, .. } => {
            let versions: Vec<String> = lifted.iter().map(|one| one.version.to_string()).collect();
            format!("{name} may be planned to {} again.\n", versions.join(", "))
        }
        Act::Acknowledged { gate, id, name } => {
            format!("Gate {gate} is acknowledged for {}.\n", called(name, id))
        }
        Act::Forgotten { id, name } => format!(
            "{} is forgotten. If it reports again, Towpath adds it again.\n",
            called(name, id)
        ),
        Act::Imported(imported) => imported_text(imported),
    }
}

/// For machines; its fields are stable.
pub fn json(act: &Act) -> Value {
    match act {
        Act::Paused {
            place,
            clusters,
            unchecked,
        } => json!({
            "kind": "paused",
            "organisation": place.organisation,
            "sector": place.sector,
            "clusters": clusters,
            "unchecked": unchecked,
        }),
        Act::Resumed { place, pauses } => json!({
            "kind": "resumed",
            "organisation": place.organisation,
            "sector": place.sector,
            "pauses": pauses,
        }),
        Act::Approved {
            version,
            organisation,
            cluster,
            clusters,
        } => json!({
            "kind": "approved",
            "version": version.to_string(),
            "organisation": organisation,
            "cluster": cluster,
            "clusters": clusters,
        }),
        Act::Acknowledged { gate, id, name } => {
            json!({"kind": "acknowledged", "gate": gate, "cluster": id, "name": name})
        }
        Act::Withdrawn {
            consent,
            given,
            still,
        } => {
            let mut told = consent_json(consent);
            told["kind"] = "withdrawn".into();
            told["given"] = given.iter().map(said_json).collect();
            told["still"] = json!(still);
            told
        }
        Act::Cancelled {
            upgrade,
            name,
            before,
        } => json!({
            "kind": "cancelled",
            "upgrade": upgrade.id.0,
            "cluster": upgrade.cluster.as_str(),
            "name": name,
            "nodePool": upgrade.pool,
            "from": upgrade.from.to_string(),
            "to": upgrade.to.to_string(),
            "before": before.as_ref().map(|one| {
                json!({"by": one.by, "at": one.at.to_string(), "why": one.why})
            }),
        }),
        Act::Lifted { id, name, lifted } => {
            let one = |one: &CancelledUpgrade| json!({"version": one.version.to_string(), "nodePool": one.pool});
            let lifted: Vec<Value> = lifted.iter().map(one).collect();
            json!({"kind": "lifted", "cluster": id, "name": name, "lifted": lifted})
        }
        Act::Forgotten { id, name } => json!({"kind": "forgotten", "cluster": id, "name": name}),
        Act::Imported(imported) => json!({
            "kind": "imported",
            "clusters": imported.clusters.map(|clusters| clusters.all),
            "changed": imported.clusters.map(|clusters| clusters.changed),
            "soakDays": imported.soak.map_or(0.0, |soak| days(soak.kept)),
            "findings": findings::json(&imported.findings),
        }),
    }
}

fn whom(organisation: &str, cluster: Option<&str>) -> String {
    cluster.map_or_else(
        || format!("all of {organisation}"),
        |cluster| format!("{cluster} of {organisation}"),
    )
}

fn withdrawn_text(consent: &Consent, given: &[Said], still: &[String]) -> String {
    let what = match consent {
        Consent::Approval {
            version,
            organisation,
            cluster,
        } => {
            let whom = whom(organisation, cluster.as_deref());
            format!("The approval of {version} for {whom}")
        }
        Consent::Acknowledgement { gate, id, name } => {
            let whom = called(name, id);
            format!("The acknowledgement of gate {gate} for {whom}")
        }
    };
    let by: Vec<&str> = given.iter().map(|said| &*said.by).collect();
    let by = match by.is_empty() {
        true => String::new(),
        false => format!(" by {}", by.join(" and ")),
    };
    let mut text = format!(
        "{what}{by} is withdrawn. The next pass cancels upgrades that need it and have not begun; running ones continue.\n"
    );
    for other in still {
        text += &format!("Still in force: {other}.\n");
    }
    text
}

fn cancelled_text(upgrade: &Upgrade, name: &str, before: Option<&CancelledUpgrade>) -> String {
    let pool = upgrade.pool.as_ref();
    let pool = pool.map_or_else(String::new, |pool| format!("node pool {pool} of "));
    let (number, from, to) = (upgrade.id.0, &upgrade.from, &upgrade.to);
    let what = format!("Upgrade {number} of {pool}{name} from {from} to {to}");
    let done = match before {
        None => format!(
            "{what} is cancelled and does not start; the next pass removes it from the plan.\n"
        ),
        Some(before) => {
            let (by, at, why) = (&before.by, second(before.at), &before.why);
            format!("{what} was cancelled before, by {by} at {at}: {why}. Nothing has changed.\n")
        }
    };
    format!(
        "{done}{to} is not planned for {name} again until somebody runs `towpath fleet resume --cluster {name}`. Other versions may be planned.\n"
    )
}

fn consent_json(consent: &Consent) -> Value {
    match consent {
        Consent::Approval {
            version,
            organisation,
            cluster,
        } => json!({
            "act": "approval",
            "version": version.to_string(),
            "organisation": organisation,
            "name": cluster,
            "cluster": null,
            "gate": null,
        }),
        Consent::Acknowledgement { gate, id, name } => json!({
            "act": "acknowledgement",
            "version": null,
            "organisation": null,
            "name": name,
            "cluster": id,
            "gate": gate,
        }),
    }
}

/// A cluster by its name, and its id where that is another.
fn called(name: &str, id: &str) -> String {
    match name == id {
        true => id.to_owned(),
        false => format!("{name} ({id})"),
    }
}

fn imported_text(imported: &Imported) -> String {
    let mut text = findings::one_a_line(&imported.findings);
    if let Some(ImportedClusters { all, changed }) = imported.clusters {
        text += &format!(
            "{} recorded, {changed} of them new or changed.\n",
            counted(all, "cluster")
        );
    }
    if let Some(soak) = imported.soak {
        text += &format!(
            "{:.1} soak days recorded, in {} of a workload on a version.",
            days(soak.kept),
            counted(soak.sums, "sum")
        );
        if soak.already > 0 {
            text += &format!(
                " {:.1} days more were counted by Towpath itself already.",
                days(soak.already)
            );
        }
        text.push('\n');
    }
    text
}

fn days(seconds: i64) -> f64 {
    seconds as f64 / 86_400.0
}
