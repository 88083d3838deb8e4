//! Channels: the agent sets the channel that an update of the fleet needs. The update starts later,
//! when the cluster is offered it there.
//!
//! The agent remembers the channel that it set. If the channel is another one later, a person has
//! chosen, and the agent does not set it again. A channel starts nothing by itself, so one that was
//! set in vain stays.

use jiff::{SignedDuration, Timestamp};

use super::memory::CLOCK_MARGIN;
use crate::agent::rules::{Moment, judge_channel};
use crate::agent::{ClusterStanding, Memory};
use crate::graph::ChannelName;
use crate::verdict::Verdict;
use crate::version::{Minor, Version};

/// How long the cluster may take until it is offered the update. The fleet waits as long until it gives up a start.
const LONGEST: SignedDuration = SignedDuration::from_hours(2);

/// The channel that an update of the fleet needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelOrder {
    /// The channel that the cluster was in, as far as the fleet knows.
    pub from: Option<ChannelName>,
    pub to: ChannelName,
}

/// A channel that we set, until a person sets another or the cluster has reached its minor version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetChannel {
    pub channel: ChannelName,
    /// The update that it was set for.
    pub update: Version,
    pub at: Timestamp,
    pub course: ChannelCourse,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelCourse {
    /// The update has not been started yet.
    Waiting,
    /// It was started, or it was waited for long enough.
    Over,
}

/// What became of a channel that we set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelOutcome {
    /// The cluster was not offered the update there in time.
    InVain(SetChannel),
    /// Somebody has set another channel.
    Replaced(SetChannel),
}

/// A channel that is to be set, and what is said about that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelJudgement {
    pub channel: ChannelName,
    pub update: Version,
    pub verdict: Verdict,
}

/// What is remembered from now on, and what happened to the channel that we set.
///
/// The memory and the channel are of one object, so they are always of the same moment.
pub fn follow_channel(
    memory: &Memory,
    standing: &ClusterStanding,
    now: Timestamp,
) -> (Memory, Option<ChannelOutcome>) {
    let mut memory = memory.clone();
    // Whoever sets it wants it after all.
    memory.unwanted_channel = memory
        .unwanted_channel
        .filter(|channel| standing.channel.as_ref() != Some(channel));
    let Some(mut set) = memory.set_channel.take() else {
        return (memory, None);
    };
    if set.at.duration_since(now) > CLOCK_MARGIN {
        set.at = now;
    }
    if standing.channel.as_ref() != Some(&set.channel) {
        memory.unwanted_channel = Some(set.channel.clone());
        return (memory, Some(ChannelOutcome::Replaced(set)));
    }
    let current = standing.current();
    if current.is_some_and(|current| is_last_minor(&set.channel, current)) {
        return (memory, None);
    }
    let has_moved =
        memory.started.is_some() || current.is_some_and(|current| *current >= set.update);
    let is_late = now.duration_since(set.at) > LONGEST;
    let outcome = match (set.course, has_moved, is_late) {
        (ChannelCourse::Over, ..) | (ChannelCourse::Waiting, false, false) => None,
        (ChannelCourse::Waiting, true, _) => {
            set.course = ChannelCourse::Over;
            None
        }
        (ChannelCourse::Waiting, false, true) => {
            set.course = ChannelCourse::Over;
            Some(ChannelOutcome::InVain(set.clone()))
        }
    };
    memory.set_channel = Some(set);
    (memory, outcome)
}

/// Whether the channel leads to no higher minor version than that of a release. One without a minor version in its name may.
fn is_last_minor(channel: &ChannelName, release: &Version) -> bool {
    let minor = channel.as_str().rsplit_once('-');
    let minor = minor.and_then(|(_, minor)| Minor::parse(minor));
    minor.is_some_and(|minor| Minor::of(release) >= minor)
}

/// The channel that the fleet's update needs, if the cluster is not in it.
pub fn channel_to_set(at: &Moment<'_>) -> Option<ChannelJudgement> {
    let update = at.orders.update.as_ref()?;
    let order = update.channel.as_ref()?;
    let is_there = at.standing.channel.as_ref() == Some(&order.to);
    (!is_there).then(|| ChannelJudgement {
        channel: order.to.clone(),
        update: update.to.clone(),
        verdict: judge_channel(&update.to, at),
    })
}
