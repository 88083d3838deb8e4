//! Channel entry: both ends of an edge must be in the cluster's channel, and must have entered it.

use super::{EdgeQuestion, EdgeRule};
use crate::cluster::Cluster;
use crate::finding::Place;
use crate::graph::{Channel, ReleaseId, has_entered};
use crate::verdict::{Code, Reason, Value, Verdict};
use crate::version::Version;

/// A release is not in the cluster's channel, and may never be.
pub static NOT_IN_CHANNEL: Code = Code::new(
    "NotInChannel",
    "{version} is not in {channel}",
    "follow a channel that has both releases",
)
.with(&[("version", "4.20.5"), ("channel", "stable-4.20")]);

/// A release enters the cluster's channel later.
static NOT_YET_IN_CHANNEL: Code = Code::new(
    "NotYetInChannel",
    "{version} enters {channel} at {until}",
    "wait",
)
.with(&[
    ("version", "4.20.5"),
    ("channel", "stable-4.20"),
    ("until", "2026-11-16 12:00Z"),
]);

/// Makes clusters wait for a release to enter their channel; refuses what is not in it.
pub(crate) static RULE: EdgeRule = EdgeRule::new(&[&NOT_IN_CHANNEL, &NOT_YET_IN_CHANNEL], judge);

fn judge(q: &EdgeQuestion<'_>) -> Verdict {
    let channel = q.graph.channel(q.cluster.channel.as_str());
    [q.edge.from, q.edge.to]
        .into_iter()
        .map(|release| judge_release(release, channel, q))
        .collect()
}

fn judge_release(release: ReleaseId, channel: Option<&Channel>, q: &EdgeQuestion<'_>) -> Verdict {
    let version = &q.graph.release(release).version;
    let Some((channel, place)) =
        channel.and_then(|channel| Some((channel, channel.membership(release)?)))
    else {
        return Verdict::refuse(not_in_channel(version, q.cluster, channel));
    };
    match has_entered(place.start, q.now) {
        true => Verdict::recommend(),
        false => {
            let origin = channel.origin_of(release).unwrap_or(&channel.origin);
            let facts = [
                ("version", version.into()),
                ("channel", Value::text(&channel.name)),
            ];
            Verdict::wait(
                NOT_YET_IN_CHANNEL
                    .because(facts)
                    .at(origin)
                    .until(place.start),
            )
        }
    }
}

/// A release is not in the cluster's channel; the place is the channel's, if there is one.
pub(crate) fn not_in_channel(
    version: &Version,
    cluster: &Cluster,
    channel: Option<&Channel>,
) -> Reason {
    let facts = [
        ("version", version.into()),
        ("channel", Value::text(&cluster.channel)),
    ];
    let origin = channel.map_or_else(|| Place::file("channels"), |channel| channel.origin.clone());
    NOT_IN_CHANNEL.because(facts).at(&origin)
}
