//! Which channels could a cluster be switched to?
//!
//! A policy may follow a group of channels, from minor to minor: `stable`, `eus`. Then releases that are
//! only in the group's next channel are candidates too. A start to one of them switches the channel
//! first. All rules judge it as any other start.

use super::roster::Entries;
use super::{ClusterState, FleetPolicy, Name};
use crate::graph::ChannelName;
use crate::version::{Minor, Minors, Succession, Version};

/// The groups that a policy can follow.
pub const CHANNEL_GROUPS: [&str; 4] = ["stable", "fast", "candidate", "eus"];
/// The group whose channels exist for minors with extended update support alone.
const EUS: &str = "eus";
/// How many minors ahead an EUS minor is looked for.
const FARTHEST_EUS: usize = 6;

/// Who follows which group of channels.
pub struct ChannelFollowers<'a>(Entries<'a>);

impl<'a> ChannelFollowers<'a> {
    /// None: nobody follows any.
    pub fn of(policy: &'a FleetPolicy) -> Option<Self> {
        let anybody = policy.organisations.values().any(|organisation| {
            let named = organisation.clusters.iter().map(|entry| &entry.policy);
            let defaults = organisation.defaults.iter().map(|entry| &entry.policy);
            named.chain(defaults).any(|policy| policy.follows.is_some())
        });
        anybody.then(|| Self(Entries::new(policy)))
    }

    /// The group that a cluster's policy follows.
    pub fn group(&self, state: &ClusterState) -> Option<&'a Name> {
        self.0
            .of(state)
            .and_then(|wanted| wanted.policy.follows.as_ref())
    }

    /// The channels that a cluster's policy lets it be switched to, nearest first.
    pub fn channels(&self, state: &ClusterState, minors: &Minors) -> Vec<ChannelName> {
        match (self.group(state), &state.channel) {
            (Some(group), Some(channel)) => channels_ahead(group, &state.version, channel, minors),
            _ => Vec::new(),
        }
    }
}

/// The channels of a group for the cluster's own minor and those that come next. Nobody goes back: a
/// channel of the group below the cluster's channel is left out. One that the cluster has been switched to
/// already is kept, because who lists the cluster may not have noticed yet.
fn channels_ahead(
    group: &str,
    version: &Version,
    current: &ChannelName,
    minors: &Minors,
) -> Vec<ChannelName> {
    let own = Minor::of(version);
    let mut ahead = match group {
        EUS => next_eus(own, minors, FARTHEST_EUS),
        _ => next(own, minors),
    };
    if group != EUS || minors.is_eus(own) {
        ahead.insert(0, own);
    }
    let reached = (current.stream() == group)
        .then(|| current.as_str().rsplit_once('-'))
        .flatten()
        .and_then(|(_, minor)| Minor::parse(minor));
    let is_ahead = |minor: &Minor| {
        reached.is_none_or(|reached| *minor > reached || (*minor == reached && reached > own))
    };
    let ahead = ahead.into_iter().filter(is_ahead);
    ahead
        .filter_map(|minor| ChannelName::new(&format!("{group}-{minor}")))
        .collect()
}

/// The minors that come next, as far as somebody has verified that.
fn next(from: Minor, minors: &Minors) -> Vec<Minor> {
    let is_verified = |to: &Minor| minors.succession(from, *to) == Succession::Next;
    minors.next(from).filter(is_verified).collect()
}

/// The first EUS minor on each way ahead.
fn next_eus(from: Minor, minors: &Minors, farthest: usize) -> Vec<Minor> {
    let Some(farthest) = farthest.checked_sub(1) else {
        return Vec::new();
    };
    let mut found: Vec<Minor> = next(from, minors)
        .into_iter()
        .flat_map(|next| match minors.is_eus(next) {
            true => vec![next],
            false => next_eus(next, minors, farthest),
        })
        .collect();
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::{MinorFact, MinorRow};

    /// 4.22 is followed by 4.23 and 5.0, and both by 5.1. EUS are the even minors of 4.x, and 5.2. Nobody has verified 5.3.
    fn minors() -> Minors {
        let minor = |text: &str| Minor::parse(text).unwrap();
        let row = |(from, next): (&str, &[&str])| {
            let row = MinorRow {
                next: next.iter().map(|next| minor(next)).collect(),
                is_eus: ["4.18", "4.20", "4.22", "5.2"].contains(&from),
                unverified: (from == "5.2")
                    .then_some(MinorFact::Next)
                    .into_iter()
                    .collect(),
                ..MinorRow::default()
            };
            (minor(from), row)
        };
        let rows: [(&str, &[&str]); 10] = [
            ("4.18", &["4.19"]),
            ("4.19", &["4.20"]),
            ("4.20", &["4.21"]),
            ("4.21", &["4.22"]),
            ("4.22", &["4.23", "5.0"]),
            ("4.23", &["5.1"]),
            ("5.0", &["5.1"]),
            ("5.1", &["5.2"]),
            ("5.2", &["5.3"]),
            ("5.3", &[]),
        ];
        Minors::new(rows.map(row).into())
    }

    fn ahead(group: &str, version: &str, channel: &str) -> String {
        let (version, channel) = (version.parse().unwrap(), ChannelName::new(channel).unwrap());
        let minors = minors();
        let channels = channels_ahead(group, &version, &channel, &minors).into_iter();
        let names: Vec<String> = channels.map(|channel| channel.to_string()).collect();
        names.join(" ")
    }

    #[test]
    fn a_cluster_follows_its_group_from_minor_to_minor() {
        for (group, version, channel, expected) in [
            ("stable", "4.20.1", "stable-4.20", "stable-4.21"),
            // It is there already; the API that lists the cluster may not have noticed.
            ("stable", "4.20.1", "stable-4.21", "stable-4.21"),
            // Nobody goes back to a lower channel.
            ("stable", "4.20.1", "stable-4.22", ""),
            // Into the group from another one.
            ("stable", "4.20.1", "fast-4.20", "stable-4.20 stable-4.21"),
            // Two minors come after 4.22.
            ("stable", "4.22.1", "stable-4.22", "stable-4.23 stable-5.0"),
            // EUS leads over the odd minors.
            ("eus", "4.18.1", "eus-4.18", "eus-4.20"),
            ("eus", "4.19.1", "eus-4.20", "eus-4.20"),
            ("eus", "4.19.1", "stable-4.19", "eus-4.20"),
            ("eus", "4.20.1", "eus-4.20", "eus-4.22"),
            ("eus", "4.22.1", "eus-4.22", "eus-5.2"),
            // What is not known, or not verified, leads nowhere.
            ("stable", "5.2.1", "stable-5.2", ""),
            ("stable", "5.9.1", "stable-5.9", ""),
        ] {
            let got = ahead(group, version, channel);
            assert_eq!(got, expected, "{group} {version} {channel}");
        }
    }
}
