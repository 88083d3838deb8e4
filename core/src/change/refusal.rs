//! Refusals: what presubmit objects to in a change, with place, problem and remedy.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::classes::Whom;
use super::graph_pair::Pair;
use super::presubmit::{LATENCIES_PER_WINDOW, PresubmitOptions, share_before_feedback};
use super::ring_pairs::RingPair;
use crate::finding::{Finding, Place};
use crate::graph::{Channel, ChannelName, EdgeMatch, FromVersion, RolloutRule, Share, Window};
use crate::moment::ShownTime;
use crate::version::Version;

/// Who sees the edges from or to a release differently.
#[derive(Debug, Clone)]
pub(super) struct Shift {
    /// The most that lose one of them.
    pub(super) lost: Share,
    /// The most that gain one of them at once.
    pub(super) gained: Share,
    /// The shares of `whom` that see the edge that it is worst for.
    pub(super) shares: Pair<Share>,
    pub(super) whom: Whom,
    /// Those of which rings; none where there are none.
    pub(super) ring: Option<RingPair>,
    pub(super) cause: RefusalCause,
    /// The edges, each once for all architectures.
    pub(super) edges: BTreeSet<(Version, Version)>,
}

#[derive(Debug, Clone)]
pub(super) enum RefusalCause {
    /// Clusters no longer find the release in the channel, or not before it begins.
    Leaves { until: Option<Timestamp> },
    /// Blocks no longer keep clusters from it.
    Unblocked(Window),
    /// It is `locked` now, which ends this window; none if it comes `locked`.
    Locked(Option<Window>),
    /// It is held now, and this was its window.
    Held(Window),
    /// It is no longer held, and this is its window.
    Released(Window),
    /// Nothing declares the edge any more, or metadata takes it away.
    EdgeGone,
    /// It replaces another release than before, so clusters stand elsewhere in its queue.
    Requeued,
    /// It opens, closes or grows at another time.
    Window(Pair<Window>),
    /// One of its releases is new, and its window has begun some time ago.
    Late(Window),
    /// It is declared between releases that have been there, and its window has begun some time ago.
    Declared(Window),
}

impl Shift {
    /// What happens to a release, and so far to none of its edges.
    pub(super) fn of_release(cause: RefusalCause) -> Self {
        Self {
            lost: Share::NONE,
            gained: Share::NONE,
            shares: Pair {
                base: Share::NONE,
                new: Share::NONE,
            },
            whom: Whom::Everybody,
            ring: None,
            cause,
            edges: BTreeSet::new(),
        }
    }

    /// Both at once: what is worse is told, and all edges are counted.
    pub(super) fn join(&mut self, mut other: Self) {
        let mut edges = std::mem::take(&mut self.edges);
        edges.append(&mut other.edges);
        if other.harm() > self.harm() {
            *self = other;
        }
        self.edges = edges;
    }

    fn is_about_edges_to(&self, version: &Version) -> bool {
        self.edges.iter().all(|(_, to)| to == version)
    }

    /// Losing is worse than gaining, and a rollout that jumps is worse than one that begins late.
    fn harm(&self) -> (Share, Option<Share>, Share) {
        let was_shown = self.shares.base > Share::NONE;
        (self.lost, was_shown.then_some(self.gained), self.gained)
    }
}

/// What is wrong about a release in a channel.
pub(super) fn finding(
    place: Place,
    version: &Version,
    channel: &ChannelName,
    shift: &Shift,
    options: &PresubmitOptions,
) -> Finding {
    let (code, problem) = match &shift.cause {
        RefusalCause::Leaves { until } => {
            ("release-leaves", leaves(version, channel, *until, shift))
        }
        _ if shift.lost > Share::NONE => ("rollout-loses", loses(version, channel, shift)),
        RefusalCause::Late(window) | RefusalCause::Window(Pair { new: window, .. })
            if shift.shares.base == Share::NONE =>
        {
            let problem = format!(
                "{version} comes to {channel} late, with the window {}",
                span(*window)
            );
            ("rollout-starts-late", gains(&problem, shift, options))
        }
        _ => (
            "rollout-jumps",
            gains(&told(version, channel, shift), shift, options),
        ),
    };
    let remedy = format!(
        "{}; if it is meant, pass --allow-window-change {version}",
        undo(version, shift)
    );
    Finding::error(code, place, problem, remedy)
}

fn leaves(
    version: &Version,
    channel: &ChannelName,
    until: Option<Timestamp>,
    shift: &Shift,
) -> String {
    let goes = match until {
        None => format!("{version} is no longer in {channel}"),
        Some(until) => format!("{version} leaves {channel} until {}", ShownTime(until)),
    };
    let answer = "clusters that run it would get VersionNotFound instead of updates";
    match shift.edges.len() {
        0 => format!("{goes}: {answer}"),
        number => format!(
            "{goes}: {answer}, and {} shown to {} of {} would go",
            counted(number, "edge"),
            shift.shares.base,
            fleet(shift)
        ),
    }
}

fn loses(version: &Version, channel: &ChannelName, shift: &Shift) -> String {
    let (before, lost) = (shift.shares.base, shift.lost);
    let becomes = match shift.shares.new {
        Share::NONE => "would go".to_owned(),
        new => format!("would be shown to {new}, and {lost} would lose what they have been shown"),
    };
    format!(
        "{}: {} shown to {before} of {} {becomes}",
        told(version, channel, shift),
        counted(shift.edges.len(), "edge"),
        fleet(shift)
    )
}

fn gains(told: &str, shift: &Shift, options: &PresubmitOptions) -> String {
    let Shift { gained, shares, .. } = shift;
    let allowed = options.allowed_gain.to_string();
    // Shares are shown to one place, and the difference may be smaller.
    let gained = match gained.to_string() {
        same if *gained > options.allowed_gain && same == allowed => format!("more than {same}"),
        gained => gained,
    };
    format!(
        "{told}: {} shown to {} of {} would be shown to {}, so {gained} would gain {} at once, and {} may",
        counted(shift.edges.len(), "edge"),
        shares.base,
        fleet(shift),
        shares.new,
        if shift.edges.len() == 1 { "it" } else { "them" },
        allowed,
    )
}

fn fleet(shift: &Shift) -> String {
    match (&shift.ring, &shift.whom) {
        (None, Whom::Everybody) => "the fleet".to_owned(),
        (None, some @ Whom::Some { .. }) => format!("clusters {some}"),
        (Some(ring), Whom::Everybody) => ring.to_string(),
        (Some(ring), some @ Whom::Some { .. }) => format!("{ring} {some}"),
    }
}

/// What has changed, as the beginning of a sentence.
fn told(version: &Version, channel: &ChannelName, shift: &Shift) -> String {
    match &shift.cause {
        RefusalCause::Leaves { .. } => format!("{version} leaves {channel}"),
        RefusalCause::EdgeGone => format!("edges to {version} in {channel} are no longer declared"),
        RefusalCause::Unblocked(window) => format!(
            "edges to {version} in {channel} are no longer blocked, and their window is {}",
            span(*window)
        ),
        RefusalCause::Held(window) => format!(
            "`held` takes edges to {version} in {channel} back, whose window is {}",
            span(*window)
        ),
        RefusalCause::Released(window) => format!(
            "edges to {version} in {channel} are no longer held, and their window is {}",
            span(*window)
        ),
        RefusalCause::Locked(None) => {
            format!("{version} comes to {channel} `locked`, so it has no window")
        }
        RefusalCause::Locked(Some(window)) => format!(
            "`locked` ends the rollout of {version} in {channel}, whose window is {}",
            span(*window)
        ),
        RefusalCause::Requeued => {
            format!("what {version} `replaces` in {channel} has changed, and with it the queue")
        }
        RefusalCause::Window(windows) => {
            let Pair { base, new } = windows.map(span);
            let whose = match shift.is_about_edges_to(version) {
                true => version.to_string(),
                false => format!("edges from {version}"),
            };
            let ring = shift.ring.iter().map(|ring| format!(", for {ring},"));
            let ring: String = ring.collect();
            format!("the window of {whose} in {channel}{ring} was {base} and becomes {new}")
        }
        RefusalCause::Late(window) => {
            format!("the window of {version} in {channel} is {}", span(*window))
        }
        RefusalCause::Declared(window) => format!(
            "edges to {version} in {channel} are new, and their window is {}",
            span(*window)
        ),
    }
}

fn undo(version: &Version, shift: &Shift) -> String {
    match &shift.cause {
        RefusalCause::Leaves { until: None } => {
            format!("keep {version} in the channel, and block its edges if nobody should take them")
        }
        RefusalCause::Leaves { until: Some(_) } => {
            "set `start` to when the change goes live, not later; to stop a rollout, block its edges"
                .to_owned()
        }
        RefusalCause::EdgeGone => {
            "declare them again, and block them if nobody should take them".to_owned()
        }
        RefusalCause::Held(_) => {
            "hold only what nobody has been shown; to stop a rollout, block its edges".to_owned()
        }
        RefusalCause::Released(_) => format!(
            "give it a new window: a rollout rule with `to: {version}` and a `start` at which the hold goes"
        ),
        RefusalCause::Requeued => "keep `replaces` as it was until its window is over".to_owned(),
        RefusalCause::Unblocked(_) => format!(
            "give {version} a new window: set its `start` to when the block is removed"
        ),
        RefusalCause::Locked(None) => {
            "remove `locked`, and set `start` to when the change goes live".to_owned()
        }
        RefusalCause::Locked(Some(window)) => {
            format!("set `locked` once the window is over, at {}", ShownTime(window.end))
        }
        RefusalCause::Window(_) if shift.ring.is_some() => {
            "keep rings and their windows as they were until everybody has it; to stop a rollout, block its edges".to_owned()
        }
        RefusalCause::Window(Pair { base, .. }) if shift.lost > Share::NONE => {
            match shift.shares.base {
                // `locked` is about the edges to a release, not about those from it.
                Share::WHOLE if !shift.is_about_edges_to(version) => {
                    format!("keep the start of {version}, because its edges to other releases begin with it")
                }
                Share::WHOLE => format!(
                    "mark {version} `locked: true`, since its rollout was over, and keep its start"
                ),
                _ => format!(
                    "keep start, rules and ramp as they were until {}; to stop a rollout, block its edges",
                    ShownTime(base.end)
                ),
            }
        }
        RefusalCause::Window(_) if shift.shares.base > Share::NONE => {
            "keep its window as it was".to_owned()
        }
        RefusalCause::Window(_) | RefusalCause::Late(_) => {
            format!("set `start` of {version} to when the change goes live")
        }
        RefusalCause::Declared(_) => {
            format!("block them, and remove the block with a new `start` of {version}")
        }
    }
}

/// A window for people: at one instant, or from and to, and how.
fn span(window: Window) -> String {
    match (window.start == Timestamp::MIN, window.start == window.end) {
        _ if window.is_held() => "for nobody".to_owned(),
        (true, _) => "open since ever".to_owned(),
        (false, true) => format!("for everybody at {}", ShownTime(window.start)),
        (false, false) => format!(
            "{} to {} ({})",
            ShownTime(window.start),
            ShownTime(window.end),
            window.ramp.name()
        ),
    }
}

/// What is said about a channel that is no more, if clusters have found any release in it.
pub(super) fn channel_gone(channel: &Channel, shifts: &[(&Version, Shift)]) -> Vec<Finding> {
    let releases: BTreeSet<&Version> = shifts.iter().map(|(release, _)| *release).collect();
    if releases.is_empty() {
        return Vec::new();
    }
    let most = shifts.iter().map(|(_, shift)| shift.lost).max();
    let edges: BTreeSet<&(Version, Version)> =
        shifts.iter().flat_map(|(_, shift)| &shift.edges).collect();
    let with_edges = match (most, edges.len()) {
        (None, _) | (_, 0) => String::new(),
        (Some(most), edges) => format!(
            ", and {} shown to {most} of the fleet",
            counted(edges, "edge")
        ),
    };
    let problem = format!(
        "{} is gone, and with it {}{with_edges}",
        channel.name,
        counted(releases.len(), "release"),
    );
    let remedy =
        "keep the channel; if nobody follows it any more, check this change without --base";
    vec![Finding::error(
        "release-leaves",
        channel.origin.clone(),
        problem,
        remedy,
    )]
}

/// What is said about a rule whose windows are over before anybody can react.
pub(super) fn short_window(
    channel: &Channel,
    rule: &RolloutRule,
    latency: SignedDuration,
    now: Timestamp,
) -> Finding {
    let kind = |kind: &FromVersion| match kind {
        FromVersion::Patch => "patch updates",
        FromVersion::Minor => "minor updates",
        FromVersion::Other(_) => "updates",
    };
    let edges = match &rule.edges {
        EdgeMatch::Any => "updates".to_owned(),
        EdgeMatch::Kind(of) => kind(of).to_owned(),
        EdgeMatch::To(to, None) => format!("updates to {to}"),
        EdgeMatch::To(to, Some(of)) => format!("{} to {to}", kind(of)),
        EdgeMatch::Edge { from, to } => format!("the update from {from} to {to}"),
    };
    let share = share_before_feedback(rule, latency, now);
    let problem = format!(
        "{} phases {edges} in over {:#}, and feedback takes {}: {share} of the fleet would have a bad release before a block arrives",
        channel.name,
        rule.duration,
        length(latency),
    );
    let wanted = length(latency.saturating_mul(LATENCIES_PER_WINDOW));
    let remedy = format!("make it at least {wanted} long, or bring feedback sooner");
    Finding::warning("rollout-too-short", rule.origin.clone(), problem, remedy)
}

/// A length of time: in days, if it is two of them or more.
fn length(duration: SignedDuration) -> String {
    let days = duration.as_hours() / 24;
    match duration
        == SignedDuration::from_hours(24).saturating_mul(i32::try_from(days).unwrap_or(0))
    {
        true if days >= 2 => format!("{days}d"),
        _ => format!("{duration:#}"),
    }
}

fn counted(number: usize, noun: &str) -> String {
    match number {
        1 => format!("1 {noun}"),
        more => format!("{more} {noun}s"),
    }
}
