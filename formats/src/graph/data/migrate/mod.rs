//! Migration from schema 1.x to 2.0.0: texts and the history of channels in, files out. There is
//! no IO here.
//!
//! Channels that hold the same releases share a file, and every release gets the time since which
//! it has been there. What is served stays the same. To prove it, the result is read again: no
//! channel may hold other releases than before, and no cluster may lose an edge that it was shown.
//! Comments and order are kept. A file whose text cannot be kept is refused.

mod join;
mod rollout;
mod show;
mod starts;
mod stays;
mod text;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::graph::{Block, ChannelName};
use towpath_core::version::ReleaseName;

use super::{FileKind, channels_v1, schema};
use crate::SourceFile;
use join::{ChannelFile, Group};
pub use rollout::Rollout;
pub use show::{MigrationReport, migration_json, migration_text, refused_json, refused_text};
pub use starts::{Starts, Tally};
pub use stays::Stays;
use text::{ChannelText, Entry};

#[derive(Debug, Clone)]
pub struct Wishes {
    /// The rollout rules to write.
    pub rollouts: Vec<Rollout>,
    /// For which channels: streams (`stable`) or whole names (`stable-4.9`).
    pub phased: Vec<String>,
    /// Releases that may come to channels which lack them, where that is all that keeps the channel apart from fast.
    pub promote: BTreeSet<ReleaseName>,
    /// What clusters have been shown by now, they must not lose.
    pub now: Timestamp,
}

/// What has become of a repository.
#[derive(Debug)]
pub struct Migration {
    /// All files, sorted by path; those that did not change share their bytes with the old ones.
    pub files: Vec<SourceFile>,
    pub channels: Vec<Migrated>,
    pub starts: Starts,
    /// What somebody should look at.
    pub findings: Vec<Finding>,
}

/// A file of channels that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    pub path: String,
    pub channels: Vec<ChannelName>,
    /// The files that they stood in.
    pub from: Vec<String>,
    /// How many releases they share.
    pub releases: usize,
    /// Those that came to some of its channels just now.
    pub promoted: BTreeSet<ReleaseName>,
}

/// Rewrites a repository of schema 1.x, or says everything that stands in the way.
pub fn migrate(
    files: &[SourceFile],
    stays: &Stays,
    wishes: &Wishes,
) -> Result<Migration, Vec<Finding>> {
    refuse_other_schemas(files).map_err(|finding| vec![finding])?;
    let (old, warnings) = super::read(files)?;
    let mut findings = Vec::new();
    let channel_files = take_apart(files, &mut findings);
    check_wishes(wishes, &channel_files, &mut findings);
    if findings.iter().any(Finding::is_error) {
        findings.sort();
        return Err(findings);
    }
    let before: ChannelContents = channel_files
        .iter()
        .map(|file| (file.spec.name.clone(), file.spec_releases()))
        .collect();
    let groups = join::groups(channel_files, &wishes.promote, &mut findings);
    let taken_back: Vec<Finding> = groups
        .iter()
        .flat_map(|group| taken_back(group, wishes))
        .collect();
    if !taken_back.is_empty() {
        return Err(taken_back);
    }
    let mut migration = Migration {
        files: kept(files),
        channels: Vec::new(),
        starts: Starts::default(),
        findings,
    };
    for group in &groups {
        migration.add(group, &groups, stays, wishes);
    }
    migration.files.sort_by(|a, b| a.path.cmp(&b.path));
    migration.findings.extend(feeders_left(&groups));
    migration.check(&before, &old.blocks, &groups, &warnings)?;
    migration.findings.sort();
    Ok(migration)
}

/// Which releases each channel holds.
type ChannelContents = BTreeMap<ChannelName, BTreeSet<ReleaseName>>;

impl Migration {
    fn add(&mut self, group: &Group, groups: &[Group], stays: &Stays, wishes: &Wishes) {
        let rollouts = |channel: &ChannelName| match is_phased(channel, wishes) {
            true => wishes.rollouts.clone(),
            false => Vec::new(),
        };
        let schedule = starts::Schedule::new(group, groups, stays, wishes);
        let text = write::file(group, &rollouts, &|release| schedule.start(release));
        let names = group.files[0].releases();
        names
            .iter()
            .for_each(|name| self.starts.count(name, &schedule.origin(name)));
        self.channels.push(Migrated {
            path: group.path.clone(),
            channels: group
                .files
                .iter()
                .map(|file| file.spec.name.clone())
                .collect(),
            from: group.files.iter().map(|file| file.path.clone()).collect(),
            releases: names.len(),
            promoted: group.promoted.clone(),
        });
        self.files.push(SourceFile {
            path: group.path.clone(),
            bytes: text.into_bytes().into(),
        });
    }

    /// Reads what was written. An error here is our own mistake, and must not reach a service.
    fn check(
        &mut self,
        before: &ChannelContents,
        blocks: &[Block],
        groups: &[Group],
        known: &[Finding],
    ) -> Result<(), Vec<Finding>> {
        let (after, warnings) = super::read(&self.files)?;
        let loosened: Vec<Finding> = other_meanings(blocks, &after.blocks).collect();
        if !loosened.is_empty() {
            return Err(loosened);
        }
        let added = |channel: &ChannelName| -> BTreeSet<ReleaseName> {
            let group = groups
                .iter()
                .find(|group| group.files.iter().any(|file| file.spec.name == *channel));
            group
                .map(|group| group.promoted.clone())
                .unwrap_or_default()
        };
        let holds = after.channels.iter().map(|channel| {
            let releases: BTreeSet<ReleaseName> = channel
                .members
                .iter()
                .map(|member| member.name.clone())
                .collect();
            (channel.name.clone(), releases)
        });
        let expected: ChannelContents = before
            .iter()
            .map(|(channel, releases)| {
                (
                    channel.clone(),
                    releases.union(&added(channel)).cloned().collect(),
                )
            })
            .collect();
        if holds.collect::<ChannelContents>() != expected {
            let problem = "the result would not hold the same releases";
            let remedy = "please report this; nothing was written";
            return Err(vec![Finding::error(
                "not-the-same",
                Place::file("channels"),
                problem,
                remedy,
            )]);
        }
        self.findings.extend(
            warnings
                .into_iter()
                .filter(|warning| !known.contains(warning)),
        );
        Ok(())
    }
}

/// Blocks that would mean something else in the new schema: in 1.0.0, `clusters` narrows nothing.
fn other_meanings<'a>(
    before: &'a [Block],
    after: &'a [Block],
) -> impl Iterator<Item = Finding> + 'a {
    let is_same =
        |one: &Block, other: &Block| one.origin == other.origin && one.stops == other.stops;
    let stays = move |block: &&Block| after.iter().any(|other| is_same(block, other));
    let changed = before.iter().filter(move |block| !stays(block));
    changed.map(|block| {
        let problem = "in schema 2.0.0 this block would be for other clusters than in 1.0.0, where `clusters` narrows nothing";
        let remedy = "remove `clusters`, or write 1.1.0 into the file `version` if it is meant; then migrate";
        Finding::error("other-meaning", block.origin.clone(), problem, remedy)
    })
}

/// What is to be said to promotion tooling: which channels are no longer fed by themselves.
fn feeders_left(groups: &[Group]) -> Option<Finding> {
    let left: Vec<&str> = groups
        .iter()
        .flat_map(write::feeders_left)
        .map(ChannelName::as_str)
        .collect();
    let problem = format!(
        "the feeders of {} became comments, since others feed what they share now",
        left.join(", ")
    );
    let remedy = "let promotion tooling add a release to a file once, and not to each channel";
    (!left.is_empty())
        .then(|| Finding::warning("feeder-left", Place::file("channels"), problem, remedy))
}

fn refuse_other_schemas(files: &[SourceFile]) -> Result<(), Finding> {
    match schema::find(files)? {
        schema::Schema::V1_0 | schema::Schema::V1 => Ok(()),
        of @ (schema::Schema::V2 | schema::Schema::V2_1) => {
            let problem = format!("the graph data is of schema {} already", of.shown());
            let remedy = "there is nothing to do; `towpath graph lint` checks it";
            Err(Finding::error(
                "already-migrated",
                Place::file("version"),
                problem,
                remedy,
            ))
        }
    }
}

/// What does not change, and the new `version`.
fn kept(files: &[SourceFile]) -> Vec<SourceFile> {
    let kept = files.iter().filter(|file| {
        file.path != "version" && !matches!(FileKind::of(&file.path), FileKind::Channels)
    });
    let version = SourceFile {
        path: "version".to_owned(),
        bytes: b"2.0.0\n".as_slice().into(),
    };
    kept.cloned().chain(std::iter::once(version)).collect()
}

/// Whether rollout rules are to be written for this channel.
fn is_phased(channel: &ChannelName, wishes: &Wishes) -> bool {
    let stream = channel
        .as_str()
        .rsplit_once('-')
        .map_or(channel.as_str(), |(stream, _)| stream);
    !wishes.rollouts.is_empty()
        && wishes
            .phased
            .iter()
            .any(|wanted| wanted == channel.as_str() || wanted == stream)
}

/// A release starts once for all channels of a file. One that is promoted starts now, and a channel that has it already would
/// phase it in again.
fn taken_back<'a>(group: &'a Group, wishes: &'a Wishes) -> impl Iterator<Item = Finding> + 'a {
    let phased = group
        .files
        .iter()
        .filter(|file| is_phased(&file.spec.name, wishes));
    phased.filter_map(|file| {
        let release = file
            .releases()
            .into_iter()
            .find(|name| group.promoted.contains(*name))?
            .clone();
        let channel = &file.spec.name;
        let problem = format!(
            "{channel} has {release} already, and would phase it in again if it is promoted now"
        );
        let remedy = format!("leave {channel} out of --channels, or do not promote {release}");
        Some(Finding::error(
            "promoted-again",
            Place::file(file.path.as_str()),
            problem,
            remedy,
        ))
    })
}

fn check_wishes(wishes: &Wishes, files: &[ChannelFile], findings: &mut Vec<Finding>) {
    let mut seen = BTreeSet::new();
    for rollout in &wishes.rollouts {
        if !seen.insert(rollout.criterion) {
            let what = rollout.criterion.unwrap_or("default");
            let problem = format!("there are two rules for {what} edges");
            findings.push(Finding::error(
                "duplicate-rule",
                Place::file("--rollout"),
                problem,
                "keep one of them",
            ));
        }
    }
    if !wishes.rollouts.is_empty() && !files.iter().any(|file| is_phased(&file.spec.name, wishes)) {
        let problem = format!("no channel is of {}", wishes.phased.join(", "));
        let remedy = "name streams (stable) or channels (stable-4.9) that are there";
        findings.push(Finding::error(
            "no-such-channel",
            Place::file("--channels"),
            problem,
            remedy,
        ));
    }
}

fn take_apart(files: &[SourceFile], findings: &mut Vec<Finding>) -> Vec<ChannelFile> {
    let channels = files
        .iter()
        .filter(|file| matches!(FileKind::of(&file.path), FileKind::Channels));
    let mut taken: Vec<ChannelFile> = Vec::new();
    for file in channels {
        match take_one_apart(file, findings) {
            Ok(file) => taken.extend(file),
            Err(finding) => findings.push(finding),
        }
    }
    taken.sort_by(|a, b| a.path.cmp(&b.path));
    taken
}

/// A file's text, with what the real reader makes of it.
fn take_one_apart(
    file: &SourceFile,
    findings: &mut Vec<Finding>,
) -> Result<Option<ChannelFile>, Finding> {
    let place = Place::file(file.path.as_str());
    // Its warnings have been told, or are told again below.
    let Some(spec) = channels_v1::of_file(file) else {
        return Ok(None);
    };
    let written = String::from_utf8_lossy(&file.bytes);
    if written.contains('\r') {
        let problem = "lines end with a carriage return, and will not in the new file";
        findings.push(Finding::warning(
            "line-ends",
            place.clone(),
            problem,
            "there is nothing to do",
        ));
    }
    let mut text = ChannelText::read(&place, &written)?;
    let entries = text
        .entries_mut()
        .ok_or_else(|| text::odd(place.clone(), "versions"))?;
    // Two readers, one list: a difference would be a release lost or invented.
    for (at, member) in spec.members.iter().enumerate() {
        match entries
            .get_mut(at)
            .filter(|entry| entry.line == member.origin.line)
        {
            Some(entry) => entry.name = Some(member.name.clone()),
            None => return Err(text::odd(member.origin.clone(), &member.name.to_string())),
        }
    }
    if let Some(entry) = entries.iter().find(|entry| entry.name.is_none()) {
        return Err(text::odd(place.at(entry.line, 0), &entry.scalar.written));
    }
    drop_repeated(&place, entries, findings);
    match text.name() {
        Some(_) => Ok(Some(ChannelFile {
            path: file.path.clone(),
            spec,
            text,
        })),
        None => Err(text::odd(place, "name")),
    }
}

/// In schema 2.0.0 a release stands once, since it has one start: `4.2.14+amd64` is part of `4.2.14`.
fn drop_repeated(place: &Place, entries: &mut Vec<Entry>, findings: &mut Vec<Finding>) {
    let whole: BTreeSet<ReleaseName> = entries
        .iter()
        .filter_map(|entry| entry.name.clone())
        .filter(|name| name.arch.is_none())
        .collect();
    let (mut seen, mut kept, mut orphans) = (BTreeSet::new(), Vec::new(), Vec::new());
    for mut entry in std::mem::take(entries) {
        let Some(name) = entry.name.clone() else {
            continue;
        };
        let covered = name.arch.is_some()
            && whole.contains(&ReleaseName {
                arch: None,
                ..name.clone()
            });
        if !covered && seen.insert(name.clone()) {
            entry.above.splice(0..0, orphans.drain(..));
            kept.push(entry);
            continue;
        }
        let problem = format!("{name} is listed twice, and will be listed once");
        let place = place.at(entry.line, 0);
        findings.push(Finding::warning(
            "duplicate-version",
            place,
            problem,
            "there is nothing to do",
        ));
        orphans.extend(entry.above.into_iter().chain(entry.scalar.beside));
    }
    if let Some(last) = kept.last_mut() {
        last.above.append(&mut orphans);
    }
    *entries = kept;
}

impl ChannelFile {
    fn spec_releases(&self) -> BTreeSet<ReleaseName> {
        self.releases().into_iter().cloned().collect()
    }
}
