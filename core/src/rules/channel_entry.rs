//! Channel entry: both ends of an edge have to be in the cluster's channel, and to have entered it.

use super::Rule;
use crate::domain::{Channel, Edge, Reason, ReleaseId, Situation, Verdict};
use crate::graph::has_entered;

/// Makes clusters wait for a release to enter their channel; refuses what is not in it.
pub struct ChannelEntry;

impl Rule for ChannelEntry {
    fn judge(&self, edge: Edge, at: &Situation<'_>) -> Verdict {
        let channel = at.graph.channel(at.cluster.channel.as_str());
        [edge.from, edge.to]
            .into_iter()
            .map(|release| judge_release(release, channel, at))
            .collect()
    }
}

fn judge_release(release: ReleaseId, channel: Option<&Channel>, at: &Situation<'_>) -> Verdict {
    let version = &at.graph.release(release).version;
    let Some((channel, place)) =
        channel.and_then(|channel| Some((channel, channel.membership(release)?)))
    else {
        return Verdict::refuse(Reason::not_in_channel(version, at.cluster, channel));
    };
    match has_entered(place.start, at.now) {
        true => Verdict::recommend(),
        false => {
            let origin = channel
                .origin_of(release)
                .unwrap_or(&channel.origin)
                .clone();
            let (version, channel, start) = (version.clone(), channel.name.clone(), place.start);
            Verdict::wait_until(
                start,
                Reason::NotYetInChannel {
                    version,
                    channel,
                    start,
                    origin,
                },
            )
        }
    }
}
