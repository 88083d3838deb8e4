//! Power cards: which failure rates a window lets a watch see before too many clusters have the release.
//!
//! When a share of the fleet has begun, only the outcomes of those are known who began a delay earlier. From their number follows
//! the smallest rate that is seen. It is known before the first cluster begins, so a window can be chosen by it.

use jiff::{SignedDuration, Timestamp};

use super::stages::{self, share_of};
use super::visible::{attempts_needed, rate_seen};
use super::{FailureRate, WatchSettings, best_stages};
use crate::graph::{Share, Stages, Window};

/// The shares that a card tells of, in thousandths.
const SHARES: [u16; 4] = [10, 20, 50, 100];
/// The failure rates of which a card tells when they are stopped, in parts per million.
const FAILING: [u32; 3] = [200_000, 100_000, 50_000];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PowerCard {
    pub clusters: u64,
    pub delay: SignedDuration,
    pub alpha: FailureRate,
    pub base_rate: FailureRate,
    /// This share has begun before anything at all is known.
    pub before_anything: Share,
    pub rows: Vec<PowerRow>,
    /// The stages that would do better in the same time; none where there is no room for them, or the window does as well.
    pub stages: Option<Stages>,
    pub stopped: Vec<StoppedAt>,
}

/// What is seen before so many have begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerRow {
    pub exposed: Share,
    /// How many outcomes are known by then.
    pub known: u64,
    /// The smallest rate that so many show, in whole percent. None: none at all.
    pub seen: Option<FailureRate>,
}

/// How much of the fleet has begun when a release that fails so often is halted, on average. None: it is not halted before
/// everybody has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedAt {
    pub failing: FailureRate,
    pub in_window: Option<Share>,
    pub in_stages: Option<Share>,
}

/// What can be seen while a window opens over a fleet. History is not asked: the base rate is that of the settings.
pub fn power_card(window: &Window, clusters: u64, settings: &WatchSettings) -> PowerCard {
    let row = |thousandths: u16| {
        let exposed = Share::thousandths(thousandths);
        let known = known(window, window.reaches(exposed), clusters, settings);
        PowerRow {
            exposed,
            known,
            seen: rate_seen(known, settings.base_rate, settings),
        }
    };
    let first_known = window.start.saturating_add(settings.delay);
    let length = window.end.duration_since(window.start);
    let stages = best_stages(length, clusters, settings);
    let stopped_in = |stages: Option<&Stages>| {
        let at = |rate| stopped(rate, window, stages, clusters, settings);
        FAILING.map(at).to_vec()
    };
    // In a long window the first stage alone may be more than the window exposes.
    let does_better = |stages: &Stages| {
        let stopped = stopped_in(Some(stages));
        window.ramp.stages() != Some(*stages) && stopped.iter().all(StoppedAt::is_sooner_in_stages)
    };
    let stages = stages.filter(does_better);
    PowerCard {
        clusters,
        delay: settings.delay,
        alpha: settings.alpha,
        base_rate: settings.base_rate,
        before_anything: window.share(first_known.unwrap_or(Timestamp::MAX)),
        rows: SHARES.map(row).to_vec(),
        stopped: stopped_in(stages.as_ref()),
        stages,
    }
}

fn stopped(
    parts_per_million: u32,
    window: &Window,
    stages: Option<&Stages>,
    clusters: u64,
    settings: &WatchSettings,
) -> StoppedAt {
    let failing = FailureRate::per_million(parts_per_million);
    let attempts = attempts_needed(failing, settings.base_rate, settings);
    let needed = attempts.and_then(|attempts| share_of(attempts, clusters));
    let in_window = |needed: Share| {
        let known_at = window.reaches(needed).saturating_add(settings.delay).ok()?;
        Some(window.share(known_at)).filter(|begun| *begun < Share::WHOLE)
    };
    let in_stages = |needed: Share| stages::begun(stages?, needed);
    StoppedAt {
        failing,
        in_window: needed.and_then(in_window),
        in_stages: needed
            .and_then(in_stages)
            .filter(|begun| *begun < Share::WHOLE),
    }
}

/// How many outcomes are known at an instant.
fn known(window: &Window, at: Timestamp, clusters: u64, settings: &WatchSettings) -> u64 {
    let begun = at.saturating_sub(settings.delay).unwrap_or(Timestamp::MIN);
    let known = (window.share(begun).parts() * u128::from(clusters)) / Share::WHOLE.parts();
    u64::try_from(known).unwrap_or(clusters)
}

impl StoppedAt {
    fn is_sooner_in_stages(&self) -> bool {
        match (self.in_window, self.in_stages) {
            (Some(window), Some(stages)) => stages <= window,
            (in_window, _) => in_window.is_none(),
        }
    }
}

impl PowerCard {
    /// The row of this share.
    pub fn before(&self, exposed: Share) -> Option<&PowerRow> {
        self.rows.iter().find(|row| row.exposed == exposed)
    }
}
