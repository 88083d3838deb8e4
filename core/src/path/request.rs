//! The question: from where, to where, through which channels, and with which preference.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;

use super::search_space::SearchTerms;
use crate::cluster::{Cluster, ClusterId, Fact, Groups, Platform};
use crate::graph::{ChannelName, Risk};
use crate::version::{Arch, Minors, Version};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The release that the cluster runs.
    pub from: Version,
    pub goal: Goal,
    /// The channels it may be set to: names, or streams (`eus` is every `eus-*`), in the order in which they are preferred.
    pub via: Vec<ChannelName>,
    /// Which conditional updates it takes.
    pub risks: RiskPolicy,
    /// What makes one way better than another.
    pub prefer: Preference,
    /// How many paths to show, the best first. At least one, at most [`Request::MAX_WAYS`].
    pub ways: usize,
    pub asker: Asker,
    /// Which minor version follows which.
    pub minors: Minors,
    pub now: Timestamp,
}

impl Request {
    /// The most ways that are told.
    pub const MAX_WAYS: usize = 20;
    /// The most channels or streams that can be named.
    pub const MAX_VIA: usize = 64;

    pub(super) fn terms(&self) -> SearchTerms<'_> {
        SearchTerms {
            asker: &self.asker,
            risks: &self.risks,
            minors: &self.minors,
            now: self.now,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    Version(Version),
    /// To the newest release of this minor version that is in the channels.
    NewestOf {
        /// The 4 of 4.20.
        major: u64,
        /// The 20 of 4.20.
        minor: u64,
    },
    /// To the newest release of the channels.
    Newest,
}

/// Which conditional updates are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RiskPolicy {
    /// None.
    Never,
    /// Those whose risks may turn out not to apply.
    Unknown,
    /// Those all of whose risks have one of these names.
    Accepted(BTreeSet<String>),
    Any,
}

/// What makes one way better than another. Ties: fewer hops; then, from the first hop on, the newer release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Preference {
    #[default]
    FewestHops,
    /// Fewer different risks on the way.
    Safest,
    Soonest,
    /// Fewer updates of worker pools, each of which reboots their nodes.
    FewestReboots,
}

/// A cluster, as far as we know it, in no channel yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asker {
    pub id: Fact<ClusterId>,
    pub platform: Fact<Platform>,
    /// How people have sorted it.
    pub groups: Fact<Arc<Groups>>,
    /// The architecture of its payload.
    pub arch: Arch,
}

impl Asker {
    /// The cluster, were it in that channel.
    pub fn in_channel(&self, channel: &ChannelName) -> Cluster {
        let Self {
            id,
            platform,
            groups,
            arch,
        } = self.clone();
        Cluster {
            id,
            platform,
            groups,
            arch,
            channel: channel.clone(),
        }
    }
}

impl Goal {
    /// Reads `4.20.5`, `4.20` (the newest 4.20) or `newest`.
    pub fn read(text: &str) -> Option<Self> {
        if text == "newest" {
            return Some(Self::Newest);
        }
        if let Ok(version) = text.parse() {
            return Some(Self::Version(version));
        }
        let number = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| text.parse().ok())
                .flatten()
        };
        let (major, minor) = text.split_once('.')?;
        Some(Self::NewestOf {
            major: number(major)?,
            minor: number(minor)?,
        })
    }
}

impl std::fmt::Display for Goal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Version(version) => version.fmt(f),
            Self::NewestOf { major, minor } => write!(f, "{major}.{minor}"),
            Self::Newest => f.write_str("newest"),
        }
    }
}

impl RiskPolicy {
    /// The most names that can be accepted.
    const MAX_ACCEPTED: usize = 1000;

    /// Reads `never`, `unknown` or `accepted:NAME,…`.
    pub fn read(text: &str) -> Option<Self> {
        match text.split_once([':', '=', ' ']) {
            None if text == "never" => Some(Self::Never),
            None if text == "unknown" => Some(Self::Unknown),
            Some(("accepted", names)) => {
                let names: BTreeSet<String> = names
                    .split(',')
                    .map(|name| name.trim().to_owned())
                    .collect();
                let well_formed =
                    names.len() <= Self::MAX_ACCEPTED && names.iter().all(|name| !name.is_empty());
                well_formed.then_some(Self::Accepted(names))
            }
            _ => None,
        }
    }

    /// Whether an update with this risk may be taken.
    pub fn takes(&self, risk: &Risk) -> bool {
        match self {
            Self::Never => false,
            Self::Unknown => !risk.is_for_everybody(),
            Self::Accepted(names) => names.contains(&risk.name),
            Self::Any => true,
        }
    }
}

impl std::fmt::Display for RiskPolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Never => f.write_str("never"),
            Self::Unknown => f.write_str("unknown"),
            Self::Accepted(names) => {
                write!(
                    f,
                    "accepted:{}",
                    names
                        .iter()
                        .map(String::as_str)
                        .collect::<Vec<_>>()
                        .join(",")
                )
            }
            Self::Any => f.write_str("any"),
        }
    }
}

impl Preference {
    /// Reads `fewest`, `safest`, `soonest` or `fewest-reboots`.
    pub fn read(text: &str) -> Option<Self> {
        let all = [
            Self::FewestHops,
            Self::Safest,
            Self::Soonest,
            Self::FewestReboots,
        ];
        all.into_iter().find(|one| one.name() == text)
    }

    /// The stable name, for flags and machines.
    pub fn name(self) -> &'static str {
        match self {
            Self::FewestHops => "fewest",
            Self::Safest => "safest",
            Self::Soonest => "soonest",
            Self::FewestReboots => "fewest-reboots",
        }
    }

    /// The default risk policy. A request for the safest path wants risks counted, not avoided at
    /// any price.
    pub fn usual_risks(self) -> RiskPolicy {
        match self {
            Self::FewestHops | Self::Soonest | Self::FewestReboots => RiskPolicy::Never,
            Self::Safest => RiskPolicy::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_read() {
        assert_eq!(
            Goal::read("4.20"),
            Some(Goal::NewestOf {
                major: 4,
                minor: 20
            })
        );
        assert_eq!(Goal::read("newest"), Some(Goal::Newest));
        assert_eq!(
            Goal::read("4.20.0-rc.1"),
            Some(Goal::Version("4.20.0-rc.1".parse().unwrap()))
        );
        for text in ["", "4", "4.x", "4.+1", "4.20.x", "latest"] {
            assert_eq!(Goal::read(text), None, "{text:?}");
        }
    }

    #[test]
    fn risk_policies_are_read() {
        let accepted = |names: &[&str]| {
            Some(RiskPolicy::Accepted(
                names.iter().map(|name| (*name).to_owned()).collect(),
            ))
        };
        assert_eq!(RiskPolicy::read("accepted:B,A"), accepted(&["A", "B"]));
        assert_eq!(RiskPolicy::read("accepted A, B"), accepted(&["A", "B"]));
        for text in ["never", "unknown", "accepted:A,B"] {
            assert_eq!(
                RiskPolicy::read(text).map(|policy| policy.to_string()),
                Some(text.to_owned())
            );
        }
        for text in [
            "",
            "accepted",
            "accepted:",
            "accepted:A,,B",
            "any",
            "never:A",
        ] {
            assert_eq!(RiskPolicy::read(text), None, "{text:?}");
        }
    }
}
