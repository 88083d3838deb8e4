//! Entries for oc-mirror: each release in a channel that holds it, no channel twice in a document.
//!
//! oc-mirror refuses a file that names a channel twice. An entry for a single release works with
//! any channel that holds it, and most releases are in several. So each entry gets a channel of
//! its own. Releases for which no channel is left go into a further document, and so do those
//! beyond the number of entries that a version of oc-mirror can follow.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Need;
use crate::graph::{ChannelName, Graph, channels_entered};
use crate::version::Version;

/// The streams whose channels are tried next, after that of the hop.
const STREAMS: [&str; 3] = ["stable", "fast", "candidate"];

/// One release of a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The release, for all architectures that need it.
    pub version: Version,
    /// A channel that holds it for all of them, and is in no other entry of the document.
    pub channel: ChannelName,
}

/// No channel holds this release for all architectures that need it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCommonChannel(pub Version);

/// The entries of as few documents as the matching gives, each ordered by version. Every version that is needed is in one of them.
pub fn documents<'a>(
    graph: &Graph,
    needs: impl Iterator<Item = &'a Need>,
    now: Timestamp,
    most_entries: usize,
) -> Result<Vec<Vec<Entry>>, NoCommonChannel> {
    let mut by_version: BTreeMap<&Version, Vec<&Need>> = BTreeMap::new();
    needs.for_each(|need| {
        by_version
            .entry(&graph.release(need.release).version)
            .or_default()
            .push(need)
    });
    let mut waiting: Vec<(&Version, Vec<ChannelName>)> = Vec::new();
    for (version, needs) in by_version {
        let choices = choices(graph, version, &needs, now);
        if choices.is_empty() {
            return Err(NoCommonChannel(version.clone()));
        }
        waiting.push((version, choices));
    }
    let mut documents = Vec::new();
    // Every round places at least one, so this ends.
    while !waiting.is_empty() {
        let taken = matched(
            &waiting
                .iter()
                .take(most_entries.max(1))
                .map(|(_, choices)| choices.as_slice())
                .collect::<Vec<_>>(),
        );
        let channels: BTreeMap<usize, &ChannelName> = taken
            .iter()
            .map(|(channel, who)| (*who, *channel))
            .collect();
        let entry = |(who, channel): (&usize, &&ChannelName)| Entry {
            version: waiting[*who].0.clone(),
            channel: (*channel).clone(),
        };
        documents.push(channels.iter().map(entry).collect());
        let placed: BTreeSet<usize> = channels.into_keys().collect();
        let rest = waiting
            .into_iter()
            .enumerate()
            .filter(|(who, _)| !placed.contains(who));
        waiting = rest.map(|(_, one)| one).collect();
    }
    Ok(documents)
}

/// The channels that hold a release for all who need it, the best first: of its own minor version in the hop's stream, then in the usual
/// streams, then any other in the order in which channels are shown.
fn choices(graph: &Graph, version: &Version, needs: &[&Need], now: Timestamp) -> Vec<ChannelName> {
    let held = needs.iter().map(|need| -> BTreeSet<&ChannelName> {
        channels_entered(graph.release(need.release), now).collect()
    });
    let held = held.reduce(|a, b| &a & &b).unwrap_or_default();
    let hop_streams = needs
        .iter()
        .filter_map(|need| Some(need.channel.as_str().rsplit_once('-')?.0));
    let streams: Vec<&str> = hop_streams.take(1).chain(STREAMS).collect();
    let minor = format!("{}.{}", version.major(), version.minor());
    let rank = |name: &ChannelName| {
        let of_minor = name
            .as_str()
            .rsplit_once('-')
            .filter(|(_, of)| *of == minor);
        let place = of_minor.and_then(|(stream, _)| streams.iter().position(|one| *one == stream));
        place.unwrap_or(streams.len())
    };
    let mut choices: Vec<ChannelName> = held.into_iter().cloned().collect();
    choices.sort_by(|a, b| (rank(a), a.display_order()).cmp(&(rank(b), b.display_order())));
    choices
}

/// Who gets which channel, so that as many as can be get one: each in turn the best that is free, or one whose holder finds another.
fn matched<'a>(choices: &[&'a [ChannelName]]) -> BTreeMap<&'a ChannelName, usize> {
    let mut taken = BTreeMap::new();
    for who in 0..choices.len() {
        place(who, choices, &mut taken, &mut BTreeSet::new());
    }
    taken
}

/// Whether somebody found a channel.
#[derive(PartialEq, Eq)]
enum Placed {
    Found,
    NoneLeft,
}

/// Finds a channel for one. Each channel is asked about once, so this goes no deeper than there are channels.
fn place<'a>(
    who: usize,
    choices: &[&'a [ChannelName]],
    taken: &mut BTreeMap<&'a ChannelName, usize>,
    asked: &mut BTreeSet<&'a ChannelName>,
) -> Placed {
    if let Some(free) = choices[who]
        .iter()
        .find(|channel| !taken.contains_key(channel))
    {
        taken.insert(free, who);
        return Placed::Found;
    }
    for channel in choices[who] {
        let holder = taken
            .get(channel)
            .copied()
            .filter(|_| asked.insert(channel));
        if holder.is_some_and(|holder| place(holder, choices, taken, asked) == Placed::Found) {
            taken.insert(channel, who);
            return Placed::Found;
        }
    }
    Placed::NoneLeft
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(names: &[&str]) -> Vec<ChannelName> {
        names
            .iter()
            .filter_map(|name| ChannelName::new(name))
            .collect()
    }

    #[test]
    fn who_has_another_choice_makes_room() {
        let choices = [names(&["a", "b"]), names(&["a"]), names(&["b", "c"])];
        let taken = matched(&choices.each_ref().map(Vec::as_slice));
        let taken: Vec<(&str, usize)> = taken
            .iter()
            .map(|(name, who)| (name.as_str(), *who))
            .collect();
        assert_eq!(taken, [("a", 1), ("b", 0), ("c", 2)]);
    }

    /// The most that get a channel, by trying all ways to give them out.
    fn most(choices: &[Vec<ChannelName>], used: &BTreeSet<&ChannelName>) -> usize {
        let Some((first, rest)) = choices.split_first() else {
            return 0;
        };
        let free = first.iter().filter(|name| !used.contains(name));
        let with = free.map(|name| 1 + most(rest, &used.iter().copied().chain([name]).collect()));
        with.chain([most(rest, used)]).max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn as_many_as_can_be_get_a_channel_that_is_theirs(
            choices in proptest::collection::vec(proptest::collection::vec(0usize..6, 1..4), 1..7)
        ) {
            let all = names(&["a", "b", "c", "d", "e", "f"]);
            let choices: Vec<Vec<ChannelName>> =
                choices.iter().map(|some| some.iter().map(|one| all[*one].clone()).collect()).collect();
            let taken = matched(&choices.iter().map(Vec::as_slice).collect::<Vec<_>>());
            prop_assert!(taken.iter().all(|(channel, who)| choices[*who].contains(channel)));
            let who: BTreeSet<&usize> = taken.values().collect();
            prop_assert_eq!(who.len(), taken.len());
            prop_assert_eq!(taken.len(), most(&choices, &BTreeSet::new()));
        }
    }
}
