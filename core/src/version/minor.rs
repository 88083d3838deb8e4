//! Minor versions: the 4.9 of OpenShift, the 1.22 of Kubernetes, and which of them belong together.

use std::fmt;

use super::Version;

/// A minor version, of OpenShift or of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Minor {
    /// The 4 of 4.9.
    pub major: u64,
    /// The 9 of 4.9.
    pub minor: u64,
}

impl Minor {
    pub const fn new(major: u64, minor: u64) -> Self {
        Self { major, minor }
    }

    /// The minor version that a release belongs to.
    pub fn of(version: &Version) -> Self {
        Self::new(version.major(), version.minor())
    }

    /// Reads `4.9`, and nothing else: no patch level, no sign, no space.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self::new(number(major)?, number(minor)?))
    }

    pub fn next(self) -> Self {
        Self::new(self.major, self.minor.saturating_add(1))
    }

    /// The Kubernetes that this minor version of OpenShift ships; none if nobody has told us.
    ///
    /// 4.1 has 1.13 and 4.2 has 1.14. 4.3 skipped one, with 1.16; from there on it is one for one.
    pub fn kubernetes(self) -> Option<Self> {
        match (self.major, self.minor) {
            (4, minor @ 1..=2) => Some(Self::new(1, minor + 12)),
            (4, minor @ 3..=MAX_MINOR) => Some(Self::new(1, minor + 13)),
            _ => None,
        }
    }
}

/// No minor version is larger than that.
const MAX_MINOR: u64 = 9_999;

fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    is_number
        .then(|| digits.parse().ok())
        .flatten()
        .filter(|number| *number <= MAX_MINOR)
}

impl fmt::Display for Minor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn openshift_ships_kubernetes() {
        for (openshift, kubernetes) in [
            ("4.1", "1.13"),
            ("4.2", "1.14"),
            ("4.3", "1.16"),
            ("4.6", "1.19"),
            ("4.9", "1.22"),
            ("4.22", "1.35"),
        ] {
            assert_eq!(
                Minor::parse(openshift).unwrap().kubernetes(),
                Minor::parse(kubernetes),
                "{openshift}"
            );
        }
        for unknown in [Minor::new(4, 0), Minor::new(5, 0), Minor::new(3, 11)] {
            assert_eq!(unknown.kubernetes(), None, "{unknown}");
        }
    }

    #[test]
    fn nothing_else_passes_for_a_minor_version() {
        for text in [
            "", "4", "4.", ".9", "4.9.7", "v4.9", "4.-9", "4.+9", " 4.9", "4.99999", "4.x",
        ] {
            assert_eq!(Minor::parse(text), None, "{text:?}");
        }
        assert_eq!(Minor::parse("4.10"), Some(Minor::new(4, 10)));
    }

    #[test]
    fn ten_comes_after_nine() {
        assert!(Minor::new(4, 10) > Minor::new(4, 9));
    }
}
