//! stable ⊆ fast ⊆ candidate: a release proves itself in one channel before it enters the next.
//!
//! A cluster that changes to a channel with more releases must find its own release there.
//! Channels of other streams (eus-4.10 has 4.8) follow other rules. If releases have a start, the
//! feeding channel's start comes first.

use std::collections::BTreeMap;

use super::Subject;
use crate::finding::Finding;
use crate::graph::{ChannelName, ChannelSpec, Member};
use crate::version::Version;

/// A stream, and the one that its releases come from.
const PROMOTIONS: [(&str, &str); 2] = [("fast", "candidate"), ("stable", "fast")];

pub(super) fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let by_name: BTreeMap<&str, &ChannelSpec> = subject
        .data
        .channels
        .iter()
        .map(|c| (c.name.as_str(), c))
        .collect();
    let pair = |channel: &ChannelSpec| by_name.get(feeding(&channel.name)?.as_str()).copied();
    subject
        .data
        .channels
        .iter()
        .filter_map(|c| Some((c, pair(c)?)))
        .flat_map(|(c, from)| missing(c, from))
        .collect()
}

/// The channel that releases of this one come from, if it is of a stream that is fed.
pub fn feeding(channel: &ChannelName) -> Option<String> {
    let (stream, version) = channel.as_str().split_once('-')?;
    let (_, from) = PROMOTIONS.iter().find(|(fed, _)| *fed == stream)?;
    Some(format!("{from}-{version}"))
}

fn missing(channel: &ChannelSpec, feeder: &ChannelSpec) -> Vec<Finding> {
    let mut fed: BTreeMap<&Version, Vec<&Member>> = BTreeMap::new();
    feeder
        .members
        .iter()
        .for_each(|member| fed.entry(&member.name.version).or_default().push(member));
    let mut findings = Vec::new();
    for member in &channel.members {
        let listed = fed.get(&member.name.version).map_or(&[][..], Vec::as_slice);
        let mut same = listed
            .iter()
            .filter(|other| other.name.arch.is_none() || other.name.arch == member.name.arch);
        let problem = match (same.next(), listed) {
            (Some(other), _) if other.start <= member.start => continue,
            (Some(_), _) => format!(
                "{} enters {} before {}",
                member.name, channel.name, feeder.name
            ),
            (None, []) => format!(
                "{} is in {} and not in {}",
                member.name, channel.name, feeder.name
            ),
            (None, [some, ..]) => {
                format!(
                    "{} is in {} for every architecture, and in {} as {}",
                    member.name, channel.name, feeder.name, some.name
                )
            }
        };
        let remedy = format!("promote it to {} first, or remove it here", feeder.name);
        findings.push(Finding::error(
            "not-promoted",
            member.origin.clone(),
            problem,
            remedy,
        ));
    }
    findings
}
