//! A scrape: reads all releases of a repository into one release file.
//!
//! It first asks for the digest of each tag (`seen`), and then reads unknown digests. So a second scrape sends one small
//! request for each tag that is due, and reads no blob. Broken images are left out with a warning. An image that cannot be
//! read now is an error, unless an earlier scrape knows it. If too many cannot be read, the whole scrape fails, so that
//! half a repository never looks complete.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use towpath_core::finding::{Finding, Place};
use towpath_core::intake::Recheck;
use towpath_core::version::Arch;
use towpath_formats::SourceFile;
use towpath_formats::graph::release_images::{ReleaseImage, Tagged, Union, union, write};
use towpath_formats::sources::oci::{Digest, Reference, Repository};

use super::client::{Registry, RegistryAnswer};
use super::failure::Failure;
use super::image::{self, Trouble};
use super::seen::{Pointers, pointers};
use super::several::{Standing, several};
use crate::cache::Cache;

/// The most findings that are reported.
const MAX_FINDINGS: usize = 1_000;

#[derive(Debug, Clone)]
pub struct Scrape {
    pub repository: Repository,
    /// Only releases of these architectures; empty for all.
    pub arches: BTreeSet<Arch>,
    /// How many images are read at once.
    pub concurrency: usize,
    /// The cache of earlier scrapes.
    pub cache: Option<Arc<Cache>>,
    /// Which tags are checked again.
    pub recheck: Recheck,
    /// Gets the progress.
    pub progress: Progress,
}

/// A callback for progress.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(Step) + Send + Sync>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Tags resolved, of all tags.
    Tags(usize, usize),
    /// Images read, of all unknown images.
    Images(usize, usize),
}

impl Progress {
    /// Calls this at each step.
    pub fn new(told: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(told)))
    }

    pub(super) fn tell(&self, step: Step) {
        if let Some(told) = &self.0 {
            told(step);
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "told" } else { "not told" })
    }
}

impl Scrape {
    /// The default number of images that are read at once.
    pub const CONCURRENCY: usize = 32;

    /// A scrape of the whole repository, without a cache.
    pub fn of(repository: Repository) -> Self {
        let (arches, recheck, progress) = (BTreeSet::new(), Recheck::InTurn, Progress::default());
        Self {
            repository,
            arches,
            concurrency: Self::CONCURRENCY,
            cache: None,
            recheck,
            progress,
        }
    }

    pub(super) fn place(&self, tag: &str) -> Place {
        Place::file(format!("{}:{tag}", self.repository))
    }
}

/// Returns a release file and findings. Errors among them are images that may be missing in the file.
pub async fn scrape(
    registry: &Registry,
    wish: &Scrape,
) -> Result<(SourceFile, Vec<Finding>), Finding> {
    registry
        .in_time(
            Place::file(wish.repository.to_string()),
            scraped(registry, wish),
        )
        .await
}

async fn scraped(
    registry: &Registry,
    wish: &Scrape,
) -> Result<(SourceFile, Vec<Finding>), Finding> {
    let tags = registry.tags(&wish.repository).await;
    let tags = tags.map_err(|failure| failure.finding(Place::file(wish.repository.to_string())))?;
    let tags: Vec<Reference> = tags
        .into_iter()
        .filter(|tag| !is_attached(tag.as_str()))
        .collect();

    let (mut findings, asked) = (Vec::new(), tags.len());
    let Pointers { tags, manifests } = pointers(registry, wish, tags, &mut findings).await?;
    let images = images(registry, wish, tags.keys(), manifests).await?;
    let union = judge(wish, tags, images, &mut findings);
    if let Some(cache) = &wish.cache {
        cache.trim();
        findings.extend(cache.take_findings());
    }
    if union.releases.is_empty() {
        let problem = format!("none of its {asked} possible tags is a release");
        let remedy = "check that this is the repository of the release images, and --arch";
        findings.push(Finding::error(
            "no-releases",
            Place::file(wish.repository.to_string()),
            problem,
            remedy,
        ));
    }
    findings.sort();
    if findings.len() > MAX_FINDINGS {
        let problem = format!("{} more findings like these", findings.len() - MAX_FINDINGS);
        findings.truncate(MAX_FINDINGS);
        let place = Place::file(wish.repository.to_string());
        findings.push(Finding::warning(
            "more-findings",
            place,
            problem,
            "correct these first",
        ));
    }
    let bytes = write(&wish.repository, &union).into();
    Ok((
        SourceFile {
            path: wish.repository.to_string(),
            bytes,
        },
        findings,
    ))
}

/// Whether a tag belongs to a signature, an attestation or a bill of materials: `sha256-….sig`.
fn is_attached(tag: &str) -> bool {
    let of = tag
        .strip_prefix("sha256-")
        .map(|rest| rest.split('.').next().unwrap_or(rest));
    of.is_some_and(|hex| Digest::parse(&format!("sha256:{hex}")).is_some())
}

type ImageReading = Result<Vec<ReleaseImage>, Trouble>;
type Images = BTreeMap<Digest, ImageReading>;

/// The releases of each digest. Unknown digests are read in parallel.
async fn images<'a>(
    registry: &Registry,
    wish: &Scrape,
    digests: impl Iterator<Item = &'a Digest>,
    mut manifests: BTreeMap<Digest, RegistryAnswer>,
) -> Result<Images, Finding> {
    let (mut images, mut unknown) = (Images::new(), Vec::new());
    let mut room = MemoryBudget {
        left: registry.limits().releases_bytes,
        wish,
    };
    for digest in digests {
        match image::cached(wish.cache.as_deref(), digest) {
            Some(known) => {
                let read = known.releases().map_err(Trouble::Broken);
                room.take(&read)?;
                images.insert(digest.clone(), read);
            }
            None => unknown.push((digest.clone(), manifests.remove(digest))),
        }
    }
    drop(manifests);
    let ask = |(digest, here): (Digest, Option<RegistryAnswer>)| {
        let (registry, repository, cache) = (
            registry.clone(),
            wish.repository.clone(),
            wish.cache.clone(),
        );
        async move {
            let read =
                image::releases(&registry, cache.as_deref(), &repository, &digest, here).await;
            (digest, read)
        }
    };
    let look = |(_, read): &(Digest, ImageReading)| {
        room.take(read)?;
        let is_unreadable = matches!(read, Err(Trouble::Unreadable(_)));
        Ok(if is_unreadable {
            Standing::Unreadable
        } else {
            Standing::Known
        })
    };
    let total = unknown.len();
    let told = |done: usize| wish.progress.tell(Step::Images(done, total));
    images.extend(several(wish, unknown, ask, look, told).await?);
    Ok(images)
}

/// The memory that the releases of a scrape may still take.
struct MemoryBudget<'a> {
    left: u64,
    wish: &'a Scrape,
}

impl MemoryBudget<'_> {
    fn take(&mut self, read: &ImageReading) -> Result<(), Finding> {
        let weight = read.iter().flatten().map(ReleaseImage::weight).sum();
        self.left = self.left.checked_sub(weight).ok_or_else(|| {
            let problem = "its releases take more memory than the limit";
            let remedy = "find images that declare endless release lists, and remove their tags";
            Finding::error(
                "too-large",
                Place::file(self.wish.repository.to_string()),
                problem,
                remedy,
            )
        })?;
        Ok(())
    }
}

/// The releases, each once, and findings about the other images.
fn judge(
    wish: &Scrape,
    digests: BTreeMap<Digest, Vec<String>>,
    mut images: Images,
    findings: &mut Vec<Finding>,
) -> Union {
    let mut tagged = Vec::new();
    for (digest, tags) in digests {
        let Some(first) = tags.first() else { continue };
        match images.remove(&digest) {
            Some(Ok(releases)) => {
                let tags: Arc<[String]> = tags.into();
                let wanted = |image: &ReleaseImage| {
                    wish.arches.is_empty() || wish.arches.contains(&image.arch)
                };
                let one = |image: ReleaseImage| Tagged {
                    tags: tags.clone(),
                    image: Arc::new(image),
                };
                tagged.extend(releases.into_iter().filter(wanted).map(one));
            }
            Some(Err(Trouble::Broken(problem) | Trouble::LeftOut(problem))) => {
                findings.push(broken(wish.place(first), &problem));
            }
            Some(Err(Trouble::Unreadable(failure))) => {
                findings.push(unreadable(wish.place(first), &failure))
            }
            None => {}
        }
    }
    let mut union = union(&wish.repository, tagged);
    findings.append(&mut union.findings);
    union
}

pub(super) fn broken(place: Place, problem: &str) -> Finding {
    let problem = format!("it is not a release image: {problem}");
    let remedy = "remove the tag, or push the image again";
    Finding::warning("broken-image", place, problem, remedy)
}

pub(super) fn unreadable(place: Place, failure: &Failure) -> Finding {
    let problem = format!("it cannot be read now: {}", failure.problem());
    let remedy = "check the registry, and try again";
    Finding::error("unreadable-image", place, problem, remedy)
}

pub(super) fn stale(place: Place, failure: &Failure) -> Finding {
    let problem = format!(
        "it cannot be read now, so its last known state is used: {}",
        failure.problem()
    );
    let remedy = "check the registry, and try again";
    Finding::warning("stale-image", place, problem, remedy)
}
