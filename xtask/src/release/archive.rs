//! Archives whose bytes depend on nothing but their files: one order, one owner, one time; and `ar`, which Debian packages are.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Context;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

/// A file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    File { mode: u32, bytes: Vec<u8> },
    Folder { mode: u32 },
    Link { to: String },
}

impl Entry {
    pub(super) fn file(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File {
            mode: 0o644,
            bytes: bytes.into(),
        }
    }

    pub(super) fn program(bytes: impl Into<Vec<u8>>) -> Self {
        Self::File {
            mode: 0o755,
            bytes: bytes.into(),
        }
    }
}

/// Entries by path, without a slash at the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Tree {
    /// Adds an entry, and the folders that it is in.
    pub(super) fn add(&mut self, path: &str, entry: Entry) {
        for (at, _) in path.match_indices('/') {
            let folder = path[..at].to_owned();
            self.entries
                .entry(folder)
                .or_insert(Entry::Folder { mode: 0o755 });
        }
        self.entries.insert(path.to_owned(), entry);
    }

    pub(super) fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Entry)> {
        self.entries
            .iter()
            .map(|(path, entry)| (path.as_str(), entry))
    }

    /// As a tar archive.
    pub(super) fn tar(&self, epoch: u64) -> anyhow::Result<Vec<u8>> {
        let mut tar = Builder::new(Vec::new());
        for (path, entry) in &self.entries {
            let mut header = Header::new_gnu();
            header.set_mtime(epoch);
            // The group is root's: OpenShift runs containers as any user, in this group.
            header.set_uid(0);
            header.set_gid(0);
            header.set_username("root")?;
            header.set_groupname("root")?;
            match entry {
                Entry::File { mode, bytes } => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_mode(*mode);
                    header.set_size(bytes.len() as u64);
                    tar.append_data(&mut header, path, bytes.as_slice())?;
                }
                Entry::Folder { mode } => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(*mode);
                    header.set_size(0);
                    tar.append_data(&mut header, format!("{path}/"), std::io::empty())?;
                }
                Entry::Link { to } => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    header.set_size(0);
                    tar.append_link(&mut header, path, to)?;
                }
            }
        }
        tar.into_inner().context("an archive cannot be written")
    }
}

/// Compressed, without a name and a time.
pub(super) fn gzip(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut gzip = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    gzip.write_all(bytes)?;
    Ok(gzip.finish()?)
}

/// An `ar` archive, as dpkg reads it.
pub(super) fn ar(members: &[(&str, &[u8])], epoch: u64) -> Vec<u8> {
    let mut archive = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header = format!(
            "{name:<16}{epoch:<12}{:<6}{:<6}{:<8}{:<10}`\n",
            0,
            0,
            "100644",
            bytes.len()
        );
        archive.extend(header.as_bytes());
        archive.extend(*bytes);
        // Members begin at even places.
        archive.extend((bytes.len() % 2 == 1).then_some(b'\n'));
    }
    archive
}
