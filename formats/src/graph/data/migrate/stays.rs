//! Since when each release has been in each channel, from the history of the channel files.
//!
//! A release that left a channel and came back has been there since it came back, because nobody
//! was offered it in between. A channel is known by its name, so renaming its file ends no stay.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use towpath_core::graph::ChannelName;
use towpath_core::version::ReleaseName;

use crate::SourceFile;
use crate::graph::data::{FileKind, channels_v1};

/// The stays that are known after the commits so far.
#[derive(Debug, Default)]
pub struct Stays {
    files: BTreeMap<String, ChannelContent>,
    since: BTreeMap<(ChannelName, ReleaseName), Timestamp>,
    oldest: Option<Timestamp>,
    unreadable: usize,
}

/// What one file says that its channel holds.
type ChannelContent = (ChannelName, BTreeSet<ReleaseName>);

impl Stays {
    /// Takes in a commit, the earliest first: its time, and each file that it changed, with its new content if it has one.
    pub fn commit<'a>(
        &mut self,
        at: Timestamp,
        changes: impl Iterator<Item = (&'a str, Option<&'a [u8]>)>,
    ) {
        self.oldest.get_or_insert(at);
        let changes: Vec<_> = changes
            .filter(|(path, _)| matches!(FileKind::of(path), FileKind::Channels))
            .collect();
        let read: Vec<_> = changes
            .iter()
            .map(|(path, bytes)| (*path, bytes.map(|bytes| held(path, bytes))))
            .collect();
        let before = read
            .iter()
            .filter_map(|(path, _)| self.files.get(*path).map(|(channel, _)| channel));
        let after = read
            .iter()
            .filter_map(|(_, held)| held.as_ref()?.as_ref().map(|(channel, _)| channel));
        let channels: BTreeSet<ChannelName> = before.chain(after).cloned().collect();
        let before = self.held_by(&channels);
        for (path, held) in read {
            match held {
                Some(Some(held)) => drop(self.files.insert(path.to_owned(), held)),
                None => drop(self.files.remove(path)),
                // A file that was wrong for a while: nothing is known to have come or gone.
                Some(None) => self.unreadable += 1,
            }
        }
        let after = self.held_by(&channels);
        for gone in before.difference(&after) {
            self.since.remove(gone);
        }
        for come in after.difference(&before) {
            self.since.insert(come.clone(), at);
        }
    }

    /// Since when the release has been in the channel.
    pub fn since(&self, channel: &ChannelName, release: &ReleaseName) -> Option<Timestamp> {
        self.since.get(&(channel.clone(), release.clone())).copied()
    }

    /// The oldest commit. What was there then may have been there for longer.
    pub fn oldest(&self) -> Option<Timestamp> {
        self.oldest
    }

    /// How many versions of files could not be understood, and were passed over.
    pub fn unreadable(&self) -> usize {
        self.unreadable
    }

    fn held_by(&self, channels: &BTreeSet<ChannelName>) -> BTreeSet<(ChannelName, ReleaseName)> {
        let files = self
            .files
            .values()
            .filter(|(channel, _)| channels.contains(channel));
        files
            .flat_map(|(channel, held)| {
                held.iter()
                    .map(|release| (channel.clone(), release.clone()))
            })
            .collect()
    }
}

fn held(path: &str, bytes: &[u8]) -> Option<ChannelContent> {
    let spec = channels_v1::of_file(&SourceFile {
        path: path.to_owned(),
        bytes: bytes.into(),
    })?;
    Some((
        spec.name,
        spec.members.into_iter().map(|member| member.name).collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each commit: its second, and files with their releases; `-` for a file that goes.
    fn since(commits: &[(i64, &[(&str, &str)])], channel: &str, release: &str) -> Option<i64> {
        let mut stays = Stays::default();
        for (second, files) in commits {
            let texts: Vec<(&str, Option<String>)> = files
                .iter()
                .map(|(path, versions)| {
                    let name = if path.contains("renamed") {
                        "a"
                    } else {
                        path.trim_end_matches(".yaml")
                    };
                    (
                        *path,
                        (*versions != "-").then(|| format!("name: {name}\nversions: {versions}\n")),
                    )
                })
                .collect();
            let paths: Vec<(String, Option<String>)> = texts
                .into_iter()
                .map(|(path, text)| (format!("channels/{path}"), text))
                .collect();
            let changes = paths
                .iter()
                .map(|(path, text)| (path.as_str(), text.as_ref().map(|t| t.as_bytes())));
            stays.commit(Timestamp::from_second(*second).unwrap(), changes);
        }
        let since = stays.since(
            &ChannelName::new(channel).unwrap(),
            &ReleaseName::parse(release).unwrap(),
        );
        since.map(|time| time.as_second())
    }

    #[test]
    fn a_stay_begins_with_the_first_commit_that_has_the_release() {
        let commits: &[(i64, &[_])] = &[
            (10, &[("a.yaml", "[4.9.1]")]),
            (20, &[("a.yaml", "[4.9.1, 4.9.2]")]),
            (30, &[("b.yaml", "[4.9.2]")]),
        ];
        assert_eq!(since(commits, "a", "4.9.1"), Some(10));
        assert_eq!(since(commits, "a", "4.9.2"), Some(20));
        assert_eq!(since(commits, "b", "4.9.2"), Some(30));
        assert_eq!(since(commits, "b", "4.9.1"), None);
    }

    #[test]
    fn who_left_and_came_back_has_been_there_since_then() {
        let commits: &[(i64, &[_])] = &[
            (10, &[("a.yaml", "[4.9.1]")]),
            (20, &[("a.yaml", "[]")]),
            (30, &[("a.yaml", "[4.9.1]")]),
        ];
        assert_eq!(since(commits, "a", "4.9.1"), Some(30));
        assert_eq!(since(&commits[..2], "a", "4.9.1"), None);
    }

    #[test]
    fn a_renamed_file_ends_no_stay() {
        let commits: &[(i64, &[_])] = &[
            (10, &[("a.yaml", "[4.9.1]")]),
            (20, &[("a.yaml", "-"), ("renamed.yaml", "[4.9.1, 4.9.2]")]),
        ];
        assert_eq!(
            (since(commits, "a", "4.9.1"), since(commits, "a", "4.9.2")),
            (Some(10), Some(20))
        );
    }

    #[test]
    fn a_file_that_was_wrong_for_a_while_ends_no_stay() {
        let commits: &[(i64, &[_])] = &[
            (10, &[("a.yaml", "[4.9.1]")]),
            (20, &[("a.yaml", "{")]),
            (30, &[("a.yaml", "[4.9.1, 4.9.2]")]),
        ];
        assert_eq!(
            (since(commits, "a", "4.9.1"), since(commits, "a", "4.9.2")),
            (Some(10), Some(30))
        );
    }
}
