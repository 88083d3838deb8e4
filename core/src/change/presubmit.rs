//! Presubmit: does a change take back what clusters have been shown, or show something to too many
//! at once?
//!
//! What was shown stays shown, unless a block takes it away. That is what blocks are for, so
//! presubmit ignores them in both graphs. It compares everything else that decides who sees an
//! edge now: starts, durations, ramps, the matching rule, `replaces`, and the releases of each
//! channel.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::graph_pair::{ChannelPair, EdgePair, GraphPair, Number, Pair, Phase};
use super::refusal::{self, RefusalCause, Shift};
use super::rollout_arc::RolloutArc;
use crate::finding::Finding;
use crate::graph::{ChannelName, FromVersion, Graph, RolloutRule, Share};
use crate::version::Version;

/// What a change may do.
#[derive(Debug, Clone)]
pub struct PresubmitOptions {
    /// The share of the fleet that may gain an edge at once.
    pub allowed_gain: Share,
    /// How long it takes from trouble in the first clusters to a block that has arrived.
    pub feedback_latency: SignedDuration,
    /// Releases whose windows may be changed as one likes.
    pub allowed_releases: BTreeSet<Version>,
}

impl Default for PresubmitOptions {
    fn default() -> Self {
        Self {
            allowed_gain: Share::thousandths(10),
            feedback_latency: SignedDuration::from_hours(4),
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
    let pair = GraphPair::new(base, new);
    let looks = pair.channel_names().into_iter().map(|name| Look {
        pair: &pair,
        name,
        now,
        options,
    });
    let mut findings: Vec<Finding> = looks.flat_map(|look| look.findings()).collect();
    findings.extend(short_windows(new, now, options.feedback_latency));
    findings.sort();
    findings
}

/// One channel of a change.
struct Look<'a> {
    pair: &'a GraphPair<'a>,
    name: &'a ChannelName,
    now: Timestamp,
    options: &'a PresubmitOptions,
}

impl<'a> Look<'a> {
    fn findings(&self) -> Vec<Finding> {
        let channel = self.pair.channel(self.name);
        let edges = (0..self.pair.len())
            .filter(|from| channel.holds(*from))
            .flat_map(|from| self.pair.edges_from(from));
        let shifts = edges.filter_map(|edge| self.shift(&channel, edge));
        match (channel.channels.base, channel.channels.new) {
            // What is new has been shown to nobody.
            (None, _) => Vec::new(),
            (Some(gone), None) => {
                refusal::channel_gone(gone, &shifts.map(|(_, shift)| shift).collect::<Vec<_>>())
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

    /// Who sees an edge differently, and the release that this is about; none if that is as it should be.
    fn shift(&self, channel: &ChannelPair<'a>, edge: &EdgePair) -> Option<(Number, Shift)> {
        let phases = self.pair.phases(channel, edge);
        let reach = |phase: Option<Phase<'_>>| {
            phase.map_or(RolloutArc::NOBODY, |phase| {
                RolloutArc::of(&phase.window, phase.to.rotation, self.now)
            })
        };
        let reaches = phases.map(reach);
        let (lost, gained) = (
            reaches.base.without(reaches.new),
            reaches.new.without(reaches.base),
        );
        let was_shown = reaches.base.share > Share::NONE;
        // A window that was to come and is taken away, or moved into the past, jumps as well.
        let was_phased = phases.base.is_some_and(|base| is_phased(&base));
        let opens = phases
            .new
            .is_some_and(|new| !new.to.locked && (was_shown || was_phased || is_phased(&new)));
        let jumps = opens && gained > self.options.allowed_gain;
        if lost == Share::NONE && !jumps {
            return None;
        }
        let (release, cause) = cause(channel, edge, phases);
        let allowed = [release, edge.to].map(|number| {
            self.options
                .allowed_releases
                .contains(self.pair.version(number))
        });
        if allowed.contains(&true) {
            return None;
        }
        let shares = reaches.map(|reach| reach.share);
        let edges = [(
            self.pair.version(edge.from).clone(),
            self.pair.version(edge.to).clone(),
        )]
        .into();
        Some((
            release,
            Shift {
                lost,
                gained,
                shares,
                cause,
                edges,
            },
        ))
    }
}

/// Whether an edge reaches the fleet little by little, be that over by now.
fn is_phased(phase: &Phase<'_>) -> bool {
    phase.window.start < phase.window.end
}

/// What has changed about an edge, and the release that it has changed about.
fn cause(
    channel: &ChannelPair<'_>,
    edge: &EdgePair,
    phases: Pair<Option<Phase<'_>>>,
) -> (Number, RefusalCause) {
    let gone = |release: Number| channel.places(release).new.is_none();
    match (phases.base, phases.new) {
        _ if gone(edge.to) => (edge.to, RefusalCause::ReleaseGone),
        _ if gone(edge.from) => (edge.from, RefusalCause::ReleaseGone),
        (Some(base), Some(new)) if base.to.rotation != new.to.rotation => {
            (edge.to, RefusalCause::Requeued)
        }
        (Some(base), Some(new)) => {
            let opens_later =
                new.from.start > new.to.start && base.window.start != new.window.start;
            let release = if opens_later { edge.from } else { edge.to };
            (
                release,
                RefusalCause::Window(Pair {
                    base: base.window,
                    new: new.window,
                }),
            )
        }
        (None, Some(new)) => {
            let release = if new.from.start > new.to.start {
                edge.from
            } else {
                edge.to
            };
            (release, RefusalCause::Late(new.window))
        }
        (_, None) => (edge.to, RefusalCause::EdgeGone),
    }
}

/// Windows that are over, or nearly, before a block could arrive.
fn short_windows(graph: &Graph, now: Timestamp, latency: SignedDuration) -> Vec<Finding> {
    let rules = graph
        .channels()
        .values()
        .flat_map(|channel| channel.rollouts.iter().map(move |rule| (channel, rule)));
    let matching =
        rules.filter(|(_, rule)| !matches!(rule.from_version, Some(FromVersion::Other(_))));
    let short = matching.filter(|(_, rule)| {
        let window = rule.window(now);
        window.end.duration_since(window.start) < latency.saturating_mul(LATENCIES_PER_WINDOW)
    });
    short
        .map(|(channel, rule)| refusal::short_window(channel, rule, latency, now))
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
