//! The agent's memory, as it is stored in its cluster.
//!
//! A record of a newer agent is read as far as it is known. An unreadable record is an error,
//! because an agent that forgets would try again.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use towpath_core::agent::{
    ChannelCourse, Course, Memory, SetChannel, StartedPreflight, StartedUpdate,
};
use towpath_core::graph::ChannelName;
use towpath_core::version::Version;

/// A record as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordBody {
    #[serde(skip_serializing_if = "Option::is_none")]
    started: Option<WrittenStart>,
    #[serde(default)]
    failures: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<WrittenFailure>,
    #[serde(skip_serializing_if = "Option::is_none")]
    taken_back: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    graph_good_at: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    accepted: BTreeSet<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    set_channel: Option<WrittenChannel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unwanted_channel: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    preflight: Option<WrittenPreflight>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answered: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct WrittenStart {
    version: String,
    at: String,
    #[serde(default)]
    failing: bool,
}

#[derive(Serialize, Deserialize)]
struct WrittenFailure {
    version: String,
    at: String,
}

#[derive(Serialize, Deserialize)]
struct WrittenChannel {
    channel: String,
    update: String,
    at: String,
    #[serde(default)]
    over: bool,
}

#[derive(Serialize, Deserialize)]
struct WrittenPreflight {
    id: String,
    version: String,
    at: String,
    #[serde(default)]
    seen: bool,
}

/// What is remembered; nothing where nothing is written.
pub fn read(record: Option<&str>) -> Result<Memory, String> {
    let Some(record) = record else {
        return Ok(Memory::default());
    };
    let written: RecordBody = serde_json::from_str(record).map_err(|error| error.to_string())?;
    let started = written.started.map(|start| {
        let version = version(&start.version)?;
        let course = if start.failing {
            Course::Failing
        } else {
            Course::Running
        };
        Ok::<_, String>(StartedUpdate {
            version,
            at: time(&start.at)?,
            course,
        })
    });
    let failed = written
        .failed
        .map(|failed| Ok::<_, String>((version(&failed.version)?, time(&failed.at)?)));
    Ok(Memory {
        started: started.transpose()?,
        failures: written.failures,
        failed: failed.transpose()?,
        taken_back: written.taken_back.as_deref().map(version).transpose()?,
        graph_good_at: written.graph_good_at.as_deref().map(time).transpose()?,
        accepted: written.accepted.into_iter().map(Into::into).collect(),
        set_channel: written.set_channel.map(set_channel).transpose()?,
        unwanted_channel: written
            .unwanted_channel
            .as_deref()
            .map(channel)
            .transpose()?,
        preflight: written.preflight.map(preflight).transpose()?,
        answered: written.answered.map(Into::into),
    })
}

/// As it is written down.
pub fn write(memory: &Memory) -> String {
    let started = memory.started.as_ref().map(|started| WrittenStart {
        version: started.version.to_string(),
        at: started.at.to_string(),
        failing: started.course == Course::Failing,
    });
    let failed = memory.failed.as_ref();
    let failed = failed.map(|(version, at)| WrittenFailure {
        version: version.to_string(),
        at: at.to_string(),
    });
    let written = RecordBody {
        started,
        failures: memory.failures,
        failed,
        taken_back: memory.taken_back.as_ref().map(ToString::to_string),
        graph_good_at: memory.graph_good_at.map(|at| at.to_string()),
        accepted: memory.accepted.iter().map(ToString::to_string).collect(),
        set_channel: memory.set_channel.as_ref().map(|set| WrittenChannel {
            channel: set.channel.to_string(),
            update: set.update.to_string(),
            at: set.at.to_string(),
            over: set.course == ChannelCourse::Over,
        }),
        unwanted_channel: memory.unwanted_channel.as_ref().map(ToString::to_string),
        preflight: memory.preflight.as_ref().map(|preflight| WrittenPreflight {
            id: preflight.id.to_string(),
            version: preflight.version.to_string(),
            at: preflight.at.to_string(),
            seen: preflight.seen,
        }),
        answered: memory.answered.as_ref().map(ToString::to_string),
    };
    serde_json::to_string(&written)
        .unwrap_or_else(|_| unreachable!("texts, numbers and flags can be written"))
}

fn set_channel(written: WrittenChannel) -> Result<SetChannel, String> {
    Ok(SetChannel {
        channel: channel(&written.channel)?,
        update: version(&written.update)?,
        at: time(&written.at)?,
        course: match written.over {
            true => ChannelCourse::Over,
            false => ChannelCourse::Waiting,
        },
    })
}

fn channel(text: &str) -> Result<ChannelName, String> {
    ChannelName::new(text).ok_or_else(|| format!("{text:?} cannot be a channel's name"))
}

fn preflight(written: WrittenPreflight) -> Result<StartedPreflight, String> {
    Ok(StartedPreflight {
        id: written.id.into(),
        version: version(&written.version)?,
        at: time(&written.at)?,
        seen: written.seen,
    })
}

fn version(text: &str) -> Result<Version, String> {
    text.parse().map_err(|error| format!("{error}"))
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|error: jiff::Error| error.to_string())
}
