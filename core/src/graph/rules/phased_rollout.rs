//! Phased rollout: a new edge reaches the fleet over a window of time, each cluster at its own
//! instant. What is held has no such instant: `held_rollout` answers for it.
//!
//! A cluster without an id has no place in the queue and sees the edge when the window ends. Edges
//! that are not in the cluster's channel never come to this rule.

use super::{EdgeQuestion, EdgeRule};
use crate::cluster::Fact;
use crate::finding::Place;
use crate::graph::{Channel, Membership, Position, Window};
use crate::verdict::{Code, Reason, Value, Verdict};

/// The rollout has not reached this cluster.
static ROLLOUT_NOT_REACHED: Code = Code::new(
    "RolloutNotReached",
    "the rollout from {start} to {end} reaches this cluster at {until}, when {turn} of clusters have it",
    "wait, or follow a channel whose rollout is over; the rollout's rule is at {rule}",
)
.with(&[
    ("start", "2026-11-16 12:00Z"),
    ("end", "2026-11-18 12:00Z"),
    ("turn", "18.8 %"),
    ("until", "2026-11-16 21:00Z"),
    ("rule", "channels/4.20.yaml:7:5"),
]);

/// The rollout is not over, and the cluster has no id by which it could be reached earlier.
pub static ROLLOUT_WITHOUT_ID: Code = Code::new(
    "RolloutWithoutId",
    "the rollout lasts from {start} to {end}; clusters that do not send their id get it at the end",
    "let the cluster send its id, or wait; the rollout's rule is at {rule}",
)
.with(&[
    ("start", "2026-11-16 12:00Z"),
    ("end", "2026-11-18 12:00Z"),
    ("rule", "channels/4.20.yaml:7:5"),
]);

/// Makes clusters wait for their turn.
pub static RULE: EdgeRule = EdgeRule::new(&[&ROLLOUT_NOT_REACHED, &ROLLOUT_WITHOUT_ID], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let channel = q.graph.channel(q.cluster.channel.as_str());
    let phase = channel.and_then(|channel| Phase::of(channel, q));
    let Some(phase) = phase.filter(|phase| phase.is_under_way(q.now)) else {
        return Verdict::recommend();
    };
    let Fact::Known(cluster) = &q.cluster.id else {
        return Verdict::wait(phase.waits_for_its_end());
    };
    // phased rollouts: edges appear at or after start, and by start + duration
    let due = phase.window.due(Position::of(cluster, phase.to.rotation));
    match q.now >= due {
        true => Verdict::recommend(),
        false => Verdict::wait(phase.waits_for(due)),
    }
}

/// How an edge phases in.
struct Phase<'a> {
    window: Window,
    to: Membership,
    /// Where the release that opens the window is listed, or the rule is written that does.
    origin: &'a Place,
    /// Where the rollout's rule is written.
    rule: &'a Place,
}

impl<'a> Phase<'a> {
    fn is_under_way(&self, now: jiff::Timestamp) -> bool {
        !self.window.is_over(now) && !self.window.is_held()
    }

    fn of(channel: &'a Channel, q: &EdgeQuestion<'_>) -> Option<Self> {
        let (from, to) = (
            channel.membership(q.edge.from)?,
            channel.membership(q.edge.to)?,
        );
        let version = |id| &q.graph.release(id).version;
        let versions = [version(q.edge.from), version(q.edge.to)];
        let window = channel.window((versions[0], from), (versions[1], to));
        let later = if from.start > to.start {
            q.edge.from
        } else {
            q.edge.to
        };
        let found = channel.rule(versions[0], versions[1]);
        let rule = found.map_or(&channel.origin, |rule| &rule.origin);
        // The window opens with a release, or with the rule.
        let origin = match window.start > from.start.max(to.start) {
            true => rule,
            false => channel.origin_of(later)?,
        };
        Some(Self {
            window,
            to: *to,
            origin,
            rule,
        })
    }

    fn waits_for(&self, due: jiff::Timestamp) -> Reason {
        let facts = [
            ("start", self.window.start.into()),
            ("end", self.window.end.into()),
            ("turn", self.window.share(due).into()),
            ("rule", Value::text(self.rule)),
        ];
        ROLLOUT_NOT_REACHED
            .because(facts)
            .at(self.origin)
            .until(due)
    }

    fn waits_for_its_end(&self) -> Reason {
        let facts = [
            ("start", self.window.start.into()),
            ("end", self.window.end.into()),
            ("rule", Value::text(self.rule)),
        ];
        ROLLOUT_WITHOUT_ID
            .because(facts)
            .at(self.origin)
            .until(self.window.end)
    }
}
