//! Minor versions: the 4.9 of OpenShift, the 1.22 of Kubernetes. Which of them belong together is
//! [`Minors`](super::Minors).

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

    /// How many minor versions it is behind another of the same major version. Another major version is further away than
    /// anything that is allowed.
    pub fn behind(self, other: Self) -> u64 {
        match self.major == other.major {
            true => other.minor.saturating_sub(self.minor),
            false => u64::MAX,
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
