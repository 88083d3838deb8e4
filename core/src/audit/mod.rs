//! Audit: can every release move on, for every kind of client?
//!
//! For each channel, architecture, kind of client and release, the audit looks for two paths. One
//! leads to the newest release of the minor version, the other to the channel's head. A path is a
//! certificate: a list of releases that anybody can check edge by edge. If there is no path, the
//! answer is the fewest blocks to lift, or that no edge leads there at all.
//!
//! The block rules judge the edges. Time strands nobody: every window ends, and a stale source is
//! read again one day. So the audit ignores rollouts and stale sources. Releases that have not
//! entered yet do not exist for it.

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

use crate::graph::{ChannelName, Graph, client_classes};
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
