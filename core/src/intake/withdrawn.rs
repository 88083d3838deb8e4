//! Images of releases that a source had lately but no longer has. A release that comes back must
//! have its old image.
//!
//! Otherwise a version could change its image in two steps: missing from one copy, back with
//! another digest in the next.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::Payloads;
use super::recent_maxima::{day, recent_days};
use crate::signatures::PayloadDigest;
use crate::version::{Arch, Version};

/// The most releases that are remembered; of more, those that went last, and of a day the highest versions.
const MAX_RELEASES: usize = 10_000;

/// What went within the last days.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WithdrawnReleases(BTreeMap<(Version, Arch), Gone>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Gone {
    /// UTC, counted from 1970.
    day: i64,
    digests: BTreeSet<PayloadDigest>,
}

impl WithdrawnReleases {
    /// What was written down before.
    pub fn of(entries: impl IntoIterator<Item = (i64, Version, Arch, PayloadDigest)>) -> Self {
        let mut vanished = Self::default();
        for (day, version, arch, digest) in entries {
            let gone = vanished.0.entry((version, arch)).or_insert(Gone {
                day,
                digests: BTreeSet::new(),
            });
            gone.day = gone.day.max(day);
            gone.digests.insert(digest);
        }
        vanished
    }

    /// To be written down: the day on which a release went, the release, one of its digests.
    pub fn entries(&self) -> impl Iterator<Item = (i64, &Version, &Arch, PayloadDigest)> {
        self.0.iter().flat_map(|((version, arch), gone)| {
            gone.digests
                .iter()
                .map(move |digest| (gone.day, version, arch, *digest))
        })
    }

    /// A copy without some releases takes the place of one that had them.
    pub fn note(&mut self, before: &Payloads, after: &Payloads, now: Timestamp) {
        self.0
            .retain(|_, gone| recent_days(now).contains(&gone.day));
        let went = before
            .0
            .iter()
            .filter(|(release, digests)| !after.0.contains_key(release) && !digests.is_empty());
        let gone = |digests: &BTreeSet<_>| Gone {
            day: day(now),
            digests: digests.clone(),
        };
        self.0
            .extend(went.map(|(release, digests)| (release.clone(), gone(digests))));
        let mut by_age: Vec<_> = self
            .0
            .iter()
            .map(|(release, gone)| (gone.day, release.clone()))
            .collect();
        by_age.sort_unstable();
        let too_many = by_age.len().saturating_sub(MAX_RELEASES);
        by_age
            .into_iter()
            .take(too_many)
            .for_each(|(_, release)| _ = self.0.remove(&release));
    }

    /// These are in use now, so they have not gone.
    pub fn forget(&mut self, present: &Payloads) {
        self.0.retain(|release, _| !present.0.contains_key(release));
    }

    /// What a copy is measured by: the images of the one before, and of what went lately.
    pub fn beside(&self, before: &Payloads, now: Timestamp) -> Payloads {
        let recent = self
            .0
            .iter()
            .filter(|(_, gone)| recent_days(now).contains(&gone.day));
        let mut all: BTreeMap<_, _> = recent
            .map(|(release, gone)| (release.clone(), gone.digests.clone()))
            .collect();
        all.extend(before.0.clone());
        Payloads(all)
    }
}
