//! Binding: who says which organisation a cluster belongs to and what it is called.
//!
//! A cluster is *bound* once somebody in charge says so: an administrator's list or import, OCM,
//! or a token that names both. A cluster's own word binds nothing. The time of an unbound cluster
//! is stored but counts for no soak. An unbound cluster can take nothing away from a bound one.

use super::Name;

/// Whether somebody in charge has said which organisation and name a cluster has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Binding {
    /// A list, OCM, or a token that names both says so.
    Bound,
    /// Only the cluster itself says so.
    #[default]
    Unbound,
}

/// On whose word a cluster's state was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// An administrator's list or import, or OCM.
    List,
    /// A token that names organisation, name and id.
    Token,
    /// The cluster's own word: a token of the first version, which names the id alone.
    Claim,
}

/// The organisation and name that a cluster has, or says it has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundIdentity {
    pub organisation: Name,
    /// The name; none: it was left out, and the one that is known stays.
    pub name: Option<Name>,
}

/// A report for another organisation or name than its cluster is bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAsBound;

impl Authority {
    /// Whether a cluster is bound after a report on this authority. A list may bind it to something else; nobody else may.
    pub fn bind(
        self,
        bound_to: Option<&BoundIdentity>,
        said: &BoundIdentity,
    ) -> Result<Binding, NotAsBound> {
        let other_name = |bound: &BoundIdentity| said.name.is_some() && said.name != bound.name;
        match (self, bound_to) {
            (Self::List, _) | (Self::Token, None) => Ok(Binding::Bound),
            (Self::Claim, None) => Ok(Binding::Unbound),
            (Self::Token | Self::Claim, Some(bound)) => {
                match bound.organisation != said.organisation || other_name(bound) {
                    true => Err(NotAsBound),
                    false => Ok(Binding::Bound),
                }
            }
        }
    }
}

impl Binding {
    pub fn is_bound(self) -> bool {
        matches!(self, Self::Bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_may_bind_a_cluster_to_what() {
        let identity = |organisation: &str, name: Option<&str>| BoundIdentity {
            organisation: organisation.into(),
            name: name.map(Into::into),
        };
        let acme = identity("acme", Some("p1"));
        for (what, authority, bound_to, said, expected) in [
            (
                "a list binds",
                Authority::List,
                None,
                identity("acme", Some("p1")),
                Ok(Binding::Bound),
            ),
            (
                "a list binds anew",
                Authority::List,
                Some(&acme),
                identity("beta", Some("x")),
                Ok(Binding::Bound),
            ),
            (
                "a token binds",
                Authority::Token,
                None,
                identity("acme", Some("p1")),
                Ok(Binding::Bound),
            ),
            (
                "a claim does not",
                Authority::Claim,
                None,
                identity("acme", Some("p1")),
                Ok(Binding::Unbound),
            ),
            (
                "nor does it unbind",
                Authority::Claim,
                Some(&acme),
                identity("acme", Some("p1")),
                Ok(Binding::Bound),
            ),
            (
                "a name may be left out",
                Authority::Claim,
                Some(&acme),
                identity("acme", None),
                Ok(Binding::Bound),
            ),
            (
                "another name",
                Authority::Token,
                Some(&acme),
                identity("acme", Some("p2")),
                Err(NotAsBound),
            ),
            (
                "another organisation",
                Authority::Token,
                Some(&acme),
                identity("beta", Some("p1")),
                Err(NotAsBound),
            ),
            (
                "a claim to another",
                Authority::Claim,
                Some(&acme),
                identity("beta", None),
                Err(NotAsBound),
            ),
        ] {
            assert_eq!(authority.bind(bound_to, &said), expected, "{what}");
        }
    }
}
