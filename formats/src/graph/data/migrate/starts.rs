//! When each release of a new file starts, and how we know.
//!
//! A start is the commit that put the release into the first of the file's channels, with two
//! exceptions. Clusters already see all edges of a 1.x channel. So that none of them waits again,
//! every start is at least one rollout ago. And a release that the migration promotes starts its
//! rollout now.

use std::collections::BTreeSet;

use jiff::Timestamp;
use towpath_core::graph::ChannelName;
use towpath_core::version::ReleaseName;

use super::join::Group;
use super::stays::Stays;
use super::write::Start;
use super::{Wishes, is_phased};

/// Where the starts of all entries are from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Starts {
    pub from_history: usize,
    /// The oldest commit, with a number of releases: they may have been there for longer.
    pub from_oldest_commit: usize,
    /// Set back, so that no cluster waits again for what it has been shown.
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
    SetBack { to: Timestamp, since: Timestamp },
    Promoted(Timestamp),
    Unknown,
}

impl Starts {
    pub(super) fn count(&mut self, release: &ReleaseName, origin: &Origin) {
        match origin {
            Origin::Commit(_) => self.from_history += 1,
            Origin::OldestCommit(_) => self.from_oldest_commit += 1,
            Origin::SetBack { .. } => self.set_back.count(release),
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
}

impl<'a> Schedule<'a> {
    pub(super) fn new(group: &'a Group, stays: &'a Stays, wishes: &Wishes) -> Self {
        let channels: Vec<&ChannelName> = group.files.iter().map(|file| &file.spec.name).collect();
        let phased = channels.iter().any(|channel| is_phased(channel, wishes));
        let rollouts = wishes.rollouts.iter().filter(|_| phased);
        let finished = rollouts.map(|rollout| rollout.latest_finished_start(wishes.now));
        let latest = finished.min().unwrap_or(wishes.now);
        Self {
            channels,
            promoted: &group.promoted,
            stays,
            now: wishes.now,
            latest,
        }
    }

    pub(super) fn origin(&self, release: &ReleaseName) -> Origin {
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
        match self.origin(release) {
            Origin::Commit(at) | Origin::OldestCommit(at) | Origin::Promoted(at) => {
                Start { at, remark: None }
            }
            Origin::SetBack { to, since } => {
                let remark = format!("# it came {since}; an earlier start keeps what clusters see");
                Start {
                    at: to,
                    remark: Some(remark),
                }
            }
            Origin::Unknown => Start {
                at: Timestamp::UNIX_EPOCH,
                remark: None,
            },
        }
    }
}
