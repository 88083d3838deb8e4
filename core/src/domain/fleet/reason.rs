//! Why the fleet's policy lets a cluster wait: with names, what it has, what it needs, and when that is expected.

use std::fmt;

use jiff::Timestamp;

use super::{GateScope, HoldCode, Name, UpgradeState};
use crate::domain::Version;
use crate::finding::Place;

const SECONDS_PER_DAY: i64 = 86_400;

/// What a rule of the fleet's policy has against an upgrade.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum FleetReason {
    /// The cluster's policy entry is wrong.
    PolicyProblem { problem: String, origin: Place },
    /// The organisation is left alone.
    Disabled { organisation: Name },
    /// A pattern blocks the version.
    BlockedVersion {
        pattern: Name,
        /// Whether the organisation says so, or the cluster's own policy.
        of_organisation: bool,
    },
    /// The version is above the cluster's pin.
    Pinned { pin: Version },
    /// A gate was not acknowledged.
    GateClosed {
        gate: Name,
        /// What kind of gate it is.
        label: Name,
        /// Where nobody knows whether it concerns the cluster: whom it concerns.
        unsure: Option<GateScope>,
    },
    /// Nobody has approved the version.
    NotApproved,
    /// The graph has something against the edge.
    Graph { code: Name, sentence: Name },
    /// A workload has not run long enough on the version.
    Soak {
        /// The workload that lacks most.
        workload: Name,
        have_seconds: i64,
        need_seconds: i64,
        /// How many clusters are adding to it.
        soaking: u32,
        /// When it will have enough, if they go on.
        expected: Option<Timestamp>,
    },
    /// A sector that comes first is not there.
    SectorBehind {
        sector: Name,
        cluster: Name,
        version: Version,
    },
    /// Clusters elsewhere are not there.
    InheritedBehind {
        /// The workload; none if the lowest of all counts.
        workload: Option<Name>,
        version: Version,
    },
    /// An upgrade is planned or under way.
    UnderWay {
        to: Version,
        pool: Option<Name>,
        state: UpgradeState,
        /// When it is to start, or has started.
        start_at: Timestamp,
    },
    /// A node pool has to follow first.
    PoolFirst { pool: Name, version: Version },
    /// People have stopped new starts.
    Paused {
        /// In this organisation; none: everywhere.
        organisation: Option<Name>,
        /// In this sector; none: in all.
        sector: Option<Name>,
        by: Name,
        at: Timestamp,
        why: Name,
    },
    /// The cluster is not well.
    Unhealthy { why: Name },
    /// Nobody has heard of it.
    NotReporting { since: Timestamp },
    BackingOff {
        to: Version,
        /// How often in a row.
        failures: u32,
        until: Timestamp,
    },
    /// Too many of its sector have failed.
    SectorFailures {
        sector: Name,
        failures: u32,
        /// How many are too many.
        limit: u32,
    },
    /// Somebody else holds a mutex.
    Mutex { mutex: Name, holder: Name },
    /// Enough of its sector are being upgraded.
    ParallelLimit {
        sector: Name,
        mutex: Name,
        limit: u32,
        holders: Vec<Name>,
    },
    /// Its schedule does not let it start now.
    Schedule {
        schedule: Name,
        next: Option<Timestamp>,
    },
    /// Other clusters have its name, and nobody can tell which of them is meant.
    NameDisputed {
        name: Name,
        /// The id of the first of the others.
        other: Name,
        /// How many others there are.
        others: u32,
    },
    /// Its name is that of a cluster that is bound, and it is not.
    NameTaken {
        name: Name,
        /// The id of the cluster whose name it is.
        by: Name,
    },
    /// The API that carries upgrades out refused the version.
    Refused {
        why: Name,
        /// How often in a row.
        times: u32,
        /// Until then it is not tried again.
        until: Timestamp,
    },
    /// The cluster's file says that it is left alone.
    LeftAlone {
        /// The integration that the file disables.
        integration: Name,
        origin: Place,
    },
}

impl FleetReason {
    /// Which rule it is from.
    pub fn hold_code(&self) -> HoldCode {
        match self {
            Self::PolicyProblem { .. } => HoldCode::PolicyProblem,
            Self::Disabled { .. } => HoldCode::Disabled,
            Self::BlockedVersion { .. } => HoldCode::Blocked,
            Self::Pinned { .. } => HoldCode::Pinned,
            Self::GateClosed { .. } => HoldCode::Gate,
            Self::NotApproved => HoldCode::NotApproved,
            Self::Graph { .. } => HoldCode::NotOffered,
            Self::Soak { .. } => HoldCode::Soak,
            Self::SectorBehind { .. } | Self::InheritedBehind { .. } => HoldCode::Sector,
            Self::UnderWay { .. } => HoldCode::UnderWay,
            Self::PoolFirst { .. } => HoldCode::PoolFirst,
            Self::Paused { .. } => HoldCode::Paused,
            Self::Unhealthy { .. } | Self::NotReporting { .. } => HoldCode::Health,
            Self::BackingOff { .. } => HoldCode::BackingOff,
            Self::SectorFailures { .. } => HoldCode::SectorFailures,
            Self::Mutex { .. } => HoldCode::Mutex,
            Self::ParallelLimit { .. } => HoldCode::ParallelLimit,
            Self::Schedule { .. } => HoldCode::Schedule,
            Self::NameDisputed { .. } | Self::NameTaken { .. } => HoldCode::NameClash,
            Self::Refused { .. } => HoldCode::Refused,
            Self::LeftAlone { .. } => HoldCode::LeftAlone,
        }
    }

    /// The stable name: for JSON, metrics and conditions.
    pub fn code(&self) -> &'static str {
        match self {
            Self::PolicyProblem { .. } => "PolicyProblem",
            Self::Disabled { .. } => "OrganisationDisabled",
            Self::BlockedVersion { .. } => "BlockedVersion",
            Self::Pinned { .. } => "Pinned",
            Self::GateClosed { .. } => "GateClosed",
            Self::NotApproved => "NotApproved",
            Self::Graph { .. } => "NotOffered",
            Self::Soak { .. } => "Soak",
            Self::SectorBehind { .. } => "SectorBehind",
            Self::InheritedBehind { .. } => "InheritedBehind",
            Self::UnderWay { .. } => "UpgradeUnderWay",
            Self::PoolFirst { .. } => "NodePoolFirst",
            Self::Paused { .. } => "Paused",
            Self::Unhealthy { .. } => "Unhealthy",
            Self::NotReporting { .. } => "NotReporting",
            Self::BackingOff { .. } => "BackingOff",
            Self::SectorFailures { .. } => "SectorFailures",
            Self::Mutex { .. } => "MutexHeld",
            Self::ParallelLimit { .. } => "ParallelLimit",
            Self::Schedule { .. } => "Schedule",
            Self::NameDisputed { .. } => "NameDisputed",
            Self::NameTaken { .. } => "NameTaken",
            Self::Refused { .. } => "StartRefused",
            Self::LeftAlone { .. } => "ClusterDisabled",
        }
    }

    /// When it ends by itself, if that can be said.
    pub fn until(&self) -> Option<Timestamp> {
        match self {
            Self::Soak { expected, .. } => *expected,
            Self::BackingOff { until, .. } | Self::Refused { until, .. } => Some(*until),
            Self::Schedule { next, .. } => *next,
            _ => None,
        }
    }

    /// Whether waiting alone never helps: somebody has to change something.
    pub fn is_final(&self) -> bool {
        match self {
            Self::BlockedVersion { .. }
            | Self::Pinned { .. }
            | Self::PolicyProblem { .. }
            | Self::Disabled { .. }
            | Self::NameDisputed { .. }
            | Self::NameTaken { .. }
            | Self::LeftAlone { .. } => true,
            Self::Graph { code, .. } => code.contains("Block") || &**code == "PlatformUnknown",
            _ => false,
        }
    }
}

impl fmt::Display for FleetReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PolicyProblem { problem, origin } => {
                write!(f, "its policy is wrong: {problem} ({origin})")
            }
            Self::Disabled { organisation } => {
                write!(f, "organisation {organisation} is switched off")
            }
            Self::BlockedVersion {
                pattern,
                of_organisation: true,
            } => {
                write!(f, "blocked by the organisation's pattern {pattern}")
            }
            Self::BlockedVersion { pattern, .. } => {
                write!(f, "blocked by the cluster's pattern {pattern}")
            }
            Self::Pinned { pin } => write!(f, "pinned to {pin}"),
            Self::GateClosed {
                gate,
                label,
                unsure,
            } => {
                write!(f, "gate {gate} ({label}) has not been acknowledged")?;
                let unknown = |scope: &GateScope| {
                    write!(
                        f,
                        ", and nobody knows whether the cluster uses {}",
                        scope.name()
                    )
                };
                unsure.as_ref().map_or(Ok(()), unknown)
            }
            Self::NotApproved => f.write_str("nobody has approved it"),
            Self::Graph { sentence, .. } => f.write_str(sentence),
            Self::Soak {
                workload,
                have_seconds,
                need_seconds,
                soaking,
                expected,
            } => {
                let (have, need) = (Days(*have_seconds), Days(*need_seconds));
                write!(f, "{workload} has soaked {have} of {need} days")?;
                match soaking {
                    0 => f.write_str(", and no cluster is adding to it")?,
                    1 => f.write_str("; 1 cluster is adding to it")?,
                    more => write!(f, "; {more} clusters are adding to it")?,
                }
                expected
                    .iter()
                    .try_for_each(|expected| write!(f, ", enough at {}", Second(*expected)))
            }
            Self::SectorBehind {
                sector,
                cluster,
                version,
            } => {
                write!(
                    f,
                    "sector {sector} comes first, and {cluster} there is on {version}"
                )
            }
            Self::InheritedBehind {
                workload: Some(workload),
                version,
            } => {
                write!(
                    f,
                    "where version data is inherited from, {workload} is on {version}"
                )
            }
            Self::InheritedBehind {
                workload: None,
                version,
            } => {
                write!(
                    f,
                    "where version data is inherited from, the lowest version is {version}"
                )
            }
            Self::UnderWay {
                to,
                pool,
                state,
                start_at,
            } => {
                let what = pool
                    .as_ref()
                    .map_or_else(String::new, |pool| format!(" of node pool {pool}"));
                let start_at = Second(*start_at);
                match state {
                    UpgradeState::Planned => {
                        write!(f, "its upgrade{what} to {to} is planned for {start_at}")
                    }
                    _ => write!(
                        f,
                        "its upgrade{what} to {to} has been under way since {start_at}"
                    ),
                }
            }
            Self::PoolFirst { pool, version } => {
                write!(f, "node pool {pool} is on {version} and comes first")
            }
            Self::Paused {
                organisation,
                sector,
                by,
                at,
                why,
            } => {
                f.write_str("paused")?;
                sector
                    .iter()
                    .try_for_each(|sector| write!(f, " in sector {sector}"))?;
                organisation
                    .iter()
                    .try_for_each(|organisation| write!(f, " in organisation {organisation}"))?;
                write!(f, " by {by} at {}: {why}", Second(*at))
            }
            Self::Unhealthy { why } => write!(f, "the cluster is not well: {why}"),
            Self::NotReporting { since } => write!(
                f,
                "the cluster has not been heard of since {}",
                Second(*since)
            ),
            Self::BackingOff {
                to,
                failures,
                until,
            } => {
                let times = if *failures > 1 {
                    format!(" {failures} times in a row")
                } else {
                    String::new()
                };
                write!(
                    f,
                    "it failed to reach {to}{times}, and waits until {}",
                    Second(*until)
                )
            }
            Self::SectorFailures {
                sector,
                failures,
                limit,
            } => {
                write!(
                    f,
                    "{failures} upgrades to it have failed in sector {sector}, and {limit} are too many"
                )
            }
            Self::Mutex { mutex, holder } => write!(f, "mutex {mutex} is held by {holder}"),
            Self::ParallelLimit {
                sector,
                mutex,
                limit,
                holders,
            } => {
                let names = holders
                    .iter()
                    .take(5)
                    .map(|name| &**name)
                    .collect::<Vec<_>>()
                    .join(", ");
                let more = if holders.len() > 5 { ", …" } else { "" };
                write!(
                    f,
                    "at most {limit} of sector {sector} may hold mutex {mutex} at once: {names}{more}"
                )
            }
            Self::Schedule {
                schedule,
                next: Some(next),
            } => write!(f, "its schedule ({schedule}) opens at {next}"),
            Self::Schedule {
                schedule,
                next: None,
            } => write!(f, "its schedule ({schedule}) never opens"),
            Self::NameDisputed {
                name,
                other,
                others: 1,
            } => {
                write!(
                    f,
                    "cluster {other} is called {name} too, and nobody can tell which of them is meant"
                )
            }
            Self::NameDisputed {
                name,
                other,
                others,
            } => {
                write!(
                    f,
                    "{others} more clusters are called {name} ({other}, …), and nobody can tell which of them is meant"
                )
            }
            Self::NameTaken { name, by } => {
                write!(
                    f,
                    "{name} is the name of cluster {by}; this cluster only says that it is called so"
                )
            }
            Self::Refused { why, times, until } => {
                let times = if *times > 1 {
                    format!(" {times} times in a row")
                } else {
                    String::new()
                };
                write!(
                    f,
                    "the API refused it{times} and is asked again at {}: {why}",
                    Second(*until)
                )
            }
            Self::LeftAlone {
                integration,
                origin,
            } => {
                write!(
                    f,
                    "its file disables {integration}, so it is left alone ({origin})"
                )
            }
        }
    }
}

/// A time to the second, as people read it.
struct Second(Timestamp);

impl fmt::Display for Second {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.strftime("%Y-%m-%dT%H:%M:%SZ").fmt(f)
    }
}

/// Days with as many digits as tell the difference: `4`, `3.5`, `6.99`.
#[derive(Debug, Clone, Copy)]
pub struct Days(
    /// In seconds.
    pub i64,
);

impl fmt::Display for Days {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded down: 6.999 days are not seven.
        let (days, hundredths) = (
            self.0 / SECONDS_PER_DAY,
            self.0 % SECONDS_PER_DAY * 100 / SECONDS_PER_DAY,
        );
        match (hundredths / 10, hundredths % 10) {
            (0, 0) => f.pad(&format!("{days}")),
            (tenths, 0) => f.pad(&format!("{days}.{tenths}")),
            (tenths, rest) => f.pad(&format!("{days}.{tenths}{rest}")),
        }
    }
}
