//! Diff: what a change means for clients, channel by channel.
//!
//! It compares what clients see once their windows are over, and from when. So the result does not
//! depend on anybody's position in a rollout. The standing rules judge the blocks, for each kind
//! of client that blocks could tell apart: each platform that a block of either graph names, any
//! other platform, and an unknown one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::classes::{ClassOffer, RulesPair, Whom};
use super::graph_pair::{ChannelPair, GraphPair, Pair, Phase};
use crate::graph::model::BlockSetId;
use crate::graph::{ChannelName, ClientClass, Edge, Graph, Risk, Window};
use crate::version::{Arch, Version};

/// Every difference between two graphs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    pub at: Timestamp,
    /// The channels and architectures in which there is any.
    pub channels: Vec<ChannelDiff>,
}

/// What is different in one channel, for one architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelDiff {
    pub channel: ChannelName,
    pub arch: Arch,
    /// Releases that come, go, or come at another time.
    pub releases: Vec<ReleaseChange>,
    /// Edges, those alike together; by target, the newest first.
    pub edges: Vec<EdgeChange>,
}

/// What becomes of a release in a channel.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseChange {
    pub version: Version,
    pub kind: ReleaseKind,
}

/// What becomes of a release. Times are those of entering the channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReleaseKind {
    Appears(When),
    Disappears,
    /// It appears at another time.
    Moves {
        before: When,
        after: When,
    },
}

/// What becomes of some edges into a release.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EdgeChange {
    pub to: Version,
    pub kind: EdgeKind,
    pub whom: Whom,
    /// The ring of theirs, where rings go at different times.
    pub ring: Option<String>,
    /// What becomes of the risks that clients weigh.
    pub risks: RiskNames,
    /// When they came before the change; none if they were not offered.
    pub before: Option<When>,
    /// When they come after it; none if they are not offered.
    pub after: Option<When>,
    pub from: Vec<Version>,
}

/// The names of risks, by what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct RiskNames {
    /// To be weighed, and were not.
    pub added: Vec<Arc<str>>,
    /// Were to be weighed, and are not.
    pub removed: Vec<Arc<str>>,
    /// Weighed before and after, in other words or by other rules.
    pub reworded: Vec<Arc<str>>,
}

/// What becomes of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeKind {
    /// It is offered, and was not.
    Appears,
    /// It was offered, and is not.
    Disappears,
    /// It comes with risks to weigh, and did not.
    BecomesConditional,
    /// It came with risks to weigh, and does not any more.
    BecomesUnconditional,
    /// There are other risks to weigh.
    ChangesRisks,
    /// It comes at another time.
    Moves,
}

/// From when on something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum When {
    Now,
    /// Over this window, which is not over; it may have no length.
    Over(Window),
}

/// Which channels and architectures to look at.
#[derive(Debug, Clone, Default)]
pub struct Only {
    /// These channels; all if there are none.
    pub channels: BTreeSet<ChannelName>,
    pub arch: Option<Arch>,
}

/// Everything that is different in `new`, as of `now`.
pub fn diff(base: &Graph, new: &Graph, now: Timestamp, only: &Only) -> Diff {
    let pair = GraphPair::new(base, new);
    let mut compare = Compare {
        rules: RulesPair::of(pair.graphs),
        known: BTreeMap::new(),
        pair: &pair,
        now,
    };
    let mut channels = Vec::new();
    let wanted = |name: &&ChannelName| only.channels.is_empty() || only.channels.contains(*name);
    for name in pair.channel_names().into_iter().filter(wanted) {
        let channel = pair.channel(name);
        for arch in pair
            .arches()
            .into_iter()
            .filter(|arch| only.arch.as_ref().is_none_or(|only| only == *arch))
        {
            let (releases, edges) = (
                compare.releases(&channel, arch),
                compare.edges(&channel, arch),
            );
            if !releases.is_empty() || !edges.is_empty() {
                channels.push(ChannelDiff {
                    channel: name.clone(),
                    arch: arch.clone(),
                    releases,
                    edges,
                });
            }
        }
    }
    Diff { at: now, channels }
}

struct Compare<'a> {
    pair: &'a GraphPair<'a>,
    rules: RulesPair<'a>,
    now: Timestamp,
    /// What two sets of blocks make of an edge, which is the same for a great many.
    known: BTreeMap<Pair<Option<BlockSetId>>, Arc<[Delta]>>,
}

/// What becomes of an edge for some clients, times aside.
struct Delta {
    /// None: it is offered as it was.
    kind: Option<EdgeKind>,
    whom: Whom,
    risks: RiskNames,
}

impl<'a> Compare<'a> {
    fn releases(&self, channel: &ChannelPair<'a>, arch: &Arch) -> Vec<ReleaseChange> {
        let change = |number| {
            let Pair { base, new } = channel
                .places(number)
                .map(|place| place.map(|place| self.when(Window::instant(place.start))));
            let kind = match (base, new) {
                (None, Some(start)) => ReleaseKind::Appears(start),
                (Some(_), None) => ReleaseKind::Disappears,
                (Some(before), Some(after)) if before != after => {
                    ReleaseKind::Moves { before, after }
                }
                _ => return None,
            };
            Some(ReleaseChange {
                version: self.pair.version(number).clone(),
                kind,
            })
        };
        self.pair
            .numbers_of(arch)
            .rev()
            .filter_map(change)
            .collect()
    }

    fn edges(&mut self, channel: &ChannelPair<'a>, arch: &Arch) -> Vec<EdgeChange> {
        let mut alike: BTreeMap<EdgeChange, Vec<Version>> = BTreeMap::new();
        let pair = self.pair;
        let sources = pair.numbers_of(arch).filter(|from| channel.holds(*from));
        for edge in sources.flat_map(|from| pair.edges_from(from)) {
            let mut known = Vec::new();
            for (ring, phases) in pair.phases_by_ring(channel, edge) {
                // What is held is offered to nobody, for as long as nobody says otherwise.
                let is_offered = |phase: &Phase<'_>| !phase.window.is_held();
                let Pair { base, new } = phases.map(|phase| phase.filter(is_offered));
                let seen = |side: Option<Edge>, is_there: bool| side.filter(|_| is_there);
                let sides = Pair {
                    base: seen(edge.sides.base, base.is_some()),
                    new: seen(edge.sides.new, new.is_some()),
                };
                let [before, after] =
                    [base, new].map(|phase| phase.map(|phase| self.when(phase.window)));
                // Of further rings only the times are told, where they change and are others.
                if !known.is_empty() && (before == after || known.contains(&(before, after))) {
                    continue;
                }
                known.push((before, after));
                for delta in self.deltas(sides).iter() {
                    let moves = (before != after).then_some(EdgeKind::Moves);
                    let Some(kind) = delta.kind.or(moves) else {
                        continue;
                    };
                    let change = EdgeChange {
                        to: pair.version(edge.to).clone(),
                        kind,
                        whom: delta.whom.clone(),
                        ring: ring.map(ToString::to_string),
                        risks: delta.risks.clone(),
                        before: before.filter(|_| kind != EdgeKind::Appears),
                        after: after.filter(|_| kind != EdgeKind::Disappears),
                        from: Vec::new(),
                    };
                    let from = alike.entry(change).or_default();
                    from.push(pair.version(edge.from).clone());
                }
            }
        }
        let mut changes: Vec<EdgeChange> = alike
            .into_iter()
            .map(|(change, from)| EdgeChange { from, ..change })
            .collect();
        changes.sort_by(|a, b| b.to.cmp(&a.to).then_with(|| a.cmp(b)));
        changes
    }

    /// What is over is over, whenever that was.
    fn when(&self, window: Window) -> When {
        if window.is_over(self.now) {
            When::Now
        } else {
            When::Over(window)
        }
    }

    /// What becomes of an edge for each class of clients; classes to which the same happens stand together.
    fn deltas(&mut self, sides: Pair<Option<Edge>>) -> Arc<[Delta]> {
        let key = sides.map(|edge| edge.map(|edge| edge.blocks));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let mut alike: BTreeMap<(Option<EdgeKind>, RiskNames), BTreeSet<ClientClass>> =
            BTreeMap::new();
        for (class, Pair { base, new }) in self.rules.offers(sides) {
            let kind = match kind(&base, &new) {
                // It was not offered, and is not: nothing becomes of it.
                None if new.is_none() => continue,
                kind => kind,
            };
            let risks = kind
                .map(|kind| risk_names(kind, &base, &new))
                .unwrap_or_default();
            alike
                .entry((kind, risks))
                .or_default()
                .insert(class.clone());
        }
        let delta =
            |((kind, risks), on): ((Option<EdgeKind>, RiskNames), BTreeSet<ClientClass>)| Delta {
                kind,
                whom: self.rules.whom(on),
                risks,
            };
        let deltas: Arc<[Delta]> = alike.into_iter().map(delta).collect();
        self.known.insert(key, deltas.clone());
        deltas
    }
}

fn kind(base: &ClassOffer<'_>, new: &ClassOffer<'_>) -> Option<EdgeKind> {
    match (base, new) {
        (base, new) if base == new => None,
        (None, _) => Some(EdgeKind::Appears),
        (_, None) => Some(EdgeKind::Disappears),
        (Some(before), _) if before.is_empty() => Some(EdgeKind::BecomesConditional),
        (_, Some(after)) if after.is_empty() => Some(EdgeKind::BecomesUnconditional),
        _ => Some(EdgeKind::ChangesRisks),
    }
}

fn risk_names(kind: EdgeKind, base: &ClassOffer<'_>, new: &ClassOffer<'_>) -> RiskNames {
    if kind == EdgeKind::Disappears {
        return RiskNames::default();
    }
    let (before, after) = (
        base.clone().unwrap_or_default(),
        new.clone().unwrap_or_default(),
    );
    let names = |risks: &BTreeSet<&Risk>| -> BTreeSet<Arc<str>> {
        risks.iter().map(|r| r.name.as_str().into()).collect()
    };
    let (names_before, names_after) = (names(&before), names(&after));
    let changed: BTreeSet<&Risk> = before.symmetric_difference(&after).copied().collect();
    let in_both = |name: &&Arc<str>| names_before.contains(*name) && names_after.contains(*name);
    RiskNames {
        added: names_after.difference(&names_before).cloned().collect(),
        removed: names_before.difference(&names_after).cloned().collect(),
        reworded: names(&changed).iter().filter(in_both).cloned().collect(),
    }
}

impl ChannelDiff {
    /// How many edges this becomes of, for whomever.
    pub fn edges(&self, kind: EdgeKind) -> usize {
        let mut distinct: BTreeSet<(&Version, &Version)> = BTreeSet::new();
        for change in self.edges.iter().filter(|change| change.kind == kind) {
            distinct.extend(change.from.iter().map(|from| (from, &change.to)));
        }
        distinct.len()
    }
}

impl Diff {
    pub fn is_empty(&self) -> bool {
        self.channels.is_empty()
    }
}

impl EdgeKind {
    pub const ALL: [Self; 6] = [
        Self::Appears,
        Self::Disappears,
        Self::BecomesConditional,
        Self::BecomesUnconditional,
        Self::ChangesRisks,
        Self::Moves,
    ];

    /// The stable name, for JSON.
    pub fn code(self) -> &'static str {
        match self {
            Self::Appears => "appears",
            Self::Disappears => "disappears",
            Self::BecomesConditional => "becomesConditional",
            Self::BecomesUnconditional => "becomesUnconditional",
            Self::ChangesRisks => "changesRisks",
            Self::Moves => "moves",
        }
    }
}
