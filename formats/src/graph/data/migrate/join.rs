//! Which channels can share a file.
//!
//! All channels of a 2.0.0 file hold the same releases, and a channel is in one file only. So
//! channels of one minor version share a file if they hold the same releases, and stay apart if
//! one holds something back. A candidate channel never shares a file, because its test releases
//! would reach all the others.

use std::collections::{BTreeMap, BTreeSet};

use towpath_core::finding::{Finding, Place};
use towpath_core::graph::ChannelSpec;
use towpath_core::version::ReleaseName;

use super::text::ChannelText;

/// The streams that may share a file; the first is where releases arrive first, and whose order and comments lead.
const JOINABLE: [&str; 3] = ["fast", "stable", "eus"];
/// How many releases are named where many could be.
const NAMED: usize = 8;

/// A channel, as it is meant and as it is written.
#[derive(Debug)]
pub(super) struct ChannelFile {
    pub(super) path: String,
    pub(super) spec: ChannelSpec,
    pub(super) text: ChannelText,
}

/// Channels that are to share a file.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) path: String,
    pub(super) files: Vec<ChannelFile>,
    /// What only the first of them held so far.
    pub(super) promoted: BTreeSet<ReleaseName>,
}

impl ChannelFile {
    /// The releases that it holds.
    pub(super) fn releases(&self) -> BTreeSet<&ReleaseName> {
        self.text
            .entries()
            .iter()
            .filter_map(|entry| entry.name.as_ref())
            .collect()
    }

    /// `stable` and `4.9` of stable-4.9.
    fn stream_and_version(&self) -> (&str, &str) {
        self.spec
            .name
            .as_str()
            .rsplit_once('-')
            .unwrap_or((self.spec.name.as_str(), ""))
    }
}

/// Puts channels together that can be; says of the others what keeps them apart.
pub(super) fn groups(
    files: Vec<ChannelFile>,
    promote: &BTreeSet<ReleaseName>,
    findings: &mut Vec<Finding>,
) -> Vec<Group> {
    let taken: BTreeSet<String> = files.iter().map(|file| file.path.clone()).collect();
    let mut by_version: BTreeMap<String, Vec<(usize, ChannelFile)>> = BTreeMap::new();
    let mut groups = Vec::new();
    for file in files {
        let (stream, version) = file.stream_and_version();
        match JOINABLE.iter().position(|joinable| *joinable == stream) {
            Some(rank) if !version.is_empty() => by_version
                .entry(version.to_owned())
                .or_default()
                .push((rank, file)),
            _ => groups.push(Group::alone(file)),
        }
    }
    for (version, mut files) in by_version {
        files.sort_by_key(|(rank, _)| *rank);
        let files = files.into_iter().map(|(_, file)| file).collect();
        groups.extend(join(&version, files, promote, &taken, findings));
    }
    groups.sort_by(|a, b| a.path.cmp(&b.path));
    let used: BTreeSet<&ReleaseName> = groups.iter().flat_map(|group| &group.promoted).collect();
    for release in promote.iter().filter(|release| !used.contains(release)) {
        let problem = format!("{release} was to be promoted, and that joins no channels");
        let remedy = "leave it out, or name all releases that keep two channels apart";
        findings.push(Finding::warning(
            "nothing-to-promote",
            Place::file("channels"),
            problem,
            remedy,
        ));
    }
    groups
}

impl Group {
    fn alone(file: ChannelFile) -> Self {
        Self {
            path: file.path.clone(),
            files: vec![file],
            promoted: BTreeSet::new(),
        }
    }
}

/// The groups of one minor version.
fn join(
    version: &str,
    files: Vec<ChannelFile>,
    promote: &BTreeSet<ReleaseName>,
    taken: &BTreeSet<String>,
    findings: &mut Vec<Finding>,
) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let shared_path = format!("channels/{version}.yaml");
    let path_is_free =
        !taken.contains(&shared_path) || files.iter().any(|file| file.path == shared_path);
    for file in files {
        let fitting = groups.iter_mut().find_map(|group| {
            let promoted = promoted_to_join(&group.files[0], &file, promote)?;
            path_is_free.then_some((group, promoted))
        });
        match fitting {
            Some((group, promoted)) => {
                group.path.clone_from(&shared_path);
                group.promoted.extend(promoted);
                group.files.push(file);
            }
            None => {
                if let Some(first) = groups.first() {
                    let path = (!path_is_free).then_some(shared_path.as_str());
                    findings.push(kept_apart(&first.files[0], &file, path));
                }
                groups.push(Group::alone(file));
            }
        }
    }
    groups
}

/// What the second must be given so that it holds the same as the first; none if it cannot be the same.
fn promoted_to_join(
    first: &ChannelFile,
    second: &ChannelFile,
    promote: &BTreeSet<ReleaseName>,
) -> Option<BTreeSet<ReleaseName>> {
    let (first_holds, second_holds) = (first.releases(), second.releases());
    let missing: BTreeSet<ReleaseName> = first_holds
        .difference(&second_holds)
        .map(|name| (*name).clone())
        .collect();
    let same = second_holds.is_subset(&first_holds) && missing.is_subset(promote);
    (same && tombstones_fit(first, second)).then_some(missing)
}

/// Whether no tombstone would be lost: promotion tooling would bring such a release back.
fn tombstones_fit(first: &ChannelFile, second: &ChannelFile) -> bool {
    let tombstones = |file: &ChannelFile| file.text.verbatim("tombstones").map(<[String]>::to_vec);
    tombstones(second).is_none_or(|theirs| tombstones(first) == Some(theirs))
}

fn kept_apart(first: &ChannelFile, second: &ChannelFile, taken: Option<&str>) -> Finding {
    let (a, b) = (&first.spec.name, &second.spec.name);
    let (first_holds, second_holds) = (first.releases(), second.releases());
    let missing: Vec<&ReleaseName> = first_holds.difference(&second_holds).copied().collect();
    let surplus: Vec<&ReleaseName> = second_holds.difference(&first_holds).copied().collect();
    let place = Place::file(second.path.as_str());
    let nothing = "there is nothing to do: each keeps its file";
    let apart = |problem: String, remedy: &str| {
        Finding::warning("kept-apart", place.clone(), problem, remedy)
    };
    match (missing.as_slice(), surplus.as_slice(), taken) {
        ([], [], Some(path)) => apart(
            format!("{b} and {a} could share {path}, which is taken"),
            "rename that file",
        ),
        ([], [], None) => apart(format!("{b} and {a} have different tombstones"), nothing),
        (missing, [], _) if missing.len() <= NAMED => {
            let problem = format!(
                "{b} lacks {} of {a}, so each keeps its file",
                named(missing)
            );
            let remedy = format!(
                "there is nothing to do if that is held back; if it is on its way, join them and roll it out from now on: --promote {}",
                listed(missing)
            );
            Finding::warning("could-be-joined", place, problem, remedy)
        }
        (missing, [], _) => apart(format!("{b} lacks {} of {a}", named(missing)), nothing),
        ([], surplus, _) => apart(format!("{a} lacks {} of {b}", named(surplus)), nothing),
        (missing, surplus, _) => apart(
            format!(
                "{b} lacks {} of {a}, which lacks {} of {b}",
                named(missing),
                named(surplus)
            ),
            nothing,
        ),
    }
}

fn listed(releases: &[&ReleaseName]) -> String {
    releases
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

fn named(releases: &[&ReleaseName]) -> String {
    let shown = |count: usize| {
        releases
            .iter()
            .take(count)
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    match releases.len() <= NAMED {
        true => shown(NAMED),
        false => format!("{} releases ({}, …)", releases.len(), shown(2)),
    }
}
