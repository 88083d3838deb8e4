//! Audit: can every release get on from where it is, whoever runs it?
//!
//! For each channel, architecture, kind of client and release there is a way to the newest release of its minor version and one
//! to the channel's head, or there is not. A way is a certificate: a list of releases, to be checked edge by edge. Where there
//! is none, the answer is the fewest blocks that would have to go, or that no edge leads there at all.
//!
//! Edges are judged by the standing rules. Time strands nobody, because every window ends; so rollouts are left out, and
//! releases that have not entered yet are not there.

mod client;
mod goal;
mod ground;
mod outlook;
mod passage;
mod search;
mod stranding;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub use client::ClientClass;
pub use outlook::{Audit, Cause, Goal, Grade, Outcome, Outlook, Section, Standing, Tally, Way};
pub use stranding::{Arrivals, Barrier, Baseline, Spot, Stranding, strandings};

use crate::domain::{Arch, ChannelName, Graph};
use ground::Ground;
use passage::{Passage, Passages};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// These channels; none means all.
    pub channels: BTreeSet<ChannelName>,
    /// This architecture; none means all.
    pub arch: Option<Arch>,
}

/// Looks at every release that has entered a channel by then.
pub fn audit(graph: &Graph, scope: &Scope, now: Timestamp) -> Audit {
    let clients: Vec<Passages> = client::classes(graph)
        .into_iter()
        .map(|class| Passages::of(graph, class, now))
        .collect();
    let wanted = |name: &ChannelName| scope.channels.is_empty() || scope.channels.contains(name);
    let mut channels: Vec<_> = graph
        .channels()
        .values()
        .filter(|channel| wanted(&channel.name))
        .collect();
    channels.sort_by(|a, b| a.name.display_order().cmp(&b.name.display_order()));
    let mut sections = Vec::new();
    for channel in channels {
        for arch in graph
            .arches()
            .filter(|arch| scope.arch.as_ref().is_none_or(|only| only == *arch))
        {
            let ground = Ground::new(graph, channel, arch, now);
            let goals = goal::goals(&ground);
            for alike in alike(&ground, &clients) {
                let releases = outlook::standings(&ground, &goals, alike[0]);
                if !releases.is_empty() {
                    let clients = alike
                        .iter()
                        .map(|passages| passages.class.clone())
                        .collect();
                    sections.push(Section {
                        channel: channel.name.clone(),
                        arch: arch.clone(),
                        clients,
                        releases,
                    });
                }
            }
        }
    }
    Audit { at: now, sections }
}

/// Kinds of clients that pass the same edges here. One look is enough for all of them.
fn alike<'a>(ground: &Ground<'_>, clients: &'a [Passages]) -> Vec<Vec<&'a Passages>> {
    let mut groups: BTreeMap<Vec<&Passage>, Vec<&Passages>> = BTreeMap::new();
    for passages in clients {
        let here = ground
            .block_sets
            .iter()
            .map(|set| passages.through(*set))
            .collect();
        groups.entry(here).or_default().push(passages);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by(|a, b| a[0].class.cmp(&b[0].class));
    groups
}
