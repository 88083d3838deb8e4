//! Reads one release image by its digest.

use towpath_core::finding::{Finding, Place};
use towpath_formats::graph::release_images::ReleaseImage;
use towpath_formats::sources::oci::{ImageName, Reference};

use super::client::Registry;
use super::image::{Trouble, releases};
use crate::cache::Cache;

/// The release that an image declares. The name must have a digest, because a tag may point elsewhere tomorrow.
pub async fn release_image(
    registry: &Registry,
    cache: Option<&Cache>,
    image: &ImageName,
) -> Result<ReleaseImage, Finding> {
    let place = Place::file(image.to_string());
    registry
        .in_time(place.clone(), read(registry, cache, image, place))
        .await
}

async fn read(
    registry: &Registry,
    cache: Option<&Cache>,
    image: &ImageName,
    place: Place,
) -> Result<ReleaseImage, Finding> {
    let broken = |problem: String| {
        let remedy = "check where this image name comes from";
        let problem = format!("it is not a release image: {problem}");
        Finding::error("broken-image", place.clone(), problem, remedy)
    };
    let Reference::Digest(digest) = &image.reference else {
        return Err(broken("its name has no digest".to_owned()));
    };
    let found = releases(registry, cache, &image.repository, digest, None).await;
    let found = found.map_err(|trouble| match trouble {
        Trouble::Broken(problem) | Trouble::LeftOut(problem) => broken(problem),
        Trouble::Unreadable(failure) => failure.finding(place.clone()),
    })?;
    // A list of images that are releases each for themselves is none itself.
    let itself = found.into_iter().find(|release| release.digest == *digest);
    itself.ok_or_else(|| {
        broken("it is a list of releases for different machines; name one of them".to_owned())
    })
}
