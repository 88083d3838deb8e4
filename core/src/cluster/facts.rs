//! The facts of one cluster. Each is known or explicitly unknown.

use std::fmt;
use std::sync::Arc;

use super::Groups;
use crate::graph::ChannelName;
use crate::version::Arch;

/// Something that is known, or is not. An unknown fact never loosens an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fact<T> {
    Known(T),
    #[default]
    Unknown,
}

impl<T> Fact<T> {
    /// The value, if it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::Unknown => None,
        }
    }
}

impl<T> From<Option<T>> for Fact<T> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Unknown, Self::Known)
    }
}

/// A cluster's id, as it sends it. Taken as bytes: two spellings are two clusters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClusterId(Arc<str>);

/// The infrastructure a cluster runs on (`AWS`, `BareMetal`, `None`, …), compared without regard to case.
#[derive(Debug, Clone, Eq)]
pub struct Platform(Arc<str>);

/// Stands for all known platforms that no block names.
const ANOTHER: &str = "another platform";

/// What rules may know of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    pub id: Fact<ClusterId>,
    pub platform: Fact<Platform>,
    /// How people have sorted it. Nothing that the cluster says itself.
    pub groups: Fact<Arc<Groups>>,
    pub channel: ChannelName,
    /// The architecture of its payload.
    pub arch: Arch,
}

impl Cluster {
    /// A cluster that tells nothing but its channel and architecture.
    pub fn anonymous(channel: ChannelName, arch: Arch) -> Self {
        Self {
            id: Fact::Unknown,
            platform: Fact::Unknown,
            groups: Fact::Unknown,
            channel,
            arch,
        }
    }

    /// How people have sorted it, if that is known.
    pub fn groups(&self) -> Option<&Groups> {
        self.groups.known().map(|groups| &**groups)
    }
}

impl std::borrow::Borrow<str> for ClusterId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl ClusterId {
    /// The longest id we take in.
    pub const MAX_CHARACTERS: usize = 128;

    /// The id, unless it is empty or too long to be one. Space around it is not part of it. A UUID is one in upper and in lower case,
    /// so it is kept in lower case; any other id is kept as it is.
    pub fn new(id: &str) -> Option<Self> {
        let id = id.trim();
        match is_uuid(id) && id.bytes().any(|b| b.is_ascii_uppercase()) {
            true => Self::as_recorded(&id.to_ascii_lowercase()),
            false => Self::as_recorded(id),
        }
    }

    /// The id exactly as it was written down: a decision is made again on what it was made on.
    pub fn as_recorded(id: &str) -> Option<Self> {
        let fits = id.len() <= Self::MAX_CHARACTERS || id.chars().count() <= Self::MAX_CHARACTERS;
        (!id.is_empty() && fits).then(|| Self(id.into()))
    }

    /// How a UUID was kept by versions of this program that told upper from lower case.
    pub fn in_upper_case(&self) -> String {
        match is_uuid(&self.0) {
            true => self.0.to_ascii_uppercase(),
            false => self.0.to_string(),
        }
    }

    /// As the cluster sends it, a UUID in lower case.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether it looks like `bbbbbbbb-0000-4000-8000-000000000001`.
fn is_uuid(id: &str) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    let fits = |(at, byte): (usize, u8)| match is_dash(at) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    };
    id.len() == 36 && id.bytes().enumerate().all(fits)
}

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Platform {
    /// The longest name we take in.
    pub const MAX_BYTES: usize = 63;

    /// The platform of that name: letters, digits, `.`, `_` and `-`.
    pub fn new(name: &str) -> Option<Self> {
        let well_formed = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
        let fits = (1..=Self::MAX_BYTES).contains(&name.len());
        (fits && name.bytes().all(well_formed)).then(|| Self(name.into()))
    }

    /// Every platform that OpenShift has: the values of `status.platformStatus.type` of an Infrastructure, which the metric
    /// `cluster_infrastructure_provider` has as its label `type`.
    pub const KNOWN: [&str; 16] = [
        "AWS",
        "AlibabaCloud",
        "Azure",
        "BareMetal",
        "EquinixMetal",
        "External",
        "GCP",
        "IBMCloud",
        "KubeVirt",
        "Libvirt",
        "None",
        "Nutanix",
        "OpenStack",
        "PowerVS",
        "VSphere",
        "oVirt",
    ];

    /// A known platform that no block can name: its name is not well-formed.
    pub(crate) fn that_nothing_names() -> Self {
        Self(ANOTHER.into())
    }

    /// Whether OpenShift has this platform. A name that it does not have is misspelt, or newer than this towpath, and says
    /// nothing about where a cluster runs.
    pub fn is_known(&self) -> bool {
        Self::KNOWN.iter().any(|name| self.is_named(name)) || *self.0 == *ANOTHER
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether that text names this platform, in any case: `aws` is `AWS`, so that a spelling never opens a block.
    pub fn is_named(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }

    fn folded(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.bytes().map(|b| b.to_ascii_lowercase())
    }
}

impl PartialEq for Platform {
    fn eq(&self, other: &Self) -> bool {
        self.is_named(&other.0)
    }
}

impl PartialOrd for Platform {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Platform {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.folded().cmp(other.folded())
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_the_same_in_upper_and_lower_case_and_other_ids_are_not() {
        let lower = "bbbbbbbb-0000-4abc-8def-000000000001";
        let spellings = [
            lower.to_owned(),
            lower.to_ascii_uppercase(),
            lower.replace("abc", "aBc"),
            format!(" {lower}\t\n"),
        ];
        for spelling in &spellings {
            let id = ClusterId::new(spelling).unwrap();
            assert_eq!(id.as_str(), lower, "{spelling:?}");
            assert_eq!(id.in_upper_case(), lower.to_ascii_uppercase());
        }
        for other in [
            "1abC",
            "shop-EU",
            "BBBBBBBB-0000-4ABC-8DEF-00000000000G",
            "BBBBBBBB00004ABC8DEF000000000001",
        ] {
            let id = ClusterId::new(other).unwrap();
            assert_eq!((id.as_str(), &*id.in_upper_case()), (other, other));
        }
        assert_eq!((ClusterId::new(" "), ClusterId::new("")), (None, None));
        assert_eq!(
            ClusterId::as_recorded(&spellings[1]).unwrap().as_str(),
            spellings[1]
        );
    }

    #[test]
    fn platforms_are_compared_without_regard_to_case() {
        assert_eq!(Platform::new("aws"), Platform::new("AWS"));
        assert_ne!(Platform::new("AWS"), Platform::new("Azure"));
    }

    #[test]
    fn a_platform_that_openshift_does_not_have_is_not_known() {
        let is_known = |name: &str| Platform::new(name).unwrap().is_known();
        assert!(
            ["AWS", "vsphere", "ovirt", "None"]
                .into_iter()
                .all(is_known)
        );
        assert!(!["Amazon", "Vshpere", "another"].into_iter().any(is_known));
        assert!(Platform::that_nothing_names().is_known());
    }

    #[test]
    fn what_is_no_platform_is_not_taken_for_one() {
        for text in ["", "a b", "ÄWS", "a,b"] {
            assert_eq!(Platform::new(text), None, "{text:?}");
        }
        assert_eq!(Platform::new(&"x".repeat(64)), None);
    }
}
