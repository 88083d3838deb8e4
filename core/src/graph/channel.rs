//! Channels: which releases they hold, since when, and how long their edges take to roll out.

use std::fmt;
use std::sync::Arc;

use jiff::{Span, Timestamp, tz::TimeZone};

use super::{EdgeWindows, Ramp, ReleaseId, Ring, RingId, RuleRings, Turn, Window};
use crate::cluster::Groups;
use crate::finding::Place;
use crate::version::{Minor, ReleaseName, Version};

/// A channel's name: lower-case letters, digits, `-` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(Arc<str>);

/// A channel as graph data declares it.
#[derive(Debug, Clone)]
pub struct ChannelSpec {
    pub name: ChannelName,
    /// Who goes before everybody else, the first first.
    pub rings: Vec<Ring>,
    /// How long edges take to phase in, by what they match.
    pub rollouts: Vec<RolloutRule>,
    pub members: Vec<Member>,
    pub origin: Place,
}

/// A release in a channel, as graph data declares it.
#[derive(Debug, Clone)]
pub struct Member {
    pub name: ReleaseName,
    /// When it enters the channel; without one it has always been there.
    pub start: Option<Timestamp>,
    /// Its rollout is fixed as finished.
    pub locked: bool,
    /// It is not rolled out: nobody is offered an edge to it.
    pub held: bool,
    /// The release whose places in the queue it takes over.
    pub replaces: Option<Version>,
    pub origin: Place,
}

/// How long the edges that it matches take to phase in.
#[derive(Debug, Clone)]
pub struct RolloutRule {
    pub edges: EdgeMatch,
    /// Its edges open no earlier than that; none: as soon as both releases have entered.
    pub start: Option<Timestamp>,
    pub duration: Span,
    /// How fast at first.
    pub ramp: Ramp,
    /// Who goes before everybody else, and when.
    pub rings: RuleRings,
    pub origin: Place,
}

/// Which edges a rollout rule is about. Of several rules for an edge, the last in this order counts: it says most about the edge.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeMatch {
    /// All those that no other rule matches.
    Any,
    Kind(FromVersion),
    /// Those to this release; of one kind, if there is one.
    To(Version, Option<FromVersion>),
    /// This one.
    Edge {
        from: Version,
        to: Version,
    },
}

/// By what a source and a target differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FromVersion {
    /// Source and target differ in minor version, or in more.
    Minor,
    /// Source and target are of one minor version.
    Patch,
    /// A value of a later schema: acceptable, matches nothing.
    Other(String),
}

/// A channel of a graph.
#[derive(Debug, Clone)]
pub struct Channel {
    pub name: ChannelName,
    /// Who goes before everybody else, the first first.
    pub rings: Vec<Ring>,
    /// How long edges take to phase in.
    pub rollouts: Vec<RolloutRule>,
    /// The releases it holds, by number.
    pub members: Vec<(ReleaseId, Membership)>,
    /// Where each of them is listed, in the same order.
    pub(super) origins: Vec<Place>,
    /// Where the channel is declared.
    pub origin: Place,
}

/// A release's place in a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Membership {
    /// When the release enters; `Timestamp::MIN` if it has always been there.
    pub start: Timestamp,
    /// Its rollout is fixed as finished.
    pub locked: bool,
    /// Nobody is offered an edge to it.
    pub held: bool,
    /// What is added to a cluster's position for this release. A release that replaces another has that of the first.
    pub rotation: u64,
    /// It is halted for some clusters.
    pub halted: bool,
    /// It replaces another release of the channel.
    pub replaces: bool,
}

impl ChannelName {
    /// The longest name we take in.
    pub const MAX_BYTES: usize = 128;

    /// The channel of that name, if it can be one.
    pub fn new(name: &str) -> Option<Self> {
        let well_formed =
            |b: u8| b.is_ascii_digit() || b.is_ascii_lowercase() || b == b'-' || b == b'.';
        let fits = (1..=Self::MAX_BYTES).contains(&name.len());
        (fits && name.bytes().all(well_formed)).then(|| Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What comes before the version: `stable` of `stable-4.16`.
    pub fn stream(&self) -> &str {
        self.0
            .rsplit_once('-')
            .map_or(&self.0, |(stream, _)| stream)
    }

    /// Whether it ends with a minor version, as OpenShift's channels do: `stable-4.16`.
    pub fn has_version(&self) -> bool {
        let version = self.0.rsplit_once('-').map(|(_, version)| version);
        version.is_some_and(|version| Minor::parse(version).is_some())
    }

    /// The order in which channels are listed: by version (`4.9` before `4.10`), then by name.
    pub fn display_order(&self) -> impl Ord + '_ {
        let (stream, version) = self.0.rsplit_once('-').unwrap_or((&self.0, ""));
        let numbers: Vec<u64> = version
            .split('.')
            .map(|part| part.parse().unwrap_or(u64::MAX))
            .collect();
        (numbers, stream)
    }
}

impl std::borrow::Borrow<str> for ChannelName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ChannelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Channel {
    /// A channel that holds nothing.
    pub fn empty(name: ChannelName) -> Self {
        let origin = Place::file("channels");
        Self {
            name,
            rings: Vec::new(),
            rollouts: Vec::new(),
            members: Vec::new(),
            origins: Vec::new(),
            origin,
        }
    }

    /// The release's place here, if it has one.
    pub fn membership(&self, release: ReleaseId) -> Option<&Membership> {
        Some(&self.members[self.find(release)?].1)
    }

    /// Where the release is listed, if it is.
    pub fn origin_of(&self, release: ReleaseId) -> Option<&Place> {
        self.origins.get(self.find(release)?)
    }

    fn find(&self, release: ReleaseId) -> Option<usize> {
        self.members
            .binary_search_by_key(&release, |(id, _)| *id)
            .ok()
    }

    /// The ring of a cluster, by what is known of it.
    pub fn ring_of(&self, groups: Option<&Groups>) -> RingId {
        RingId::of(groups, self.rings.iter().map(|ring| &ring.of))
    }

    /// The ring with this number; none: everybody else.
    pub fn ring(&self, id: RingId) -> Option<&Ring> {
        let mut rings = (0..).map(RingId::at).zip(&self.rings);
        rings.find_map(|(at, ring)| (at == id).then_some(ring))
    }

    /// The span over which the edge between two members phases in, for a ring.
    ///
    /// It opens when both ends have entered, and not before the rule's own start, and is as long as the matching rule says. An edge to a `locked`
    /// release, or one that no rule matches, is there for everybody as soon as both ends have entered. One that is held is there for nobody.
    /// Who has a halted release gets what replaces it as soon as the edge opens, whatever its position and ring: those were hit.
    pub fn window(
        &self,
        ring: RingId,
        (from, from_place): (&Version, &Membership),
        (to, to_place): (&Version, &Membership),
    ) -> Window {
        let entered = from_place.start.max(to_place.start);
        let rule = self.rule(from, to);
        match rule {
            _ if to_place.held => Window::held(entered),
            Some(rule) if rule.is_held() => rule.window(entered),
            _ if to_place.repairs(from_place) => {
                Window::instant(rule.map_or(entered, |rule| rule.opens(entered)))
            }
            Some(rule) if !to_place.locked && rule.opens(entered) > Timestamp::MIN => {
                rule.window_of(ring, entered)
            }
            _ => Window::instant(entered),
        }
    }

    /// The same for all rings.
    pub fn windows(
        &self,
        from: (&Version, &Membership),
        to: (&Version, &Membership),
    ) -> EdgeWindows {
        let window = |ring| self.window(ring, from, to);
        match self.rule(from.0, to.0).is_some_and(RolloutRule::has_rings) {
            true => EdgeWindows::by_ring(RingId::all(self.rings.len()).map(window).collect()),
            false => EdgeWindows::Alike(window(RingId::REST)),
        }
    }

    /// The same, for each ring that the matching rule names, and for everybody else.
    pub fn turns(
        &self,
        from: (&Version, &Membership),
        to: (&Version, &Membership),
    ) -> Vec<(Turn, Window)> {
        let windows = self.windows(from, to);
        let rule = self.rule(from.0, to.0);
        let named = rule.into_iter().flat_map(|rule| &rule.rings.turns);
        match &windows {
            EdgeWindows::Alike(window) => vec![(Turn::Everybody, *window)],
            EdgeWindows::ByRing(_) => named
                .filter_map(|turn| {
                    let name = self.ring(turn.ring)?.name.clone();
                    Some((Turn::Ring(name), *windows.of(turn.ring)))
                })
                .chain([(Turn::EverybodyElse, *windows.of(RingId::REST))])
                .collect(),
        }
    }

    /// The rule for an edge: of those that match it, the one that says most about it.
    pub fn rule(&self, from: &Version, to: &Version) -> Option<&RolloutRule> {
        let matching = self.rollouts.iter();
        let matching = matching.filter(|rule| rule.edges.matches(from, to));
        matching.max_by_key(|rule| rule.edges.rank())
    }

    /// Whether nobody is offered some of its edges.
    pub fn holds_some(&self) -> bool {
        self.rollouts.iter().any(RolloutRule::is_held)
            || self.members.iter().any(|(_, place)| place.held)
    }
}

impl Membership {
    /// Whether it takes the place of a release that is halted.
    fn repairs(&self, other: &Self) -> bool {
        other.halted && self.replaces && self.rotation == other.rotation
    }
}

impl EdgeMatch {
    /// Whether it is about the edge between two releases.
    pub fn matches(&self, from: &Version, to: &Version) -> bool {
        let is_kind = |kind: &FromVersion| *kind == FromVersion::of(from, to);
        match self {
            Self::Any => true,
            Self::Kind(kind) => is_kind(kind),
            Self::To(target, kind) => target == to && kind.as_ref().is_none_or(is_kind),
            Self::Edge {
                from: source,
                to: target,
            } => (source, target) == (from, to),
        }
    }

    /// How much it says about an edge.
    fn rank(&self) -> u8 {
        match self {
            Self::Any => 0,
            Self::Kind(_) => 1,
            Self::To(_, None) => 2,
            Self::To(_, Some(_)) => 3,
            Self::Edge { .. } => 4,
        }
    }

    /// Whether any edge can match it: a kind of a later schema matches none.
    pub fn is_known(&self) -> bool {
        !matches!(
            self,
            Self::Kind(FromVersion::Other(_)) | Self::To(_, Some(FromVersion::Other(_)))
        )
    }

    /// The releases that it names.
    pub fn releases(&self) -> impl Iterator<Item = &Version> {
        let (from, to) = match self {
            Self::Any | Self::Kind(_) => (None, None),
            Self::To(to, _) => (None, Some(to)),
            Self::Edge { from, to } => (Some(from), Some(to)),
        };
        from.into_iter().chain(to)
    }
}

/// As one reads it: `default`, `patch`, `updates to 4.20.4`, `patch updates to 4.20.4`, `4.20.3 to 4.20.4`.
impl fmt::Display for EdgeMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("default"),
            Self::Kind(kind) => f.write_str(kind.name()),
            Self::To(to, None) => write!(f, "updates to {to}"),
            Self::To(to, Some(kind)) => write!(f, "{} updates to {to}", kind.name()),
            Self::Edge { from, to } => write!(f, "{from} to {to}"),
        }
    }
}

impl FromVersion {
    /// By what these two differ.
    pub fn of(from: &Version, to: &Version) -> Self {
        match from.same_minor(to) {
            true => Self::Patch,
            false => Self::Minor,
        }
    }

    /// As graph data has it.
    pub fn name(&self) -> &str {
        match self {
            Self::Minor => "minor",
            Self::Patch => "patch",
            Self::Other(other) => other,
        }
    }
}

impl RolloutRule {
    /// Whether nobody is offered its edges.
    pub fn is_held(&self) -> bool {
        self.ramp == Ramp::Held
    }

    /// When an edge opens whose releases have both entered by then.
    pub fn opens(&self, entered: Timestamp) -> Timestamp {
        self.start.unwrap_or(Timestamp::MIN).max(entered)
    }

    /// Whether some clusters go before others, whatever their position.
    pub fn has_rings(&self) -> bool {
        !self.rings.turns.is_empty()
    }

    /// The window of an edge whose releases have both entered by then, for everybody who is in no ring: the last to end. Days, weeks,
    /// months and years are counted by the calendar in UTC.
    pub fn window(&self, entered: Timestamp) -> Window {
        self.window_of(RingId::REST, entered)
    }

    /// The same for a ring.
    pub fn window_of(&self, ring: RingId, entered: Timestamp) -> Window {
        let turn = self.rings.turn(ring);
        let (after, duration, ramp) = match turn {
            Some(turn) => (turn.after, turn.duration, turn.ramp),
            None => (self.rings.after, self.duration, self.ramp),
        };
        let start = later(self.opens(entered), after);
        Window {
            start,
            end: later(start, duration),
            ramp,
        }
    }

    /// The longest window that we take in; the arithmetic of shares is exact up to here.
    pub const MAX_DAYS: i64 = 366;
}

/// An instant, and a span after it by the calendar in UTC.
fn later(at: Timestamp, span: Span) -> Timestamp {
    let end = at.to_zoned(TimeZone::UTC).checked_add(span);
    end.map_or(Timestamp::MAX, |end| end.timestamp()).max(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(rules: &[(Option<FromVersion>, &str)]) -> Channel {
        let rule = |(from_version, duration): &(Option<FromVersion>, &str)| RolloutRule {
            edges: from_version.clone().map_or(EdgeMatch::Any, EdgeMatch::Kind),
            start: None,
            duration: duration.parse().unwrap(),
            ramp: Ramp::Linear,
            rings: RuleRings::default(),
            origin: Place::file("c"),
        };
        let rollouts = rules.iter().map(rule).collect();
        Channel {
            rollouts,
            ..Channel::empty(ChannelName::new("c").unwrap())
        }
    }

    fn hours(channel: &Channel, from: &str, to: &str) -> i64 {
        let start = "2020-05-12T00:00Z".parse().unwrap();
        let place = Membership {
            start,
            locked: false,
            held: false,
            rotation: 0,
            halted: false,
            replaces: false,
        };
        let window = channel.window(
            RingId::REST,
            (&from.parse().unwrap(), &place),
            (&to.parse().unwrap(), &place),
        );
        window.end.duration_since(window.start).as_hours()
    }

    #[test]
    fn the_matching_rule_wins_over_the_default() {
        let c = channel(&[
            (None, "P1D"),
            (Some(FromVersion::Patch), "P2D"),
            (Some(FromVersion::Other("major".into())), "P9D"),
        ]);
        assert_eq!(hours(&c, "4.4.2", "4.4.3"), 48);
        assert_eq!(hours(&c, "4.3.9", "4.4.3"), 24);
    }

    fn rule(edges: EdgeMatch, duration: &str) -> RolloutRule {
        RolloutRule {
            edges,
            start: None,
            duration: duration.parse().unwrap(),
            ramp: Ramp::Linear,
            rings: RuleRings::default(),
            origin: Place::file("c"),
        }
    }

    #[test]
    fn what_says_most_about_an_edge_wins_in_whatever_order_it_is_written() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        let to = || version("4.4.3");
        let mut rollouts = vec![
            rule(EdgeMatch::Any, "PT1H"),
            rule(EdgeMatch::Kind(FromVersion::Patch), "PT2H"),
            rule(EdgeMatch::To(to(), None), "PT3H"),
            rule(EdgeMatch::To(to(), Some(FromVersion::Minor)), "PT4H"),
            rule(
                EdgeMatch::Edge {
                    from: version("4.3.9"),
                    to: to(),
                },
                "PT5H",
            ),
        ];
        for _ in 0..2 {
            let c = Channel {
                rollouts: rollouts.clone(),
                ..channel(&[])
            };
            let told = [
                ("4.3.9", "4.4.3", 5),
                ("4.3.8", "4.4.3", 4),
                ("4.4.2", "4.4.3", 3),
                ("4.4.1", "4.4.2", 2),
                ("4.3.9", "4.4.2", 1),
            ];
            for (from, to, expected) in told {
                assert_eq!(hours(&c, from, to), expected, "{from} {to}");
            }
            rollouts.reverse();
        }
    }

    #[test]
    fn a_rule_may_have_a_start_of_its_own_and_may_hold() {
        let version = |text: &str| text.parse::<Version>().unwrap();
        let (from, to) = (version("4.4.2"), version("4.4.3"));
        let time = |text: &str| text.parse::<Timestamp>().unwrap();
        let (entered, later) = (time("2020-05-12T00:00Z"), time("2020-05-20T00:00Z"));
        let place = |locked, held| Membership {
            start: entered,
            locked,
            held,
            rotation: 0,
            halted: false,
            replaces: false,
        };
        let window = |rule: RolloutRule, to_place: Membership| {
            let c = Channel {
                rollouts: vec![rule],
                ..channel(&[])
            };
            c.window(
                RingId::REST,
                (&from, &place(false, false)),
                (&to, &to_place),
            )
        };
        let of = |start: Option<Timestamp>, ramp| RolloutRule {
            start,
            ramp,
            ..rule(EdgeMatch::To(to.clone(), None), "P1D")
        };
        let begins = |rule, place| window(rule, place).start;
        let usual = place(false, false);
        assert_eq!(begins(of(Some(later), Ramp::Linear), usual), later);
        // An edge cannot be there before its releases are.
        let early = time("2020-01-01T00:00Z");
        assert_eq!(begins(of(Some(early), Ramp::Linear), usual), entered);
        assert!(window(of(None, Ramp::Held), usual).is_held());
        assert!(window(of(None, Ramp::Held), place(true, false)).is_held());
        assert!(window(of(None, Ramp::Linear), place(false, true)).is_held());
        let locked = window(of(Some(later), Ramp::Linear), place(true, false));
        assert_eq!(locked, Window::instant(entered));
    }

    #[test]
    fn no_matching_rule_means_no_delay() {
        assert_eq!(
            hours(
                &channel(&[(Some(FromVersion::Patch), "P2D")]),
                "4.3.9",
                "4.4.3"
            ),
            0
        );
        assert_eq!(hours(&channel(&[]), "4.3.9", "4.4.3"), 0);
    }

    #[test]
    fn a_step_to_another_major_version_is_at_least_a_minor_one() {
        assert_eq!(
            hours(
                &channel(&[(Some(FromVersion::Minor), "P14D")]),
                "4.22.9",
                "5.0.0"
            ),
            14 * 24
        );
        assert_eq!(
            hours(
                &channel(&[(Some(FromVersion::Minor), "P14D")]),
                "4.0.9",
                "5.0.0"
            ),
            14 * 24
        );
    }

    #[test]
    fn months_follow_the_calendar() {
        assert_eq!(hours(&channel(&[(None, "P1M")]), "4.4.2", "4.4.3"), 31 * 24);
    }

    #[test]
    fn names_order_by_version_then_stream() {
        let mut names: Vec<_> = ["stable-4.10", "fast-4.9", "candidate-4.10", "plain"]
            .iter()
            .filter_map(|n| ChannelName::new(n))
            .collect();
        names.sort_by(|a, b| a.display_order().cmp(&b.display_order()));
        let shown: Vec<_> = names.iter().map(ChannelName::as_str).collect();
        assert_eq!(
            shown,
            ["fast-4.9", "candidate-4.10", "stable-4.10", "plain"]
        );
        assert_eq!(ChannelName::new("Stable-4.9"), None);
    }
}
