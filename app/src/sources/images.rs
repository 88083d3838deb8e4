//! Reads images from a registry: release images, or one image with graph data. What is cached by digest is not read again.

use std::path::Path;
use std::sync::Arc;

use tempfile::TempDir;
use towpath_core::finding::{Finding, Place};
use towpath_core::intake::Recheck;
use towpath_core::signatures::PayloadDigest;
use towpath_core::version::Arch;
use towpath_formats::signatures::{MAX_SIGNATURES, SignedCopy};
use towpath_formats::sources::oci::{Digest, ImageName};
use towpath_sources::{
    Cache, Registry, RegistryOptions, Scrape, SignatureStore, graph_data_image, scrape,
};

use super::address::{Images, Transport};
use super::reader::{Access, Signatures, SourceReading, runtime};

/// Reads images, again and again.
pub(crate) struct ImagesReader {
    registry: Registry,
    content: ImageContent,
    runtime: tokio::runtime::Runtime,
    /// Where nobody gave us a place for it, what is known by digest is forgotten with this.
    _cache: Option<TempDir>,
}

enum ImageContent {
    Releases(Box<Scrape>),
    GraphData {
        image: ImageName,
        known: Option<Box<(Digest, SourceReading)>>,
        seals: Option<ImageSeals>,
    },
}

/// Where the signatures of an image with graph data are, and those that were found.
struct ImageSeals {
    stores: Vec<SignatureStore>,
    found: Option<(PayloadDigest, Vec<Vec<u8>>)>,
}

impl ImageSeals {
    /// The signatures of an image. They are asked for each time, because they can come later than the image; those that
    /// were found stay while no store has others.
    async fn signed(&mut self, image: &Digest) -> Result<SignedCopy, Finding> {
        let text = image.to_string();
        let digest = PayloadDigest::parse(&text).ok_or_else(|| {
            let problem = "only images that are named by sha256 can be signed";
            Finding::error(
                "bad-graph-data-image",
                Place::file(text),
                problem,
                "push it again",
            )
        })?;
        let (mut signatures, mut failure) = (Vec::new(), None);
        for store in &self.stores {
            for number in 1..=MAX_SIGNATURES {
                match store.signature(digest, number).await {
                    Ok(Some(signature)) => signatures.push(signature),
                    Ok(None) => break,
                    Err(finding) => {
                        failure = Some(finding);
                        break;
                    }
                }
            }
        }
        let before = self.found.take().filter(|(of, _)| *of == digest);
        let signatures = match (signatures.is_empty(), before, failure) {
            (false, _, _) => signatures,
            (true, Some((_, before)), _) => before,
            // There may be one where we could not look.
            (true, None, Some(failure)) => return Err(failure),
            (true, None, None) => Vec::new(),
        };
        if !signatures.is_empty() {
            self.found = Some((digest, signatures.clone()));
        }
        Ok(SignedCopy::Image { digest, signatures })
    }
}

impl ImagesReader {
    /// A reader that has read nothing but what is in its cache.
    pub(super) fn new(
        images: &Images,
        transport: Transport,
        access: &Access,
        signatures: Signatures,
        scratch: Option<&Path>,
    ) -> Result<Self, Finding> {
        let registry = Registry::new(RegistryOptions {
            auth_file: access.registry_auth_file.clone(),
            ca_file: access.ca_file.clone(),
            plain_http: transport == Transport::Plain,
            ..RegistryOptions::default()
        })?;
        let (content, cache) = match images {
            Images::GraphData(image) => (
                ImageContent::GraphData {
                    image: image.clone(),
                    known: None,
                    seals: match (signatures, &access.seals) {
                        (Signatures::Wanted, Some(seals)) => Some(ImageSeals {
                            stores: seals.open(access.http.ca.as_ref())?,
                            found: None,
                        }),
                        _ => None,
                    },
                },
                None,
            ),
            Images::Releases { repository, arches } => {
                let temporary = scratch.is_none().then(temporary).transpose()?;
                let folder = scratch.or(temporary.as_ref().map(TempDir::path));
                let content = Scrape {
                    arches: arches.iter().map(|arch| Arch::new(arch.as_str())).collect(),
                    cache: folder.map(|folder| Arc::new(Cache::at(folder))),
                    recheck: Recheck::InTurn,
                    ..Scrape::of(repository.clone())
                };
                (ImageContent::Releases(Box::new(content)), temporary)
            }
        };
        Ok(Self {
            registry,
            content,
            runtime: runtime()?,
            _cache: cache,
        })
    }

    /// Reads them, or says what cannot be read.
    pub(super) fn read(&mut self) -> Result<SourceReading, Finding> {
        match &mut self.content {
            ImageContent::Releases(content) => {
                let (file, findings) = self.runtime.block_on(scrape(&self.registry, content))?;
                let is_fatal =
                    |finding: &&Finding| finding.is_error() && finding.code != UNREADABLE;
                match findings.iter().find(is_fatal) {
                    Some(fatal) => Err(fatal.clone()),
                    None => {
                        let warnings = findings.into_iter().map(as_warning).collect();
                        Ok(SourceReading {
                            warnings,
                            ..SourceReading::of(vec![file])
                        })
                    }
                }
            }
            ImageContent::GraphData {
                image,
                known,
                seals,
            } => {
                let digest = self.runtime.block_on(self.registry.image_digest(image))?;
                let same = known
                    .as_ref()
                    .filter(|known| known.0 == digest)
                    .map(|known| known.1.clone());
                let read = match same {
                    Some(read) => read,
                    None => {
                        let image = image.at(digest.clone());
                        let contents = self
                            .runtime
                            .block_on(graph_data_image(&self.registry, &image))?;
                        let made_at = self.runtime.block_on(self.registry.image_created(&image))?;
                        SourceReading {
                            made_at,
                            ..SourceReading::of_contents(contents)
                        }
                    }
                };
                *known = Some(Box::new((digest.clone(), read.clone())));
                Ok(match seals {
                    Some(seals) => read.signed(Some(self.runtime.block_on(seals.signed(&digest))?)),
                    None => read,
                })
            }
        }
    }
}

/// An image that could not be read just now, and was never known. Without it there are fewer updates to offer; the next read finds it.
const UNREADABLE: &str = "unreadable-image";

fn as_warning(finding: Finding) -> Finding {
    Finding::warning(finding.code, finding.place, finding.problem, finding.remedy)
}

fn temporary() -> Result<TempDir, Finding> {
    tempfile::tempdir().map_err(|error| {
        let problem = format!("the cache of images cannot be created: {error}");
        let remedy = "make room in the folder of temporary files, or give --state";
        Finding::error("bad-state", Place::file("."), problem, remedy)
    })
}
