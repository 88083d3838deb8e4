//! What somebody did to a fleet, as text and as JSON: the same words from the command line and from the service.

use serde_json::{Value, json};
use towpath_core::finding::Finding;
use towpath_core::version::Version;

use crate::findings;
use crate::words::counted;

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
    Forgotten {
        id: String,
        name: String,
    },
    Imported(Imported),
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
            let whom = cluster.as_ref().map_or_else(
                || format!("all of {organisation}"),
                |cluster| format!("{cluster} of {organisation}"),
            );
            format!("{version} is approved for {whom}.\n")
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
