//! What a new copy of a source changes: can it bring back anything that was taken away?
//!
//! Older data lacks later blocks. So a copy that looks older must keep every block and risk, and
//! must offer no new edge between releases that both copies know. Then its date does not matter: a
//! safety block must get through.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::cluster::Group;
use crate::graph::{
    Audience, Block, ChannelName, ChannelSpec, GraphData, MatchingRule, Member, Releases, RingTurn,
    Risk, RolloutRule,
};
use crate::version::{Arch, Minor, ReleaseName, Version};

/// Whether something may come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Return {
    /// Every block and every risk still holds, and nothing is offered between what both copies know that was not.
    Nothing,
    /// A block, a risk or a restriction is gone, or something is offered that was not.
    Something,
}

/// What a new copy changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyChange {
    /// Whether something may come back.
    pub returns: Return,
    /// Whether a release that both copies know has come into a channel. Releases are promoted every day, so this counts only against a copy that looks older.
    pub places: Return,
    /// How many releases have fewer ways in, if that is all that is gone; none: releases are gone too.
    pub narrowed: Option<usize>,
}

impl CopyChange {
    /// Nobody has compared the two.
    pub const UNKNOWN: Self = Self {
        returns: Return::Something,
        places: Return::Something,
        narrowed: None,
    };

    /// Between two copies of graph data.
    pub fn of_graph_data(before: &GraphData, after: &GraphData) -> Self {
        let blocks_hold = {
            let mut known: BTreeMap<(&ReleaseName, &str), Vec<&Block>> = BTreeMap::new();
            after
                .blocks
                .iter()
                .for_each(|block| known.entry(about(block)).or_default().push(block));
            let holds = |block: &Block| {
                known
                    .get(&about(block))
                    .is_some_and(|now| now.iter().any(|now| is_as_strict(now, block)))
            };
            before.blocks.iter().all(holds)
        };
        // Metadata can add edges and take them away.
        let metadata = |data: &GraphData| data.metadata.iter().cloned().collect::<BTreeSet<_>>();
        let keeps_still = metadata(before) == metadata(after);
        match (
            blocks_hold,
            keeps_still,
            no_place_is_new(&before.channels, &after.channels),
        ) {
            (true, true, true) => Self {
                returns: Return::Nothing,
                places: Return::Nothing,
                narrowed: None,
            },
            _ => Self::UNKNOWN,
        }
    }

    /// Between two copies of releases.
    pub fn of_releases(before: &Releases, after: &Releases) -> Self {
        let names: BTreeSet<Name<'_>> = names(before).chain(names(after)).collect();
        let numbers: BTreeMap<Name<'_>, u32> = names.into_iter().zip(0..).collect();
        let (before, after) = (Offers::of(before, &numbers), Offers::of(after, &numbers));
        let is_no_looser =
            |(edge, risks): (&(u32, u32), &BTreeSet<WeighedRisk<'_>>)| match before.edges.get(edge)
            {
                Some(known) => known.is_subset(risks),
                None => !(before.releases.contains(&edge.0) && before.releases.contains(&edge.1)),
            };
        let is_common =
            |number: &u32| before.releases.contains(number) && after.releases.contains(number);
        // In the order of names, so that the highest of each line comes last.
        let common = numbers
            .iter()
            .filter(|(_, number)| is_common(number))
            .map(|(name, _)| *name);
        let highest: BTreeMap<_, &Version> = common
            .map(|(arch, version)| ((arch, Minor::of(version)), version))
            .collect();
        let comes_new = |(arch, version): Name<'_>| {
            highest
                .get(&(arch, Minor::of(version)))
                .is_none_or(|known| *known < version)
        };
        let is_gained =
            |number: &u32| after.releases.contains(number) && !before.releases.contains(number);
        let mut gained = numbers
            .iter()
            .filter(|(_, number)| is_gained(number))
            .map(|(name, _)| *name);
        let returns = match after.edges.iter().all(is_no_looser) && gained.all(comes_new) {
            true => Return::Nothing,
            false => Return::Something,
        };
        let withdrawn = before
            .edges
            .keys()
            .filter(|edge| !after.edges.contains_key(edge))
            .map(|edge| edge.1);
        let narrowed = before
            .releases
            .is_subset(&after.releases)
            .then(|| withdrawn.collect::<BTreeSet<_>>().len());
        Self {
            returns,
            places: Return::Nothing,
            narrowed,
        }
    }

    /// Between two copies of what a service answers: releases, and the channels that they are in.
    pub fn of_service(
        before: (&Releases, &[ChannelSpec]),
        after: (&Releases, &[ChannelSpec]),
    ) -> Self {
        let known: BTreeSet<Name<'_>> = names(before.0).collect();
        let versions: BTreeSet<&Version> = known.iter().map(|(_, version)| *version).collect();
        let is_known = |name: &ReleaseName| match &name.arch {
            Some(arch) => known.contains(&(arch, &name.version)),
            None => versions.contains(&name.version),
        };
        let had: BTreeSet<_> = places(before.1).collect();
        let mut new = places(after.1).filter(|place| !had.contains(place));
        let places = if new.any(|(_, name)| is_known(name)) {
            Return::Something
        } else {
            Return::Nothing
        };
        Self {
            places,
            ..Self::of_releases(before.0, after.0)
        }
    }
}

type Name<'a> = (&'a Arch, &'a Version);
/// What a client weighs; the words around it may change.
pub(super) type WeighedRisk<'a> = (&'a str, &'a [MatchingRule]);

fn places(channels: &[ChannelSpec]) -> impl Iterator<Item = (&ChannelName, &ReleaseName)> {
    channels.iter().flat_map(|channel| {
        channel
            .members
            .iter()
            .map(|member| (&channel.name, &member.name))
    })
}

fn names(declared: &Releases) -> impl Iterator<Item = Name<'_>> {
    declared
        .releases
        .iter()
        .map(|release| (&release.arch, &release.version))
}

/// What releases are there, and what leads from one to another with which risks, by numbers that both copies share.
struct Offers<'a> {
    releases: BTreeSet<u32>,
    edges: BTreeMap<(u32, u32), BTreeSet<WeighedRisk<'a>>>,
}

impl<'a> Offers<'a> {
    fn of(declared: &'a Releases, numbers: &BTreeMap<Name<'_>, u32>) -> Self {
        let shared: Vec<u32> = names(declared)
            .filter_map(|name| numbers.get(&name).copied())
            .collect();
        let mut edges: BTreeMap<_, BTreeSet<WeighedRisk<'a>>> = BTreeMap::new();
        for edge in &declared.edges {
            let ends = (shared.get(edge.from as usize), shared.get(edge.to as usize));
            let (Some(from), Some(to)) = ends else {
                continue;
            };
            let risks = edge
                .risks
                .iter()
                .flat_map(|risks| risks.iter().map(weighed));
            edges.entry((*from, *to)).or_default().extend(risks);
        }
        Self {
            releases: shared.into_iter().collect(),
            edges,
        }
    }
}

pub(super) fn weighed(risk: &Risk) -> WeighedRisk<'_> {
    (&risk.name, &risk.matching_rules)
}

fn about(block: &Block) -> (&ReleaseName, &str) {
    (&block.to, block.from.as_str())
}

/// Whether one block keeps everybody from an edge that another block keeps from it.
pub(super) fn is_as_strict(now: &Block, before: &Block) -> bool {
    let is_same_risk = || now.risk.as_ref().map(weighed) == before.risk.as_ref().map(weighed);
    let is_for_all_of_them = match (&now.stops, &before.stops) {
        (Some(Audience::Everybody | Audience::NotUnderstood(_) | Audience::Disputed(_)), _) => true,
        (Some(Audience::Platforms(now)), Some(Audience::Platforms(before))) => {
            before.is_subset(now) && is_same_risk()
        }
        (now, before) => now == before && is_same_risk(),
    };
    about(now) == about(before) && is_for_all_of_them
}

/// Whether both have the same channels, at the same pace, and the later one has no place that the earlier one had not.
fn no_place_is_new(before: &[ChannelSpec], after: &[ChannelSpec]) -> bool {
    let known: BTreeMap<&ChannelName, &ChannelSpec> = before
        .iter()
        .map(|channel| (&channel.name, channel))
        .collect();
    let is_known = |channel: &ChannelSpec| {
        known
            .get(&channel.name)
            .is_some_and(|before| has_no_more(before, channel))
    };
    before.len() == after.len() && after.iter().all(is_known)
}

fn has_no_more(before: &ChannelSpec, after: &ChannelSpec) -> bool {
    let pace = |rule: &RolloutRule| {
        let turns = rule.rings.turns.iter();
        let turn = |one: &RingTurn| {
            let spans = [one.after, one.duration].map(|span| span.fieldwise());
            (one.ring, spans, one.ramp)
        };
        (
            rule.edges.clone(),
            rule.start,
            [rule.duration, rule.rings.after].map(|span| span.fieldwise()),
            rule.ramp,
            turns.map(turn).collect::<Vec<_>>(),
        )
    };
    let rings = |channel: &ChannelSpec| -> Vec<Group> {
        channel.rings.iter().map(|ring| ring.of.clone()).collect()
    };
    let is_as_slow = before
        .rollouts
        .iter()
        .map(pace)
        .eq(after.rollouts.iter().map(pace));
    let known: BTreeSet<Seat<'_>> = before.members.iter().map(seat).collect();
    is_as_slow
        && rings(before) == rings(after)
        && after.members.iter().all(|member| {
            let seat = seat(member);
            // A hold takes nothing but edges away.
            known.contains(&seat)
                || known.contains(&Seat {
                    held: false,
                    ..seat
                })
        })
}

/// A release's place in a channel, wherever it is written.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Seat<'a> {
    release: &'a ReleaseName,
    start: Option<Timestamp>,
    locked: bool,
    held: bool,
    replaces: Option<&'a Version>,
}

fn seat(member: &Member) -> Seat<'_> {
    Seat {
        release: &member.name,
        start: member.start,
        locked: member.locked,
        held: member.held,
        replaces: member.replaces.as_ref(),
    }
}
