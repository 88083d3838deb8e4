//! Which digests the tags of a repository point at: asked now, or remembered. `recheck` decides which tags to ask.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use towpath_core::finding::Finding;
use towpath_core::intake::{RECHECK_ROUNDS, due};
use towpath_formats::sources::oci::{Digest, Reference};

use super::client::{Registry, RegistryAnswer};
use super::failure::Failure;
use super::image::{Trouble, trouble};
use super::scrape::{Scrape, Step, broken, stale, unreadable};
use super::several::{Standing, several};
use crate::cache::CacheKey;

/// The most bytes of manifests that we keep from resolving tags. Others are fetched again.
const MAX_HELD_BYTES: u64 = 64 << 20;

/// The digests of a repository.
#[derive(Default)]
pub(super) struct Pointers {
    /// The tags of each digest.
    pub(super) tags: BTreeMap<Digest, Vec<String>>,
    /// The manifests that came with the tags.
    pub(super) manifests: BTreeMap<Digest, RegistryAnswer>,
}

type TagLookup = Result<(Digest, Option<RegistryAnswer>), Failure>;

/// Resolves each tag. For a known tag that is due, it asks for the digest. For a new tag, it fetches the manifest as well,
/// because that is needed anyway.
pub(super) async fn pointers(
    registry: &Registry,
    wish: &Scrape,
    tags: Vec<Reference>,
    findings: &mut Vec<Finding>,
) -> Result<Pointers, Finding> {
    let seen = Arc::new(TagRecord::read(wish));
    let due = seen.due(wish, &tags);
    let (asked, unasked): (Vec<_>, Vec<_>) =
        tags.into_iter().partition(|tag| due.contains(tag.as_str()));
    let mut known = seen.one_round_later(&unasked);
    let held_bytes = Arc::new(AtomicU64::new(0));
    let ask = |tag: Reference| {
        let (registry, repository) = (registry.clone(), wish.repository.clone());
        let (seen, held_bytes) = (seen.clone(), held_bytes.clone());
        async move {
            let name = tag.as_str().to_owned();
            let pointed = match seen.0.contains_key(&name) {
                true => registry
                    .digest(&repository, &tag)
                    .await
                    .map(|digest| (digest, None)),
                false => registry.tagged(&repository, &tag).await,
            };
            let has_room = |fetched: &RegistryAnswer| {
                let bytes = fetched.bytes.len() as u64;
                held_bytes.fetch_add(bytes, Ordering::Relaxed) + bytes <= MAX_HELD_BYTES
            };
            (
                name,
                pointed.map(|(digest, fetched)| (digest, fetched.filter(has_room))),
            )
        }
    };
    let standing = |(_, pointed): &(String, TagLookup)| match pointed {
        Err(failure) if matches!(trouble(failure.clone(), ""), Trouble::Unreadable(_)) => {
            Ok(Standing::Unreadable)
        }
        _ => Ok(Standing::Known),
    };
    let total = asked.len();
    let told = |done: usize| wish.progress.tell(Step::Tags(done, total));
    let mut pointers = Pointers::default();
    for (tag, pointed) in several(wish, asked, ask, standing, told).await? {
        let place = || wish.place(&tag);
        let pointer = match pointed {
            Ok((digest, fetched)) => {
                pointers
                    .manifests
                    .extend(fetched.map(|fetched| (digest.clone(), fetched)));
                Pointer {
                    digest,
                    rounds_unasked: 0,
                }
            }
            Err(Failure::Lasting {
                code: "not-found", ..
            }) => {
                findings.push(broken(place(), "the tag points at nothing"));
                continue;
            }
            Err(failure) => match (trouble(failure, "the manifest"), seen.0.get(&tag)) {
                (Trouble::Unreadable(failure), Some(before)) => {
                    findings.push(stale(place(), &failure));
                    Pointer {
                        rounds_unasked: RECHECK_ROUNDS,
                        ..before.clone()
                    }
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
        known.0.insert(tag, pointer);
    }
    known.write(wish);
    for (tag, pointer) in known.0 {
        pointers.tags.entry(pointer.digest).or_default().push(tag);
    }
    Ok(pointers)
}

/// The digest of each tag when it was last read.
#[derive(Default)]
struct TagRecord(BTreeMap<String, Pointer>);

#[derive(Clone)]
struct Pointer {
    digest: Digest,
    /// The number of rounds since the last check.
    rounds_unasked: u32,
}

impl TagRecord {
    /// One line for each tag: name, digest, rounds since the last check. Old lines lack the number; their tags are due.
    fn read(wish: &Scrape) -> Self {
        let bytes = wish
            .cache
            .as_ref()
            .and_then(|cache| cache.get(CacheKey::Tags(&wish.repository)));
        let text = String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default();
        let line = |line: &str| {
            let mut fields = line.split(' ');
            let (tag, digest) = (fields.next()?.to_owned(), Digest::parse(fields.next()?)?);
            let rounds_unasked = fields
                .next()
                .and_then(|rounds| rounds.parse().ok())
                .unwrap_or(RECHECK_ROUNDS);
            Some((
                tag,
                Pointer {
                    digest,
                    rounds_unasked,
                },
            ))
        };
        Self(text.lines().filter_map(line).collect())
    }

    /// The tags to check. A tag whose image is not in the cache is always checked.
    fn due(&self, wish: &Scrape, tags: &[Reference]) -> BTreeSet<String> {
        let is_cached = |digest| {
            wish.cache
                .as_ref()
                .is_some_and(|cache| cache.has(CacheKey::Image(digest)))
        };
        let rounds_unasked = |tag: &str| {
            let pointer = self.0.get(tag).filter(|pointer| is_cached(&pointer.digest));
            pointer.map(|pointer| pointer.rounds_unasked)
        };
        let due = due(
            tags.iter().map(Reference::as_str),
            rounds_unasked,
            wish.recheck,
        );
        due.into_iter().map(str::to_owned).collect()
    }

    /// Takes over these tags, which are not checked in this round.
    fn one_round_later(&self, unasked: &[Reference]) -> Self {
        let later = |tag: &Reference| {
            let Pointer {
                digest,
                rounds_unasked,
            } = self.0.get(tag.as_str())?.clone();
            Some((
                tag.as_str().to_owned(),
                Pointer {
                    digest,
                    rounds_unasked: rounds_unasked.saturating_add(1),
                },
            ))
        };
        Self(unasked.iter().filter_map(later).collect())
    }

    fn write(&self, wish: &Scrape) {
        let line = |(
            tag,
            Pointer {
                digest,
                rounds_unasked,
            },
        ): (&String, &Pointer)| { format!("{tag} {digest} {rounds_unasked}\n") };
        if let Some(cache) = &wish.cache {
            cache.put(
                CacheKey::Tags(&wish.repository),
                self.0.iter().map(line).collect::<String>().as_bytes(),
            );
        }
    }
}
