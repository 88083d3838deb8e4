//! Reads the releases of one digest, from the cache or from the registry. Final results go into the cache.

use towpath_formats::graph::release_images::{
    DigestContent, ReleaseImage, of_image, of_list, read_known, write_known,
};
use towpath_formats::graph::release_metadata::{self, InLayer, ReleaseMetadata};
use towpath_formats::sources::oci::{
    Descriptor, Digest, Manifest, NotAManifest, Reference, Repository, Spent, read_config_arch,
    read_manifest,
};
use towpath_http::clip;

use super::client::{Registry, RegistryAnswer};
use super::failure::Failure;
use crate::cache::{Cache, CacheKey};

const LIST_OF_LISTS: &str = "the manifest is a list of lists";

/// Why a digest gives no releases.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It has none, and that is final.
    Broken(String),
    /// Left out for now: it exceeds a limit, a part is missing, or a part does not match its digest.
    LeftOut(String),
    /// It could not be read, and may have releases.
    Unreadable(Failure),
}

/// The releases of a digest. The caller may already have its manifest.
pub(super) async fn releases(
    registry: &Registry,
    cache: Option<&Cache>,
    repository: &Repository,
    digest: &Digest,
    here: Option<RegistryAnswer>,
) -> Result<Vec<ReleaseImage>, Trouble> {
    if let Some(known) = cached(cache, digest) {
        return known.releases().map_err(Trouble::Broken);
    }
    let manifest = match here {
        Some(fetched) => understood(&fetched),
        None => manifest(registry, repository, digest).await,
    };
    match manifest {
        Ok(Manifest::List(images)) => {
            let read = list(registry, cache, repository, digest, &images)
                .await
                .map_err(Trouble::clipped);
            keep(cache, digest, &read, DigestContent::List);
            read
        }
        Ok(Manifest::Image { config, layers }) => {
            let read = image(registry, repository, digest, &config, &layers)
                .await
                .map_err(Trouble::clipped);
            keep(cache, digest, &read, DigestContent::Image);
            read.map(|one| vec![one])
        }
        Err(trouble) => {
            let trouble = trouble.clipped();
            keep(cache, digest, &Err(trouble.clone()), DigestContent::Image);
            Err(trouble)
        }
    }
}

impl Trouble {
    /// Cuts a problem that quotes long content.
    fn clipped(self) -> Self {
        match self {
            Self::Broken(problem) => Self::Broken(clip(&problem)),
            Self::LeftOut(problem) => Self::LeftOut(clip(&problem)),
            unreadable @ Self::Unreadable(_) => unreadable,
        }
    }
}

/// Reads a digest from the cache.
pub(super) fn cached(cache: Option<&Cache>, digest: &Digest) -> Option<DigestContent> {
    let (cache, key) = (cache?, CacheKey::Image(digest));
    let known = read_known(&cache.get(key)?);
    if known.is_none() {
        cache.distrust(key);
    }
    known
}

/// Caches final results only.
fn keep<T: Clone>(
    cache: Option<&Cache>,
    digest: &Digest,
    read: &Result<T, Trouble>,
    known: fn(Result<T, String>) -> DigestContent,
) {
    let known = match read {
        Ok(read) => known(Ok(read.clone())),
        Err(Trouble::Broken(why)) => known(Err(why.clone())),
        Err(Trouble::LeftOut(_) | Trouble::Unreadable(_)) => return,
    };
    if let Some(cache) = cache {
        cache.put(CacheKey::Image(digest), &write_known(&known));
    }
}

/// The releases of a list of images. One broken image makes the list broken.
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
    match cached(cache, digest) {
        Some(DigestContent::Image(known)) => return known.map_err(Trouble::Broken),
        Some(DigestContent::List(_)) => return Err(Trouble::Broken(LIST_OF_LISTS.to_owned())),
        None => {}
    }
    let read = match manifest(registry, repository, digest).await? {
        Manifest::Image { config, layers } => {
            image(registry, repository, digest, &config, &layers).await
        }
        Manifest::List(_) => return Err(Trouble::Broken(LIST_OF_LISTS.to_owned())),
    };
    let read = read.map_err(Trouble::clipped);
    keep(cache, digest, &read, DigestContent::Image);
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
    let config = registry
        .blob(repository, config)
        .await
        .map_err(|failure| trouble(failure, "the configuration"))?;
    let arch = read_config_arch(&config)
        .map_err(|problem| Trouble::Broken(format!("the configuration {problem}")))?;
    of_image(digest.clone(), &arch, said).map_err(Trouble::Broken)
}

/// The release metadata, from the newest layer that has it.
async fn metadata(
    registry: &Registry,
    repository: &Repository,
    layers: &[Descriptor],
) -> Result<ReleaseMetadata, Trouble> {
    let limits = registry.limits().release_layers;
    let mut spent = Spent::default();
    for layer in layers.iter().rev() {
        let with_layer = spent.with_layer(layer.bytes, &limits).ok_or_else(|| {
            Trouble::LeftOut(format!(
                "release metadata may be in a layer of {} bytes; at most {} are read of an image",
                layer.bytes, limits.layer_bytes
            ))
        })?;
        let read = registry
            .layer(
                repository,
                layer,
                release_metadata::is_wanted,
                limits,
                with_layer,
            )
            .await;
        let (entries, after) = read
            .map_err(|failure| trouble(failure, "a layer"))?
            .map_err(Trouble::Broken)?;
        spent = after;
        match release_metadata::find(entries) {
            InLayer::Here(bytes) => {
                let read = release_metadata::read(&bytes);
                return read
                    .map_err(|problem| Trouble::Broken(format!("the release metadata {problem}")));
            }
            InLayer::Older => {}
            InLayer::TakenAway => break,
            InLayer::Wrong(problem) => return Err(Trouble::Broken(problem.to_owned())),
        }
    }
    Err(Trouble::Broken(
        "it has no release-manifests/release-metadata".to_owned(),
    ))
}

async fn manifest(
    registry: &Registry,
    repository: &Repository,
    digest: &Digest,
) -> Result<Manifest, Trouble> {
    let fetched = registry
        .manifest(repository, &Reference::Digest(digest.clone()))
        .await;
    understood(&fetched.map_err(|failure| trouble(failure, "the manifest"))?)
}

fn understood(fetched: &RegistryAnswer) -> Result<Manifest, Trouble> {
    read_manifest(&fetched.content_type, &fetched.bytes).map_err(|wrong| match wrong {
        NotAManifest::Content(problem) => Trouble::Broken(format!("the manifest {problem}")),
        // The next answer may come with another header.
        NotAManifest::Header(problem) => Trouble::LeftOut(format!("the manifest {problem}")),
    })
}

pub(super) fn trouble(failure: Failure, what: &str) -> Trouble {
    match failure {
        Failure::Lasting {
            code: "not-found", ..
        } => Trouble::LeftOut(format!("{what} is not in the registry")),
        Failure::Lasting {
            code: "too-large",
            problem,
            ..
        } => Trouble::LeftOut(problem),
        Failure::Untrue(problem) => Trouble::LeftOut(problem.to_owned()),
        failure => Trouble::Unreadable(failure),
    }
}
