//! Rings: clusters that a rollout reaches before all others, in an order, each ring in a window of
//! its own.
//!
//! A channel says who is in which ring, and a rollout rule when each ring goes. Within a ring a
//! cluster stands where it always stands, so the risk of being early is shared out within it. A
//! cluster that is not known to be in a ring goes with everybody else, who are the last. So a
//! reader refuses rings in any other order, and nobody gains by hiding anything.

use std::fmt;
use std::sync::Arc;

use jiff::{Span, Timestamp};

use super::{Ramp, Window};
use crate::cluster::{Group, Groups};
use crate::finding::Place;

/// A ring's name: lower-case letters, digits, `-` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RingName(Arc<str>);

/// A ring of a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ring {
    pub name: RingName,
    /// The clusters in it, but for those of an earlier ring.
    pub of: Group,
    pub origin: Place,
}

/// A ring of a channel, by its place in the list; or everybody else, who come after all rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RingId(u8);

/// When a ring goes, by one rule.
#[derive(Debug, Clone)]
pub struct RingTurn {
    pub ring: RingId,
    /// So long after the edge opens its window begins.
    pub after: Span,
    pub duration: Span,
    pub ramp: Ramp,
    pub origin: Place,
}

/// When the rings of a rule go, and how long everybody else waits for them.
#[derive(Debug, Clone, Default)]
pub struct RuleRings {
    /// So long after the edge opens the window of everybody else begins.
    pub after: Span,
    /// By ring. A ring without a turn goes with the next one that has one.
    pub turns: Vec<RingTurn>,
}

/// Whose window it is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Turn {
    /// Everybody's: its rule has no rings.
    Everybody,
    Ring(RingName),
    /// That of everybody who is in none of the rings.
    EverybodyElse,
}

/// The windows of one edge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeWindows {
    Alike(Window),
    /// That of each ring, and of everybody else at the end.
    ByRing(Arc<[Window]>),
}

impl RingName {
    /// The longest name we take in.
    pub const MAX_BYTES: usize = 63;

    pub fn new(name: &str) -> Option<Self> {
        let well_formed =
            |b: u8| b.is_ascii_digit() || b.is_ascii_lowercase() || b == b'-' || b == b'.';
        let fits = (1..=Self::MAX_BYTES).contains(&name.len());
        (fits && name.bytes().all(well_formed)).then(|| Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RingName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Ring {
    /// The most rings of a channel. Each may get an answer of its own.
    pub const MAX: usize = 8;
}

impl RingId {
    /// Everybody who is in no ring, or not known to be in one.
    pub const REST: Self = Self(u8::MAX);

    /// The ring at this place of a channel's list.
    pub fn at(place: usize) -> Self {
        u8::try_from(place).map_or(Self::REST, Self)
    }

    /// Its place in a list of this many rings, and then everybody else.
    fn among(self, rings: usize) -> usize {
        usize::from(self.0).min(rings)
    }

    /// The ring of a cluster: the first whose group it is known to be in.
    pub fn of<'a>(groups: Option<&Groups>, rings: impl IntoIterator<Item = &'a Group>) -> Self {
        let place = groups.and_then(|groups| {
            let mut rings = rings.into_iter();
            rings.position(|group| groups.are_in(group))
        });
        place.map_or(Self::REST, Self::at)
    }

    /// All rings of a list of this many, and everybody else.
    pub fn all(rings: usize) -> impl Iterator<Item = Self> {
        (0..rings).map(Self::at).chain([Self::REST])
    }
}

impl RuleRings {
    /// When a ring goes; none: with everybody else.
    pub(super) fn turn(&self, ring: RingId) -> Option<&RingTurn> {
        self.turns.iter().find(|turn| turn.ring >= ring)
    }
}

impl Turn {
    /// The ring's name, if it is one's.
    pub fn ring(&self) -> Option<&RingName> {
        match self {
            Self::Ring(name) => Some(name),
            Self::Everybody | Self::EverybodyElse => None,
        }
    }
}

/// As in "the window of …".
impl fmt::Display for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => f.write_str("everybody"),
            Self::Ring(name) => write!(f, "ring {name}"),
            Self::EverybodyElse => f.write_str("everybody else"),
        }
    }
}

impl EdgeWindows {
    pub(super) fn by_ring(windows: Vec<Window>) -> Self {
        match windows.as_slice() {
            [first, others @ ..] if others.iter().all(|other| other == first) => {
                Self::Alike(*first)
            }
            _ => Self::ByRing(windows.into()),
        }
    }

    /// The window of a ring.
    pub fn of(&self, ring: RingId) -> &Window {
        match self {
            Self::Alike(window) => window,
            Self::ByRing(windows) => &windows[ring.among(windows.len() - 1)],
        }
    }

    pub fn all(&self) -> &[Window] {
        match self {
            Self::Alike(window) => std::slice::from_ref(window),
            Self::ByRing(windows) => windows,
        }
    }

    /// Whether everybody sees the edge.
    pub fn are_over(&self, now: Timestamp) -> bool {
        self.all().iter().all(|window| window.is_over(now))
    }

    /// Whether nobody ever sees it.
    pub fn are_held(&self) -> bool {
        self.all().iter().all(Window::is_held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(sector: Option<&str>, labels: &[(&str, &str)]) -> Groups {
        let labels = labels
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Groups {
            sector: sector.map(Into::into),
            labels: labels.collect(),
        }
    }

    #[test]
    fn a_cluster_is_in_the_first_ring_that_it_is_known_to_be_in() {
        let label = |value: &str| Group::Label {
            name: "tier".into(),
            value: value.into(),
        };
        let rings = [Group::Sector("canary".into()), label("dev"), label("test")];
        let ring = |groups: Option<&Groups>| RingId::of(groups, &rings);
        assert_eq!(
            ring(Some(&groups(Some("canary"), &[("tier", "dev")]))),
            RingId::at(0)
        );
        assert_eq!(
            ring(Some(&groups(Some("prod"), &[("tier", "dev")]))),
            RingId::at(1)
        );
        assert_eq!(
            ring(Some(&groups(None, &[("tier", "test")]))),
            RingId::at(2)
        );
        for other in [
            groups(Some("Canary"), &[]),
            groups(Some("tier"), &[("canary", "tier"), ("tier", "Dev")]),
            Groups::default(),
        ] {
            assert_eq!(ring(Some(&other)), RingId::REST, "{other:?}");
        }
        assert_eq!(ring(None), RingId::REST);
        assert!(RingId::at(Ring::MAX - 1) < RingId::REST);
    }

    #[test]
    fn groups_that_no_cluster_is_both_in_exclude_each_other() {
        let sector = |name: &str| Group::Sector(name.into());
        let label = |name: &str, value: &str| Group::Label {
            name: name.into(),
            value: value.into(),
        };
        assert!(sector("a").excludes(&sector("b")));
        assert!(label("a", "x").excludes(&label("a", "y")));
        for (one, other) in [
            (sector("a"), sector("a")),
            (sector("a"), label("a", "a")),
            (label("a", "x"), label("b", "y")),
            (label("a", "x"), label("a", "x")),
        ] {
            assert!(!one.excludes(&other), "{one} {other}");
        }
    }

    #[test]
    fn names_of_rings_are_short_and_plain() {
        for name in ["canaries", "ring-1", "4.20"] {
            assert_eq!(RingName::new(name).unwrap().as_str(), name);
        }
        let long = "x".repeat(RingName::MAX_BYTES + 1);
        for name in ["", "Canaries", "a b", "a\"b", long.as_str()] {
            assert_eq!(RingName::new(name), None, "{name:?}");
        }
    }
}
