//! The channels there are, each with what it holds by now.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{Channel, ChannelView, Graph};
use crate::version::{Arch, Minor, Version};

/// What a channel holds, of one architecture or of all.
#[derive(Debug, Clone)]
pub struct ListedChannel<'a> {
    pub channel: &'a Channel,
    pub arches: BTreeSet<&'a Arch>,
    /// Each once, whatever its architectures.
    pub releases: BTreeSet<&'a Version>,
}

/// The channels by version, then name. Only releases that have entered count.
pub fn channel_list<'a>(
    graph: &'a Graph,
    arch: Option<&Arch>,
    now: Timestamp,
) -> Vec<ListedChannel<'a>> {
    let listed = |channel: &'a Channel| {
        let view = match arch {
            Some(arch) => ChannelView::of_arch(graph, channel, arch, now),
            None => ChannelView::of_all_arches(graph, channel, now),
        };
        let releases = || view.releases().map(|id| graph.release(id));
        ListedChannel {
            channel,
            arches: releases().map(|release| &release.arch).collect(),
            releases: releases().map(|release| &release.version).collect(),
        }
    };
    let mut channels: Vec<ListedChannel<'_>> = graph.channels().values().map(listed).collect();
    channels.sort_by(|a, b| {
        let (a, b) = (&a.channel.name, &b.channel.name);
        a.display_order().cmp(&b.display_order())
    });
    channels
}

impl ListedChannel<'_> {
    /// The minor versions of its releases, the oldest first.
    pub fn minors(&self) -> BTreeSet<Minor> {
        self.releases
            .iter()
            .map(|version| Minor::of(version))
            .collect()
    }

    pub fn newest(&self) -> Option<&Version> {
        self.releases.last().copied()
    }
}
