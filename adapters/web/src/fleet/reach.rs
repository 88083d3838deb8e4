//! What a request to the fleet is about, for callers whose roles are for some organisations only.
//!
//! A question without an organisation is about theirs, if they have one. A change must name it: it is never made smaller than
//! what was asked for. Whose a single cluster is, only the fleet knows; it checks that ([`FleetRequest::cluster_asked`]).

use towpath_core::access::{NotPermitted, Target};
use towpath_core::fleet::Filter;

use super::{FleetRequest, UpgradeChoice};
use crate::access::Admitted;

impl FleetRequest {
    /// The request, as far as the caller may make it.
    pub(crate) fn within(mut self, caller: &Admitted) -> Result<Self, NotPermitted> {
        match &mut self {
            Self::Status(filter)
            | Self::Plan { filter, .. }
            | Self::Clusters { filter, .. }
            | Self::Sectors(filter)
            | Self::Matrix { filter, .. }
            | Self::Calendar { filter, .. }
            | Self::Acts { filter, .. }
            | Self::Upgrades(filter)
            | Self::Holds(filter)
            | Self::History(filter)
            | Self::Forecast { filter, .. }
            | Self::Preflights(filter) => {
                narrow(filter, caller);
                caller.may(target(filter.organisation.as_deref()))?;
            }
            Self::Pause { organisation, .. }
            | Self::Resume { organisation, .. }
            | Self::Preflight {
                filter: Filter { organisation, .. },
                ..
            } => caller.may(target(organisation.as_deref()))?,
            Self::Approve { organisation, .. } | Self::WithdrawApproval { organisation, .. } => {
                caller.may(Target::Organisation(organisation))?;
            }
            Self::Watch { .. }
            | Self::Decisions { .. }
            | Self::Decision { .. }
            | Self::Halts
            | Self::Halt { .. }
            | Self::UndoHalt { .. }
            | Self::Revocations
            | Self::Revoke { .. }
            | Self::AuditLog { .. }
            | Self::Overrule { .. }
            | Self::Import { .. } => caller.may(Target::Everywhere)?,
            // The fleet knows whose they are.
            Self::Cluster { .. }
            | Self::Why { .. }
            | Self::Acknowledge { .. }
            | Self::WithdrawAcknowledgement { .. }
            | Self::Cancel { .. }
            | Self::Lift { .. }
            | Self::Forget { .. } => {}
            // They come with a cluster's own token.
            Self::Report { .. } | Self::Orders { .. } => {}
        }
        Ok(self)
    }

    /// The one cluster, by name or id, that a person asks about or changes.
    pub fn cluster_asked(&mut self) -> Option<&mut String> {
        match self {
            Self::Status(filter)
            | Self::Plan { filter, .. }
            | Self::Clusters { filter, .. }
            | Self::Sectors(filter)
            | Self::Matrix { filter, .. }
            | Self::Calendar { filter, .. }
            | Self::Acts { filter, .. }
            | Self::Upgrades(filter)
            | Self::Holds(filter)
            | Self::History(filter)
            | Self::Forecast { filter, .. }
            | Self::Preflights(filter)
            | Self::Preflight { filter, .. } => filter.cluster.as_mut(),
            Self::Approve { cluster, .. } | Self::WithdrawApproval { cluster, .. } => {
                cluster.as_mut()
            }
            Self::Cancel {
                which: UpgradeChoice::Of(cluster),
                ..
            } => Some(cluster),
            Self::Cluster { cluster }
            | Self::Why { cluster, .. }
            | Self::Acknowledge { cluster, .. }
            | Self::WithdrawAcknowledgement { cluster, .. }
            | Self::Lift { cluster, .. }
            | Self::Forget { cluster, .. } => Some(cluster),
            Self::Pause { .. }
            | Self::Resume { .. }
            // Whose an upgrade with a number is, the fleet looks up.
            | Self::Cancel { .. }
            | Self::Watch { .. }
            | Self::Decisions { .. }
            | Self::Decision { .. }
            | Self::Halts
            | Self::Halt { .. }
            | Self::UndoHalt { .. }
            | Self::Revocations
            | Self::Revoke { .. }
            | Self::AuditLog { .. }
            | Self::Overrule { .. }
            | Self::Import { .. }
            | Self::Report { .. }
            | Self::Orders { .. } => None,
        }
    }
}

/// Asks about the caller's organisation, where nobody said which and there is one.
fn narrow(filter: &mut Filter, caller: &Admitted) {
    if filter.organisation.is_none() {
        filter.organisation = caller.only_organisation();
    }
}

fn target(organisation: Option<&str>) -> Target<'_> {
    organisation.map_or(Target::Everywhere, Target::Organisation)
}
