//! Presubmit: does a change take back what clusters have been shown, or show something to too many
//! at once?
//!
//! It compares what clusters are shown before the change and after it: by starts, durations,
//! ramps, the matching rule, `locked`, `held`, `replaces`, the releases of each channel, and blocks. A
//! block may take back what was shown; nothing else may. An edge with risks counts as shown,
//! because clusters weigh the risks themselves.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::classes::{ClassAccess, RulesPair};
use super::graph_pair::{ChannelPair, EdgePair, GraphPair, Number, Pair, Phase};
use super::refusal::{self, RefusalCause, Shift};
use super::rollout_arc::RolloutArc;
use crate::feedback::FeedbackPolicy;
use crate::finding::Finding;
use crate::graph::model::BlockSetId;
use crate::graph::{Channel, ChannelName, Graph, Membership, RolloutRule, Share};
use crate::version::Version;

/// What a change may do.
#[derive(Debug, Clone)]
pub struct PresubmitOptions {
    /// The share of the fleet that may gain an edge at once.
    pub allowed_gain: Share,
    /// How each channel is watched: its `delay` is how long it takes from trouble in the first clusters to a block.
    pub feedback: FeedbackPolicy,
    /// Releases whose windows may be changed as one likes.
    pub allowed_releases: BTreeSet<Version>,
}

impl Default for PresubmitOptions {
    fn default() -> Self {
        Self {
            allowed_gain: Share::thousandths(10),
            feedback: FeedbackPolicy::default(),
            allowed_releases: BTreeSet::new(),
        }
    }
}

/// A window must be at least this many times as long as feedback takes.
pub(super) const LATENCIES_PER_WINDOW: i32 = 4;

/// Everything about the change from `base` to `new`, were it merged now: at most one finding for each release and
/// channel, and one for each rule whose window is too short.
pub fn presubmit(
    base: &Graph,
    new: &Graph,
    now: Timestamp,
    options: &PresubmitOptions,
) -> Vec<Finding> {
    let mut findings = shown_otherwise(base, new, now, options);
    findings.extend(short_windows(new, now, &options.feedback));
    findings.sort();
    findings
}

/// What clusters are shown otherwise than before: at most one finding for each release and channel.
pub fn shown_otherwise(
    base: &Graph,
    new: &Graph,
    now: Timestamp,
    options: &PresubmitOptions,
) -> Vec<Finding> {
    let pair = GraphPair::new(base, new);
    let access = Access::of(&pair);
    let looks = pair.channel_names().into_iter().map(|name| Look {
        pair: &pair,
        access: &access,
        name,
        now,
        options,
    });
    let mut findings: Vec<Finding> = looks.flat_map(|look| look.findings()).collect();
    findings.sort();
    findings
}

/// To whom edges are open on each side, as far as blocks go: the same for a great many edges.
struct Access(BTreeMap<Pair<Option<BlockSetId>>, Vec<ClassAccess>>);

impl Access {
    fn of(pair: &GraphPair<'_>) -> Self {
        let rules = RulesPair::of_blocks_alone(pair.graphs);
        let mut known = BTreeMap::new();
        for edge in pair.edges() {
            let rows = || rules.access(edge.sides);
            known.entry(blocks(edge)).or_insert_with(rows);
        }
        Self(known)
    }

    fn to(&self, edge: &EdgePair) -> &[ClassAccess] {
        &self.0[&blocks(edge)]
    }
}

fn blocks(edge: &EdgePair) -> Pair<Option<BlockSetId>> {
    edge.sides.map(|side| side.map(|edge| edge.blocks))
}

/// One channel of a change.
struct Look<'a> {
    pair: &'a GraphPair<'a>,
    access: &'a Access,
    name: &'a ChannelName,
    now: Timestamp,
    options: &'a PresubmitOptions,
}

impl<'a> Look<'a> {
    fn findings(&self) -> Vec<Finding> {
        let channel = self.pair.channel(self.name);
        let members = || (0..self.pair.len()).filter(|number| channel.holds(*number));
        let edges = members().flat_map(|from| self.pair.edges_from(from));
        let shifts = edges.flat_map(|edge| self.shifts(&channel, edge));
        let leaving = members().filter_map(|release| {
            let cause = self.leaves(&channel, release)?;
            (!self.is_allowed(release)).then(|| (release, Shift::of_release(cause)))
        });
        let shifts = leaving.chain(shifts);
        match (channel.channels.base, channel.channels.new) {
            // What is new has been shown to nobody.
            (None, _) => Vec::new(),
            (Some(gone), None) => {
                let shifts: Vec<(&Version, Shift)> = shifts
                    .map(|(release, shift)| (self.pair.version(release), shift))
                    .collect();
                refusal::channel_gone(gone, &shifts)
            }
            (Some(_), Some(channel)) => {
                let mut worst: BTreeMap<&Version, (Number, Shift)> = BTreeMap::new();
                for (release, shift) in shifts {
                    let join = |(_, known): &mut (Number, Shift)| known.join(shift.clone());
                    let version = self.pair.version(release);
                    worst
                        .entry(version)
                        .and_modify(join)
                        .or_insert((release, shift));
                }
                let finding = |(version, (release, shift)): (&Version, (Number, Shift))| {
                    let listed = self
                        .pair
                        .in_new(release)
                        .and_then(|id| channel.origin_of(id));
                    let place = listed.unwrap_or(&channel.origin).clone();
                    refusal::finding(place, version, self.name, &shift, self.options)
                };
                worst.into_iter().map(finding).collect()
            }
        }
    }

    /// Who sees an edge differently, and the release that this is about; nobody if that is as it should be.
    fn shifts(&self, channel: &ChannelPair<'a>, edge: &EdgePair) -> Vec<(Number, Shift)> {
        let phases = self.pair.phases(channel, edge);
        let arcs = phases.map(|phase| self.arc(phase));
        let rows = self.access.to(edge).iter();
        rows.filter_map(|row| {
            let open = row.offered;
            let shown = Pair {
                base: arcs.base.only_if(open.base),
                new: arcs.new.only_if(open.new),
            };
            // That is what blocks are for.
            let taken_by_block = phases.new.is_some() && !open.new;
            let lost = match taken_by_block {
                true => Share::NONE,
                false => shown.base.without(shown.new),
            };
            let gained = shown.new.without(shown.base);
            // Where nothing is phased in, everything is for everybody at once.
            let is_phased = [phases.base, phases.new]
                .into_iter()
                .flatten()
                .any(|phase| phase.is_phased);
            let jumps = is_phased && gained > self.options.allowed_gain;
            if lost == Share::NONE && !jumps {
                return None;
            }
            let (release, cause) = self.cause(channel, edge, phases, open);
            if self.is_allowed(release) || self.is_allowed(edge.to) {
                return None;
            }
            let versions = [edge.from, edge.to].map(|number| self.pair.version(number).clone());
            let shift = Shift {
                lost,
                gained,
                shares: shown.map(|arc| arc.share),
                whom: row.whom.clone(),
                cause,
                edges: [versions.into()].into(),
            };
            Some((release, shift))
        })
        .collect()
    }

    fn arc(&self, phase: Option<Phase<'_>>) -> RolloutArc {
        phase.map_or(RolloutArc::NOBODY, |phase| {
            RolloutArc::of(&phase.window, phase.to.rotation, self.now)
        })
    }

    fn is_allowed(&self, release: Number) -> bool {
        let version = self.pair.version(release);
        self.options.allowed_releases.contains(version)
    }

    /// Whether clusters find a release in the channel before the change, and not after it.
    fn leaves(&self, channel: &ChannelPair<'_>, release: Number) -> Option<RefusalCause> {
        let places = channel.places(release);
        let has_entered = |place: &Membership| place.start <= self.now;
        match (places.base.is_some_and(has_entered), places.new) {
            (false, _) => None,
            (true, None) => Some(RefusalCause::Leaves { until: None }),
            (true, Some(new)) if has_entered(new) => None,
            (true, Some(new)) => Some(RefusalCause::Leaves {
                until: Some(new.start),
            }),
        }
    }

    /// What has changed about an edge, and the release that it has changed about.
    fn cause(
        &self,
        channel: &ChannelPair<'_>,
        edge: &EdgePair,
        phases: Pair<Option<Phase<'_>>>,
        open: Pair<bool>,
    ) -> (Number, RefusalCause) {
        let leaving = [edge.to, edge.from]
            .into_iter()
            .find_map(|release| Some((release, self.leaves(channel, release)?)));
        if let Some(leaving) = leaving {
            return leaving;
        }
        match (phases.base, phases.new) {
            (Some(_), Some(new)) if open.new && !open.base => {
                (edge.to, RefusalCause::Unblocked(new.window))
            }
            (Some(base), Some(new)) if base.window.is_held() != new.window.is_held() => {
                let cause = match new.window.is_held() {
                    true => RefusalCause::Held(base.window),
                    false => RefusalCause::Released(new.window),
                };
                (edge.to, cause)
            }
            (Some(base), Some(new)) if base.to.rotation != new.to.rotation => {
                (edge.to, RefusalCause::Requeued)
            }
            (Some(base), Some(new)) => {
                let windows = Pair {
                    base: base.window,
                    new: new.window,
                };
                let is_locked_now = new.to.locked && !base.to.locked;
                let cause = match is_locked_now && base.window.start == new.window.start {
                    true => RefusalCause::Locked(Some(base.window)),
                    false => RefusalCause::Window(windows),
                };
                (changed(channel, edge).unwrap_or(edge.to), cause)
            }
            (None, Some(new)) => match changed(channel, edge) {
                Some(release) if new.to.locked && release == edge.to => {
                    (release, RefusalCause::Locked(None))
                }
                Some(release) => (release, RefusalCause::Late(new.window)),
                None => (edge.to, RefusalCause::Declared(new.window)),
            },
            (_, None) => (edge.to, RefusalCause::EdgeGone),
        }
    }
}

/// The end of an edge whose place in the channel has changed: of two, the one that opens the edge.
fn changed(channel: &ChannelPair<'_>, edge: &EdgePair) -> Option<Number> {
    let is_changed = |release| {
        let Pair { base, new } = channel.places(release);
        base != new
    };
    let start = |release| channel.places(release).new.map(|place| place.start);
    match (is_changed(edge.from), is_changed(edge.to)) {
        (true, true) if start(edge.from) > start(edge.to) => Some(edge.from),
        (_, true) => Some(edge.to),
        (true, false) => Some(edge.from),
        (false, false) => None,
    }
}

/// Windows that are over, or nearly, before a block could arrive.
fn short_windows(graph: &Graph, now: Timestamp, feedback: &FeedbackPolicy) -> Vec<Finding> {
    let rules = graph
        .channels()
        .values()
        .flat_map(|channel| channel.rollouts.iter().map(move |rule| (channel, rule)));
    let matching = rules.filter(|(_, rule)| rule.edges.is_known() && !rule.is_held());
    let latency = |channel: &Channel| feedback.of(&channel.name).delay;
    let short = matching.filter(|(channel, rule)| {
        let window = rule.window(now);
        let latency = latency(channel);
        window.end.duration_since(window.start) < latency.saturating_mul(LATENCIES_PER_WINDOW)
    });
    short
        .map(|(channel, rule)| refusal::short_window(channel, rule, latency(channel), now))
        .collect()
}

/// The share of the fleet that has a release before a block can arrive.
pub fn share_before_feedback(rule: &RolloutRule, latency: SignedDuration, now: Timestamp) -> Share {
    let window = rule.window(now);
    let heard = window
        .start
        .saturating_add(latency)
        .unwrap_or(Timestamp::MAX);
    window.share(heard)
}
