//! Holds: what keeps a cluster from a version, as numbers.
//!
//! A pass over a large fleet makes millions of verdicts. A hold is what a rule found, in a few bytes and without names;
//! `why` turns it into a [`crate::domain::Reason`] where somebody reads it.

use jiff::Timestamp;

/// What a rule of the fleet's policy has against an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// Its policy entry is wrong: the first problem of its class.
    PolicyProblem,
    /// Its organisation is left alone.
    Disabled,
    /// A pattern blocks the version: its number in the fleet.
    Blocked(u32),
    /// The version is above the pin.
    Pinned,
    /// A gate was not acknowledged: its number in the fleet.
    Gate(u32),
    /// A person must approve the version.
    NotApproved,
    /// The graph has something against the edge: the offer has the reasons.
    NotOffered,
    /// A workload has not run long enough on the version elsewhere.
    Soak {
        /// The workload that lacks most, by its number.
        workload: u32,
        have_seconds: i64,
        need_seconds: i64,
    },
    /// A sector that comes first is not there yet.
    Sector {
        /// The member that is furthest behind.
        member: u32,
    },
    /// Clusters elsewhere, whose version data is inherited, are not there yet.
    Inherited {
        /// The workload by its number; none if the lowest of all counts.
        workload: Option<u32>,
        version: u32,
    },
    /// An upgrade of this cluster is planned or under way: its place in the input.
    UnderWay(u32),
    /// A node pool must follow its control plane first.
    PoolFirst(u32),
    /// People have stopped new starts: the pause's place in the input.
    Paused(u32),
    /// The cluster is not well.
    Unhealthy,
    /// Nobody has heard of it for too long.
    NotReporting,
    /// It failed lately, and lets others through until then.
    BackingOff { until: Timestamp },
    /// Too many upgrades to the version have failed in its sector.
    SectorFailures { failures: u32 },
    /// Somebody else holds a mutex it needs.
    Mutex {
        /// The mutex by its number.
        mutex: u32,
        holder: u32,
    },
    /// As many of its sector as may be upgraded at once hold a mutex it needs.
    ParallelLimit {
        /// The mutex by its number.
        mutex: u32,
        limit: u32,
    },
    /// Its schedule does not let it start now.
    Schedule,
    /// Other clusters have its name: the member knows which.
    NameClash,
    /// The API that carries upgrades out refused the version lately.
    Refused {
        /// The refused upgrade's place in the input.
        upgrade: u32,
        /// Until then it is not tried again.
        until: Timestamp,
    },
    /// Its file says that it is left alone.
    LeftAlone,
}

/// Which rule held. The numbers are bits of a set, which decisions in the log keep: a new one comes last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum HoldCode {
    /// [`Hold::PolicyProblem`]
    PolicyProblem,
    /// [`Hold::Disabled`]
    Disabled,
    /// [`Hold::Blocked`]
    Blocked,
    /// [`Hold::Pinned`]
    Pinned,
    /// [`Hold::Gate`]
    Gate,
    /// [`Hold::NotApproved`]
    NotApproved,
    /// [`Hold::NotOffered`]
    NotOffered,
    /// [`Hold::Soak`]
    Soak,
    /// [`Hold::Sector`] and [`Hold::Inherited`]
    Sector,
    /// [`Hold::UnderWay`]
    UnderWay,
    /// [`Hold::PoolFirst`]
    PoolFirst,
    /// [`Hold::Paused`]
    Paused,
    /// [`Hold::Unhealthy`] and [`Hold::NotReporting`]
    Health,
    /// [`Hold::BackingOff`]
    BackingOff,
    /// [`Hold::SectorFailures`]
    SectorFailures,
    /// [`Hold::Mutex`]
    Mutex,
    /// [`Hold::ParallelLimit`]
    ParallelLimit,
    /// [`Hold::Schedule`]
    Schedule,
    /// [`Hold::NameClash`]
    NameClash,
    /// [`Hold::Refused`]
    Refused,
    /// [`Hold::LeftAlone`]
    LeftAlone,
}

impl Hold {
    /// Which rule it is from.
    pub fn code(&self) -> HoldCode {
        match self {
            Self::PolicyProblem => HoldCode::PolicyProblem,
            Self::Disabled => HoldCode::Disabled,
            Self::Blocked(_) => HoldCode::Blocked,
            Self::Pinned => HoldCode::Pinned,
            Self::Gate(_) => HoldCode::Gate,
            Self::NotApproved => HoldCode::NotApproved,
            Self::NotOffered => HoldCode::NotOffered,
            Self::Soak { .. } => HoldCode::Soak,
            Self::Sector { .. } | Self::Inherited { .. } => HoldCode::Sector,
            Self::UnderWay(_) => HoldCode::UnderWay,
            Self::PoolFirst(_) => HoldCode::PoolFirst,
            Self::Paused(_) => HoldCode::Paused,
            Self::Unhealthy | Self::NotReporting => HoldCode::Health,
            Self::BackingOff { .. } => HoldCode::BackingOff,
            Self::SectorFailures { .. } => HoldCode::SectorFailures,
            Self::Mutex { .. } => HoldCode::Mutex,
            Self::ParallelLimit { .. } => HoldCode::ParallelLimit,
            Self::Schedule => HoldCode::Schedule,
            Self::NameClash => HoldCode::NameClash,
            Self::Refused { .. } => HoldCode::Refused,
            Self::LeftAlone => HoldCode::LeftAlone,
        }
    }
}

impl HoldCode {
    /// All of them, in order.
    pub const ALL: [Self; 21] = [
        Self::PolicyProblem,
        Self::Disabled,
        Self::Blocked,
        Self::Pinned,
        Self::Gate,
        Self::NotApproved,
        Self::NotOffered,
        Self::Soak,
        Self::Sector,
        Self::UnderWay,
        Self::PoolFirst,
        Self::Paused,
        Self::Health,
        Self::BackingOff,
        Self::SectorFailures,
        Self::Mutex,
        Self::ParallelLimit,
        Self::Schedule,
        Self::NameClash,
        Self::Refused,
        Self::LeftAlone,
    ];

    /// The stable name: for filters, JSON and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::PolicyProblem => "policy",
            Self::Disabled => "disabled",
            Self::Blocked => "blocked",
            Self::Pinned => "pin",
            Self::Gate => "gate",
            Self::NotApproved => "approval",
            Self::NotOffered => "graph",
            Self::Soak => "soak",
            Self::Sector => "sector",
            Self::UnderWay => "under-way",
            Self::PoolFirst => "pool",
            Self::Paused => "pause",
            Self::Health => "health",
            Self::BackingOff => "backoff",
            Self::SectorFailures => "failures",
            Self::Mutex => "mutex",
            Self::ParallelLimit => "parallel",
            Self::Schedule => "schedule",
            Self::NameClash => "name",
            Self::Refused => "refused",
            Self::LeftAlone => "left-alone",
        }
    }
}
