//! What is known of a digest, as bytes to be kept. What cannot be read back is as if it were not known.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use towpath_core::version::{Arch, ReleaseName};

use super::ReleaseImage;
use crate::oci::Digest;

/// What there is to know of a digest, for ever: what it is, and its releases or why it has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Known {
    /// It is one image, or it cannot be told what it is.
    Image(Result<ReleaseImage, String>),
    /// It is a list of images.
    List(Result<Vec<ReleaseImage>, String>),
}

impl Known {
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
enum Wire {
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
pub fn write_known(known: &Known) -> Vec<u8> {
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
        Known::Image(Ok(image)) => Wire::Image(release(image)),
        Known::Image(Err(why)) => Wire::NoImage(why.clone()),
        Known::List(Ok(releases)) => Wire::List(releases.iter().map(release).collect()),
        Known::List(Err(why)) => Wire::NoList(why.clone()),
    };
    serde_json::to_vec(&wire).expect("maps with text keys can be written")
}

/// What was known; none if these bytes do not say.
pub fn read_known(bytes: &[u8]) -> Option<Known> {
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
        Wire::Image(image) => Known::Image(Ok(release(image)?)),
        Wire::NoImage(why) => Known::Image(Err(why)),
        Wire::List(releases) => Known::List(Ok(releases
            .into_iter()
            .map(release)
            .collect::<Option<Vec<_>>>()?)),
        Wire::NoList(why) => Known::List(Err(why)),
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
            Known::Image(Ok(image.clone())),
            Known::Image(Err(why())),
            Known::List(Ok(vec![image.clone(), image])),
            Known::List(Ok(vec![])),
            Known::List(Err(why())),
        ] {
            assert_eq!(read_known(&write_known(&known)), Some(known));
        }
        assert_eq!(read_known(b"{}"), None);
        assert_eq!(read_known(b"{\"list\":[{}]}"), None);
    }
}
