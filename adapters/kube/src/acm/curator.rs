//! A ClusterCurator, as far as it is about an upgrade: whose it is, and how far.

use serde_json::Value;

use super::{condition, items, text};

/// The annotation by which we recognise an upgrade of ours: version, node pool if any, and time of the start.
pub const UPGRADE_ANNOTATION: &str = "towpath.dev/upgrade";

/// The conditions that tell how a curator's job is doing.
const JOBS: [&str; 2] = ["clustercurator-job", "hypershift-upgrade-job"];
/// The longest message of a failed job that we repeat.
const MAX_MESSAGE: usize = 500;

/// Where the ClusterCurator of a cluster is: in the cluster's namespace, or beside its HostedCluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CuratorPlace {
    pub namespace: String,
    pub name: String,
    /// Whether the control plane is hosted.
    pub is_hosted: bool,
}

/// How far a curator is with its upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CuratorProgress {
    /// It has nothing to do.
    Idle,
    /// It is asked to work, and its job has not begun.
    Waiting,
    Running,
    Finished,
    /// Its job failed, with what the hub says.
    Failed(String),
}

/// A curator as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Curator {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) resource_version: String,
    /// `upgrade`, `install`, `destroy`, …
    pub(crate) curation: Option<String>,
    /// Where its upgrade goes, as it is written.
    pub(crate) to: Option<String>,
    /// The one node pool that it upgrades, if it upgrades nothing else.
    pub(crate) pool: Option<String>,
    /// Whether it has the version in between of an upgrade from EUS to EUS. The hub lets nobody change that, nor the version then.
    pub(crate) has_intermediate: bool,
    /// Our annotation.
    pub(crate) mark: Option<String>,
    pub(crate) progress: CuratorProgress,
}

impl CuratorProgress {
    /// Whether work is asked for or going on.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Waiting | Self::Running)
    }
}

impl Curator {
    /// Reads one; none if it has no name.
    pub(crate) fn read(object: &Value) -> Option<Self> {
        let owned = |pointer: &str| text(object, pointer).map(str::to_owned);
        let is_of_pools = text(object, "/spec/upgrade/upgradeType") == Some("NodePools");
        let pools = items(object, "/spec/upgrade/nodePoolNames");
        let pool = pools.first().filter(|_| is_of_pools && pools.len() == 1);
        let annotations = object.pointer("/metadata/annotations");
        let mark = annotations.and_then(|all| all[UPGRADE_ANNOTATION].as_str());
        Some(Self {
            namespace: owned("/metadata/namespace")?,
            name: owned("/metadata/name")?,
            resource_version: owned("/metadata/resourceVersion").unwrap_or_default(),
            curation: owned("/spec/desiredCuration"),
            to: owned("/spec/upgrade/desiredUpdate"),
            pool: pool.and_then(Value::as_str).map(str::to_owned),
            has_intermediate: owned("/spec/upgrade/intermediateUpdate").is_some(),
            mark: mark.map(str::to_owned),
            progress: progress(object),
        })
    }

    /// Why an upgrade cannot be asked of it, for people.
    pub(crate) fn obstacle(&self) -> Option<String> {
        let (namespace, name) = (&self.namespace, &self.name);
        match (self.progress.is_open(), self.has_intermediate) {
            (true, _) => Some(self.doing()),
            (false, true) => Some(format!(
                "ClusterCurator {namespace}/{name} has the `intermediateUpdate` of an earlier upgrade, and the hub lets nobody change it; delete the ClusterCurator"
            )),
            (false, false) => None,
        }
    }

    /// What it is doing, for people.
    pub(crate) fn doing(&self) -> String {
        let place = format!("ClusterCurator {}/{}", self.namespace, self.name);
        let to = self.to.as_deref().unwrap_or("no version");
        match self.curation.as_deref() {
            Some("upgrade") | None => format!("{place} upgrades it to {to}"),
            Some(other) => format!("{place} has `desiredCuration: {other}`"),
        }
    }
}

fn progress(object: &Value) -> CuratorProgress {
    let wants = text(object, "/spec/desiredCuration").is_some();
    let has_job = text(object, "/spec/curatorJob").is_some();
    let job = JOBS.iter().find_map(|kind| condition(object, kind));
    let said = job.and_then(|job| text(job, "/message")).unwrap_or("");
    let is_over = job.is_some_and(|job| job["status"] == "True");
    let is_failed = job.is_some_and(|job| job["reason"] == "Job_failed") || said.contains("Failed");
    match (wants, job.is_some(), is_over) {
        // Somebody has asked for another version since: the outcome is of the one before.
        (true, _, true) if may_be_of_another(object, said) => CuratorProgress::Waiting,
        (_, _, true) if is_failed => {
            CuratorProgress::Failed(said.chars().take(MAX_MESSAGE).collect())
        }
        (_, _, true) => CuratorProgress::Finished,
        (_, true, false) => CuratorProgress::Running,
        (_, false, _) if has_job => CuratorProgress::Running,
        (true, false, _) => CuratorProgress::Waiting,
        (false, false, _) => CuratorProgress::Idle,
    }
}

/// Whether a job's outcome may be about another version than the one that is wanted now. The hub writes `Version (4.20.5;stable-4.20;)`.
/// Without that, only our own request is known to be the one that the job was for.
fn may_be_of_another(object: &Value, said: &str) -> bool {
    let Some(wanted) = text(object, "/spec/upgrade/desiredUpdate") else {
        return false;
    };
    let told = said.split_once("Version (").map(|(_, rest)| rest);
    match told.and_then(|rest| rest.split([';', ')']).next()) {
        Some(told) => told != wanted,
        None => {
            let annotations = object.pointer("/metadata/annotations");
            let mark = annotations.and_then(|all| all[UPGRADE_ANNOTATION].as_str());
            mark.and_then(|mark| mark.split(' ').next()) != Some(wanted)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_curators_conditions_tell_how_far_it_is() {
        let job = |status: &str, reason: &str, message: &str| json!({"conditions": [{"type": "clustercurator-job", "status": status, "reason": reason, "message": message}]});
        let upgrade = json!({"desiredCuration": "upgrade", "upgrade": {"desiredUpdate": "4.20.5"}});
        let done = "curator-job-x DesiredCuration: upgrade Version (4.20.5;stable-4.20;)";
        let failed = "curator-job-x DesiredCuration: upgrade Version (4.20.5;;) Failed - Timed out waiting for job";
        for (spec, status, expected) in [
            (json!({}), json!({}), CuratorProgress::Idle),
            (upgrade.clone(), json!({}), CuratorProgress::Waiting),
            (
                json!({"desiredCuration": "upgrade", "curatorJob": "x"}),
                json!({}),
                CuratorProgress::Running,
            ),
            (
                upgrade.clone(),
                job("False", "Job_has_finished", "x"),
                CuratorProgress::Running,
            ),
            (
                upgrade.clone(),
                job("True", "Job_has_finished", done),
                CuratorProgress::Finished,
            ),
            // The hub takes the request away when it is done.
            (
                json!({"upgrade": {"desiredUpdate": "4.20.5"}}),
                job("True", "Job_has_finished", done),
                CuratorProgress::Finished,
            ),
            (
                upgrade.clone(),
                job("True", "Job_failed", failed),
                CuratorProgress::Failed(failed.to_owned()),
            ),
            (
                json!({"desiredCuration": "upgrade", "upgrade": {"desiredUpdate": "4.20.6"}}),
                job("True", "Job_has_finished", done),
                CuratorProgress::Waiting,
            ),
        ] {
            let object = json!({"metadata": {"name": "a", "namespace": "a"}, "spec": spec, "status": status});
            let read = Curator::read(&object).map(|curator| curator.progress);
            assert_eq!(read, Some(expected), "{object}");
        }
        // An outcome that names no version is not of somebody's newer request.
        for (mark, expected) in [
            (json!(null), CuratorProgress::Waiting),
            (
                json!("4.20.4 2026-11-18T00:00:00Z"),
                CuratorProgress::Waiting,
            ),
            (
                json!("4.20.5 2026-11-18T00:00:00Z"),
                CuratorProgress::Finished,
            ),
        ] {
            let object = json!({
                "metadata": {"name": "a", "namespace": "a", "annotations": {UPGRADE_ANNOTATION: mark}},
                "spec": upgrade, "status": job("True", "Job_has_finished", "done"),
            });
            let read = Curator::read(&object).map(|curator| curator.progress);
            assert_eq!(read, Some(expected), "{object}");
        }
    }
}
