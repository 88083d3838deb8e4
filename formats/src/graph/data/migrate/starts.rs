//! When each release of a new file starts, and how we know.
//!
//! A start is the commit that put the release into the first of the file's channels, with three
//! exceptions. Clusters already see all edges of a 1.x channel. So that none of them waits again,
//! every start is at least one rollout ago. A release starts in candidate no later than in fast,
//! and in fast no later than in stable. And a release that the migration promotes starts its
//! rollout now.

use std::collections::BTreeSet;

use jiff::Timestamp;
use towpath_core::graph::ChannelName;
use towpath_core::lint::feeding;
use towpath_core::version::ReleaseName;

use super::join::{ChannelFile, Group};
use super::stays::Stays;
use super::write::Start;
use super::{Wishes, is_phased};

/// Where the starts of all entries are from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Starts {
    pub from_history: usize,
    /// The oldest commit, with a number of releases: they may have been there for longer.
    pub from_oldest_commit: usize,
    /// Set back, so that no cluster waits again for what it has been shown, and channels stay in order.
    pub set_back: Tally,
    pub promoted: Tally,
    /// Not known: said to have always been there.
    pub unknown: Tally,
}

/// Which releases, in how many entries of files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    pub entries: usize,
    pub releases: BTreeSet<ReleaseName>,
}

/// Where a start is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Commit(Timestamp),
    OldestCommit(Timestamp),
    SetBack {
        to: Timestamp,
        since: Timestamp,
    },
    /// The release starts then in the channel that this one feeds.
    WhereItIsFed {
        to: Timestamp,
        since: Timestamp,
    },
    Promoted(Timestamp),
    Unknown,
}

impl Starts {
    pub(super) fn count(&mut self, release: &ReleaseName, origin: &Origin) {
        match origin {
            Origin::Commit(_) => self.from_history += 1,
            Origin::OldestCommit(_) => self.from_oldest_commit += 1,
            Origin::SetBack { .. } | Origin::WhereItIsFed { .. } => self.set_back.count(release),
            Origin::Promoted(_) => self.promoted.count(release),
            Origin::Unknown => self.unknown.count(release),
        }
    }
}

impl Tally {
    fn count(&mut self, release: &ReleaseName) {
        self.entries += 1;
        self.releases.insert(release.clone());
    }
}

/// The starts of one file.
pub(super) struct Schedule<'a> {
    channels: Vec<&'a ChannelName>,
    promoted: &'a BTreeSet<ReleaseName>,
    stays: &'a Stays,
    now: Timestamp,
    /// Whatever clusters have been shown starts no later.
    latest: Timestamp,
    /// The channels of other files that releases of this one go on to.
    fed: Vec<(&'a ChannelFile, Schedule<'a>)>,
}

impl<'a> Schedule<'a> {
    /// The starts of one of these groups of channels.
    pub(super) fn new(
        group: &'a Group,
        groups: &'a [Group],
        stays: &'a Stays,
        wishes: &Wishes,
    ) -> Self {
        let channels: Vec<&ChannelName> = group.files.iter().map(|file| &file.spec.name).collect();
        let phased = channels.iter().any(|channel| is_phased(channel, wishes));
        let rollouts = wishes.rollouts.iter().filter(|_| phased);
        let finished = rollouts.map(|rollout| rollout.latest_finished_start(wishes.now));
        let latest = finished.min().unwrap_or(wishes.now);
        let others = groups.iter().filter(|other| !std::ptr::eq(*other, group));
        let mut fed = Vec::new();
        for other in others {
            let is_fed = |file: &&ChannelFile| {
                let feeder = feeding(&file.spec.name);
                feeder.is_some_and(|feeder| channels.iter().any(|own| own.as_str() == feeder))
            };
            // Streams feed one way, candidate to fast to stable, so this comes to an end.
            let schedule = |file| (file, Self::new(other, groups, stays, wishes));
            fed.extend(other.files.iter().filter(is_fed).map(schedule));
        }
        Self {
            channels,
            promoted: &group.promoted,
            stays,
            now: wishes.now,
            latest,
            fed,
        }
    }

    pub(super) fn origin(&self, release: &ReleaseName) -> Origin {
        let own = self.own_origin(release);
        match self.earliest_where_it_is_fed(release) {
            Some(to) if to < own.start() => Origin::WhereItIsFed {
                to,
                since: own.since(),
            },
            _ => own,
        }
    }

    /// When clusters of the channels that this one feeds find the release there, or one of its architectures.
    fn earliest_where_it_is_fed(&self, release: &ReleaseName) -> Option<Timestamp> {
        let starts = self.fed.iter().flat_map(|(file, schedule)| {
            let releases = file.releases().into_iter();
            let same = releases.filter(|other| {
                let is_covered = release.arch.is_none() || release.arch == other.arch;
                other.version == release.version && is_covered
            });
            same.map(|other| schedule.origin(other).start())
        });
        starts.min()
    }

    fn own_origin(&self, release: &ReleaseName) -> Origin {
        let since = self
            .channels
            .iter()
            .filter_map(|channel| self.stays.since(channel, release))
            .min();
        match since {
            _ if self.promoted.contains(release) => Origin::Promoted(self.now),
            None => Origin::Unknown,
            Some(since) if since > self.latest => Origin::SetBack {
                to: self.latest,
                since,
            },
            Some(since) if self.stays.oldest() == Some(since) => Origin::OldestCommit(since),
            Some(since) => Origin::Commit(since),
        }
    }

    pub(super) fn start(&self, release: &ReleaseName) -> Start {
        let origin = self.origin(release);
        let why = match origin {
            Origin::SetBack { .. } => Some("an earlier start keeps what clusters see"),
            Origin::WhereItIsFed { .. } => {
                Some("an earlier start keeps it before the channel that this one feeds")
            }
            Origin::Commit(_) | Origin::OldestCommit(_) | Origin::Promoted(_) | Origin::Unknown => {
                None
            }
        };
        Start {
            at: origin.start(),
            remark: why.map(|why| format!("# it came {}; {why}", origin.since())),
        }
    }
}

impl Origin {
    fn start(self) -> Timestamp {
        match self {
            Self::Commit(at) | Self::OldestCommit(at) | Self::Promoted(at) => at,
            Self::SetBack { to, .. } | Self::WhereItIsFed { to, .. } => to,
            Self::Unknown => Timestamp::UNIX_EPOCH,
        }
    }

    /// When it really came.
    fn since(self) -> Timestamp {
        match self {
            Self::SetBack { since, .. } | Self::WhereItIsFed { since, .. } => since,
            Self::Commit(_) | Self::OldestCommit(_) | Self::Promoted(_) | Self::Unknown => {
                self.start()
            }
        }
    }
}
