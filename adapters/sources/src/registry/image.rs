//! One digest: what it is, from the cache or from the registry. What is learnt for ever goes into the cache.

use towpath_formats::oci::{Descriptor, Digest, Manifest, Reference, Repository, read_config_arch, read_manifest};
use towpath_formats::release_images::{Known, ReleaseImage, of_image, of_list, read_known, write_known};
use towpath_formats::release_metadata::{self, InLayer, ReleaseMetadata};

use super::client::Registry;
use super::failure::Failure;
use crate::cache::Cache;

/// Why a digest gives no releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It has none, and never will.
    Broken(String),
    /// It is left out today: it is over a limit of ours, or a part of it is not there.
    LeftOut(String),
    /// It could not be read; it may well have releases.
    Unreadable(Failure),
}

/// The releases of a digest.
pub(super) async fn releases(
    registry: &Registry,
    cache: Option<&Cache>,
    repository: &Repository,
    digest: &Digest,
) -> Result<Vec<ReleaseImage>, Trouble> {
    if let Some(known) = cached(cache, digest) {
        return known.map_err(Trouble::Broken);
    }
    let read = match manifest(registry, repository, digest).await {
        Ok(Manifest::Image { config, layers }) => {
            image(registry, repository, digest, &config, &layers).await.map(|one| vec![one])
        }
        Ok(Manifest::List(images)) => list(registry, cache, repository, digest, &images).await,
        Err(trouble) => Err(trouble),
    };
    keep(cache, digest, &read);
    read
}

/// What the cache knows of a digest.
pub(super) fn cached(cache: Option<&Cache>, digest: &Digest) -> Option<Known> {
    let cache = cache?;
    let known = read_known(&cache.get(digest)?);
    if known.is_none() {
        cache.distrust(digest);
    }
    known
}

fn keep(cache: Option<&Cache>, digest: &Digest, read: &Result<Vec<ReleaseImage>, Trouble>) {
    let known: Known = match read {
        Ok(releases) => Ok(releases.clone()),
        Err(Trouble::Broken(why)) => Err(why.clone()),
        Err(Trouble::LeftOut(_) | Trouble::Unreadable(_)) => return,
    };
    if let Some(cache) = cache {
        cache.put(digest, &write_known(&known));
    }
}

/// A list is as good as its images: with a broken one in it, it is broken.
async fn list(
    registry: &Registry,
    cache: Option<&Cache>,
    repository: &Repository,
    digest: &Digest,
    images: &[Descriptor],
) -> Result<Vec<ReleaseImage>, Trouble> {
    let mut releases = Vec::new();
    for one in images {
        releases.push(listed(registry, cache, repository, &one.digest).await?);
    }
    of_list(digest.clone(), releases).map_err(Trouble::Broken)
}

async fn listed(
    registry: &Registry,
    cache: Option<&Cache>,
    repository: &Repository,
    digest: &Digest,
) -> Result<ReleaseImage, Trouble> {
    if let Some(known) = cached(cache, digest) {
        let one = known.map_err(Trouble::Broken)?.into_iter().next();
        return one.ok_or_else(|| Trouble::Broken("the list has no release in it".to_owned()));
    }
    let read = match manifest(registry, repository, digest).await? {
        Manifest::Image { config, layers } => image(registry, repository, digest, &config, &layers).await,
        Manifest::List(_) => return Err(Trouble::Broken("the manifest is a list of lists".to_owned())),
    };
    keep(cache, digest, &read.clone().map(|one| vec![one]));
    read
}

async fn image(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
    config: &Descriptor,
    layers: &[Descriptor],
) -> Result<ReleaseImage, Trouble> {
    let said = metadata(registry, repository, layers).await?;
    let config = registry.blob(repository, config).await.map_err(|failure| trouble(failure, "the configuration"))?;
    let arch = read_config_arch(&config).map_err(|problem| Trouble::Broken(format!("the configuration {problem}")))?;
    of_image(digest.clone(), &arch, said).map_err(Trouble::Broken)
}

/// The release metadata, from the newest layer that speaks of it; older ones are not read.
async fn metadata(
    registry: &Registry,
    repository: &Repository,
    layers: &[Descriptor],
) -> Result<ReleaseMetadata, Trouble> {
    let limits = registry.limits().release_layers;
    for layer in layers.iter().rev() {
        if layer.bytes > limits.layer_bytes {
            let problem = format!(
                "release metadata may be in a layer of {} bytes; at most {} are read",
                layer.bytes, limits.layer_bytes
            );
            return Err(Trouble::LeftOut(problem));
        }
        let read = registry.layer(repository, layer, release_metadata::is_wanted, limits).await;
        let entries = read.map_err(|failure| trouble(failure, "a layer"))?.map_err(Trouble::Broken)?;
        match release_metadata::find(entries) {
            InLayer::Here(bytes) => {
                let read = release_metadata::read(&bytes);
                return read.map_err(|problem| Trouble::Broken(format!("the release metadata {problem}")));
            }
            InLayer::Older => {}
            InLayer::TakenAway => break,
            InLayer::Wrong(problem) => return Err(Trouble::Broken(problem.to_owned())),
        }
    }
    Err(Trouble::Broken("it has no release-manifests/release-metadata".to_owned()))
}

async fn manifest(registry: &Registry, repository: &Repository, digest: &Digest) -> Result<Manifest, Trouble> {
    let fetched = registry.manifest(repository, &Reference::Digest(digest.clone())).await;
    let fetched = fetched.map_err(|failure| trouble(failure, "the manifest"))?;
    read_manifest(&fetched.content_type, &fetched.bytes)
        .map_err(|problem| Trouble::Broken(format!("the manifest {problem}")))
}

pub(super) fn trouble(failure: Failure, what: &str) -> Trouble {
    match failure {
        Failure::Lasting { code: "not-found", .. } => Trouble::LeftOut(format!("{what} is not in the registry")),
        Failure::Lasting { code: "too-large", problem, .. } => Trouble::LeftOut(problem),
        failure => Trouble::Unreadable(failure),
    }
}
