//! Refusals: what presubmit objects to in a change, with place, problem and remedy.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::graph_pair::Pair;
use super::presubmit::{LATENCIES_PER_WINDOW, PresubmitOptions, share_before_feedback};
use crate::finding::{Finding, Place};
use crate::graph::{Channel, ChannelName, FromVersion, RolloutRule, Share, Window};
use crate::version::Version;

/// Who sees the edges from or to a release differently.
#[derive(Debug, Clone)]
pub(super) struct Shift {
    /// The most that lose one of them.
    pub(super) lost: Share,
    /// The most that gain one of them at once.
    pub(super) gained: Share,
    /// Who sees the edge that it is worst for.
    pub(super) shares: Pair<Share>,
    pub(super) cause: RefusalCause,
    /// The edges, each once for all architectures.
    pub(super) edges: BTreeSet<(Version, Version)>,
}

#[derive(Debug, Clone)]
pub(super) enum RefusalCause {
    /// The release is no longer in the channel.
    ReleaseGone,
    /// Nothing declares the edge any more, or metadata takes it away.
    EdgeGone,
    /// It replaces another release than before, so clusters stand elsewhere in its queue.
    Requeued,
    /// It opens, closes or grows at another time.
    Window(Pair<Window>),
    /// It is new, and its window has begun some time ago.
    Late(Window),
}

impl Shift {
    /// Both at once: what is worse is told, and all edges are counted.
    pub(super) fn join(&mut self, mut other: Self) {
        let mut edges = std::mem::take(&mut self.edges);
        edges.append(&mut other.edges);
        if other.harm() > self.harm() {
            *self = other;
        }
        self.edges = edges;
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
    let Shift {
        lost,
        gained,
        shares,
        ..
    } = shift;
    let edges = counted(shift.edges.len(), "edge");
    let allow = format!("if it is meant, pass --allow-window-change {version}");
    let said = told(version, channel, &shift.cause);
    if *lost > Share::NONE {
        let becomes = match shares.new {
            Share::NONE => "would go".to_owned(),
            new => {
                format!("would be shown to {new}, and {lost} would lose what they have been shown")
            }
        };
        let problem = format!(
            "{said}: {edges} shown to {} of the fleet {becomes}",
            shares.base
        );
        let remedy = format!("{}; {allow}", undo(version, shift));
        return Finding::error("rollout-loses", place, problem, remedy);
    }
    let allowed = options.allowed_gain;
    if let RefusalCause::Late(window) | RefusalCause::Window(Pair { new: window, .. }) =
        &shift.cause
        && shares.base == Share::NONE
    {
        let problem = format!(
            "{version} comes to {channel} late: its window is {}, so {gained} of the fleet would gain {edges} at once",
            span(*window)
        );
        let remedy = format!("set `start` to when the change goes live; {allow}");
        return Finding::warning("rollout-starts-late", place, problem, remedy);
    }
    let problem = format!(
        "{said}: {edges} shown to {} of the fleet would be shown to {}, so {gained} would gain them at once, and {allowed} may",
        shares.base, shares.new,
    );
    let remedy = format!(
        "keep its window as it was, or mark {version} `locked: true` to end its rollout; {allow}"
    );
    Finding::error("rollout-jumps", place, problem, remedy)
}

/// What has changed, as the beginning of a sentence.
fn told(version: &Version, channel: &ChannelName, cause: &RefusalCause) -> String {
    match cause {
        RefusalCause::ReleaseGone => format!("{version} is no longer in {channel}"),
        RefusalCause::EdgeGone => format!("edges to {version} in {channel} are no longer declared"),
        RefusalCause::Requeued => {
            format!("what {version} `replaces` in {channel} has changed, and with it the queue")
        }
        RefusalCause::Window(windows) => {
            let Pair { base, new } = windows.map(span);
            format!("the window of {version} in {channel} was {base} and becomes {new}")
        }
        RefusalCause::Late(window) => {
            format!("the window of {version} in {channel} is {}", span(*window))
        }
    }
}

fn undo(version: &Version, shift: &Shift) -> String {
    match &shift.cause {
        RefusalCause::ReleaseGone => {
            format!("keep {version} in the channel, and block its edges if nobody should take them")
        }
        RefusalCause::EdgeGone => {
            "declare them again, and block them if nobody should take them".to_owned()
        }
        RefusalCause::Requeued => "keep `replaces` as it was until its window is over".to_owned(),
        RefusalCause::Window(_) if shift.shares.base == Share::WHOLE => {
            format!("mark {version} `locked: true`, since its rollout was over, and keep its start")
        }
        RefusalCause::Window(Pair { base, .. }) => {
            format!(
                "keep start, rules and ramp as they were until {}; to stop a rollout, block its edges",
                base.end
            )
        }
        RefusalCause::Late(_) => "set `start` to when the change goes live".to_owned(),
    }
}

/// A window for people: at one instant, or from and to, and how.
fn span(window: Window) -> String {
    match (window.start == Timestamp::MIN, window.start == window.end) {
        (true, _) => "open since ever".to_owned(),
        (false, true) => format!("for everybody at {}", window.start),
        (false, false) => format!(
            "{} to {} ({})",
            window.start,
            window.end,
            window.ramp.name()
        ),
    }
}

/// What is said about a channel that is no more, if it has shown anything to anybody.
pub(super) fn channel_gone(channel: &Channel, shifts: &[Shift]) -> Vec<Finding> {
    let most = shifts
        .iter()
        .map(|shift| shift.lost)
        .max()
        .unwrap_or(Share::NONE);
    if most == Share::NONE {
        return Vec::new();
    }
    let edges: BTreeSet<&(Version, Version)> =
        shifts.iter().flat_map(|shift| &shift.edges).collect();
    let edges = counted(edges.len(), "edge");
    let problem = format!(
        "{} is gone, and with it {edges} shown to {most} of the fleet",
        channel.name
    );
    let remedy =
        "keep the channel; if nobody follows it any more, check this change without --base";
    vec![Finding::error(
        "rollout-loses",
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
    let edges = match &rule.from_version {
        Some(FromVersion::Patch) => "patch updates",
        Some(FromVersion::Minor) => "minor updates",
        Some(FromVersion::Other(_)) | None => "updates",
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
