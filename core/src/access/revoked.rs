//! Tokens that end before their time.
//!
//! One token ends by its serial. All tokens of a person or of a cluster that were made before an instant end by name or id;
//! tokens that are made later count.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::cluster::ClusterId;
use crate::fleet::Name;

/// Which tokens end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revoked {
    Serial(Name),
    /// Those of a person.
    Person {
        name: Name,
        made_before: Timestamp,
    },
    /// Those of a cluster.
    Cluster {
        id: ClusterId,
        made_before: Timestamp,
    },
}

/// That tokens end, and who wanted it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    pub revoked: Revoked,
    pub by: Name,
    pub at: Timestamp,
    pub why: Name,
}

/// What a token says of itself.
#[derive(Debug, Clone, Copy)]
pub struct TokenFacts<'a> {
    pub serial: &'a str,
    /// None: it does not say, so it counts as made before everything.
    pub made: Option<Timestamp>,
    pub person: Option<&'a str>,
    pub cluster: Option<&'a ClusterId>,
}

/// All tokens that ended before their time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RevokedTokens {
    serials: BTreeSet<Name>,
    people: BTreeMap<Name, Timestamp>,
    clusters: BTreeMap<ClusterId, Timestamp>,
}

impl RevokedTokens {
    pub fn contain(&self, token: TokenFacts<'_>) -> bool {
        let is_older = |before: &Timestamp| token.made.is_none_or(|made| made < *before);
        let person = token.person.and_then(|name| self.people.get(name));
        let cluster = token.cluster.and_then(|id| self.clusters.get(id));
        self.serials.contains(token.serial)
            || person.is_some_and(is_older)
            || cluster.is_some_and(is_older)
    }
}

impl<'a> FromIterator<&'a Revoked> for RevokedTokens {
    fn from_iter<I: IntoIterator<Item = &'a Revoked>>(all: I) -> Self {
        let mut tokens = Self::default();
        for revoked in all {
            match revoked {
                Revoked::Serial(serial) => _ = tokens.serials.insert(serial.clone()),
                Revoked::Person { name, made_before } => {
                    let before = tokens.people.entry(name.clone()).or_insert(*made_before);
                    *before = (*before).max(*made_before);
                }
                Revoked::Cluster { id, made_before } => {
                    let before = tokens.clusters.entry(id.clone()).or_insert(*made_before);
                    *before = (*before).max(*made_before);
                }
            }
        }
        tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn a_token_ends_by_its_serial_and_by_whose_it_is() {
        let id = ClusterId::new("0f3a").unwrap();
        let revoked = [
            Revoked::Serial("AAAAAAAA".into()),
            Revoked::Person {
                name: "ada".into(),
                made_before: at(50),
            },
            Revoked::Person {
                name: "ada".into(),
                made_before: at(40),
            },
            Revoked::Cluster {
                id: id.clone(),
                made_before: at(50),
            },
        ];
        let revoked: RevokedTokens = revoked.iter().collect();
        let other = ClusterId::new("0f3b").unwrap();
        for (serial, made, person, cluster, expected) in [
            ("AAAAAAAA", Some(at(99)), None, None, true),
            ("BBBBBBBB", Some(at(49)), None, None, false),
            ("BBBBBBBB", Some(at(49)), Some("ada"), None, true),
            ("BBBBBBBB", Some(at(50)), Some("ada"), None, false),
            ("BBBBBBBB", None, Some("ada"), None, true),
            ("BBBBBBBB", None, Some("bob"), None, false),
            ("BBBBBBBB", Some(at(49)), None, Some(&id), true),
            ("BBBBBBBB", Some(at(50)), None, Some(&id), false),
            ("BBBBBBBB", Some(at(49)), None, Some(&other), false),
        ] {
            let token = TokenFacts {
                serial,
                made,
                person,
                cluster,
            };
            assert_eq!(revoked.contain(token), expected, "{token:?}");
        }
    }
}
