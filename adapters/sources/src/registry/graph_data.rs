//! Graph data in an image: the files of all layers combined, in any folder.

use towpath_core::finding::{Finding, Place};
use towpath_formats::sources::oci::{
    Digest, ImageName, Manifest, NotAManifest, Reference, Spent, Tree, find_graph_data,
    is_graph_data, read_manifest,
};

use super::client::Registry;
use super::failure::Failure;
use crate::Contents;

const REMEDY: &str =
    "name an image with channels/, blocked-edges/ and version in one of its folders";

/// The graph data in an image. For a list of images, that of the first: all have the same files.
pub async fn graph_data_image(registry: &Registry, image: &ImageName) -> Result<Contents, Finding> {
    let place = Place::file(image.to_string());
    registry
        .in_time(place.clone(), read(registry, image, place))
        .await
}

async fn read(registry: &Registry, image: &ImageName, place: Place) -> Result<Contents, Finding> {
    let failed = |failure: Failure| failure.finding(place.clone());
    let wrong =
        |problem: String| Finding::error("bad-graph-data-image", place.clone(), problem, REMEDY);

    let layers = match manifest(registry, image, &image.reference)
        .await
        .map_err(failed)?
        .map_err(wrong)?
    {
        Manifest::Image { layers, .. } => layers,
        Manifest::List(images) => {
            let first = images
                .first()
                .map(|one| Reference::Digest(one.digest.clone()));
            let first = first.ok_or_else(|| wrong("the list has no images".to_owned()))?;
            match manifest(registry, image, &first)
                .await
                .map_err(failed)?
                .map_err(wrong)?
            {
                Manifest::Image { layers, .. } => layers,
                Manifest::List(_) => {
                    return Err(wrong("the manifest is a list of lists".to_owned()));
                }
            }
        }
    };
    let limits = registry.limits().graph_data_layers;
    let (mut tree, mut spent) = (Tree::default(), Spent::default());
    for layer in &layers {
        let too_long = || format!("the layers have more than {} bytes", limits.layer_bytes);
        let with_layer = spent
            .with_layer(layer.bytes, &limits)
            .ok_or_else(|| wrong(too_long()))?;
        let read = registry
            .layer(&image.repository, layer, is_graph_data, limits, with_layer)
            .await;
        let (entries, after) = read.map_err(failed)?.map_err(wrong)?;
        spent = after;
        tree.lay(entries);
    }
    let found = find_graph_data(&tree).map_err(wrong)?;
    Ok(Contents {
        files: found.files,
        unread: found.not_files.into_iter().map(wrong).collect(),
    })
}

impl Registry {
    /// The digest of an image's name. One small request shows whether it has changed.
    pub async fn image_digest(&self, image: &ImageName) -> Result<Digest, Finding> {
        match &image.reference {
            Reference::Digest(digest) => Ok(digest.clone()),
            tag => {
                let digest = self.digest(&image.repository, tag).await;
                digest.map_err(|failure| failure.finding(Place::file(image.to_string())))
            }
        }
    }
}

async fn manifest(
    registry: &Registry,
    image: &ImageName,
    reference: &Reference,
) -> Result<Result<Manifest, String>, Failure> {
    let fetched = registry.manifest(&image.repository, reference).await?;
    let read = read_manifest(&fetched.content_type, &fetched.bytes);
    Ok(read.map_err(
        |(NotAManifest::Content(problem) | NotAManifest::Header(problem))| {
            format!("the manifest {problem}")
        },
    ))
}
