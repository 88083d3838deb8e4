//! Versions, architectures, and the names that release administrators use for them.
//!
//! A release is identified by its version *without* build metadata and its architecture. In files
//! the architecture may take the place of SemVer's build metadata (`4.2.14+amd64`). Such a name
//! means that architecture alone. A bare name means all of them. `4.2.10-s390x` is a version of
//! its own.

use std::fmt;
use std::sync::Arc;

use super::Minor;

/// The longest version we take in, so that matching costs stay bounded.
pub const MAX_VERSION_BYTES: usize = 128;

/// A release version, ordered by SemVer precedence. Never has build metadata.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(semver::Version);

/// A payload architecture as clients name it: `amd64`, `arm64`, `multi`, …
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(Arc<str>);

/// A version, and the one architecture it is meant for; `None` means every architecture.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReleaseName {
    /// The version, without the architecture.
    pub version: Version,
    /// The only architecture meant, if the name has one.
    pub arch: Option<Arch>,
}

/// Why a text is not a release name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a version: {problem}")]
pub struct NotAVersion {
    text: String,
    problem: String,
}

impl Version {
    /// The major version: the 4 of 4.9.7.
    pub fn major(&self) -> u64 {
        self.0.major
    }

    /// The minor version: the 9 of 4.9.7.
    pub fn minor(&self) -> u64 {
        self.0.minor
    }

    /// The patch level: the 7 of 4.9.7.
    pub fn patch(&self) -> u64 {
        self.0.patch
    }

    /// The pre-release part: the `rc.1` of 4.9.0-rc.1, empty for a final release.
    pub fn pre_release(&self) -> &str {
        self.0.pre.as_str()
    }

    /// Whether both belong to one minor version: 4.9.7 and 4.9.8 do, 4.9.7 and 4.10.0 do not.
    pub fn same_minor(&self, other: &Self) -> bool {
        (self.major(), self.minor()) == (other.major(), other.minor())
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Arch {
    /// What clients that name none are on.
    pub const DEFAULT: &'static str = "amd64";

    /// The architecture of that name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Arch {
    fn default() -> Self {
        Self::new(Self::DEFAULT)
    }
}

impl std::borrow::Borrow<str> for Arch {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl ReleaseName {
    /// Reads `4.9.7` or `4.9.7+amd64`.
    pub fn parse(text: &str) -> Result<Self, NotAVersion> {
        let wrong = |problem: String| NotAVersion {
            text: text.chars().take(MAX_VERSION_BYTES).collect(),
            problem,
        };
        if text.len() > MAX_VERSION_BYTES {
            return Err(wrong(format!(
                "it is longer than {MAX_VERSION_BYTES} bytes"
            )));
        }
        let mut version =
            semver::Version::parse(text).map_err(|error| wrong(problem(text, &error)))?;
        let build = std::mem::take(&mut version.build);
        let arch = (!build.is_empty()).then(|| Arch::new(build.as_str()));
        Ok(Self {
            version: Version(version),
            arch,
        })
    }

    /// Whether this name means the release of that architecture.
    pub fn means(&self, arch: &Arch) -> bool {
        self.arch.as_ref().is_none_or(|only| only == arch)
    }
}

/// What is wrong with a text that is no version, in words that say what to write.
fn problem(text: &str, error: &semver::Error) -> String {
    let without_v = text.strip_prefix(['v', 'V']);
    if without_v.is_some_and(|rest| semver::Version::parse(rest).is_ok()) {
        return "leave out the v".to_owned();
    }
    if Minor::parse(text).is_some() {
        return format!("a release has three numbers, as in {text}.3");
    }
    match text.contains('.') {
        true => error.to_string(),
        false => "a release has three numbers, as in 4.20.3".to_owned(),
    }
}

impl fmt::Display for ReleaseName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.arch {
            Some(arch) => write!(f, "{}+{arch}", self.version),
            None => self.version.fmt(f),
        }
    }
}

impl std::str::FromStr for Version {
    type Err = NotAVersion;

    fn from_str(text: &str) -> Result<Self, NotAVersion> {
        let name = ReleaseName::parse(text)?;
        match name.arch {
            None => Ok(name.version),
            Some(arch) => Err(NotAVersion {
                text: text.to_owned(),
                problem: format!("no architecture ({arch}) is expected here"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn build_metadata_names_the_architecture() {
        let name = ReleaseName::parse("4.2.14+amd64").unwrap();
        assert_eq!(name.version.to_string(), "4.2.14");
        assert!(name.means(&Arch::new("amd64")) && !name.means(&Arch::new("s390x")));
        assert!(
            ReleaseName::parse("4.2.14")
                .unwrap()
                .means(&Arch::new("s390x"))
        );
    }

    #[test]
    fn a_suffix_with_a_hyphen_is_a_version_of_its_own() {
        let name = ReleaseName::parse("4.2.10-s390x").unwrap();
        assert_eq!((name.version.pre_release(), name.arch), ("s390x", None));
    }

    #[test]
    fn versions_order_by_precedence() {
        let v = |text: &str| text.parse::<Version>().unwrap();
        assert!(v("4.9.10") > v("4.9.9"));
        assert!(v("4.10.0-rc.2") < v("4.10.0"));
        assert!(v("4.10.0-rc.10") > v("4.10.0-rc.9"));
    }

    #[test]
    fn nonsense_is_named_in_the_error() {
        for (text, told) in [
            ("4.9", "a release has three numbers, as in 4.9.3"),
            ("latest", "a release has three numbers, as in 4.20.3"),
            ("", "a release has three numbers, as in 4.20.3"),
            ("v4.9.7", "leave out the v"),
            (
                "4.9.x",
                "unexpected character 'x' while parsing patch version number",
            ),
        ] {
            let error = ReleaseName::parse(text).unwrap_err().to_string();
            assert_eq!(error, format!("{text:?} is not a version: {told}"));
        }
        assert!(ReleaseName::parse(&format!("4.9.0-{}", "x".repeat(200))).is_err());
    }
}
