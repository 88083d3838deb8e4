//! Releases as their images declare them: from an image's metadata to a release file.
//!
//! A release image says what it is and which releases lead to it. Only the repository knows which
//! other images exist. So each image is read and kept alone, and the file is made from all of
//! them.

mod known;
mod report;
mod union;
mod write;

pub use known::{DigestContent, read_known, write_known};
pub use report::{Requests, ScrapeReport};
pub use union::{Tagged, Union, union};
pub use write::write;

use std::collections::BTreeMap;

use towpath_core::version::{Arch, ReleaseName, Version};

use crate::graph::release_metadata::ReleaseMetadata;
use crate::sources::oci::Digest;

/// Where release metadata says that an image is one of several that are a release only together.
const ARCHITECTURE_KEY: &str = "release.openshift.io/architecture";
const MULTI: &str = "multi";

/// A release, as its image declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleaseImage {
    pub version: Version,
    /// The architecture of its payload; `multi` for a list of images that are a release together.
    pub arch: Arch,
    pub digest: Digest,
    /// The releases it can be reached from.
    pub previous: Vec<ReleaseName>,
    /// The releases that can be reached from it.
    pub next: Vec<ReleaseName>,
    pub metadata: BTreeMap<String, String>,
}

impl ReleaseImage {
    /// About how many bytes it takes in memory.
    pub fn weight(&self) -> u64 {
        let name = |name: &ReleaseName| size_of::<ReleaseName>() + name.to_string().len();
        let names: usize = self.previous.iter().chain(&self.next).map(name).sum();
        let texts =
            |(key, value): (&String, &String)| 2 * size_of::<String>() + key.len() + value.len();
        (size_of::<Self>() + names + self.metadata.iter().map(texts).sum::<usize>()) as u64
    }
}

/// The release that one image is.
pub fn of_image(
    digest: Digest,
    config_arch: &str,
    said: ReleaseMetadata,
) -> Result<ReleaseImage, String> {
    let is_multi = said
        .metadata
        .get(ARCHITECTURE_KEY)
        .is_some_and(|arch| arch == MULTI);
    let arch = Arch::new(if is_multi { MULTI } else { config_arch });
    match said.version.means(&arch) {
        true => Ok(ReleaseImage {
            version: said.version.version,
            arch,
            digest,
            previous: said.previous,
            next: said.next,
            metadata: said.metadata,
        }),
        false => Err(format!(
            "the release metadata is for {}, and the image is for {arch}",
            said.version
        )),
    }
}

/// The releases that a list of images is: one, if its images say that they are one together; else each for itself.
pub fn of_list(digest: Digest, images: Vec<ReleaseImage>) -> Result<Vec<ReleaseImage>, String> {
    let together = images
        .iter()
        .filter(|image| image.arch.as_str() == MULTI)
        .count();
    match images.first() {
        None => Err("the list has no release in it".to_owned()),
        Some(_) if together == 0 => each_for_itself(images),
        Some(first) if together == images.len() => {
            let same = |image: &ReleaseImage| {
                ReleaseImage {
                    digest: first.digest.clone(),
                    ..image.clone()
                } == *first
            };
            match images.iter().all(same) {
                true => Ok(vec![ReleaseImage {
                    digest,
                    ..first.clone()
                }]),
                false => Err(
                    "the images of the list are one release, and do not say the same of it"
                        .to_owned(),
                ),
            }
        }
        Some(_) => Err("only some images of the list say that they are one release".to_owned()),
    }
}

fn each_for_itself(images: Vec<ReleaseImage>) -> Result<Vec<ReleaseImage>, String> {
    let mut seen = BTreeMap::new();
    for image in &images {
        let other = seen.insert((&image.arch, &image.version), &image.digest);
        if other.is_some_and(|other| *other != image.digest) {
            return Err(format!(
                "the list has {} of {} twice",
                image.version, image.arch
            ));
        }
    }
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(arch: &str, content: &str, metadata: &[(&str, &str)]) -> Result<ReleaseImage, String> {
        let said = ReleaseMetadata {
            version: ReleaseName::parse("4.9.7").unwrap(),
            previous: vec![],
            next: vec![],
            metadata: metadata
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()))
                .collect(),
        };
        of_image(Digest::of(content.as_bytes()), arch, said)
    }

    fn list(images: &[Result<ReleaseImage, String>]) -> String {
        let images = images.iter().map(|image| image.clone().unwrap()).collect();
        let line = |image: &ReleaseImage| {
            format!(
                "{}+{} {}",
                image.version,
                image.arch,
                &image.digest.hex()[..4]
            )
        };
        of_list(Digest::of(b"list"), images).map_or_else(
            |why| why,
            |known| known.iter().map(line).collect::<Vec<_>>().join(", "),
        )
    }

    #[test]
    fn images_are_one_release_only_if_all_say_so() {
        const TOGETHER: (&str, &str) = (ARCHITECTURE_KEY, MULTI);
        let multi = |arch: &str| image(arch, arch, &[TOGETHER]);
        let plain = |arch: &str| image(arch, arch, &[]);
        let of = |content: &str| Digest::of(content.as_bytes()).hex()[..4].to_owned();
        assert_eq!(
            list(&[multi("amd64"), multi("arm64")]),
            format!("4.9.7+multi {}", of("list"))
        );
        let each = format!("4.9.7+amd64 {}, 4.9.7+s390x {}", of("amd64"), of("s390x"));
        assert_eq!(list(&[plain("amd64"), plain("s390x")]), each);
        assert!(list(&[plain("amd64"), multi("arm64")]).starts_with("only some images"));
        let other = image("arm64", "x", &[TOGETHER, ("url", "elsewhere")]);
        assert!(list(&[multi("amd64"), other]).contains("do not say the same"));
        assert!(list(&[plain("amd64"), image("amd64", "other", &[])]).contains("twice"));
        assert!(list(&[]).contains("no release"));
    }

    #[test]
    fn metadata_for_another_architecture_is_refused() {
        let said = ReleaseMetadata {
            version: ReleaseName::parse("4.9.7+s390x").unwrap(),
            previous: vec![],
            next: vec![],
            metadata: BTreeMap::new(),
        };
        let problem = of_image(Digest::of(b""), "amd64", said).unwrap_err();
        assert_eq!(
            problem,
            "the release metadata is for 4.9.7+s390x, and the image is for amd64"
        );
    }
}
