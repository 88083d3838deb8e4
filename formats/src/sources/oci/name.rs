//! Image names: `host/repository`, `host/repository:tag`, `host/repository@sha256:…`.
//!
//! An accepted name is safe in a URL as it is: no part of it can lead anywhere else.

use std::fmt;

use sha2::{Digest as _, Sha256};
use towpath_core::hex;

const MAX_PATH_BYTES: usize = 255;
const MAX_TAG_BYTES: usize = 128;

/// A repository of a registry.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Repository {
    host: String,
    path: String,
}

/// An image of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageName {
    /// The repository it is in.
    pub repository: Repository,
    pub reference: Reference,
}

/// Which image of a repository.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reference {
    /// The one that a tag points at today.
    Tag(String),
    /// The one with this digest, for ever.
    Digest(Digest),
}

/// The SHA-256 of some content: `sha256:` and 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Digest(String);

/// Why a text is not the name of a repository or image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAName {
    text: String,
    problem: &'static str,
}

impl fmt::Display for NotAName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.text, self.problem)
    }
}

impl std::error::Error for NotAName {}

impl Repository {
    /// Reads `quay.io/openshift-release-dev/ocp-release`.
    pub fn parse(text: &str) -> Result<Self, NotAName> {
        let wrong = |problem| NotAName {
            text: text.chars().take(MAX_PATH_BYTES).collect(),
            problem,
        };
        if text.contains("://") {
            return Err(wrong("has a scheme; leave it out, as in quay.io/path/name"));
        }
        let (host, path) = text
            .split_once('/')
            .ok_or_else(|| wrong("has no `/` between registry and repository"))?;
        match (is_host(host), is_path(path)) {
            (true, true) => Ok(Self {
                host: host.to_owned(),
                path: path.to_owned(),
            }),
            (false, _) => Err(wrong(
                "does not begin with the host of a registry, as in quay.io/path/name",
            )),
            (true, false) => Err(wrong(
                "is not a repository: lower-case letters, digits, `.`, `_`, `-` between `/`",
            )),
        }
    }

    /// The registry: a host, and a port if it has one.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The repository's path in its registry.
    pub fn path(&self) -> &str {
        &self.path
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.host, self.path)
    }
}

impl ImageName {
    /// Reads `quay.io/path/name`, `quay.io/path/name:tag` or `quay.io/path/name@sha256:…`; without either it is `latest`.
    pub fn parse(text: &str) -> Result<Self, NotAName> {
        let wrong = |problem| NotAName {
            text: text.chars().take(2 * MAX_PATH_BYTES).collect(),
            problem,
        };
        if let Some((repository, digest)) = text.split_once('@') {
            let digest = Digest::parse(digest)
                .ok_or_else(|| wrong("has no sha256 digest behind its `@`"))?;
            return Ok(Self {
                repository: Repository::parse(repository)?,
                reference: Reference::Digest(digest),
            });
        }
        let name_at = text.rfind('/').unwrap_or(0);
        let (repository, tag) = match text[name_at..].split_once(':') {
            Some((name, tag)) => (&text[..name_at + name.len()], tag),
            None => (text, "latest"),
        };
        match is_tag(tag) {
            true => Ok(Self {
                repository: Repository::parse(repository)?,
                reference: Reference::Tag(tag.to_owned()),
            }),
            false => Err(wrong("has no tag behind its `:`")),
        }
    }
}

impl ImageName {
    /// The image of the same repository that has this digest.
    pub fn at(&self, digest: Digest) -> Self {
        Self {
            repository: self.repository.clone(),
            reference: Reference::Digest(digest),
        }
    }
}

impl fmt::Display for ImageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.reference {
            Reference::Tag(tag) => write!(f, "{}:{tag}", self.repository),
            Reference::Digest(digest) => write!(f, "{}@{digest}", self.repository),
        }
    }
}

impl Reference {
    /// The tag of that name, if it can be one.
    pub fn tag(name: &str) -> Option<Self> {
        is_tag(name).then(|| Self::Tag(name.to_owned()))
    }

    /// As it stands in a URL.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Tag(tag) => tag,
            Self::Digest(digest) => digest.as_str(),
        }
    }
}

impl Digest {
    /// Reads `sha256:…`. Other algorithms are not taken.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.strip_prefix("sha256:")?;
        let is_hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        (hex.len() == 64 && hex.bytes().all(is_hex)).then(|| Self(text.to_owned()))
    }

    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::finished(Sha256::new_with_prefix(bytes))
    }

    /// The digest of what was hashed piece by piece.
    pub fn finished(hash: Sha256) -> Self {
        Self(format!("sha256:{}", hex::encode(&hash.finalize())))
    }

    /// With its algorithm in front.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn hex(&self) -> &str {
        &self.0["sha256:".len()..]
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A host that cannot be taken for the first part of a path: with a dot or a port, or `localhost`.
fn is_host(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b':' | b'[' | b']');
    let telling = text == "localhost" || text.contains(['.', ':']);
    telling
        && text.len() <= MAX_PATH_BYTES
        && text.bytes().all(plain)
        && !text.starts_with(['.', ':', '-'])
}

fn is_path(text: &str) -> bool {
    let plain = |b: u8| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' | b'-');
    let is_part = |part: &str| {
        part.bytes().all(plain) && part.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    text.len() <= MAX_PATH_BYTES && text.split('/').all(is_part)
}

fn is_tag(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
    !text.is_empty()
        && text.len() <= MAX_TAG_BYTES
        && text.bytes().all(plain)
        && !text.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "66cee7428ba0d3cb983bd2a437e576b2289e7fd5abafa70256200a5408b26644";

    #[test]
    fn names_are_read_and_shown_alike() {
        for (text, shown) in [
            ("quay.io/a/b", "quay.io/a/b:latest"),
            ("quay.io/a/b:4.9.7-x86_64", "quay.io/a/b:4.9.7-x86_64"),
            ("localhost:5000/a", "localhost:5000/a:latest"),
            ("[::1]:5000/a:t", "[::1]:5000/a:t"),
        ] {
            assert_eq!(
                ImageName::parse(text).map(|name| name.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
        let by_digest = format!("quay.io/a/b@sha256:{HEX}");
        assert_eq!(ImageName::parse(&by_digest).unwrap().to_string(), by_digest);
    }

    #[test]
    fn what_could_lead_elsewhere_is_no_name() {
        for text in [
            "",
            "b",
            "a/b",
            "quay.io/",
            "quay.io//b",
            "quay.io/../b",
            "quay.io/a/.b",
            "quay.io/A",
            "quay.io/a?b",
            "quay.io/a%2f",
            "quay.io/a#b",
            "user@quay.io/a",
            "quay.io:a/b:",
            "quay.io/a:..",
            "quay.io/a:x/y",
            "quay.io/a@sha256:12",
            "quay.io/a@md5:12",
            "quay.io/a b",
        ] {
            assert!(ImageName::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_digest_is_that_of_its_bytes() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").as_str(), empty);
        assert_eq!(Digest::parse(empty).unwrap().hex(), &empty[7..]);
        assert_eq!(Digest::parse(&empty.to_uppercase()), None);
    }
}
