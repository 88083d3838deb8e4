//! Tombstones: releases that stay in a channel, so that nobody is stranded, but must not be
//! promoted.
//!
//! If the next channel holds a tombstoned release, somebody promoted it in spite of its tombstone.
//! A tombstone for a release that its own channel lacks has no use.

use std::collections::{BTreeMap, BTreeSet};

use super::promotion::feeding;
use super::{ChannelNotes, NotedRelease, Subject};
use crate::finding::Finding;
use crate::graph::{ChannelSpec, Member};

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let mut fed_from: BTreeMap<String, Vec<&ChannelSpec>> = BTreeMap::new();
    for channel in &subject.data.channels {
        let declared = subject
            .notes
            .channels
            .get(&channel.origin.file)
            .and_then(|notes| notes.feeder.clone());
        let feeders: BTreeSet<String> =
            declared.into_iter().chain(feeding(&channel.name)).collect();
        feeders
            .into_iter()
            .for_each(|feeder| fed_from.entry(feeder).or_default().push(channel));
    }
    let mut findings = Vec::new();
    for channel in &subject.data.channels {
        let Some(ChannelNotes { tombstones, .. }) =
            subject.notes.channels.get(&channel.origin.file)
        else {
            continue;
        };
        let fed = fed_from
            .get(channel.name.as_str())
            .map_or(&[][..], Vec::as_slice);
        for tombstone in tombstones {
            let promoted = fed
                .iter()
                .filter_map(|fed| Some((fed, meant(fed, tombstone)?)));
            findings.extend(promoted.map(|(fed, member)| against_tombstone(member, channel, fed)));
            if !channel
                .members
                .iter()
                .any(|member| member.name.version == tombstone.name.version)
            {
                findings.push(idle(tombstone, channel));
            }
        }
    }
    findings
}

/// The entry that means all that the tombstone does. `4.2.14+amd64` in the next channel is none: it says that the other
/// architectures of 4.2.14 stay behind, as a tombstone for 4.2.14 wants.
fn meant<'a>(channel: &'a ChannelSpec, tombstone: &NotedRelease) -> Option<&'a Member> {
    let mut same = channel
        .members
        .iter()
        .filter(|member| member.name.version == tombstone.name.version);
    same.find(|member| member.name.arch.is_none() || member.name.arch == tombstone.name.arch)
}

fn against_tombstone(member: &Member, channel: &ChannelSpec, fed: &ChannelSpec) -> Finding {
    let problem = format!(
        "{} is in {}, and has a tombstone in {}",
        member.name, fed.name, channel.name
    );
    let remedy =
        "do not promote it; if clusters run it already, leave it here and remove the tombstone";
    Finding::warning("tombstone-promoted", member.origin.clone(), problem, remedy)
}

fn idle(tombstone: &NotedRelease, channel: &ChannelSpec) -> Finding {
    let problem = format!(
        "{} has a tombstone, and is not in {}",
        tombstone.name, channel.name
    );
    Finding::warning(
        "idle-tombstone",
        tombstone.place.clone(),
        problem,
        "remove it, or list the release",
    )
}
