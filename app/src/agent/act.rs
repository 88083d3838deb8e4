//! Carries out the result of a pass: publishes the Upgradeable condition, starts an update or a preflight, records what must not be forgotten.
//!
//! A start and its record are one write, which names the judged state of the ClusterVersion. If that has changed, the write fails and the next pass looks again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::agent::rules::GRAPH_AGE_UNKNOWN;
use towpath_core::agent::{
    ChannelCourse, ChannelJudgement, Course, Memory, SetChannel, StartedPreflight, StartedUpdate,
    UpdateOffer,
};
use towpath_core::finding::Finding;
use towpath_core::fleet::{Name, PreflightResult, PreflightState};
use towpath_core::graph::ChannelName;
use towpath_core::verdict::{Answer, Verdict};
use towpath_core::version::Version;
use towpath_formats::agent::{upgradeable, write_record};
use towpath_kube::{
    AskOutcome, ChannelWrite, Cluster, Condition, KubeError, OperatorStatus, OperatorVersion,
    RecordOutcome, RiskChange, StartOutcome, Status, Update,
};

use super::pass::{Assessment, Judgement, PreflightStep};

/// The longest message of a condition.
const MAX_MESSAGE_BYTES: usize = 4_096;

/// What was done to the ClusterVersion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// There was nothing to do.
    Nothing,
    /// An update has been started.
    Started(Version),
    /// The same, but the API dropped the risks that were to be accepted with it.
    StartedWithoutRisks(Version),
    /// The channel was set that this update of the fleet needs.
    ChannelSet(ChannelName, Version),
    /// The API does not want the channel; that is written down.
    ChannelRefused {
        channel: ChannelName,
        /// In its words.
        why: String,
    },
    /// The cluster was asked for a preflight.
    Asked(Version),
    /// The cluster runs no preflight: it does not have them, or the API refuses it.
    NoPreflight(PreflightResult),
    /// What must not be forgotten is written down.
    Remembered,
    /// The ClusterVersion has changed since it was seen: the next pass looks again.
    Conflict,
    /// The API does not want the update; that is written down as a failure.
    Refused {
        /// To.
        version: Version,
        /// In its words.
        why: String,
    },
}

impl Action {
    /// The update that was started.
    pub(super) fn started(&self) -> Option<&Version> {
        match self {
            Self::Started(version) | Self::StartedWithoutRisks(version) => Some(version),
            _ => None,
        }
    }
}

/// Acts on the ClusterVersion, at most once on each state of it.
#[derive(Debug, Default)]
pub(super) struct Actor {
    /// The state that was written over last; until the watch brings the next, there is nothing to add.
    written_over: Option<String>,
}

impl Actor {
    /// Starts an update, or writes down what must not be forgotten, or does nothing.
    pub(super) async fn act(
        &mut self,
        cluster: &Cluster,
        judgement: &Judgement,
    ) -> Result<Action, KubeError> {
        let seen = &judgement.assessment.observation.resource_version;
        if self.written_over.as_ref() == Some(seen) {
            return Ok(Action::Nothing);
        }
        let assessment = &judgement.assessment;
        let memory = &assessment.memory;
        let done = match (judgement.choice.takes(), &judgement.preflight) {
            (Some(offer), _) => start(cluster, judgement, offer).await?,
            (None, _) if assessment.is_preflight_left() => {
                recorded(cluster.clear_preflight(seen, &write_record(memory)).await?)
            }
            (None, _) if memory.left_over().is_some() => take_back(cluster, seen, memory).await?,
            (None, _) if let Some(wanted) = judgement.channel_to_set() => {
                set_channel(cluster, judgement, wanted).await?
            }
            (None, PreflightStep::Ask(id, release)) => {
                ask_preflight(cluster, judgement, id, release).await?
            }
            (None, PreflightStep::Refuse(result)) => {
                remember_answer(cluster, judgement, &result.id).await?
            }
            (None, PreflightStep::Nothing)
                if memory.is_worth_writing_over(&assessment.observation.memory) =>
            {
                remember(cluster, seen, memory).await?
            }
            (None, PreflightStep::Nothing) => Action::Nothing,
        };
        if done != Action::Nothing {
            self.written_over = Some(seen.clone());
        }
        Ok(done)
    }
}

/// Takes back the risks that we accepted for an update that is complete or given up. Forgetting them is the same write.
async fn take_back(cluster: &Cluster, seen: &str, memory: &Memory) -> Result<Action, KubeError> {
    let names: Vec<&str> = memory.accepted.iter().map(|name| &**name).collect();
    let record = write_record(&Memory {
        accepted: BTreeSet::new(),
        ..memory.clone()
    });
    Ok(recorded(
        cluster.take_back_risks(seen, &record, &names).await?,
    ))
}

/// Sets the channel that an update of the fleet needs. The memory of it is the same write.
async fn set_channel(
    cluster: &Cluster,
    judgement: &Judgement,
    wanted: &ChannelJudgement,
) -> Result<Action, KubeError> {
    let (assessment, channel) = (&judgement.assessment, &wanted.channel);
    let seen = &assessment.observation.resource_version;
    let set = SetChannel {
        channel: channel.clone(),
        update: wanted.update.clone(),
        at: assessment.now,
        course: ChannelCourse::Waiting,
    };
    let record = write_record(&Memory {
        set_channel: Some(set),
        ..assessment.memory.clone()
    });
    match cluster.set_channel(seen, &record, channel.as_str()).await? {
        ChannelWrite::Set => Ok(Action::ChannelSet(channel.clone(), wanted.update.clone())),
        ChannelWrite::Conflict => Ok(Action::Conflict),
        ChannelWrite::Refused(why) => {
            let memory = Memory {
                unwanted_channel: Some(channel.clone()),
                ..assessment.memory.clone()
            };
            remember(cluster, seen, &memory).await?;
            let channel = channel.clone();
            Ok(Action::ChannelRefused { channel, why })
        }
    }
}

async fn ask_preflight(
    cluster: &Cluster,
    judgement: &Judgement,
    id: &Name,
    release: &UpdateOffer,
) -> Result<Action, KubeError> {
    let seen = &judgement.assessment.observation.resource_version;
    let started = StartedPreflight {
        id: id.clone(),
        version: release.version.clone(),
        at: judgement.assessment.now,
        seen: false,
    };
    let record = write_record(&Memory {
        preflight: Some(started),
        ..judgement.assessment.memory.clone()
    });
    let version = release.version.to_string();
    let target = Update {
        version: &version,
        image: &release.image,
        record: &record,
        ..Update::default()
    };
    let none = |state: PreflightState, why: &str| {
        Action::NoPreflight(PreflightResult {
            id: id.clone(),
            version: release.version.clone(),
            state,
            why: why.into(),
            risks: BTreeSet::new(),
        })
    };
    Ok(match cluster.ask_preflight(seen, target).await? {
        AskOutcome::Asked => Action::Asked(release.version.clone()),
        AskOutcome::Conflict => Action::Conflict,
        AskOutcome::Unsupported => none(
            PreflightState::Unsupported,
            "the cluster's API has no field for it",
        ),
        AskOutcome::Refused(why) => none(PreflightState::Refused, &why),
    })
}

/// Writes down that a request for a preflight is answered, once the answer is on its way.
pub(super) async fn remember_answer(
    cluster: &Cluster,
    judgement: &Judgement,
    id: &Name,
) -> Result<Action, KubeError> {
    let seen = &judgement.assessment.observation.resource_version;
    let memory = Memory {
        answered: Some(id.clone()),
        ..judgement.assessment.memory.clone()
    };
    remember(cluster, seen, &memory).await
}

async fn start(
    cluster: &Cluster,
    judgement: &Judgement,
    offer: &UpdateOffer,
) -> Result<Action, KubeError> {
    let seen = &judgement.assessment.observation.resource_version;
    let started = StartedUpdate {
        version: offer.version.clone(),
        at: judgement.assessment.now,
        course: Course::Running,
    };
    let (memory, standing) = (
        &judgement.assessment.memory,
        &judgement.assessment.observation.objects.standing,
    );
    // What we accepted for another update goes. What others accepted stays, and is not ours to take back.
    let there =
        |name: &&Name| standing.accepted_risks.contains(*name) && !memory.accepted.contains(*name);
    let accepted: BTreeSet<Name> = offer
        .risks
        .iter()
        .filter(|name| !there(name))
        .cloned()
        .collect();
    let add: Vec<&str> = accepted.iter().map(|name| &**name).collect();
    let remove: Vec<&str> = memory
        .accepted
        .difference(&accepted)
        .map(|name| &**name)
        .collect();
    let record = write_record(&Memory {
        started: Some(started),
        accepted: accepted.clone(),
        ..memory.clone()
    });
    let version = offer.version.to_string();
    let update = Update {
        version: &version,
        image: &offer.image,
        record: &record,
        risks: RiskChange {
            add: &add,
            remove: &remove,
        },
    };
    match cluster.start_update(seen, update).await? {
        StartOutcome::Started => Ok(Action::Started(offer.version.clone())),
        StartOutcome::StartedWithoutRisks => Ok(Action::StartedWithoutRisks(offer.version.clone())),
        StartOutcome::Conflict => Ok(Action::Conflict),
        StartOutcome::Refused(why) => {
            let failures = judgement.assessment.memory.failures.saturating_add(1);
            let failed = Some((offer.version.clone(), judgement.assessment.now));
            remember(
                cluster,
                seen,
                &Memory {
                    failures,
                    failed,
                    ..judgement.assessment.memory.clone()
                },
            )
            .await?;
            Ok(Action::Refused {
                version: offer.version.clone(),
                why,
            })
        }
    }
}

async fn remember(cluster: &Cluster, seen: &str, memory: &Memory) -> Result<Action, KubeError> {
    Ok(recorded(
        cluster.remember(seen, &write_record(memory)).await?,
    ))
}

fn recorded(written: RecordOutcome) -> Action {
    match written {
        RecordOutcome::Written => Action::Remembered,
        RecordOutcome::Conflict => Action::Conflict,
    }
}

/// What our ClusterOperator says after a pass.
pub(super) fn status_of(seen: &Assessment) -> OperatorStatus {
    let unheard: Vec<&Finding> = seen
        .warnings
        .iter()
        .filter(|finding| finding.code == "not-heard")
        .collect();
    let wrong: Vec<&Finding> = seen
        .problems
        .iter()
        .filter(|finding| finding.is_error())
        .collect();
    let upgradeable = match &seen.gate {
        Some(gate) => {
            let said = upgradeable(gate);
            condition(
                if said.is_so {
                    Status::True
                } else {
                    Status::False
                },
                &said.reason,
                said.message,
            )
        }
        None => condition(
            Status::Unknown,
            "CurrentUnknown",
            "the version that the cluster runs is not known yet".to_owned(),
        ),
    };
    let degraded = match (wrong.as_slice(), unheard.as_slice()) {
        ([], []) => as_expected(Status::False, "all watched objects can be read"),
        ([], unheard) => condition(Status::True, "NotHeard", sentences(unheard)),
        (wrong, _) => condition(Status::True, "BadConfiguration", sentences(wrong)),
    };
    status(upgradeable, degraded)
}

/// What it says when nothing can be judged.
pub(super) fn status_without(findings: &[Finding]) -> OperatorStatus {
    let why = condition(
        Status::True,
        "NotUnderstood",
        sentences(&findings.iter().collect::<Vec<_>>()),
    );
    let unknown = "the watched objects cannot be read correctly, so it is not known what stands in the way of the next minor version";
    status(
        condition(Status::False, "NotUnderstood", unknown.to_owned()),
        why,
    )
}

fn status(upgradeable: Condition, degraded: Condition) -> OperatorStatus {
    let conditions = BTreeMap::from([
        (
            "Available".to_owned(),
            as_expected(Status::True, "the agent is running"),
        ),
        (
            "Progressing".to_owned(),
            as_expected(Status::False, "nothing is being rolled out"),
        ),
        ("Degraded".to_owned(), degraded),
        ("Upgradeable".to_owned(), upgradeable),
    ]);
    let versions = vec![OperatorVersion {
        name: "operator".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }];
    OperatorStatus {
        conditions,
        versions,
    }
}

fn as_expected(status: Status, message: &str) -> Condition {
    condition(status, "AsExpected", message.to_owned())
}

fn condition(status: Status, reason: &str, message: String) -> Condition {
    Condition {
        status,
        reason: reason.to_owned(),
        message,
    }
}

/// Findings, as far as there is room.
fn sentences(findings: &[&Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let line = format!("{}: {}; ", finding.place, finding.problem);
        if text.len() + line.len() > MAX_MESSAGE_BYTES {
            text.push_str("and more; ");
            break;
        }
        text.push_str(&line);
    }
    text.trim_end_matches("; ").to_owned()
}

/// Whether something waits for the service to say how old its graph is.
pub(super) fn lacks_stamp(judgement: &Judgement) -> bool {
    let lacks = |verdict: &Verdict| verdict.reasons.iter().any(|one| one.is(&GRAPH_AGE_UNKNOWN));
    judgement
        .choice
        .judged
        .iter()
        .any(|(_, verdict)| lacks(verdict))
}

/// When the next pass has something new to find, if nothing changes until then.
pub(super) fn next_look(judgement: &Judgement) -> Option<Timestamp> {
    let until = |(_, verdict): &(UpdateOffer, Verdict)| match &verdict.answer {
        Answer::Wait { until } => *until,
        _ => None,
    };
    judgement
        .choice
        .judged
        .iter()
        .filter_map(until)
        .filter(|until| *until > judgement.assessment.now)
        .min()
}
