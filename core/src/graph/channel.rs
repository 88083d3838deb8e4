//! Channels: which releases they hold, since when, and how long their edges take to roll out.

use std::fmt;
use std::sync::Arc;

use jiff::{Span, Timestamp, tz::TimeZone};

use super::{Ramp, ReleaseId, Window};
use crate::finding::Place;
use crate::version::{Minor, ReleaseName, Version};

/// A channel's name: lower-case letters, digits, `-` and `.`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChannelName(Arc<str>);

/// A channel as graph data declares it.
#[derive(Debug, Clone)]
pub struct ChannelSpec {
    pub name: ChannelName,
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
    /// The release whose places in the queue it takes over.
    pub replaces: Option<Version>,
    pub origin: Place,
}

/// How long the edges that it matches take to phase in.
#[derive(Debug, Clone)]
pub struct RolloutRule {
    /// Which edges; none means all those that no other rule matches.
    pub from_version: Option<FromVersion>,
    pub duration: Span,
    /// How fast at first.
    pub ramp: Ramp,
    pub origin: Place,
}

/// Which edges a rollout rule is about.
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
    /// What is added to a cluster's position for this release.
    pub rotation: u64,
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

    /// The span over which the edge between two members phases in.
    ///
    /// It opens when both ends have entered, and is as long as the matching rule says. An edge to a `locked` release,
    /// or one that no rule matches, is there for everybody as soon as it opens.
    pub fn window(
        &self,
        (from, from_place): (&Version, &Membership),
        (to, to_place): (&Version, &Membership),
    ) -> Window {
        let start = from_place.start.max(to_place.start);
        match self.rule(from, to) {
            Some(rule) if !to_place.locked && start > Timestamp::MIN => rule.window(start),
            _ => Window::instant(start),
        }
    }

    /// The rule for an edge: the one that matches it, else the default, else none.
    pub fn rule(&self, from: &Version, to: &Version) -> Option<&RolloutRule> {
        let kind = if from.same_minor(to) {
            FromVersion::Patch
        } else {
            FromVersion::Minor
        };
        let matching = |wanted: Option<&FromVersion>| {
            self.rollouts
                .iter()
                .find(|r| r.from_version.as_ref() == wanted)
        };
        matching(Some(&kind)).or_else(|| matching(None))
    }
}

impl RolloutRule {
    /// The window that opens at `start`. Days, weeks, months and years are counted by the calendar in UTC.
    pub fn window(&self, start: Timestamp) -> Window {
        let end = start
            .to_zoned(TimeZone::UTC)
            .checked_add(self.duration)
            .map_or(Timestamp::MAX, |end| end.timestamp());
        Window {
            start,
            end: end.max(start),
            ramp: self.ramp,
        }
    }

    /// The longest window that we take in; the arithmetic of shares is exact up to here.
    pub const MAX_DAYS: i64 = 366;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(rules: &[(Option<FromVersion>, &str)]) -> Channel {
        let rule = |(from_version, duration): &(Option<FromVersion>, &str)| RolloutRule {
            from_version: from_version.clone(),
            duration: duration.parse().unwrap(),
            ramp: Ramp::Linear,
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
            rotation: 0,
        };
        let window = channel.window(
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
