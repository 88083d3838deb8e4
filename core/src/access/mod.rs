//! Who may do what: identities, roles, and one decision.
//!
//! An adapter says who somebody is. [`Grants`] are the roles that the person has, each everywhere or in one organisation.
//! [`may`] compares them with what a request needs. What nobody has granted is refused.

mod grants;
mod identity;
mod policy;
mod renewal;
mod revoked;
mod role;

use std::fmt;

pub use grants::{Grants, Reach, RoleScope};
pub use identity::{Identity, Source, SourceKind};
pub use policy::{AccessPolicy, RoleBinding};
pub use renewal::{Renewal, renewal};
pub use revoked::{Revocation, Revoked, RevokedTokens, TokenFacts};
pub use role::{Permission, Role};

/// What a request is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target<'a> {
    /// More than one organisation, or an organisation that nobody knows.
    Everywhere,
    Organisation(&'a str),
}

/// Why somebody may not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotPermitted {
    /// Has none of the roles that permit it.
    NoRole(Permission),
    /// Has a role for it, but elsewhere.
    Elsewhere {
        permission: Permission,
        /// None: it concerns every organisation.
        organisation: Option<String>,
    },
}

/// Whether these roles permit that there.
pub fn may(
    grants: &Grants,
    permission: Permission,
    target: Target<'_>,
) -> Result<(), NotPermitted> {
    let organisation = match (grants.scope(permission), target) {
        (RoleScope::Everywhere, _) => return Ok(()),
        (RoleScope::Organisations(none), _) if none.is_empty() => {
            return Err(NotPermitted::NoRole(permission));
        }
        (RoleScope::Organisations(theirs), Target::Organisation(asked)) => {
            if theirs.contains(asked) {
                return Ok(());
            }
            Some(asked.to_owned())
        }
        (RoleScope::Organisations(_), Target::Everywhere) => None,
    };
    Err(NotPermitted::Elsewhere {
        permission,
        organisation,
    })
}

impl NotPermitted {
    /// A stable word, for clients and metrics.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoRole(_) => "no_role",
            Self::Elsewhere { .. } => "other_organisation",
        }
    }
}

impl fmt::Display for NotPermitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRole(permission) => write!(
                f,
                "to {} takes the role {}; `towpath access` prints who may do what",
                permission.words(),
                permission.roles_in_words()
            ),
            Self::Elsewhere {
                permission,
                organisation: Some(organisation),
            } => write!(
                f,
                "your role to {} is for another organisation than {organisation:?}; ask somebody with the role {} there",
                permission.words(),
                permission.roles_in_words()
            ),
            Self::Elsewhere {
                permission,
                organisation: None,
            } => write!(
                f,
                "this concerns every organisation, and your role to {} is for one; name that organisation, or ask somebody with the role {} everywhere",
                permission.words(),
                permission.roles_in_words()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(list: &[(Role, &str)]) -> Grants {
        let grant = |(role, organisation): &(Role, &str)| {
            let reach = match *organisation {
                "*" => Reach::Everywhere,
                name => Reach::Organisation(name.into()),
            };
            (*role, reach)
        };
        list.iter().map(grant).collect()
    }

    #[test]
    fn a_role_reaches_its_organisation_and_nothing_else() {
        let (here, elsewhere) = (Target::Organisation("acme"), Target::Organisation("beta"));
        for (held, target, expected) in [
            (&[(Role::Operator, "*")][..], here, None),
            (&[(Role::Operator, "*")], Target::Everywhere, None),
            (&[(Role::Operator, "acme")], here, None),
            (
                &[(Role::Operator, "acme")],
                elsewhere,
                Some("other_organisation"),
            ),
            (
                &[(Role::Operator, "acme")],
                Target::Everywhere,
                Some("other_organisation"),
            ),
            (
                &[(Role::Operator, "Acme")],
                here,
                Some("other_organisation"),
            ),
            (
                &[(Role::Operator, "acme"), (Role::Operator, "beta")],
                elsewhere,
                None,
            ),
            (
                &[(Role::Operator, "acme"), (Role::Operator, "beta")],
                Target::Everywhere,
                Some("other_organisation"),
            ),
            (&[(Role::Viewer, "*")], here, Some("no_role")),
            (
                &[(Role::ReleaseAdministrator, "*"), (Role::Operator, "beta")],
                here,
                Some("other_organisation"),
            ),
            (&[], here, Some("no_role")),
        ] {
            let decided = may(&grants(held), Permission::Pause, target);
            let kind = decided.err().map(|refusal| refusal.kind());
            assert_eq!(kind, expected, "{held:?} {target:?}");
        }
    }

    #[test]
    fn a_refusal_names_the_role_that_helps() {
        let refused = may(&Grants::default(), Permission::UndoHalt, Target::Everywhere);
        assert_eq!(
            refused.unwrap_err().to_string(),
            "to undo a halt takes the role release-administrator or second-signer; `towpath access` prints who may do what"
        );
    }
}
