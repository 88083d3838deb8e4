//! Annotations of a DaemonSet in waves: what people set, and what we write. A value that cannot be read is refused, never ignored.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use towpath_core::duration::MaxUnavailable;
use towpath_core::finding::{Finding, Place};
use towpath_core::fleet::Name;
use towpath_core::nodes::{DaemonSettings, RolloutRecord};
use towpath_core::verdict::Reason;

use crate::read::shown;
use crate::timespan::TimeSpan;

/// Opts in: `true`.
pub const WAVES: &str = "towpath.dev/waves";
/// How many nodes may be without a ready pod: `3` or `10%`.
pub const AT_MOST_AWAY: &str = "towpath.dev/waves-at-most-away";
/// How long canaries have to be ready: `1m`.
pub const SOAK: &str = "towpath.dev/waves-soak";
/// After which time a pod that is not ready is bad: `10m`.
pub const PATIENCE: &str = "towpath.dev/waves-patience";
/// Ours: what is remembered of the rollout.
pub const RECORD: &str = "towpath.dev/waves-record";
/// Ours: how far it is, for people and programs.
pub const STATUS: &str = "towpath.dev/waves-status";

const ALL: [&str; 6] = [WAVES, AT_MOST_AWAY, SOAK, PATIENCE, RECORD, STATUS];
/// The longest soak and the longest patience.
const MAX_SPAN: SignedDuration = SignedDuration::from_hours(24);
/// The shortest patience: no pod starts within less.
const MIN_PATIENCE: SignedDuration = SignedDuration::from_secs(10);
/// The longest record. Kubernetes allows 256 KiB for all annotations of an object.
const MAX_RECORD_BYTES: usize = 128 << 10;

/// What is remembered on a DaemonSet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaveRecord {
    pub rollout: RolloutRecord,
    /// Pods that somebody is deleting right now.
    pub going: Option<Going>,
}

/// Pods that were about to be deleted when the record was written. Until then they count as gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Going {
    pub until: Timestamp,
    pub pods: BTreeSet<Name>,
}

/// What we last told of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WaveStatus {
    pub code: String,
    pub text: String,
    pub help: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct WrittenRecord {
    to: Name,
    back_to: Option<Name>,
    canaries: BTreeSet<Name>,
    failed: Option<Name>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    going: Option<WrittenGoing>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenGoing {
    until: String,
    pods: BTreeSet<Name>,
}

impl WaveRecord {
    /// As it is written on the DaemonSet.
    pub fn written(&self) -> String {
        let RolloutRecord {
            to,
            back_to,
            canaries,
            failed,
        } = self.rollout.clone();
        let written = WrittenRecord {
            to,
            back_to,
            canaries,
            failed,
            going: self.going.clone().map(|going| WrittenGoing {
                until: going.until.to_string(),
                pods: going.pods,
            }),
        };
        serde_json::to_string(&written).unwrap_or_default()
    }

    /// Without a list of pods that are gone by now.
    pub fn without_empty(mut self) -> Self {
        self.going = self.going.filter(|going| !going.pods.is_empty());
        self
    }

    fn read(text: &str) -> Result<Self, String> {
        if text.len() > MAX_RECORD_BYTES {
            return Err(format!("it is longer than {MAX_RECORD_BYTES} bytes"));
        }
        let written: WrittenRecord =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        let WrittenRecord {
            to,
            back_to,
            canaries,
            failed,
            going,
        } = written;
        let rollout = RolloutRecord {
            to,
            back_to,
            canaries,
            failed,
        };
        let going = going.map(|going| {
            let until = going.until.parse().map_err(|_| {
                let said = shown(&going.until);
                format!("{said:?} is no time")
            })?;
            let pods = going.pods;
            Ok::<_, String>(Going { until, pods })
        });
        let going = going.transpose()?;
        Ok(Self { rollout, going })
    }
}

impl WaveStatus {
    pub fn of(reason: &Reason) -> Self {
        Self {
            code: reason.code().name.to_owned(),
            text: reason.text(),
            help: reason.help(),
            until: reason.ends().map(|until| until.to_string()),
        }
    }

    pub fn written(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// What a DaemonSet's annotations say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WaveAnnotations {
    pub(super) has_asked: bool,
    pub(super) settings: DaemonSettings,
    pub(super) record: Option<WaveRecord>,
    /// What we told last, as it is written there.
    pub(super) status: Option<String>,
}

/// Reads them all; what is wrong with any of them is a finding.
pub(super) fn read(
    place: &Place,
    all: &BTreeMap<String, String>,
) -> Result<WaveAnnotations, Vec<Finding>> {
    let mut findings = Vec::new();
    let mut wrong = |name: &str, problem: String, remedy: &str| {
        let problem = format!("annotation {name}: {problem}");
        findings.push(Finding::error("bad-waves", place.clone(), problem, remedy));
    };
    for name in all.keys().filter(|name| name.starts_with(WAVES)) {
        if !ALL.contains(&name.as_str()) {
            let remedy = "correct the name: docs/daemonsets.md has all of them";
            wrong(&shown(name), "there is no such setting".to_owned(), remedy);
        }
    }
    let value = |name: &str| all.get(name).map(String::as_str);
    let has_asked = match value(WAVES) {
        Some("true") => true,
        None | Some("false") => false,
        Some(other) => {
            let problem = format!("{:?} is neither true nor false", shown(other));
            wrong(WAVES, problem, "write \"true\" or \"false\"");
            false
        }
    };
    let mut settings = DaemonSettings::default();
    if let Some(text) = value(AT_MOST_AWAY) {
        match MaxUnavailable::read(text) {
            Some(read) => settings.at_most_away = read,
            None => wrong(
                AT_MOST_AWAY,
                format!("{:?} is not a number of nodes", shown(text)),
                "write a number from 1, or a share from 1% to 100%",
            ),
        }
    }
    let spans = [
        (SOAK, &mut settings.soak, SignedDuration::ZERO),
        (PATIENCE, &mut settings.patience, MIN_PATIENCE),
    ];
    for (name, place, least) in spans {
        let Some(text) = value(name) else {
            continue;
        };
        let read = text.parse::<TimeSpan>().ok().map(TimeSpan::signed);
        match read.filter(|span| (least..=MAX_SPAN).contains(span)) {
            Some(span) => *place = span,
            None => wrong(
                name,
                format!("{:?} is no time that it can be", shown(text)),
                "write it as in 90s or 10m: a soak of up to 24h, a patience from 10s to 24h",
            ),
        }
    }
    let mut record = None;
    if let Some(text) = value(RECORD) {
        match WaveRecord::read(text) {
            Ok(read) => record = Some(read),
            // Without it nobody knows which revision failed, nor where to go back to.
            Err(problem) => wrong(
                RECORD,
                format!("our own record cannot be read: {}", shown(&problem)),
                "remove the annotation if every pod is well: then the rollout begins anew",
            ),
        }
    }
    match findings.is_empty() {
        true => Ok(WaveAnnotations {
            has_asked,
            settings,
            record,
            status: value(STATUS).map(str::to_owned),
        }),
        false => Err(findings),
    }
}
