//! Reads a `tar.gz` of a directory within limits, in memory.
//!
//! It takes only the wanted regular files and follows no links. If one folder holds everything, as in archives of
//! repositories (`graph-data-main/`), its name is dropped.

use std::io::{self, Read};
use std::path::{Component, Path};

use flate2::read::MultiGzDecoder;
use towpath_core::finding::{Finding, Place};
use towpath_formats::SourceFile;

use crate::Contents;
use crate::directory::{MAX_DIRECTORY_BYTES, MAX_ENTRIES};

/// The most bytes that an archive may unpack to, unwanted files included.
const MAX_UNPACKED_BYTES: u64 = 4 * MAX_DIRECTORY_BYTES;
/// The highest compression ratio. YAML compresses to a twentieth; a zip bomb, to a thousandth.
const MAX_RATIO: u64 = 200;

/// The wanted files of an archive.
pub fn unpack(place: &str, archive: &[u8], wanted: fn(&str) -> bool) -> Result<Contents, Finding> {
    let limit = MAX_UNPACKED_BYTES.min(
        (archive.len() as u64)
            .saturating_mul(MAX_RATIO)
            .max(1 << 20),
    );
    let (plain, in_folder) = (Contents::default(), Contents::default());
    let mut unpacked = ArchiveReader {
        place,
        wanted,
        plain,
        in_folder,
        top: TopFolder::Unseen,
    };
    let mut bytes = LimitedReader {
        inner: MultiGzDecoder::new(archive),
        left: limit,
    };
    unpacked.read(&mut tar::Archive::new(&mut bytes))?;
    // To its end, where the checksum is: an archive that was cut short must not pass for a smaller one.
    io::copy(&mut bytes, &mut io::sink()).map_err(|error| broken(place, &error))?;
    Ok(unpacked.contents())
}

/// Collects the wanted files of an archive.
struct ArchiveReader<'a> {
    place: &'a str,
    wanted: fn(&str) -> bool,
    /// Wanted files, by their path.
    plain: Contents,
    /// Wanted files, by their path below a folder that holds everything.
    in_folder: Contents,
    top: TopFolder,
}

/// The folder that holds everything.
enum TopFolder {
    Unseen,
    One(String),
    /// Several folders: none of them holds everything.
    Many,
}

impl ArchiveReader<'_> {
    fn read<R: Read>(&mut self, archive: &mut tar::Archive<R>) -> Result<(), Finding> {
        let place = self.place;
        let mut bytes = 0;
        for (number, entry) in archive
            .entries()
            .map_err(|error| broken(place, &error))?
            .enumerate()
        {
            let mut entry = entry.map_err(|error| broken(place, &error))?;
            if number >= MAX_ENTRIES {
                return Err(too_large(
                    place,
                    format!("it has more than {MAX_ENTRIES} entries"),
                ));
            }
            let kind = entry.header().entry_type();
            let path = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let Some(path) = plain_path(&path) else {
                self.plain.unread.push(unsafe_entry(
                    place,
                    &path,
                    "its path leads out of the archive",
                ));
                continue;
            };
            let is_description = kind.is_pax_global_extensions() || kind.is_pax_local_extensions();
            if is_description || kind.is_dir() || path.is_empty() {
                continue;
            }
            let below = self.below_top(&path);
            let is_plain = (self.wanted)(&path);
            let is_in_folder = below.as_deref().is_some_and(self.wanted);
            if !is_plain && !is_in_folder {
                continue;
            }
            let (contents, name) = match (is_plain, below) {
                (false, Some(below)) => (&mut self.in_folder, below),
                _ => (&mut self.plain, path),
            };
            if !kind.is_file() {
                contents.unread.push(unsafe_entry(
                    place,
                    &name,
                    "it is a link, or not a regular file",
                ));
                continue;
            }
            bytes = entry.size().saturating_add(bytes);
            if bytes > MAX_DIRECTORY_BYTES {
                return Err(too_large(
                    place,
                    format!("its files are larger than {MAX_DIRECTORY_BYTES} bytes together"),
                ));
            }
            let mut content = Vec::new();
            entry
                .read_to_end(&mut content)
                .map_err(|error| broken(place, &error))?;
            contents.files.push(SourceFile::new(name, content));
        }
        Ok(())
    }

    /// The path below the archive's only folder, if there is one.
    fn below_top(&mut self, path: &str) -> Option<String> {
        let (top, below) = path.split_once('/').unwrap_or((path, ""));
        self.top = match &self.top {
            TopFolder::Unseen => TopFolder::One(top.to_owned()),
            TopFolder::One(first) if first == top => {
                return (!below.is_empty()).then(|| below.to_owned());
            }
            TopFolder::One(_) | TopFolder::Many => TopFolder::Many,
        };
        (matches!(self.top, TopFolder::One(_)) && !below.is_empty()).then(|| below.to_owned())
    }

    /// The files of the archive, or of its only folder.
    fn contents(mut self) -> Contents {
        let mut contents = match (self.plain.files.is_empty(), self.top) {
            (true, TopFolder::One(_)) => self.in_folder,
            _ => Contents {
                files: self.plain.files,
                unread: Vec::new(),
            },
        };
        contents.unread.append(&mut self.plain.unread);
        contents.files.sort_by(|a, b| a.path.cmp(&b.path));
        contents
    }
}

/// A clean relative path; none if it leaves the archive.
fn plain_path(path: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(path).components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::CurDir => {}
            Component::RootDir | Component::ParentDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

/// A reader that fails past its limit.
struct LimitedReader<R> {
    inner: R,
    left: u64,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.left = self.left.checked_sub(read as u64).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::FileTooLarge,
                "it unpacks to far more than an archive of its size should",
            )
        })?;
        Ok(read)
    }
}

fn broken(place: &str, error: &io::Error) -> Finding {
    let code = if error.kind() == io::ErrorKind::FileTooLarge {
        "too-large"
    } else {
        "bad-archive"
    };
    let problem = format!("the archive cannot be read completely: {error}");
    let remedy = "create it again with `tar czf`";
    Finding::error(code, Place::file(place), problem, remedy)
}

fn too_large(place: &str, problem: String) -> Finding {
    let remedy = "put the graph data alone into it";
    Finding::error("too-large", Place::file(place), problem, remedy)
}

fn unsafe_entry(place: &str, path: &str, problem: &str) -> Finding {
    let remedy = "put regular files into the archive, with paths below its folder";
    let problem = format!("{path:?}: {problem}");
    Finding::error("bad-archive", Place::file(place), problem, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use tar::{Builder, EntryType, Header};

    type Archive = Builder<GzEncoder<Vec<u8>>>;

    fn archive(fill: impl FnOnce(&mut Archive)) -> Vec<u8> {
        let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::best()));
        fill(&mut archive);
        archive.into_inner().unwrap().finish().unwrap()
    }

    fn add(archive: &mut Archive, path: &str, kind: EntryType, bytes: &[u8]) {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(bytes.len() as u64);
        // As a stranger would: no check of the path.
        header.as_old_mut().name[..path.len()].copy_from_slice(path.as_bytes());
        if kind == EntryType::Symlink {
            header.set_link_name("/etc/passwd").unwrap();
        }
        header.set_cksum();
        archive.append(&header, bytes).unwrap();
    }

    fn wanted(path: &str) -> bool {
        path == "version" || path.starts_with("channels/")
    }

    fn paths(archive: &[u8]) -> Vec<String> {
        unpack("x", archive, wanted)
            .unwrap()
            .whole()
            .unwrap()
            .into_iter()
            .map(|file| file.path)
            .collect()
    }

    #[test]
    fn files_are_found_at_the_top_and_in_one_folder() {
        for prefix in ["", "./", "graph-data-main/", "./graph-data-main/"] {
            let bytes = archive(|archive| {
                for path in ["version", "README.md", "channels/b.yaml", "channels/a.yaml"] {
                    add(
                        archive,
                        &format!("{prefix}{path}"),
                        EntryType::Regular,
                        path.as_bytes(),
                    );
                }
            });
            assert_eq!(
                paths(&bytes),
                ["channels/a.yaml", "channels/b.yaml", "version"],
                "{prefix}"
            );
        }
        let two = archive(|archive| {
            add(archive, "a/version", EntryType::Regular, b"1");
            add(archive, "b/version", EntryType::Regular, b"2");
        });
        assert_eq!(paths(&two), [""; 0], "of two folders, neither is the one");
    }

    #[test]
    fn what_leads_elsewhere_is_refused() {
        let code = |path: &str, kind| {
            let bytes = archive(|archive| add(archive, path, kind, b""));
            unpack("x", &bytes, wanted)
                .and_then(Contents::whole)
                .map(|files| files.len())
                .map_err(|finding| finding.code)
        };
        assert_eq!(code("../version", EntryType::Regular), Err("bad-archive"));
        assert_eq!(
            code("channels/../../x", EntryType::Regular),
            Err("bad-archive")
        );
        assert_eq!(code("/version", EntryType::Regular), Err("bad-archive"));
        assert_eq!(code("version", EntryType::Symlink), Err("bad-archive"));
        assert_eq!(code("channels/x", EntryType::Link), Err("bad-archive"));
        assert_eq!(code("channels/x", EntryType::Fifo), Err("bad-archive"));
        assert_eq!(
            code("docs/link", EntryType::Symlink),
            Ok(0),
            "what is not wanted may be anything"
        );
    }

    #[test]
    fn beside_a_link_the_other_files_are_read() {
        for (prefix, link) in [
            ("", "channels/x"),
            ("graph-data-main/", "channels/x"),
            ("", "../version"),
        ] {
            let bytes = archive(|archive| {
                add(
                    archive,
                    &format!("{prefix}channels/a.yaml"),
                    EntryType::Regular,
                    b"a",
                );
                add(archive, &format!("{prefix}{link}"), EntryType::Symlink, b"");
                add(
                    archive,
                    &format!("{prefix}version"),
                    EntryType::Regular,
                    b"1",
                );
            });
            let contents = unpack("x", &bytes, wanted).unwrap();
            let paths: Vec<_> = contents
                .files
                .iter()
                .map(|file| file.path.as_str())
                .collect();
            assert_eq!(
                (paths, contents.unread.len()),
                (vec!["channels/a.yaml", "version"], 1),
                "{prefix}{link}"
            );
        }
    }

    #[test]
    fn half_an_archive_is_none() {
        let noise: Vec<u8> = (0u32..20_000)
            .map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let bytes = archive(|archive| {
            add(archive, "version", EntryType::Regular, b"1.0.0");
            add(archive, "channels/a.yaml", EntryType::Regular, &noise);
        });
        assert_eq!(paths(&bytes).len(), 2);
        for cut in [0, 1, 10, bytes.len() / 2, bytes.len() - 9, bytes.len() - 1] {
            assert_eq!(
                unpack("x", &bytes[..cut], wanted).unwrap_err().code,
                "bad-archive",
                "{cut}"
            );
        }
    }

    #[test]
    fn a_bomb_is_not_unpacked() {
        let bytes = archive(|archive| {
            add(
                archive,
                "docs/zeros",
                EntryType::Regular,
                &vec![0; 32 << 20],
            )
        });
        assert!(bytes.len() < 200_000);
        assert_eq!(unpack("x", &bytes, wanted).unwrap_err().code, "too-large");
    }
}
