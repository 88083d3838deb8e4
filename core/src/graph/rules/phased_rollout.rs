//! Phased rollout: a new edge reaches the fleet over a window of time, each cluster at its own
//! instant. What is held has no such instant: `held_rollout` answers for it.
//!
//! Where the rule has rings, each ring has a window of its own, and everybody else goes last. A
//! cluster that is not known to be in a ring is one of everybody else.
//!
//! A cluster without an id has no place in the queue and sees the edge when the window ends. Edges
//! that are not in the cluster's channel never come to this rule.

use super::{EdgeQuestion, EdgeRule};
use crate::cluster::Fact;
use crate::finding::Place;
use crate::graph::{Channel, EdgeWindows, Membership, Position, RingId, Window};
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

/// The cluster's ring goes first, and the rollout has not reached it.
static RING_NOT_REACHED: Code = Code::new(
    "RolloutRingNotReached",
    "the cluster is in ring {ring} ({group}), which has it from {start} to {end}; the rollout reaches this cluster at {until}, when {turn} of the ring have it",
    "wait; the rollout's rule is at {rule}",
)
.with(&[
    ("ring", "canaries"),
    ("group", "sector canary"),
    ("start", "2026-11-16 12:00Z"),
    ("end", "2026-11-16 18:00Z"),
    ("turn", "18.8 %"),
    ("until", "2026-11-16 13:07Z"),
    ("rule", "channels/4.20.yaml:7:5"),
]);

/// Rings go first, the cluster is in none of them, and the rollout has not reached it.
static AFTER_RINGS: Code = Code::new(
    "RolloutAfterRings",
    "{rings} go first, and {standing}; everybody else has it from {start} to {end}, and the rollout reaches this cluster at {until}, when {turn} of them have it",
    "wait; the fleet's policy, or the file of --platforms, says who is in a ring; the rollout's rule is at {rule}",
)
.with(&[
    ("rings", "canaries, early"),
    ("standing", "this cluster is in no ring"),
    ("start", "2026-11-17 12:00Z"),
    ("end", "2026-11-19 12:00Z"),
    ("turn", "18.8 %"),
    ("until", "2026-11-17 21:00Z"),
    ("rule", "channels/4.20.yaml:7:5"),
]);

/// The cluster's ring goes first, and the rollout has reached it. That only informs.
static RING: Code = Code::new(
    "RolloutRing",
    "the cluster is in ring {ring} ({group}), which goes first: the ring has it from {start} to {end}, everybody else until {rest}",
    "nothing to do; the rollout's rule is at {rule}",
)
.with(&[
    ("ring", "canaries"),
    ("group", "sector canary"),
    ("start", "2026-11-16 12:00Z"),
    ("end", "2026-11-16 18:00Z"),
    ("rest", "2026-11-19 12:00Z"),
    ("rule", "channels/4.20.yaml:7:5"),
])
.note();

/// Makes clusters wait for their turn.
pub static RULE: EdgeRule = EdgeRule::new(
    &[
        &ROLLOUT_NOT_REACHED,
        &ROLLOUT_WITHOUT_ID,
        &RING_NOT_REACHED,
        &AFTER_RINGS,
        &RING,
    ],
    judge,
);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let channel = q.graph.channel(q.cluster.channel.as_str());
    let phase = channel.and_then(|channel| Phase::of(channel, q));
    let Some(phase) = phase.filter(|phase| phase.is_under_way(q.now)) else {
        return Verdict::recommend();
    };
    if phase.window.is_over(q.now) {
        return phase.offered();
    }
    let Fact::Known(cluster) = &q.cluster.id else {
        return Verdict::wait(phase.waits_for_its_end());
    };
    // phased rollouts: edges appear at or after start, and by start + duration
    let due = phase.window.due(Position::of(cluster, phase.to.rotation));
    match q.now >= due {
        true => phase.offered(),
        false => Verdict::wait(phase.waits_for(due)),
    }
}

/// How an edge phases in.
struct Phase<'a> {
    windows: EdgeWindows,
    /// That of the cluster's ring.
    window: Window,
    ring: RingId,
    channel: &'a Channel,
    /// Whether anybody knows how the cluster is sorted.
    is_sorted: bool,
    to: Membership,
    /// Where the release that opens the window is listed, or the rule is written that does.
    origin: &'a Place,
    /// Where the rollout's rule is written.
    rule: &'a Place,
}

impl<'a> Phase<'a> {
    fn is_under_way(&self, now: jiff::Timestamp) -> bool {
        !self.windows.are_over(now) && !self.window.is_held()
    }

    fn of(channel: &'a Channel, q: &EdgeQuestion<'_>) -> Option<Self> {
        let (from, to) = (
            channel.membership(q.edge.from)?,
            channel.membership(q.edge.to)?,
        );
        let version = |id| &q.graph.release(id).version;
        let versions = [version(q.edge.from), version(q.edge.to)];
        let windows = channel.windows((versions[0], from), (versions[1], to));
        let ring = channel.ring_of(q.cluster.groups());
        let window = *windows.of(ring);
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
            windows,
            window,
            ring,
            channel,
            is_sorted: q.cluster.groups().is_some(),
            to: *to,
            origin,
            rule,
        })
    }

    /// The ring's name and group, if the cluster is in one and the rule has rings.
    fn of_ring(&self) -> Option<[(&'static str, Value); 2]> {
        let ring = match self.windows {
            EdgeWindows::ByRing(_) => self.channel.ring(self.ring)?,
            EdgeWindows::Alike(_) => return None,
        };
        Some([
            ("ring", Value::text(&ring.name)),
            ("group", Value::text(&ring.of)),
        ])
    }

    fn offered(&self) -> Verdict {
        let Some([ring, group]) = self.of_ring() else {
            return Verdict::recommend();
        };
        let facts = [
            ring,
            group,
            ("start", self.window.start.into()),
            ("end", self.window.end.into()),
            ("rest", self.windows.of(RingId::REST).end.into()),
            ("rule", Value::text(self.rule)),
        ];
        Verdict::inform(RING.because(facts).at(self.origin))
    }

    fn waits_for(&self, due: jiff::Timestamp) -> Reason {
        let start = ("start", self.window.start.into());
        let end = ("end", self.window.end.into());
        let turn = ("turn", self.window.share(due).into());
        let rule = ("rule", Value::text(self.rule));
        let reason = match (&self.windows, self.of_ring()) {
            (EdgeWindows::Alike(_), _) => ROLLOUT_NOT_REACHED.because([start, end, turn, rule]),
            (_, Some([ring, group])) => {
                RING_NOT_REACHED.because([ring, group, start, end, turn, rule])
            }
            (_, None) => {
                let rings = self.channel.rings.iter();
                let rings = Value::list(rings.map(|ring| Value::text(&ring.name)));
                let standing = match self.is_sorted {
                    true => "this cluster is in no ring",
                    false => "nobody knows a ring of this cluster",
                };
                let (rings, standing) = (("rings", rings), ("standing", Value::text(standing)));
                AFTER_RINGS.because([rings, standing, start, end, turn, rule])
            }
        };
        reason.at(self.origin).until(due)
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
