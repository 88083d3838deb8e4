//! Whose windows a change compares: clusters that are in one ring before it, and in one after it.
//!
//! Nobody knows how many clusters a ring has, so each is looked at as if it were the whole fleet. A
//! change of the rings moves clusters from one to another: every move that is possible counts.

use std::fmt;

use super::graph_pair::Pair;
use crate::cluster::Group;
use crate::graph::{Channel, RingId, RingName};

/// Clusters that are in the same ring before the change, and in the same after it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RingPair {
    pub(super) rings: Pair<RingId>,
    /// Their names on each side; none: everybody else.
    names: Pair<Option<RingName>>,
}

impl RingPair {
    /// Every pair that some cluster may be in; everybody else first.
    pub(super) fn all(channels: Pair<Option<&Channel>>) -> Vec<Self> {
        let count = |channel: Option<&Channel>| channel.map_or(0, |channel| channel.rings.len());
        let name = |channel: Option<&Channel>, ring| Some(channel?.ring(ring)?.name.clone());
        let base = RingId::all(count(channels.base));
        let pairs = base
            .flat_map(|base| RingId::all(count(channels.new)).map(move |new| Pair { base, new }));
        let mut pairs: Vec<Self> = pairs
            .filter(|rings| is_possible(channels, *rings))
            .map(|rings| Self {
                rings,
                names: Pair {
                    base: name(channels.base, rings.base),
                    new: name(channels.new, rings.new),
                },
            })
            .collect();
        pairs.reverse();
        pairs
    }
}

/// As in "of …".
impl fmt::Display for RingPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |ring: &Option<RingName>| match ring {
            Some(name) => format!("ring {name}"),
            None => "everybody else".to_owned(),
        };
        let Pair { base, new } = &self.names;
        match base == new {
            true => f.write_str(&one(new)),
            false => write!(f, "clusters that go from {} to {}", one(base), one(new)),
        }
    }
}

/// Whether a cluster may be in these rings: in their groups, and in none of an earlier ring's.
fn is_possible(channels: Pair<Option<&Channel>>, rings: Pair<RingId>) -> bool {
    let sides = [(channels.base, rings.base), (channels.new, rings.new)];
    let own = |(channel, ring): (Option<&Channel>, RingId)| Some(channel?.ring(ring)?.of.clone());
    let own: Vec<Group> = sides.into_iter().filter_map(own).collect();
    let mut earlier = sides.into_iter().flat_map(|(channel, ring)| {
        let groups = channel.into_iter().flat_map(|channel| &channel.rings);
        (0..)
            .map(RingId::at)
            .zip(groups)
            .filter(move |(at, _)| *at < ring)
    });
    let is_both = !own
        .iter()
        .any(|one| own.iter().any(|other| one.excludes(other)));
    is_both && !earlier.any(|(_, ring)| own.contains(&ring.of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::Place;
    use crate::graph::{ChannelName, Ring};

    fn channel(rings: &[(&str, &str)]) -> Channel {
        let ring = |(name, sector): &(&str, &str)| Ring {
            name: RingName::new(name).unwrap(),
            of: match sector.split_once('=') {
                Some((name, value)) => Group::Label {
                    name: name.into(),
                    value: value.into(),
                },
                None => Group::Sector((*sector).into()),
            },
            origin: Place::file("c"),
        };
        let mut channel = Channel::empty(ChannelName::new("c").unwrap());
        channel.rings = rings.iter().map(ring).collect();
        channel
    }

    fn pairs(base: &[(&str, &str)], new: &[(&str, &str)]) -> Vec<String> {
        let (base, new) = (channel(base), channel(new));
        let channels = Pair {
            base: Some(&base),
            new: Some(&new),
        };
        RingPair::all(channels)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn without_rings_there_is_everybody() {
        assert_eq!(pairs(&[], &[]), ["everybody else"]);
        let pair = RingPair::all(Pair {
            base: None,
            new: Some(&channel(&[])),
        });
        assert_eq!(pair.len(), 1);
    }

    #[test]
    fn rings_that_stay_keep_their_clusters() {
        let rings = [("a", "canary"), ("b", "tier=dev")];
        assert_eq!(
            pairs(&rings, &rings),
            ["everybody else", "ring b", "ring a"]
        );
    }

    #[test]
    fn a_new_ring_takes_clusters_from_everybody_else_and_from_later_rings() {
        let told = pairs(&[("b", "tier=dev")], &[("a", "canary"), ("b", "tier=dev")]);
        assert_eq!(
            told,
            [
                "everybody else",
                "clusters that go from everybody else to ring a",
                "ring b",
                "clusters that go from ring b to ring a",
            ]
        );
    }

    #[test]
    fn nobody_is_in_two_sectors() {
        let told = pairs(&[("a", "x"), ("b", "y")], &[("a", "y"), ("b", "x")]);
        assert_eq!(
            told,
            [
                "everybody else",
                "clusters that go from ring b to ring a",
                "clusters that go from ring a to ring b",
            ]
        );
    }
}
