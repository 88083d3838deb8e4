//! The roles of people whom others know: an OIDC issuer, a Kubernetes API.
//!
//! A token of `towpath fleet token` carries its roles; nothing here adds to them.

use std::collections::BTreeSet;

use super::{Grants, Identity, Reach, Role, SourceKind};
use crate::fleet::Name;

/// Who has which role.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessPolicy {
    pub bindings: Vec<RoleBinding>,
}

/// Gives one role to people, by their names and by their groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoleBinding {
    pub role: Role,
    pub reach: Reach,
    pub people: BTreeSet<Name>,
    pub groups: BTreeSet<Name>,
    /// Only for identities of this kind. None: of any.
    pub source: Option<SourceKind>,
}

impl AccessPolicy {
    /// The roles of somebody with these groups.
    pub fn grants(&self, identity: &Identity, groups: &BTreeSet<Name>) -> Grants {
        let meant = self
            .bindings
            .iter()
            .filter(|binding| binding.is_for(identity, groups));
        meant
            .map(|binding| (binding.role, binding.reach.clone()))
            .collect()
    }

    /// The organisations that it names.
    pub fn organisations(&self) -> impl Iterator<Item = &Name> {
        self.bindings
            .iter()
            .filter_map(|binding| match &binding.reach {
                Reach::Everywhere => None,
                Reach::Organisation(name) => Some(name),
            })
    }
}

impl RoleBinding {
    fn is_for(&self, identity: &Identity, groups: &BTreeSet<Name>) -> bool {
        let kind = identity.source.kind();
        let is_elsewhere_known = matches!(kind, SourceKind::Oidc | SourceKind::Kubernetes);
        let is_its_kind = self.source.is_none_or(|source| source == kind);
        let is_named = self.people.contains(&identity.name) || !self.groups.is_disjoint(groups);
        is_elsewhere_known && is_its_kind && is_named
    }
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::*;

    fn set(names: &[&str]) -> BTreeSet<Name> {
        names.iter().map(|name| Name::from(*name)).collect()
    }

    fn policy() -> AccessPolicy {
        let binding = |role, people: &[&str], groups: &[&str], source| RoleBinding {
            role,
            reach: Reach::Organisation("acme".into()),
            people: set(people),
            groups: set(groups),
            source,
        };
        AccessPolicy {
            bindings: vec![
                binding(Role::Operator, &["ada"], &[], None),
                binding(Role::Viewer, &[], &["sre"], Some(SourceKind::Oidc)),
            ],
        }
    }

    #[test]
    fn a_binding_is_for_names_and_groups_of_its_source() {
        let oidc = Source::Oidc {
            issuer: "https://id.example".into(),
            subject: "1".into(),
        };
        let kubernetes = Source::Kubernetes {
            api: "https://api.example".into(),
            uid: "1".into(),
        };
        let token = Source::Token {
            serial: "AAAAAAAA".into(),
        };
        for (name, source, groups, expected) in [
            ("ada", &oidc, &[][..], &[Role::Operator][..]),
            ("ada", &kubernetes, &["sre"], &[Role::Operator]),
            ("ada", &oidc, &["sre"], &[Role::Viewer, Role::Operator]),
            ("Ada", &oidc, &["SRE"], &[]),
            ("bob", &oidc, &["dev", "sre"], &[Role::Viewer]),
            ("bob", &kubernetes, &["sre"], &[]),
            // A token says itself what it is for.
            ("ada", &token, &["sre"], &[]),
            ("ada", &Source::Store, &["sre"], &[]),
            // Nobody becomes a person by the name of a group.
            ("sre", &oidc, &["ada"], &[]),
        ] {
            let identity = Identity {
                name: name.into(),
                source: source.clone(),
            };
            let grants = policy().grants(&identity, &set(groups));
            let roles: Vec<Role> = grants.iter().map(|(role, _)| *role).collect();
            assert_eq!(roles, expected, "{identity:?} {groups:?}");
        }
    }
}
