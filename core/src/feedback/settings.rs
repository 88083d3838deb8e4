//! What a watch may do and what it assumes: the feedback policy, for each channel.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::graph::ChannelName;

use super::FailureRate;
use super::limits::SHORTEST;

/// What is done with a halt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It is shown.
    Observe,
    /// It is written as graph-data files, for people to commit.
    Propose,
    /// The service stops offering the release by itself.
    Enforce,
}

/// How releases of a channel are watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchSettings {
    pub mode: Mode,
    /// The most that the probability of a false halt may be, for each release.
    pub alpha: FailureRate,
    /// The failure rate of a good release, where history does not tell.
    pub base_rate: FailureRate,
    /// A release goes on once this failure rate is ruled out.
    pub tolerated_rate: FailureRate,
    /// A halt needs evidence of so many organisations: 1, or 2.
    pub organisations: u8,
    /// An update that takes longer than this, and longer than all but one in a hundred of its class, has failed.
    pub horizon: SignedDuration,
    /// The usual time from an offer to a known outcome, for power cards.
    pub delay: SignedDuration,
}

/// The settings of all channels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FeedbackPolicy {
    pub default: WatchSettings,
    /// By the name of a channel, or by its part before the last `-`: `stable` is all of `stable-4.20`, `stable-4.21`, …
    pub channels: BTreeMap<String, WatchSettings>,
}

impl Mode {
    pub const ALL: [Self; 3] = [Self::Observe, Self::Propose, Self::Enforce];

    pub fn code(self) -> &'static str {
        match self {
            Self::Observe => "observe",
            Self::Propose => "propose",
            Self::Enforce => "enforce",
        }
    }

    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.code() == code)
    }
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self {
            mode: Mode::Observe,
            alpha: FailureRate::per_million(1_000),
            base_rate: FailureRate::per_million(5_000),
            tolerated_rate: FailureRate::per_million(50_000),
            organisations: 2,
            horizon: SHORTEST,
            delay: SignedDuration::from_hours(4),
        }
    }
}

impl FeedbackPolicy {
    /// How a channel is watched: by its own name first, then by its kind, then as all others.
    pub fn of(&self, channel: &ChannelName) -> &WatchSettings {
        let name = channel.as_str();
        let kind = name.rsplit_once('-').map(|(kind, _)| kind);
        let of_kind = || kind.and_then(|kind| self.channels.get(kind));
        self.channels
            .get(name)
            .or_else(of_kind)
            .unwrap_or(&self.default)
    }

    /// The same, where outcomes of every channel take so long.
    pub fn with_delay(mut self, delay: SignedDuration) -> Self {
        for settings in self.channels.values_mut().chain([&mut self.default]) {
            settings.delay = delay;
        }
        self
    }
}
