//! Audit: can every release get on from where it is, whoever runs it?
//!
//! For each channel, architecture, kind of client and release there is a way to the newest release of its minor version and one
//! to the channel's head, or there is not. A way is a certificate: a list of releases, to be checked edge by edge. Where there
//! is none, the answer is the fewest blocks that would have to go, or that no edge leads there at all.
//!
//! Edges are judged by the rules on blocks. Time strands nobody, because every window ends, and a source that is too old is read again
//! one day. So rollouts and old sources are left out, and releases that have not entered yet are not there.

mod edge_access;
mod goal;
mod reachability;
mod search;
mod search_space;
mod stranding;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

pub use reachability::{
    Audit, AuditGoal, CertifiedWay, GoalOutcome, Grade, Reachability, ReleaseReport, Section,
    StrandingCause, Tally,
};
pub use stranding::{Arrivals, Barrier, Baseline, StrandedReleases, Stranding, strandings};

use crate::graph::client_classes;
use crate::graph::{ChannelName, Graph};
use crate::version::Arch;
use edge_access::{ClientAccess, EdgeAccess};
use search_space::ChannelSteps;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scope {
    /// These channels; none means all.
    pub channels: BTreeSet<ChannelName>,
    /// This architecture; none means all.
    pub arch: Option<Arch>,
}

/// Looks at every release that has entered a channel by then.
pub fn audit(graph: &Graph, scope: &Scope, now: Timestamp) -> Audit {
    let clients: Vec<ClientAccess> = client_classes(graph.platforms())
        .map(|class| ClientAccess::of(graph, class))
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
            let space = ChannelSteps::new(graph, channel, arch, now);
            let goals = goal::goals(&space);
            for alike in alike(&space, &clients) {
                let releases = reachability::release_reports(&space, &goals, alike[0]);
                if !releases.is_empty() {
                    let clients = alike.iter().map(|access| access.class.clone()).collect();
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
fn alike<'a>(space: &ChannelSteps<'_>, clients: &'a [ClientAccess]) -> Vec<Vec<&'a ClientAccess>> {
    let mut groups: BTreeMap<Vec<&EdgeAccess>, Vec<&ClientAccess>> = BTreeMap::new();
    for access in clients {
        let here = space
            .block_sets
            .iter()
            .map(|set| access.through(*set))
            .collect();
        groups.entry(here).or_default().push(access);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by(|a, b| a[0].class.cmp(&b[0].class));
    groups
}
