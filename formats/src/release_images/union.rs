//! The releases of a repository: what its tags point at, each release once.

use std::collections::BTreeMap;

use towpath_core::domain::{Arch, Version};
use towpath_core::finding::{Finding, Place};

use super::ReleaseImage;
use crate::oci::Repository;

/// A tag, and a release that it points at.
#[derive(Debug, Clone)]
pub struct Tagged {
    /// The tag.
    pub tag: String,
    /// One of its releases.
    pub image: ReleaseImage,
}

/// Each release once. Several tags of one digest are one release. Where two digests claim one version and architecture, one is kept, with a
/// finding: the one whose tag begins with the version, and of several the first by name.
pub fn union(repository: &Repository, tagged: Vec<Tagged>) -> (Vec<ReleaseImage>, Vec<Finding>) {
    let mut claims: BTreeMap<(Arch, Version), Vec<Tagged>> = BTreeMap::new();
    for one in tagged {
        claims.entry((one.image.arch.clone(), one.image.version.clone())).or_default().push(one);
    }
    let mut findings = Vec::new();
    let mut releases = Vec::with_capacity(claims.len());
    for ((arch, version), mut claims) in claims {
        let named = version.to_string();
        claims.sort_by(|a, b| (!a.tag.starts_with(&named), &a.tag).cmp(&(!b.tag.starts_with(&named), &b.tag)));
        let kept = claims.swap_remove(0);
        claims.sort_by(|a, b| a.tag.cmp(&b.tag));
        for other in claims.iter().filter(|other| other.image.digest != kept.image.digest) {
            let place = Place::file(format!("{repository}:{}", other.tag));
            let problem =
                format!("it is {version} of {arch}, and so is {}, with another digest; that one is kept", kept.tag);
            findings.push(Finding::warning("duplicate-release", place, problem, "remove the tag of the wrong one"));
        }
        releases.push(kept.image);
    }
    (releases, findings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oci::Digest;

    #[test]
    fn each_release_comes_once_and_the_well_named_tag_counts() {
        let one = |tag: &str, arch: &str, content: &str| Tagged {
            tag: tag.into(),
            image: ReleaseImage {
                version: "4.9.7".parse().unwrap(),
                arch: Arch::new(arch),
                digest: Digest::of(content.as_bytes()),
                previous: vec![],
                next: vec![],
                metadata: BTreeMap::new(),
            },
        };
        let repository = Repository::parse("r.io/x").unwrap();
        let tagged = vec![
            one("0-first", "amd64", "bad"),
            one("4.9.7-x86_64", "amd64", "good"),
            one("good-too", "amd64", "good"),
            one("4.9.7-s390x", "s390x", "s"),
        ];
        for tagged in [tagged.clone(), tagged.into_iter().rev().collect()] {
            let (releases, findings) = union(&repository, tagged);
            let digests: Vec<_> = releases.iter().map(|release| release.digest.clone()).collect();
            assert_eq!(digests, [Digest::of(b"good"), Digest::of(b"s")]);
            let said: Vec<String> = findings.iter().map(ToString::to_string).collect();
            assert_eq!(
                said,
                [
                    "r.io/x:0-first: it is 4.9.7 of amd64, and so is 4.9.7-x86_64, with another digest; that one is kept; remove the tag of the wrong one"
                ]
            );
        }
    }
}
