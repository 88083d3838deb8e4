//! Why is an update offered to a cluster, or not, and when will it be?
//!
//! The rules are those that decide what a client sees. They judge each edge out of one release,
//! and their reasons are kept. Releases that are not in the channel yet, and a target that
//! somebody names, are judged too.

use jiff::Timestamp;

use crate::graph::rules::{
    EdgeQuestion, Edges, NO_EDGE, OLDER, SKIPS_MINOR, UNKNOWN_RELEASE, not_in_channel,
};
use crate::graph::{
    Channel, ChannelName, Edge, EdgeStatus, ReleaseId, Risk, RiskId, Share, Situation,
    channels_entered, has_entered,
};
use crate::rules::{Policy, Rule};
use crate::verdict::{Answer, Value, Verdict};
use crate::version::{Minors, Version};

/// What there is to say about one release, in one channel, to one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Where the release stands that the cluster runs.
    pub standing: ReleaseStanding,
    /// Where it could go, the newest first.
    pub candidates: Vec<ExplainedRelease>,
    /// The number of edges to releases outside the channel. They are listed only on request.
    pub elsewhere: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReleaseStanding {
    InChannel,
    /// It enters the channel then.
    Enters(Timestamp),
    /// It is not in the channel, but in these.
    NotInChannel(Vec<ChannelName>),
    /// It does not exist for this architecture.
    Unknown,
    /// The channel does not exist.
    NoChannel,
}

/// A release that the cluster could go to, and what is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedRelease {
    pub to: Version,
    /// Its number, if it exists.
    pub release: Option<ReleaseId>,
    /// The answer, and every reason for it.
    pub verdict: Verdict,
    /// What share of clusters the update has reached, while it phases in.
    pub share: Option<Share>,
}

impl ExplainedRelease {
    /// The earliest instant at which it is offered while nothing else changes: now, later, or never.
    pub fn offered_from(&self, now: Timestamp) -> Option<Timestamp> {
        self.verdict.answer.offered_from(now)
    }

    /// What the edge is for this cluster, in one word.
    pub fn kind(&self) -> EdgeStatus {
        EdgeStatus::of(&self.verdict)
    }

    /// What the cluster has to weigh.
    pub fn risks<'a>(&self, at: &Situation<'a>) -> Vec<&'a Risk> {
        let risks = |ids: &std::collections::BTreeSet<RiskId>| {
            ids.iter().map(|id| at.graph.risk(*id)).collect()
        };
        match &self.verdict.answer {
            Answer::RecommendUnless(ids) => risks(ids),
            Answer::Recommend | Answer::Wait { .. } | Answer::Refuse => Vec::new(),
        }
    }
}

/// Explains every way out of a release, or the one to `to`. `more` is asked too: what else there is to say for this cluster.
pub fn explain(
    at: &Situation<'_>,
    from: &Version,
    to: Option<&Version>,
    minors: &Minors,
    more: &[&dyn Rule<Edges>],
) -> Explanation {
    let channel = at.graph.channel(at.cluster.channel.as_str());
    let release = at.graph.find(from, &at.cluster.arch);
    let standing = standing(at, channel, release);
    let edges = release.map_or(&[][..], |release| at.graph.edges_from(release));
    let is_member =
        |edge: &&Edge| channel.is_some_and(|channel| channel.membership(edge.to).is_some());
    let judge = |edge: &Edge| {
        let question = at.about(*edge);
        ExplainedRelease {
            to: at.graph.release(edge.to).version.clone(),
            release: Some(edge.to),
            verdict: steady(&question, minors).and(passing(&question, more)),
            share: share(at, channel, edge),
        }
    };
    let mut candidates: Vec<ExplainedRelease> = match to {
        None => edges.iter().filter(is_member).map(judge).collect(),
        Some(to) => {
            let wanted = edges
                .iter()
                .find(|edge| at.graph.release(edge.to).version == *to);
            vec![wanted.map_or_else(|| without_edge(at, channel, [from, to], minors), judge)]
        }
    };
    candidates.sort_by(|a, b| b.to.cmp(&a.to));
    let elsewhere = edges.len() - edges.iter().filter(is_member).count();
    Explanation {
        standing,
        candidates,
        elsewhere,
    }
}

/// What is said of an edge by its blocks and its ends' minor versions alone: the same in every channel and at any time.
pub(crate) fn steady(question: &EdgeQuestion<'_>, minors: &Minors) -> Verdict {
    let standing = Policy::standing().judge(question);
    standing.and(minors.judge(question))
}

/// What else is said of it: by the channel, the time, and the rules that are asked too.
pub(crate) fn passing(question: &EdgeQuestion<'_>, more: &[&dyn Rule<Edges>]) -> Verdict {
    let timing = Policy::timing().judge(question);
    more.iter()
        .map(|rule| rule.judge(question))
        .fold(timing, Verdict::and)
}

fn share(at: &Situation<'_>, channel: Option<&Channel>, edge: &Edge) -> Option<Share> {
    let end = |id: ReleaseId| Some((&at.graph.release(id).version, channel?.membership(id)?));
    let ring = channel?.ring_of(at.cluster.groups());
    let window = channel?.window(ring, end(edge.from)?, end(edge.to)?);
    window.share_while_open(at.now)
}

fn standing(
    at: &Situation<'_>,
    channel: Option<&Channel>,
    release: Option<ReleaseId>,
) -> ReleaseStanding {
    let Some(channel) = channel else {
        return ReleaseStanding::NoChannel;
    };
    let Some(release) = release else {
        return ReleaseStanding::Unknown;
    };
    match channel.membership(release) {
        Some(place) if has_entered(place.start, at.now) => ReleaseStanding::InChannel,
        Some(place) => ReleaseStanding::Enters(place.start),
        None => {
            let entered = channels_entered(at.graph.release(release), at.now);
            ReleaseStanding::NotInChannel(entered.cloned().collect())
        }
    }
}

/// A target to which no edge leads: because there is no such release, or nobody has declared the edge.
fn without_edge(
    at: &Situation<'_>,
    channel: Option<&Channel>,
    [from, to]: [&Version; 2],
    minors: &Minors,
) -> ExplainedRelease {
    let release = at.graph.find(to, &at.cluster.arch);
    let ends = [("from", from.into()), ("to", to.into())];
    let reason = match (release, minors.left_out(from, to)) {
        (Some(_), None) if to < from => OLDER.because(ends),
        (Some(_), None) => NO_EDGE.because(ends),
        (Some(_), Some(between)) => {
            let [from, to] = ends;
            SKIPS_MINOR.because([from, to, ("between", between.into())])
        }
        (None, _) => UNKNOWN_RELEASE.because([
            ("version", to.into()),
            ("arch", Value::text(&at.cluster.arch)),
        ]),
    };
    let absent = release
        .filter(|release| channel.is_none_or(|channel| channel.membership(*release).is_none()));
    let verdict = match absent {
        Some(_) => {
            Verdict::refuse(reason).and(Verdict::refuse(not_in_channel(to, at.cluster, channel)))
        }
        None => Verdict::refuse(reason),
    };
    ExplainedRelease {
        to: to.clone(),
        release,
        verdict,
        share: None,
    }
}
