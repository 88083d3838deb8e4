//! What the series of one cluster mean: which updates started, were complete, or failed.
//!
//! Of each event the earliest time counts, as with reports. Three rules are of this source alone:
//!
//! - A start counts if it is at most [`SEEN_WITHIN`] old. The series of an update ends with the update. So of older ones only those
//!   that got stuck would be seen, and the release would look bad.
//! - A failure counts against an update that had started by then. A cluster that failed before is not the release's fault.
//! - A failure on the release that a cluster is on counts as not well, unless an update to another one had started by then.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use towpath_core::cluster::{ClusterId, Fact, Platform};
use towpath_core::feedback::{KEPT_FOR, Testimony, TimeLimits, UpdateEvidence, UpdateStart};
use towpath_core::version::{Arch, Version};

use super::series::{Series, clip};

/// How old a start may be when it is first seen. A query has to look back as long.
pub const SEEN_WITHIN: SignedDuration = SignedDuration::from_hours(24);
/// The longest name of an organisation or architecture, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Values of `type` that the operator writes and that tell of no update.
const OTHER_KINDS: [&str; 5] = ["current", "initial", "cluster", "desired", "update"];

/// What is known of one cluster.
pub(super) struct ClusterEvents {
    cluster: ClusterId,
    platform: Option<Platform>,
    arch: Option<Arch>,
    organisation: Option<String>,
    started: BTreeMap<Version, UpdateStart>,
    completed: BTreeMap<Version, Timestamp>,
    /// By the release that the cluster was going to.
    failed: BTreeMap<Version, Timestamp>,
    /// By the release that the cluster was on.
    unwell: BTreeMap<Version, Timestamp>,
}

impl ClusterEvents {
    pub(super) fn of(id: &str) -> Result<Self, String> {
        let cluster = ClusterId::new(id);
        Ok(Self {
            cluster: cluster.ok_or_else(|| format!("cluster {:?} is no id", clip(id)))?,
            platform: None,
            arch: None,
            organisation: None,
            started: BTreeMap::new(),
            completed: BTreeMap::new(),
            failed: BTreeMap::new(),
            unwell: BTreeMap::new(),
        })
    }

    pub(super) fn add(&mut self, series: &Series<'_>, now: Timestamp) -> Result<(), String> {
        self.add_facts(series)?;
        match series.kind.as_deref() {
            Some("updating" | "completed" | "failure") => self.add_event(series, now),
            Some(kind) if OTHER_KINDS.contains(&kind) => Ok(()),
            Some(kind) => Err(format!("type {:?} is unknown", clip(kind))),
            None if series.has_facts() => Ok(()),
            None => Err("a series has no type, and no platform, arch or organisation".to_owned()),
        }
    }

    /// Of two that differ the lower one counts: any would do, but every replica must take the same.
    fn add_facts(&mut self, series: &Series<'_>) -> Result<(), String> {
        if let Some(name) = series.platform.as_deref() {
            let platform = Platform::new(name)
                .ok_or_else(|| format!("platform {:?} is no name of a platform", clip(name)))?;
            self.platform = lower(self.platform.take(), platform);
        }
        for (label, name) in [
            ("arch", &series.arch),
            ("organisation", &series.organisation),
        ] {
            let Some(name) = name.as_deref() else {
                continue;
            };
            if name.len() > MAX_NAME_BYTES || name.contains(char::is_control) {
                return Err(format!("{label} {:?} is no name", clip(name)));
            }
            match label {
                "arch" => self.arch = lower(self.arch.take(), Arch::new(name)),
                _ => self.organisation = lower(self.organisation.take(), name.to_owned()),
            }
        }
        Ok(())
    }

    fn add_event(&mut self, series: &Series<'_>, now: Timestamp) -> Result<(), String> {
        let to = release("version", series.version.as_deref())?;
        let to = to.ok_or_else(|| "a series of an update has no version".to_owned())?;
        let from = release("from_version", series.from_version.as_deref())?;
        let Some(at) = series.time(now)? else {
            return Ok(());
        };
        match (series.kind.as_deref(), from) {
            (Some("completed"), _) => first(&mut self.completed, to, at),
            (Some("updating"), Some(from)) if from < to => {
                first(&mut self.started, to, UpdateStart { at, from });
            }
            (Some("failure"), Some(from)) if from < to => first(&mut self.failed, to, at),
            (Some("failure"), Some(from)) if from == to => first(&mut self.unwell, to, at),
            // An installation or a rollback.
            _ => {}
        }
        Ok(())
    }

    /// What follows for the releases that the cluster went to. None: nothing.
    pub(super) fn testimony(self, limits: &Arc<TimeLimits>, now: Timestamp) -> Option<Testimony> {
        let oldest = now.checked_sub(KEPT_FOR).unwrap_or(Timestamp::MIN);
        let all = [&self.completed, &self.failed, &self.unwell];
        let releases = all.into_iter().flat_map(BTreeMap::keys);
        let mut evidence: BTreeMap<&Version, UpdateEvidence> = BTreeMap::new();
        for release in releases.chain(self.started.keys()) {
            let known = evidence.entry(release);
            known.or_insert_with(|| self.evidence(release, now));
        }
        let is_kept = |one: &UpdateEvidence| one.first_at().is_some_and(|first| first >= oldest);
        let evidence: Vec<UpdateEvidence> = evidence.into_values().filter(is_kept).collect();
        (!evidence.is_empty()).then(|| Testimony {
            cluster: self.cluster,
            organisation: self.organisation.unwrap_or_default().as_str().into(),
            platform: Fact::from(self.platform),
            arch: self.arch.unwrap_or_default(),
            evidence,
            limits: limits.clone(),
        })
    }

    fn evidence(&self, release: &Version, now: Timestamp) -> UpdateEvidence {
        let start = self.started.get(release);
        let is_seen = |start: &&UpdateStart| now.duration_since(start.at) <= SEEN_WITHIN;
        let after_start = |at: &&Timestamp| start.is_none_or(|start| **at >= start.at);
        let of_update = |at: &&Timestamp| start.is_some_and(|start| **at >= start.at);
        let completed_at = self.completed.get(release).filter(after_start).copied();
        // From when on it was on its way elsewhere.
        let left_at = self.started.values().filter(|start| start.from == *release);
        let left_at = left_at.map(|start| start.at).min();
        // What still fails once the update is complete is not well from then on.
        let unwell = self.unwell.get(release);
        let unwell = unwell.map(|at| completed_at.map_or(*at, |done| done.max(*at)));
        let is_of_stay = |at: &Timestamp| left_at.is_none_or(|left| *at < left);
        UpdateEvidence {
            start: start.filter(is_seen).cloned(),
            failed_at: self.failed.get(release).filter(of_update).copied(),
            completed_at,
            degraded_at: unwell.filter(is_of_stay),
            ..UpdateEvidence::of(release.clone())
        }
    }
}

impl Series<'_> {
    fn has_facts(&self) -> bool {
        self.platform.is_some() || self.arch.is_some() || self.organisation.is_some()
    }
}

fn release(label: &str, text: Option<&str>) -> Result<Option<Version>, String> {
    let parsed = text.map(|text| {
        let error = |error| format!("{label} {:?} is no version: {error}", clip(text));
        text.parse::<Version>().map_err(error)
    });
    parsed.transpose()
}

fn lower<T: Ord>(known: Option<T>, new: T) -> Option<T> {
    Some(match known {
        Some(known) => known.min(new),
        None => new,
    })
}

fn first<T: Ord>(all: &mut BTreeMap<Version, T>, of: Version, new: T) {
    let known = all.remove(&of);
    all.extend(lower(known, new).map(|first| (of, first)));
}
