//! The watch over all releases: which of them are watched, how, and what follows from each answer.
//!
//! A release is watched by the settings of one of the channels that it has entered: the one with the strictest mode. So the
//! false-alarm promise holds once for each release, however many channels list it. A halt that stands, or that was proposed, is not
//! made again. Nothing here takes a halt back.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::graph::{ChannelName, Graph, channels_entered};
use crate::version::Version;

use super::against_others::stretch_of;
use super::{
    Assessment, Attempt, FeedbackPolicy, Halt, HaltScope, History, KEPT_FOR, Mode, WatchSettings,
    assess,
};

/// A release that is watched, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedRelease {
    pub release: Version,
    /// The channels that it has entered.
    pub channels: BTreeSet<ChannelName>,
    /// The one whose settings hold.
    pub by: ChannelName,
    pub settings: WatchSettings,
}

/// What was done about a release already: halts that stand, whoever made them, those of the watch that people undid, and halts that
/// were proposed to people. What the watch made and people undid is not made again.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HaltsSoFar {
    pub made: BTreeSet<HaltScope>,
    pub proposed: BTreeSet<HaltScope>,
}

/// All that an answer about one release depends on. The same case always gives the same judgement, bit for bit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchCase {
    pub release: Version,
    pub settings: WatchSettings,
    pub history: History,
    /// Attempts at the release, and those at others that it can be compared with; in one order, each once.
    pub attempts: Vec<Attempt>,
    pub so_far: HaltsSoFar,
    pub at: Timestamp,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchAct {
    Nothing,
    Propose(Vec<Halt>),
    Enforce(Vec<Halt>),
}

/// What a watch says about a release, and what is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchJudgement {
    pub assessment: Assessment,
    pub act: WatchAct,
}

/// A judgement, and which release it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchDecision {
    pub watched: WatchedRelease,
    pub judgement: WatchJudgement,
}

/// What is known when a watch looks.
#[derive(Debug, Clone, Copy)]
pub struct WatchInput<'a> {
    pub watched: &'a [WatchedRelease],
    /// Of all releases, in any order.
    pub attempts: &'a [Attempt],
    pub so_far: &'a BTreeMap<Version, HaltsSoFar>,
    pub at: Timestamp,
}

/// Judges each release that is watched, in the order of their versions.
pub fn watch(input: &WatchInput<'_>) -> Vec<WatchDecision> {
    let judge = |watched: &WatchedRelease| WatchDecision {
        judgement: input.case(watched).judge(),
        watched: watched.clone(),
    };
    input.watched.iter().map(judge).collect()
}

/// The releases that are watched: those that have entered a channel, lately or with attempts that are kept.
pub fn watched_releases(
    graph: &Graph,
    policy: &FeedbackPolicy,
    attempts: &[Attempt],
    now: Timestamp,
) -> Vec<WatchedRelease> {
    let attempted: BTreeSet<&Version> = attempts.iter().map(|attempt| &attempt.to).collect();
    let oldest = now.checked_sub(KEPT_FOR).unwrap_or(Timestamp::MIN);
    let mut channels: BTreeMap<&Version, BTreeSet<ChannelName>> = BTreeMap::new();
    for release in graph.releases() {
        let version = &release.version;
        let is_new = |start: &Timestamp| *start >= oldest && *start <= now;
        if attempted.contains(version) || release.channels.iter().any(|(_, start)| is_new(start)) {
            let entered = channels_entered(release, now).cloned();
            channels.entry(version).or_default().extend(entered);
        }
    }
    let watched = |(release, channels): (&Version, BTreeSet<ChannelName>)| {
        // Of equals, the first by name.
        let strictest = |name: &&ChannelName| {
            let settings = policy.of(name);
            (settings.mode, std::cmp::Reverse(settings.alpha))
        };
        let by = channels.iter().rev().max_by_key(strictest)?.clone();
        Some(WatchedRelease {
            release: release.clone(),
            settings: policy.of(&by).clone(),
            channels,
            by,
        })
    };
    channels.into_iter().filter_map(watched).collect()
}

impl WatchInput<'_> {
    /// All that the judgement of a release depends on.
    pub fn case(&self, watched: &WatchedRelease) -> WatchCase {
        let (release, settings) = (&watched.release, &watched.settings);
        let is_halted = |version: &Version| {
            let so_far = self.so_far.get(version);
            so_far.is_some_and(|so_far| !so_far.made.is_empty())
        };
        let good: Vec<Attempt> = self
            .attempts
            .iter()
            .filter(|attempt| attempt.to == *release || !is_halted(&attempt.to))
            .cloned()
            .collect();
        WatchCase {
            release: release.clone(),
            settings: settings.clone(),
            history: History::before(release, &good, settings),
            attempts: comparable(release, self.attempts),
            so_far: self.so_far.get(release).cloned().unwrap_or_default(),
            at: self.at,
        }
    }
}

/// The attempts that count: at the release, and others in the stretches of time in which it was attempted.
fn comparable(release: &Version, attempts: &[Attempt]) -> Vec<Attempt> {
    let own = attempts.iter().filter(|attempt| attempt.to == *release);
    let first = own.map(|attempt| stretch_of(attempt.started_at)).min();
    let Some(first) = first else {
        return Vec::new();
    };
    let counts = |attempt: &&Attempt| stretch_of(attempt.started_at) >= first;
    let mut kept: Vec<Attempt> = attempts.iter().filter(counts).cloned().collect();
    kept.sort_by(|a, b| (&a.cluster, &a.to, a.order()).cmp(&(&b.cluster, &b.to, b.order())));
    kept.dedup_by(|later, first| later.cluster == first.cluster && later.to == first.to);
    kept
}

impl WatchCase {
    pub fn judge(&self) -> WatchJudgement {
        let assessment = assess(
            &self.release,
            &self.attempts,
            &self.history,
            &self.settings,
            self.at,
        );
        let act = self.act(&assessment.halts);
        WatchJudgement { assessment, act }
    }

    fn act(&self, halts: &[Halt]) -> WatchAct {
        let HaltsSoFar { made, proposed } = &self.so_far;
        let is_in = |all: &BTreeSet<HaltScope>, halt: &Halt| {
            all.contains(&HaltScope::default()) || all.contains(&halt.scope)
        };
        let new = halts.iter().filter(|halt| !is_in(made, halt));
        let of = |halts: Vec<Halt>, act: fn(Vec<Halt>) -> WatchAct| match halts.is_empty() {
            true => WatchAct::Nothing,
            false => act(halts),
        };
        match self.settings.mode {
            Mode::Observe => WatchAct::Nothing,
            Mode::Propose => {
                let new = new.filter(|halt| !is_in(proposed, halt));
                of(new.cloned().collect(), WatchAct::Propose)
            }
            Mode::Enforce => of(new.cloned().collect(), WatchAct::Enforce),
        }
    }
}

impl WatchAct {
    pub fn code(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Propose(_) => "propose",
            Self::Enforce(_) => "enforce",
        }
    }

    /// The halts that it is about.
    pub fn halts(&self) -> &[Halt] {
        match self {
            Self::Nothing => &[],
            Self::Propose(halts) | Self::Enforce(halts) => halts,
        }
    }
}
