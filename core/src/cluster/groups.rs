//! Groups: how people have sorted a cluster, by a sector and by labels.
//!
//! A fleet's policy says them, or a file that the service reads. A cluster cannot: no request has
//! them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The groups that a cluster is in. Whoever knows them knows all of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Groups {
    /// Its sector in the fleet's policy, if it is in one.
    pub sector: Option<Arc<str>>,
    pub labels: BTreeMap<String, String>,
}

/// Clusters of one group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    Sector(Arc<str>),
    Label { name: Arc<str>, value: Arc<str> },
}

impl Groups {
    /// The most labels of a cluster that a file may name.
    pub const MAX_LABELS: usize = 64;

    /// Whether they are known to be those of this group.
    pub fn are_in(&self, group: &Group) -> bool {
        match group {
            Group::Sector(sector) => self.sector.as_ref() == Some(sector),
            Group::Label { name, value } => {
                self.labels.get(&**name).map(String::as_str) == Some(&**value)
            }
        }
    }
}

impl Group {
    /// The longest sector, and the longest name or value of a label, in bytes.
    pub const MAX_BYTES: usize = 253;

    /// Whether no cluster is in both: it has one sector, and each of its labels has one value.
    pub fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sector(a), Self::Sector(b)) => a != b,
            (Self::Label { name: a, value: v }, Self::Label { name: b, value: w }) => {
                a == b && v != w
            }
            _ => false,
        }
    }
}

/// As one reads it: `sector canary`, `label tier=dev`.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sector(sector) => write!(f, "sector {sector}"),
            Self::Label { name, value } => write!(f, "label {name}={value}"),
        }
    }
}
