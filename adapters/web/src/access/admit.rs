//! Whether a caller may use an endpoint, and where.

use std::net::IpAddr;

use http::StatusCode;
use towpath_core::access::{self, Grants, Identity, Permission, Reach, Role, RoleScope, Target};

use super::Caller;
use crate::Service;
use crate::fleet::Reads;
use crate::refusal::{OrRefusal, Refusal};
use crate::routes::{Route, Who};

/// Somebody whom a route lets in, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// None: nobody said who they are. They only read.
    pub identity: Option<Identity>,
    /// Where they ask from, for the audit log.
    pub from: Option<IpAddr>,
    permission: Permission,
    grants: Grants,
}

impl Admitted {
    /// A cluster that speaks for itself. It may do nothing else.
    pub(crate) fn cluster() -> Self {
        Self {
            identity: None,
            from: None,
            permission: Permission::ReadFleet,
            grants: Grants::default(),
        }
    }

    /// The same, from that address.
    pub(crate) fn coming_from(self, address: IpAddr) -> Self {
        Self {
            from: Some(address),
            ..self
        }
    }

    /// Whether they may do there what they were let in for.
    pub fn may(&self, target: Target<'_>) -> Result<(), access::NotPermitted> {
        access::may(&self.grants, self.permission, target)
    }

    /// The organisation that they were let in for, if there is exactly one.
    pub(crate) fn only_organisation(&self) -> Option<String> {
        match self.grants.scope(self.permission) {
            RoleScope::Organisations(names) if names.len() == 1 => {
                names.first().map(ToString::to_string)
            }
            RoleScope::Organisations(_) | RoleScope::Everywhere => None,
        }
    }
}

/// Lets the caller in, if there is an organisation for which they may do what the route is for.
///
/// None: the route is open, or for clusters. Those are checked where the cluster's token is needed anyway.
pub(crate) fn admit(
    service: &Service,
    route: &Route,
    caller: &Caller,
) -> OrRefusal<Option<Admitted>> {
    let permission = match route.who {
        Who::Anyone
        | Who::AnyoneInPart
        | Who::AnyoneOrClusterInPart
        | Who::AnyoneOrClusterById
        | Who::Cluster => return Ok(None),
        Who::May(permission) => permission,
    };
    if permission == Permission::ReadFleet && reads_are_open(service) {
        return Ok(Some(Admitted {
            identity: caller.identity().cloned(),
            from: None,
            permission,
            grants: Grants::from_iter([(Role::Viewer, Reach::Everywhere)]),
        }));
    }
    let known = caller.known(service)?;
    match known.grants.scope(permission).is_nowhere() {
        true => Err(forbidden(
            &access::NotPermitted::NoRole(permission),
            Some(&known.identity),
        )),
        false => Ok(Some(Admitted {
            identity: Some(known.identity.clone()),
            from: None,
            permission,
            grants: known.grants.clone(),
        })),
    }
}

/// Checks that the caller may do it for every organisation.
pub(crate) fn may_everywhere(
    service: &Service,
    caller: &Caller,
    permission: Permission,
) -> OrRefusal<()> {
    let known = caller.known(service)?;
    access::may(&known.grants, permission, Target::Everywhere)
        .map_err(|refusal| forbidden(&refusal, Some(&known.identity)))
}

/// Checks that the caller may read the whole fleet. Where there is none, there is nothing to hide.
pub(crate) fn admitted_reader(service: &Service, caller: &Caller) -> OrRefusal<()> {
    match service.fleet.load().is_none() || reads_are_open(service) {
        true => Ok(()),
        false => may_everywhere(service, caller, Permission::ReadFleet),
    }
}

fn reads_are_open(service: &Service) -> bool {
    let fleet = service.fleet.load();
    fleet
        .as_ref()
        .is_some_and(|fleet| fleet.reads == Reads::Open)
}

/// The refusal of somebody who is known: it says as whom.
pub(crate) fn forbidden(refusal: &access::NotPermitted, who: Option<&Identity>) -> Refusal {
    let sentence = match who {
        Some(who) => format!("you are {}: {refusal}", who.name),
        None => refusal.to_string(),
    };
    Refusal::new(StatusCode::FORBIDDEN, refusal.kind(), sentence)
}
