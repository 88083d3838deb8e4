//! A scrape: all releases in a repository, as one release file.
//!
//! First every tag is asked for its digest, then what is not known by digest is read. So a second scrape asks one small question a tag, and no blob. What
//! is broken is left out, with a warning. What cannot be read just now is an error, unless we know it from an earlier scrape; and where too much cannot be
//! read, the scrape as a whole has failed: half a repository must not pass for a whole one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use tokio::task::JoinSet;
use towpath_core::domain::Arch;
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;
use towpath_formats::oci::{Digest, Reference, Repository};
use towpath_formats::release_images::{ReleaseImage, Tagged, union, write};

use super::client::Registry;
use super::failure::Failure;
use super::image::{self, Trouble};
use crate::cache::Cache;

/// So many images may be unreadable before the scrape is given up…
const FEW_UNREADABLE: usize = 10;
/// … or one in so many, if that is more.
const SHARE_UNREADABLE: usize = 20;

/// What to scrape.
#[derive(Debug, Clone)]
pub struct Scrape {
    /// The repository.
    pub repository: Repository,
    /// Only releases of these architectures; all if there are none.
    pub arches: BTreeSet<Arch>,
    /// How many images are asked for at once.
    pub concurrency: usize,
    /// What is known by digest.
    pub cache: Option<Arc<Cache>>,
    /// Who wants to know how far it is.
    pub progress: Progress,
}

/// Who wants to know how far it is.
#[derive(Clone, Default)]
pub struct Progress(Option<Arc<dyn Fn(Step) + Send + Sync>>);

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// So many tags of so many have a digest.
    Tags(usize, usize),
    /// So many images of so many that were not known have been read.
    Images(usize, usize),
}

impl Progress {
    /// Calls this at each step.
    pub fn new(told: impl Fn(Step) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(told)))
    }

    fn tell(&self, step: Step) {
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
    /// How many images are asked for at once, unless told otherwise.
    pub const CONCURRENCY: usize = 32;

    /// Everything in this repository, without a cache.
    pub fn of(repository: Repository) -> Self {
        let (arches, progress) = (BTreeSet::new(), Progress::default());
        Self { repository, arches, concurrency: Self::CONCURRENCY, cache: None, progress }
    }

    fn place(&self, tag: &str) -> Place {
        Place::file(format!("{}:{tag}", self.repository))
    }
}

/// Scrapes. A release file, and what is to be said of it; errors among that are images that it should perhaps have and has not.
pub async fn scrape(registry: &Registry, wish: &Scrape) -> Result<(SourceFile, Vec<Finding>), Finding> {
    let tags = registry.tags(&wish.repository).await;
    let tags = tags.map_err(|failure| failure.finding(Place::file(wish.repository.to_string())))?;
    let tags: Vec<Reference> =
        tags.iter().filter(|tag| !is_attached(tag)).filter_map(|tag| Reference::tag(tag)).collect();

    let mut findings = Vec::new();
    let digests = digests(registry, wish, &tags, &mut findings).await?;
    let images = images(registry, wish, digests.keys()).await?;
    let releases = judge(wish, &digests, images, &mut findings);
    if let Some(cache) = &wish.cache {
        cache.trim();
        findings.extend(cache.take_findings());
    }
    if releases.is_empty() {
        let problem = format!("there is no release in it, in {} tags that could be one", tags.len());
        let remedy = "check that this is the repository of the release images, and --arch";
        findings.push(Finding::error("no-releases", Place::file(wish.repository.to_string()), problem, remedy));
    }
    findings.sort();
    let bytes = write(&wish.repository, &releases).into();
    Ok((SourceFile { path: wish.repository.to_string(), bytes }, findings))
}

/// Whether a tag is that of a signature, an attestation or a bill of materials: `sha256-….sig`.
fn is_attached(tag: &str) -> bool {
    let of = tag.strip_prefix("sha256-").map(|rest| rest.split('.').next().unwrap_or(rest));
    of.is_some_and(|hex| Digest::parse(&format!("sha256:{hex}")).is_some())
}

/// The digests that there are, and the tags of each.
async fn digests(
    registry: &Registry,
    wish: &Scrape,
    tags: &[Reference],
    findings: &mut Vec<Finding>,
) -> Result<BTreeMap<Digest, Vec<String>>, Finding> {
    let seen = Seen::read(wish);
    let ask = |tag: Reference| {
        let (registry, repository) = (registry.clone(), wish.repository.clone());
        async move {
            let digest = registry.digest(&repository, &tag).await;
            (tag.as_str().to_owned(), digest)
        }
    };
    let is_unreadable =
        |(_, digest): &(String, Result<Digest, Failure>)| matches!(digest, Err(failure) if is_to_be_had(failure));
    let total = tags.len();
    let told = |done: usize| wish.progress.tell(Step::Tags(done, total));
    let answers = each(wish, tags.to_vec(), ask, is_unreadable, told).await?;

    let mut digests: BTreeMap<Digest, Vec<String>> = BTreeMap::new();
    for (tag, digest) in answers {
        let digest = match digest {
            Ok(digest) => digest,
            Err(failure) => match (is_to_be_had(&failure), seen.0.get(&tag)) {
                (true, Some(digest)) => {
                    findings.push(stale(wish.place(&tag), &failure));
                    digest.clone()
                }
                (true, None) => {
                    findings.push(unreadable(wish.place(&tag), &failure));
                    continue;
                }
                (false, _) => {
                    findings.push(broken(wish.place(&tag), "the tag points at nothing"));
                    continue;
                }
            },
        };
        digests.entry(digest).or_default().push(tag);
    }
    digests.values_mut().for_each(|tags| tags.sort());
    Seen::write(wish, &digests);
    Ok(digests)
}

type Images = BTreeMap<Digest, Result<Vec<ReleaseImage>, Trouble>>;

/// What each digest is, read at once only what is not known.
async fn images<'a>(
    registry: &Registry,
    wish: &Scrape,
    digests: impl Iterator<Item = &'a Digest>,
) -> Result<Images, Finding> {
    let mut images = Images::new();
    let mut unknown = Vec::new();
    for digest in digests {
        match image::cached(wish.cache.as_deref(), digest) {
            Some(known) => _ = images.insert(digest.clone(), known.map_err(Trouble::Broken)),
            None => unknown.push(digest.clone()),
        }
    }
    let ask = |digest: Digest| {
        let (registry, repository, cache) = (registry.clone(), wish.repository.clone(), wish.cache.clone());
        async move {
            let read = image::releases(&registry, cache.as_deref(), &repository, &digest).await;
            (digest, read)
        }
    };
    let is_unreadable = |(_, read): &(Digest, Result<_, Trouble>)| matches!(read, Err(Trouble::Unreadable(_)));
    let total = unknown.len();
    let told = |done: usize| wish.progress.tell(Step::Images(done, total));
    images.extend(each(wish, unknown, ask, is_unreadable, told).await?);
    Ok(images)
}

/// The releases, each once; and what is to be said of the rest.
fn judge(
    wish: &Scrape,
    digests: &BTreeMap<Digest, Vec<String>>,
    mut images: Images,
    findings: &mut Vec<Finding>,
) -> Vec<ReleaseImage> {
    let mut tagged = Vec::new();
    for (digest, tags) in digests {
        let Some(first) = tags.first() else { continue };
        match images.remove(digest) {
            Some(Ok(releases)) => {
                for tag in tags {
                    let wanted = |image: &&ReleaseImage| wish.arches.is_empty() || wish.arches.contains(&image.arch);
                    let one = |image: &ReleaseImage| Tagged { tag: tag.clone(), image: image.clone() };
                    tagged.extend(releases.iter().filter(wanted).map(one));
                }
            }
            Some(Err(Trouble::Broken(problem) | Trouble::LeftOut(problem))) => {
                findings.push(broken(wish.place(first), &problem));
            }
            Some(Err(Trouble::Unreadable(failure))) => findings.push(unreadable(wish.place(first), &failure)),
            None => {}
        }
    }
    let (releases, doubled) = union(&wish.repository, tagged);
    findings.extend(doubled);
    releases
}

/// Does something for each item, so many at once, and gives up when too much of it cannot be read.
async fn each<I, A, F>(
    wish: &Scrape,
    items: Vec<I>,
    ask: impl Fn(I) -> F,
    is_unreadable: impl Fn(&A) -> bool,
    told: impl Fn(usize),
) -> Result<Vec<A>, Finding>
where
    A: Send + 'static,
    F: Future<Output = A> + Send + 'static,
{
    let most_unreadable = FEW_UNREADABLE.max(items.len() / SHARE_UNREADABLE);
    let mut items = items.into_iter();
    let (mut running, mut answers, mut unreadable) = (JoinSet::new(), Vec::new(), 0);
    loop {
        while running.len() < wish.concurrency.max(1) {
            match items.next() {
                Some(item) => _ = running.spawn(ask(item)),
                None => break,
            }
        }
        let Some(ended) = running.join_next().await else { return Ok(answers) };
        // Nothing is cancelled here but by dropping the set; so what did not end well has panicked.
        let answer = ended.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
        unreadable += usize::from(is_unreadable(&answer));
        if unreadable > most_unreadable {
            let problem = format!("{unreadable} images of it cannot be read, and then we stopped");
            let remedy = "look at the registry's own log, and try again";
            return Err(Finding::error(
                "registry-unreachable",
                Place::file(wish.repository.to_string()),
                problem,
                remedy,
            ));
        }
        answers.push(answer);
        told(answers.len());
    }
}

/// Whether what failed may be there all the same.
fn is_to_be_had(failure: &Failure) -> bool {
    !matches!(failure, Failure::Lasting { code: "not-found", .. })
}

fn broken(place: Place, problem: &str) -> Finding {
    Finding::warning(
        "broken-image",
        place,
        format!("it is no release: {problem}"),
        "remove the tag, or push the image anew",
    )
}

fn unreadable(place: Place, failure: &Failure) -> Finding {
    let problem = format!("it cannot be read just now: {}", failure.problem());
    Finding::error("unreadable-image", place, problem, "look at the registry, and try again")
}

fn stale(place: Place, failure: &Failure) -> Finding {
    let problem = format!("it cannot be read just now, and is taken as it was: {}", failure.problem());
    Finding::warning("stale-image", place, problem, "look at the registry, and try again")
}

/// Where each tag pointed when it could last be read. For tags that cannot be read now, and for nothing else.
#[derive(Default)]
struct Seen(BTreeMap<String, Digest>);

impl Seen {
    fn key(wish: &Scrape) -> Digest {
        Digest::of(format!("tags of {}", wish.repository).as_bytes())
    }

    /// One line a tag: its name, a space, its digest.
    fn read(wish: &Scrape) -> Self {
        let bytes = wish.cache.as_ref().and_then(|cache| cache.get(&Self::key(wish))).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let line =
            |line: &str| line.split_once(' ').and_then(|(tag, digest)| Some((tag.to_owned(), Digest::parse(digest)?)));
        Self(text.lines().filter_map(line).collect())
    }

    fn write(wish: &Scrape, digests: &BTreeMap<Digest, Vec<String>>) {
        let lines = digests.iter().flat_map(|(digest, tags)| tags.iter().map(move |tag| format!("{tag} {digest}\n")));
        if let Some(cache) = &wish.cache {
            cache.put(&Self::key(wish), lines.collect::<String>().as_bytes());
        }
    }
}
