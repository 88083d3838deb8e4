//! The releases of a repository: what its tags point at, each release once.
//!
//! If nobody can tell which image a release is, it is disputed. It stays, so that clusters that
//! run it can move on, but no edge leads to it. The same holds between sources.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};
use towpath_core::version::{Arch, Version};

use super::ReleaseImage;
use crate::sources::oci::Repository;

/// A release, and the tags that point at it.
#[derive(Debug, Clone)]
pub struct Tagged {
    /// The tags, by name. There is at least one.
    pub tags: Arc<[String]>,
    pub image: Arc<ReleaseImage>,
}

/// What is in a repository.
#[derive(Debug, Clone, Default)]
pub struct Union {
    pub releases: Vec<Arc<ReleaseImage>>,
    /// Those that no edge may lead to.
    pub disputed: BTreeSet<(Arch, Version)>,
    /// Who says what of them.
    pub findings: Vec<Finding>,
}

/// Each release once. Several tags of one digest are one release. Where two digests claim one version and architecture, or one digest two versions,
/// the release is disputed; of two digests, the one stays whose tag begins with the version, and of several the first by name.
pub fn union(repository: &Repository, tagged: Vec<Tagged>) -> Union {
    let mut claims: BTreeMap<(Arch, Version), Vec<Tagged>> = BTreeMap::new();
    for one in tagged {
        claims
            .entry((one.image.arch.clone(), one.image.version.clone()))
            .or_default()
            .push(one);
    }
    let mut union = Union::default();
    let mut versions: BTreeMap<(Arch, String), Version> = BTreeMap::new();
    for ((arch, version), mut claims) in claims {
        let named = version.to_string();
        claims.sort_by(|a, b| a.best_tag(&named).cmp(&b.best_tag(&named)));
        let kept = claims.swap_remove(0);
        claims.sort_by(|a, b| a.tags.cmp(&b.tags));
        for other in claims
            .iter()
            .filter(|other| other.image.digest != kept.image.digest)
        {
            let problem = format!(
                "it is {version} of {arch}, and so is {}, with another digest",
                kept.best_tag(&named).1
            );
            union.dispute(repository, other, problem, [(&arch, &version)]);
        }
        let digest = (arch.clone(), kept.image.digest.to_string());
        if let Some(first) = versions.insert(digest, version.clone()) {
            let problem =
                format!("it is {version} of {arch}, and the same digest is {first} as well");
            union.dispute(
                repository,
                &kept,
                problem,
                [(&arch, &version), (&arch, &first)],
            );
        }
        union.releases.push(kept.image);
    }
    union
}

impl Tagged {
    /// The tag by which it is best known: one that begins with the version comes first.
    fn best_tag(&self, version: &str) -> (u8, &str) {
        let rank = |tag: &String| u8::from(!tag.starts_with(version));
        self.tags
            .iter()
            .map(|tag| (rank(tag), tag.as_str()))
            .min()
            .unwrap_or((u8::MAX, ""))
    }
}

impl Union {
    fn dispute<'a>(
        &mut self,
        repository: &Repository,
        other: &Tagged,
        problem: String,
        releases: impl IntoIterator<Item = (&'a Arch, &'a Version)>,
    ) {
        let tag = other.tags.first().map(String::as_str).unwrap_or_default();
        let place = Place::file(format!("{repository}:{tag}"));
        let (problem, remedy) = (
            format!("{problem}; no update leads to it"),
            "remove the tag of the wrong one",
        );
        self.findings
            .push(Finding::warning("payload-disputed", place, problem, remedy));
        self.disputed.extend(
            releases
                .into_iter()
                .map(|(arch, version)| (arch.clone(), version.clone())),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::oci::Digest;

    fn one(tags: &str, version: &str, arch: &str, content: &str) -> Tagged {
        Tagged {
            tags: tags.split_whitespace().map(str::to_owned).collect(),
            image: Arc::new(ReleaseImage {
                version: version.parse().unwrap(),
                arch: Arch::new(arch),
                digest: Digest::of(content.as_bytes()),
                previous: vec![],
                next: vec![],
                metadata: BTreeMap::new(),
            }),
        }
    }

    /// The digests that stay, what is disputed, what is said; in whatever order the images come.
    fn told(tagged: &[Tagged]) -> (Vec<Digest>, Vec<String>, Vec<String>) {
        let repository = Repository::parse("r.io/x").unwrap();
        let told = |tagged: Vec<Tagged>| {
            let union = union(&repository, tagged);
            (
                union
                    .releases
                    .iter()
                    .map(|release| release.digest.clone())
                    .collect::<Vec<_>>(),
                union
                    .disputed
                    .iter()
                    .map(|(arch, version)| format!("{version}+{arch}"))
                    .collect::<Vec<_>>(),
                union
                    .findings
                    .iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>(),
            )
        };
        let forth = told(tagged.to_vec());
        assert_eq!(told(tagged.iter().rev().cloned().collect()), forth);
        forth
    }

    #[test]
    fn two_digests_for_one_release_are_a_dispute_and_the_well_named_tag_stays() {
        let (digests, disputed, said) = told(&[
            one("0-first 1-first", "4.9.7", "amd64", "bad"),
            one("4.9.7-x86_64", "4.9.7", "amd64", "good"),
            one("good-too", "4.9.7", "amd64", "good"),
            one("4.9.7-s390x", "4.9.7", "s390x", "s"),
        ]);
        assert_eq!(digests, [Digest::of(b"good"), Digest::of(b"s")]);
        assert_eq!(disputed, ["4.9.7+amd64"]);
        assert_eq!(
            said,
            [
                "r.io/x:0-first: it is 4.9.7 of amd64, and so is 4.9.7-x86_64, with another digest; no update leads to it; remove the tag of the wrong one"
            ]
        );
    }

    #[test]
    fn one_digest_under_two_versions_is_a_dispute_about_both() {
        let (digests, disputed, said) = told(&[
            one("a", "4.9.7", "amd64", "same"),
            one("b", "4.9.8", "amd64", "same"),
            one("c", "4.9.9", "s390x", "same"),
        ]);
        assert_eq!(digests.len(), 3);
        assert_eq!(disputed, ["4.9.7+amd64", "4.9.8+amd64"]);
        assert_eq!(
            said,
            [
                "r.io/x:b: it is 4.9.8 of amd64, and the same digest is 4.9.7 as well; no update leads to it; remove the tag of the wrong one"
            ]
        );
    }
}
