//! Extension: newer releases that lack a risk which no file says is fixed, and the proof that copies of its blocks change nothing else.
//!
//! Release administrators do this for each new release: they copy the newest block of each open risk. Whether the new release really has
//! the problem, only people know.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};

use super::diff::{ChannelDiff, Diff, EdgeChange, EdgeKind};
use crate::graph::Block;
use crate::lint::Subject;
use crate::lint::declared_risks::declared_risks;
use crate::version::{Minor, Version};

/// A risk in one minor version that is not said to be fixed, and newer releases that lack it.
#[derive(Debug, Clone)]
pub struct OpenRisk<'a> {
    pub name: &'a str,
    pub minor: Minor,
    /// The newest release that has it.
    pub newest: &'a Version,
    /// Its blocks there, to be copied.
    pub blocks: Vec<&'a Block>,
    /// Releases in channels that are newer, lack it, and are not said to be fixed.
    pub lacking: Vec<&'a Version>,
}

/// The open risks, by name and minor version.
pub fn open_risks<'a>(subject: &Subject<'a>) -> Vec<OpenRisk<'a>> {
    let releases = subject.versions_in_channels();
    let open = declared_risks(subject, |_| true)
        .into_iter()
        .filter_map(|risk| {
            let (&newest, blocks) = risk.at.last_key_value()?;
            let lacking: Vec<&Version> = releases
                .range::<Version, _>((Excluded(newest), Unbounded))
                .copied()
                .take_while(|version| version.same_minor(newest))
                .filter(|version| !risk.is_fixed(version) && may_extend(newest, version))
                .collect();
            (!lacking.is_empty()).then(|| OpenRisk {
                name: risk.name,
                minor: risk.minor,
                newest,
                blocks: blocks.clone(),
                lacking,
            })
        });
    open.collect()
}

/// A risk of pre-releases says nothing of the final release.
fn may_extend(newest: &Version, to: &Version) -> bool {
    newest.pre_release().is_empty() || !to.pre_release().is_empty()
}

/// The names of all risks that blocks declare.
pub fn risk_names_in<'a>(subject: &Subject<'a>) -> BTreeSet<&'a str> {
    let risks = subject.data.blocks.iter().filter_map(|b| b.risk.as_ref());
    risks.map(|risk| risk.name.as_str()).collect()
}

/// The risks that releases are given, by copies of blocks.
#[derive(Debug, Clone, Default)]
pub struct ExtendedRisks(BTreeMap<Version, GivenRisks>);

#[derive(Debug, Clone, Default)]
struct GivenRisks {
    names: BTreeSet<String>,
    /// Whether a block also keeps clusters from the edge, so that it may go.
    is_stopping: bool,
}

impl ExtendedRisks {
    /// Counts a copy of a block, now for this release.
    pub fn add(&mut self, to: &Version, block: &Block) {
        let given = self.0.entry(to.clone()).or_default();
        given
            .names
            .extend(block.risk.as_ref().map(|r| r.name.clone()));
        given.is_stopping |= block.stops.is_some();
    }

    /// Divides a difference: what the copies are for, and everything else.
    pub fn split(&self, diff: Diff) -> (Diff, Diff) {
        let (mut meant, mut else_changed) = (Vec::new(), Vec::new());
        for channel in diff.channels {
            let is_meant = |change: &EdgeChange| self.explains(change);
            let (edges, other_edges) = channel.edges.into_iter().partition(is_meant);
            let part = |releases, edges| ChannelDiff {
                channel: channel.channel.clone(),
                arch: channel.arch.clone(),
                releases,
                edges,
            };
            meant.push(part(Vec::new(), edges));
            else_changed.push(part(channel.releases, other_edges));
        }
        let diff = |mut channels: Vec<ChannelDiff>| {
            channels.retain(|channel| !(channel.releases.is_empty() && channel.edges.is_empty()));
            Diff {
                at: diff.at,
                channels,
            }
        };
        (diff(meant), diff(else_changed))
    }

    /// Whether a change is exactly that edges into one of the releases get the risks.
    fn explains(&self, change: &EdgeChange) -> bool {
        let Some(given) = self.0.get(&change.to) else {
            return false;
        };
        let risks = &change.risks;
        let only_added = risks.removed.is_empty()
            && risks.reworded.is_empty()
            && !risks.added.is_empty()
            && risks.added.iter().all(|name| given.names.contains(&**name));
        match change.kind {
            EdgeKind::BecomesConditional | EdgeKind::ChangesRisks => {
                only_added && change.before == change.after
            }
            EdgeKind::Disappears => given.is_stopping,
            EdgeKind::Appears | EdgeKind::BecomesUnconditional | EdgeKind::Moves => false,
        }
    }
}
