//! Preflights: the fleet asks a cluster to run the checks of a release, without updating to it.
//!
//! There is at most one for each cluster and version: the newest. What became of it counts for the
//! version that the cluster ran then, and for a week.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use super::{BadQuestion, Filter, FleetPlanner, Name, Schedules};
use crate::cluster::ClusterId;
use crate::version::Version;

/// How long an outcome counts. A cluster changes, and so does what its checks would find.
pub const COUNTS_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);

/// A preflight of a cluster.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Preflight {
    pub cluster: ClusterId,
    /// The release whose checks are run.
    pub version: Version,
    /// What the cluster ran when it was asked.
    pub from: Version,
    /// Names the request. A second request for the same version has another.
    pub id: Name,
    pub by: Name,
    pub state: PreflightState,
    /// What the cluster said about it; empty if nothing.
    pub why: Name,
    /// The risks that the checks have found.
    pub risks: BTreeSet<Name>,
    /// When it got into its state.
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreflightState {
    /// The cluster has not been told yet: others run first, or its windows are closed.
    Asked,
    /// The cluster has been told.
    Running,
    Passed,
    /// The checks have found risks.
    Failed,
    /// It began, and there is no whole result.
    Incomplete,
    /// The cluster does not have preflights.
    Unsupported,
    /// The agent does not run it: its own policy, or missing proof.
    Refused,
}

/// What became of a preflight, as the cluster's agent tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightResult {
    /// The request.
    pub id: Name,
    pub version: Version,
    pub state: PreflightState,
    pub why: Name,
    pub risks: BTreeSet<Name>,
}

/// What a policy wants of a preflight before a start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreflightDemand {
    #[default]
    None,
    /// It must have passed where the cluster has preflights.
    WhereSupported,
    /// It must have passed.
    Required,
}

/// Who asks for preflights, and what he names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreflightRequest {
    pub version: Version,
    /// Names the request.
    pub id: Name,
    pub by: Name,
    pub at: Timestamp,
}

/// The preflights that a request means.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedPreflights {
    pub preflights: Vec<Preflight>,
    /// The names of clusters that are meant, and that the version is not offered to. They are not asked.
    pub not_offered: Vec<Name>,
    /// The names of those that are asked and have said lately that they have no preflights.
    pub unsupported: Vec<Name>,
}

impl PreflightRequest {
    /// Asks the clusters that a filter means. A name in it that nobody has is mistyped.
    pub fn of(self, filter: &Filter, desk: &FleetPlanner) -> Result<AskedPreflights, BadQuestion> {
        filter.check()?;
        filter.check_names(desk)?;
        let mut asked = AskedPreflights::default();
        let members = desk.roster().in_order().iter().copied();
        for member in members.filter(|member| filter.is_meant(desk, *member, self.at)) {
            let state = desk.roster().cluster(member);
            let mut offers = state.offers.iter();
            if !offers.any(|offer| offer.version == self.version && self.version > state.version) {
                asked.not_offered.push(state.name.clone());
                continue;
            }
            let mut earlier = desk.roster().preflights(&state.id);
            if earlier
                .any(|one| one.state == PreflightState::Unsupported && one.from == state.version)
            {
                asked.unsupported.push(state.name.clone());
            }
            asked.preflights.push(Preflight {
                cluster: state.id.clone(),
                version: self.version.clone(),
                from: state.version.clone(),
                id: self.id.clone(),
                by: self.by.clone(),
                state: PreflightState::Asked,
                why: "".into(),
                risks: BTreeSet::new(),
                at: self.at,
            });
        }
        match &filter.cluster {
            Some(name) if asked == AskedPreflights::default() => {
                Err(BadQuestion::NoCluster(name.clone()))
            }
            _ => Ok(asked),
        }
    }
}

impl Filter {
    /// Those of these preflights whose clusters are asked about, each with its cluster's name. A cluster that is not known any more
    /// is asked about by whoever asks about everybody.
    pub fn preflights<'a>(
        &self,
        desk: &'a FleetPlanner,
        preflights: &'a [Preflight],
        now: Timestamp,
    ) -> Vec<(&'a Preflight, Option<&'a Name>)> {
        let meant = preflights.iter().filter_map(|preflight| {
            match desk.roster().find(preflight.cluster.as_str()) {
                Some(member) => self
                    .is_meant(desk, member, now)
                    .then(|| (preflight, Some(&desk.roster().cluster(member).name))),
                None => self.is_everybody().then_some((preflight, None)),
            }
        });
        meant.collect()
    }
}

/// Whether a cluster with this policy may run a preflight now: inside its windows, and in no exclusion.
pub fn may_run(policy: &super::UpgradePolicy, now: Timestamp) -> bool {
    let calendar = Schedules {
        schedule: None,
        windows: &policy.windows,
        exclusions: &policy.exclusions,
    };
    calendar.allows(now)
}

impl PreflightState {
    pub const ALL: [Self; 7] = [
        Self::Asked,
        Self::Running,
        Self::Passed,
        Self::Failed,
        Self::Incomplete,
        Self::Unsupported,
        Self::Refused,
    ];

    /// For JSON, reports and the store.
    pub fn code(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::Running => "running",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Incomplete => "incomplete",
            Self::Unsupported => "unsupported",
            Self::Refused => "refused",
        }
    }

    /// The state of that code.
    pub fn of_code(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.code() == code)
    }

    /// Whether the cluster has answered.
    pub fn is_over(self) -> bool {
        !matches!(self, Self::Asked | Self::Running)
    }
}

impl PreflightDemand {
    /// As policies say it.
    pub fn code(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::WhereSupported => "where-supported",
            Self::Required => "required",
        }
    }

    pub fn of_code(code: &str) -> Option<Self> {
        let all = [Self::None, Self::WhereSupported, Self::Required];
        all.into_iter().find(|demand| demand.code() == code)
    }
}
