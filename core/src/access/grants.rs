//! The roles that somebody has, and where.

use std::collections::BTreeSet;

use super::{Permission, Role};
use crate::fleet::Name;

/// Where a role counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// In every organisation, and for what concerns all of them.
    Everywhere,
    Organisation(Name),
}

/// Roles, each with its reach. Empty: somebody who may do nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Grants(BTreeSet<(Role, Reach)>);

/// Where somebody may do something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleScope {
    Everywhere,
    /// Only there; nowhere, if it is empty.
    Organisations(BTreeSet<Name>),
}

impl Grants {
    pub fn iter(&self) -> impl Iterator<Item = &(Role, Reach)> {
        self.0.iter()
    }

    /// These roles and those.
    pub fn and(mut self, more: Self) -> Self {
        self.0.extend(more.0);
        self
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Where these roles permit it.
    pub fn scope(&self, permission: Permission) -> RoleScope {
        let mut organisations = BTreeSet::new();
        for (_, reach) in self.0.iter().filter(|(role, _)| role.permits(permission)) {
            match reach {
                Reach::Everywhere => return RoleScope::Everywhere,
                Reach::Organisation(name) => _ = organisations.insert(name.clone()),
            }
        }
        RoleScope::Organisations(organisations)
    }
}

impl RoleScope {
    /// Whether somebody may do it anywhere at all.
    pub fn is_nowhere(&self) -> bool {
        matches!(self, Self::Organisations(names) if names.is_empty())
    }
}

impl FromIterator<(Role, Reach)> for Grants {
    fn from_iter<I: IntoIterator<Item = (Role, Reach)>>(grants: I) -> Self {
        Self(grants.into_iter().collect())
    }
}
