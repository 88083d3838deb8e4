//! What is known about a digest, as bytes for a cache. An unreadable entry counts as missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towpath_core::version::{Arch, ReleaseName};

use super::ReleaseImage;
use crate::sources::oci::Digest;

/// What there is to know of a digest, for ever: what it is, and its releases or why it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DigestContent {
    /// It is one image, or it cannot be told what it is.
    Image(Result<ReleaseImage, String>),
    /// It is a list of images.
    List(Result<Vec<ReleaseImage>, String>),
}

impl DigestContent {
    /// Its releases, or why it has none.
    pub fn releases(self) -> Result<Vec<ReleaseImage>, String> {
        match self {
            Self::Image(image) => image.map(|image| vec![image]),
            Self::List(releases) => releases,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
enum DigestContentBody {
    Image(WireRelease),
    NoImage(String),
    List(Vec<WireRelease>),
    NoList(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireRelease {
    version: String,
    arch: String,
    digest: String,
    previous: Vec<String>,
    next: Vec<String>,
    metadata: BTreeMap<String, String>,
}

/// What is known of a digest, as bytes.
pub fn write_known(known: &DigestContent) -> Vec<u8> {
    let texts = |names: &[ReleaseName]| names.iter().map(ToString::to_string).collect();
    let release = |image: &ReleaseImage| WireRelease {
        version: image.version.to_string(),
        arch: image.arch.to_string(),
        digest: image.digest.to_string(),
        previous: texts(&image.previous),
        next: texts(&image.next),
        metadata: image.metadata.clone(),
    };
    let wire = match known {
        DigestContent::Image(Ok(image)) => DigestContentBody::Image(release(image)),
        DigestContent::Image(Err(why)) => DigestContentBody::NoImage(why.clone()),
        DigestContent::List(Ok(releases)) => {
            DigestContentBody::List(releases.iter().map(release).collect())
        }
        DigestContent::List(Err(why)) => DigestContentBody::NoList(why.clone()),
    };
    serde_json::to_vec(&wire).expect("maps with text keys can be written")
}

/// What was known; none if these bytes do not say.
pub fn read_known(bytes: &[u8]) -> Option<DigestContent> {
    let names = |texts: &[String]| {
        texts
            .iter()
            .map(|text| ReleaseName::parse(text).ok())
            .collect::<Option<Vec<_>>>()
    };
    let release = |wire: WireRelease| {
        Some(ReleaseImage {
            version: wire.version.parse().ok()?,
            arch: Arch::new(wire.arch),
            digest: Digest::parse(&wire.digest)?,
            previous: names(&wire.previous)?,
            next: names(&wire.next)?,
            metadata: wire.metadata,
        })
    };
    Some(match serde_json::from_slice(bytes).ok()? {
        DigestContentBody::Image(image) => DigestContent::Image(Ok(release(image)?)),
        DigestContentBody::NoImage(why) => DigestContent::Image(Err(why)),
        DigestContentBody::List(releases) => DigestContent::List(Ok(releases
            .into_iter()
            .map(release)
            .collect::<Option<Vec<_>>>()?)),
        DigestContentBody::NoList(why) => DigestContent::List(Err(why)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let image = ReleaseImage {
            version: "4.9.7".parse().unwrap(),
            arch: Arch::new("multi"),
            digest: Digest::of(b"x"),
            previous: vec![
                ReleaseName::parse("4.9.6+amd64").unwrap(),
                ReleaseName::parse("4.9.5").unwrap(),
            ],
            next: vec![ReleaseName::parse("4.9.8").unwrap()],
            metadata: BTreeMap::from([("url".into(), "https://example.com/\"\n".into())]),
        };
        let why = || "it has no \"metadata\"".to_owned();
        for known in [
            DigestContent::Image(Ok(image.clone())),
            DigestContent::Image(Err(why())),
            DigestContent::List(Ok(vec![image.clone(), image])),
            DigestContent::List(Ok(vec![])),
            DigestContent::List(Err(why())),
        ] {
            assert_eq!(read_known(&write_known(&known)), Some(known));
        }
        assert_eq!(read_known(b"{}"), None);
        assert_eq!(read_known(b"{\"list\":[{}]}"), None);
    }
}
