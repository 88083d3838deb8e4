//! What a request means in a graph: its channels, its release, its goal. Or why it means nothing.

use super::{Goal, NoGoal, NoPath, Request};
use crate::graph::{Channel, ChannelName, ChannelView, Graph, ReleaseId};
use crate::version::Version;

/// The channels that are meant: each a name, or a stream (`eus` is every `eus-*`), in the order in which they are preferred. Or the first
/// that does not exist.
pub fn channels<'a>(
    graph: &'a Graph,
    via: &[ChannelName],
) -> Result<Vec<&'a Channel>, ChannelName> {
    let mut channels: Vec<&Channel> = Vec::new();
    for wanted in via.iter().take(Request::MAX_VIA) {
        let mut meant: Vec<&Channel> = match graph.channel(wanted.as_str()) {
            Some(channel) => vec![channel],
            None => {
                let of_stream = |name: &str| {
                    name.strip_prefix(wanted.as_str())
                        .is_some_and(|rest| rest.starts_with('-'))
                };
                graph
                    .channels()
                    .values()
                    .filter(|channel| of_stream(channel.name.as_str()))
                    .collect()
            }
        };
        if meant.is_empty() {
            return Err(wanted.clone());
        }
        meant.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
        meant.retain(|new| channels.iter().all(|known| known.name != new.name));
        channels.extend(meant);
    }
    Ok(channels)
}

/// The release that the cluster runs. It has to be in one of the channels.
pub(super) fn start(
    graph: &Graph,
    channels: &[&Channel],
    request: &Request,
) -> Result<ReleaseId, NoPath> {
    let found = graph
        .find(&request.from, &request.asker.arch)
        .ok_or(NoPath::FromUnknown)?;
    match is_member(channels, found) {
        true => Ok(found),
        false => Err(NoPath::FromElsewhere(found)),
    }
}

/// The release that it should reach.
///
/// The newest is the newest final one that has entered a channel and is not older than the cluster's; a pre-release is one only
/// where there is no such release.
pub(super) fn goal(
    graph: &Graph,
    channels: &[&Channel],
    request: &Request,
) -> Result<ReleaseId, NoGoal> {
    let (major, minor) = match &request.goal {
        Goal::Version(version) => return named(graph, channels, request, version),
        Goal::NewestOf { major, minor } => (Some(*major), Some(*minor)),
        Goal::Newest => (None, None),
    };
    let version = |id: ReleaseId| &graph.release(id).version;
    let fits = |id: &ReleaseId| {
        let found = version(*id);
        major.is_none_or(|major| found.major() == major)
            && minor.is_none_or(|minor| found.minor() == minor)
    };
    let arch = &request.asker.arch;
    let views = channels
        .iter()
        .map(|channel| ChannelView::of_arch(graph, channel, arch, request.now));
    let mut all: Vec<ReleaseId> = views.flat_map(ChannelView::releases).filter(fits).collect();
    all.sort_unstable();
    let is_final =
        |id: &&ReleaseId| version(**id).pre_release().is_empty() && *version(**id) >= request.from;
    all.iter()
        .rev()
        .find(is_final)
        .or(all.last())
        .copied()
        .ok_or(NoGoal::NothingThere)
}

fn named(
    graph: &Graph,
    channels: &[&Channel],
    request: &Request,
    version: &Version,
) -> Result<ReleaseId, NoGoal> {
    let found = graph
        .find(version, &request.asker.arch)
        .ok_or(NoGoal::Unknown)?;
    match is_member(channels, found) {
        true => Ok(found),
        false => Err(NoGoal::Elsewhere(found)),
    }
}

fn is_member(channels: &[&Channel], release: ReleaseId) -> bool {
    channels
        .iter()
        .any(|channel| channel.membership(release).is_some())
}
