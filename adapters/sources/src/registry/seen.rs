//! Where the tags of a repository point: asked now, or remembered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use towpath_core::finding::Finding;
use towpath_formats::oci::{Digest, Reference};

use super::client::{Fetched, Registry};
use super::failure::Failure;
use super::image::{Trouble, trouble};
use super::scrape::{Scrape, Step, broken, stale, unreadable};
use super::several::{Standing, several};
use crate::cache::CacheKey;

/// What is held of manifests that came with their tags. Beyond that, they are asked for again.
const MAX_HELD_BYTES: u64 = 64 << 20;

/// The digests that there are.
#[derive(Default)]
pub(super) struct Pointers {
    /// The tags of each, by name.
    pub(super) tags: BTreeMap<Digest, Vec<String>>,
    /// The manifests that came along.
    pub(super) manifests: BTreeMap<Digest, Fetched>,
}

type Pointed = Result<(Digest, Option<Fetched>), Failure>;

/// Where each tag points. One that was seen before is asked for its digest; for one that was not, the manifest will be needed as well, and comes with it.
pub(super) async fn pointers(
    registry: &Registry,
    wish: &Scrape,
    tags: Vec<Reference>,
    findings: &mut Vec<Finding>,
) -> Result<Pointers, Finding> {
    let seen = Arc::new(Seen::read(wish));
    let held_bytes = Arc::new(AtomicU64::new(0));
    let ask = |tag: Reference| {
        let (registry, repository) = (registry.clone(), wish.repository.clone());
        let (seen, held_bytes) = (seen.clone(), held_bytes.clone());
        async move {
            let name = tag.as_str().to_owned();
            let pointed = match seen.0.contains_key(&name) {
                true => registry.digest(&repository, &tag).await.map(|digest| (digest, None)),
                false => registry.tagged(&repository, &tag).await,
            };
            let has_room = |fetched: &Fetched| {
                let bytes = fetched.bytes.len() as u64;
                held_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_HELD_BYTES
            };
            (name, pointed.map(|(digest, fetched)| (digest, fetched.filter(has_room))))
        }
    };
    let standing = |(_, pointed): &(String, Pointed)| match pointed {
        Err(failure) if matches!(trouble(failure.clone(), ""), Trouble::Unreadable(_)) => Ok(Standing::Unreadable),
        _ => Ok(Standing::Known),
    };
    let total = tags.len();
    let told = |done: usize| wish.progress.tell(Step::Tags(done, total));
    let mut pointers = Pointers::default();
    for (tag, pointed) in several(wish, tags, ask, standing, told).await? {
        let place = || wish.place(&tag);
        let digest = match pointed {
            Ok((digest, fetched)) => {
                pointers.manifests.extend(fetched.map(|fetched| (digest.clone(), fetched)));
                digest
            }
            Err(Failure::Lasting { code: "not-found", .. }) => {
                findings.push(broken(place(), "the tag points at nothing"));
                continue;
            }
            Err(failure) => match (trouble(failure, "the manifest"), seen.0.get(&tag)) {
                (Trouble::Unreadable(failure), Some(digest)) => {
                    findings.push(stale(place(), &failure));
                    digest.clone()
                }
                (Trouble::Unreadable(failure), None) => {
                    findings.push(unreadable(place(), &failure));
                    continue;
                }
                (Trouble::Broken(problem) | Trouble::LeftOut(problem), _) => {
                    findings.push(broken(place(), &problem));
                    continue;
                }
            },
        };
        pointers.tags.entry(digest).or_default().push(tag);
    }
    pointers.tags.values_mut().for_each(|tags| tags.sort());
    Seen::write(wish, &pointers.tags);
    Ok(pointers)
}

/// Where each tag pointed when it could last be read. For tags that cannot be read now, and for nothing else.
#[derive(Default)]
struct Seen(BTreeMap<String, Digest>);

impl Seen {
    /// One line a tag: its name, a space, its digest.
    fn read(wish: &Scrape) -> Self {
        let bytes = wish.cache.as_ref().and_then(|cache| cache.get(CacheKey::Tags(&wish.repository)));
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let line =
            |line: &str| line.split_once(' ').and_then(|(tag, digest)| Some((tag.to_owned(), Digest::parse(digest)?)));
        Self(text.lines().filter_map(line).collect())
    }

    fn write(wish: &Scrape, digests: &BTreeMap<Digest, Vec<String>>) {
        let lines = digests.iter().flat_map(|(digest, tags)| tags.iter().map(move |tag| format!("{tag} {digest}\n")));
        if let Some(cache) = &wish.cache {
            cache.put(CacheKey::Tags(&wish.repository), lines.collect::<String>().as_bytes());
        }
    }
}
