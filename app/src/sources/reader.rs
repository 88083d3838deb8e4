//! Readers: one for each source. Each keeps what it needs to read its source again cheaply.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;
use towpath_core::finding::{Finding, Place};
use towpath_core::signatures::GraphSeal;
use towpath_formats::SourceFile;
use towpath_formats::graph::data;
use towpath_formats::signatures::{MAX_SIGNATURE_BYTES, SignedCopy};
use towpath_sources::{
    Contents, Directory, GetOutcome, Git, GitMirror, Http, HttpAccess, Upstream, Validators, unpack,
};

use super::address::{Location, Role, SourceSpec};
use super::images::ImagesReader;
use super::seals::SealStores;
use super::update_service::UpdateServiceReader;
use crate::example;
use crate::input::read_input;

/// The largest file of releases, and of platforms, that we read.
const MAX_FILE_BYTES: u64 = 512 << 20;
/// The largest archive.
const MAX_ARCHIVE_BYTES: usize = 64 << 20;

/// What was read.
#[derive(Debug, Clone)]
pub(crate) struct SourceReading {
    pub(crate) files: Vec<SourceFile>,
    /// When it was made, as far as the source tells.
    pub(crate) made_at: Option<Timestamp>,
    /// What there is to say about it.
    pub(crate) warnings: Vec<Finding>,
    /// What the answers of a service say: understanding them can take long, and is not for the thread that makes graphs.
    pub(crate) answers: Option<Answers>,
    /// Files that are there and could not be read: the others are not a whole copy.
    pub(crate) unread: Vec<Finding>,
    /// What somebody may have signed, if that is asked for.
    pub(crate) signed: Option<SignedCopy>,
    /// Who signed it, once that was judged.
    pub(crate) seal: Option<GraphSeal>,
}

/// What the answers of a service say, with warnings; or what is wrong with them.
pub(crate) type Answers =
    Result<(towpath_formats::graph::upstream::Upstream, Vec<Finding>), Vec<Finding>>;

impl SourceReading {
    /// What a source of files holds.
    pub(super) fn of_contents(contents: Contents) -> Self {
        Self {
            unread: contents.unread,
            ..Self::of(contents.files)
        }
    }

    /// These files, and nothing more.
    pub(crate) fn of(files: Vec<SourceFile>) -> Self {
        Self {
            files,
            made_at: None,
            warnings: Vec::new(),
            answers: None,
            unread: Vec::new(),
            signed: None,
            seal: None,
        }
    }
}

/// What all readers may use.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    pub(crate) http: HttpAccess,
    pub(crate) ca_file: Option<PathBuf>,
    /// What we are known by to registries.
    pub(crate) registry_auth_file: Option<PathBuf>,
    /// Where signatures of graph data are, if it has to be signed.
    pub(crate) seals: Option<SealStores>,
}

/// Whether a reader brings what somebody may have signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signatures {
    Unasked,
    Wanted,
}

/// Reads one source, again and again.
pub(crate) enum Reader {
    Example(Role),
    Directory(Directory),
    File(PathBuf),
    Git(Box<GitMirror>, Signatures),
    Revision {
        git: Box<Git>,
        revision: String,
        signatures: Signatures,
    },
    Archive(Box<ArchiveReader>),
    Upstream(Box<UpstreamReader>),
    Images(Box<ImagesReader>),
    UpdateService(Box<UpdateServiceReader>),
}

/// A Cincinnati service, and what it last answered.
pub(crate) struct UpstreamReader {
    upstream: Upstream,
    known: Vec<SourceFile>,
    runtime: tokio::runtime::Runtime,
}

/// An archive over HTTP, and what it was last.
pub(crate) struct ArchiveReader {
    http: Http,
    url: String,
    known: Option<KnownArchive>,
    signatures: Signatures,
    runtime: tokio::runtime::Runtime,
}

struct KnownArchive {
    validators: Validators,
    read: SourceReading,
    /// As it came, if its signature is wanted.
    bytes: Option<Arc<[u8]>>,
}

impl Reader {
    /// A reader that has read nothing. A scratch folder is for what it can do without.
    pub(crate) fn new(
        spec: &SourceSpec,
        access: &Access,
        scratch: Option<&Path>,
    ) -> Result<Self, Finding> {
        let signatures = match access.seals.is_some() && spec.is_sealed() {
            true => Signatures::Wanted,
            false => Signatures::Unasked,
        };
        Ok(match &spec.location {
            Location::Example => Self::Example(spec.role),
            Location::Path(path) if spec.role.is_files() => {
                Self::Directory(Directory::new(path, data::is_part))
            }
            Location::Path(path) => Self::File(path.clone()),
            Location::Git(remote) => {
                let ca_file = access.ca_file.as_deref();
                let mirror = match scratch {
                    Some(scratch) => GitMirror::new(remote.clone(), scratch, ca_file),
                    None => GitMirror::temporary(remote.clone(), ca_file)?,
                };
                Self::Git(Box::new(mirror), signatures)
            }
            Location::Revision {
                directory,
                revision,
            } => Self::Revision {
                git: Box::new(Git::at(directory)?),
                revision: revision.clone(),
                signatures,
            },
            Location::Archive(url) => {
                let (http, runtime) = (Http::new(&access.http)?, runtime()?);
                Self::Archive(Box::new(ArchiveReader {
                    http,
                    url: url.clone(),
                    known: None,
                    signatures,
                    runtime,
                }))
            }
            Location::Upstream {
                url,
                channels,
                arches,
            } => {
                let upstream = Upstream::new(Http::new(&access.http)?, url, channels, arches);
                Self::Upstream(Box::new(UpstreamReader {
                    upstream,
                    known: Vec::new(),
                    runtime: runtime()?,
                }))
            }
            Location::Halts(store) => {
                let problem = "the halts of a store are read by the service that has the store";
                let remedy = "report it";
                let place = Place::file(store.as_str());
                return Err(Finding::error("internal", place, problem, remedy));
            }
            Location::Images { images, transport } => Self::Images(Box::new(ImagesReader::new(
                images, *transport, access, signatures, scratch,
            )?)),
            Location::UpdateService(file) => Self::UpdateService(Box::new(
                UpdateServiceReader::new(file, spec.role, access, signatures, scratch),
            )),
        })
    }

    /// Reads it, or says what cannot be read.
    pub(crate) fn read(&mut self, now: Timestamp) -> Result<SourceReading, Finding> {
        let undated = SourceReading::of;
        match self {
            Self::Example(Role::GraphData) => example::graph_data(now).map(undated),
            Self::Example(_) => Ok(undated(vec![example::releases()])),
            Self::Directory(directory) => directory.read_partly().map(SourceReading::of_contents),
            Self::File(path) => Ok(undated(vec![source_file(path)?])),
            Self::Revision {
                git,
                revision,
                signatures,
            } => {
                let read = git.read(revision, data::is_part).map(undated)?;
                Ok(match signatures {
                    Signatures::Unasked => read,
                    Signatures::Wanted => read.signed(Some(git.signed(revision, revision)?)),
                })
            }
            Self::Git(mirror, signatures) => {
                let fetch = mirror.read(data::is_part)?;
                let read = SourceReading {
                    made_at: Some(fetch.committed_at),
                    ..SourceReading::of_contents(fetch.contents)
                };
                Ok(match signatures {
                    Signatures::Unasked => read,
                    Signatures::Wanted => read.signed(Some(mirror.signed()?)),
                })
            }
            Self::Archive(archive) => archive.read(),
            Self::Upstream(upstream) => upstream.read(),
            Self::Images(images) => images.read(),
            Self::UpdateService(named) => named.read(),
        }
    }
}

impl UpstreamReader {
    fn read(&mut self) -> Result<SourceReading, Finding> {
        let files = self.runtime.block_on(self.upstream.read())?;
        let is_same = |(a, b): (&SourceFile, &SourceFile)| {
            a.path == b.path && Arc::ptr_eq(&a.bytes, &b.bytes)
        };
        let is_known =
            files.len() == self.known.len() && files.iter().zip(&self.known).all(is_same);
        self.known.clone_from(&files);
        // What was there before has been understood before.
        let answers = if is_known {
            None
        } else {
            Some(towpath_formats::graph::upstream::read(&files))
        };
        Ok(SourceReading {
            answers,
            ..SourceReading::of(files)
        })
    }
}

impl ArchiveReader {
    fn read(&mut self) -> Result<SourceReading, Finding> {
        let known = self
            .known
            .as_ref()
            .map(|known| known.validators.clone())
            .unwrap_or_default();
        let got =
            self.runtime
                .block_on(self.http.get(&self.url, "*/*", &known, MAX_ARCHIVE_BYTES))?;
        if let GetOutcome::Body { bytes, validators } = got {
            let place = towpath_sources::without_credentials(&self.url);
            let contents = unpack(&place, &bytes, data::is_part)?;
            let made_at = validators.made_at();
            self.known = Some(KnownArchive {
                validators,
                read: SourceReading {
                    made_at,
                    ..SourceReading::of_contents(contents)
                },
                bytes: (self.signatures == Signatures::Wanted).then(|| bytes.into()),
            });
        }
        let lost = || {
            let problem = "the server answered 304 to a first request";
            let remedy = "report it";
            Finding::error("http", Place::file("archive"), problem, remedy)
        };
        let known = self.known.as_ref().ok_or_else(lost)?;
        let read = known.read.clone();
        Ok(match &known.bytes {
            None => read,
            Some(bytes) => read.signed(Some(SignedCopy::Archive {
                bytes: bytes.clone(),
                signature: self.signature()?,
            })),
        })
    }

    /// The signature beside the archive, asked for each time: it can come later than the archive, and a better one can come.
    fn signature(&self) -> Result<Option<Vec<u8>>, Finding> {
        for suffix in [".sig", ".asc"] {
            let url = beside(&self.url, suffix);
            let found = self.http.find(&url, MAX_SIGNATURE_BYTES);
            if let Some(signature) = self.runtime.block_on(found)? {
                return Ok(Some(signature));
            }
        }
        Ok(None)
    }
}

/// The address of a file beside another: the suffix is the path's, and what is behind the path stays.
fn beside(url: &str, suffix: &str) -> String {
    let (path, rest) = match url.find(['?', '#']) {
        Some(at) => url.split_at(at),
        None => (url, ""),
    };
    format!("{path}{suffix}{rest}")
}

/// One thread's own runtime.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Finding> {
    let wrong = |error: std::io::Error| {
        let problem = format!("a runtime cannot be started: {error}");
        let remedy = "raise the limits of the process";
        Finding::error("internal", Place::file("."), problem, remedy)
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(wrong)
}

fn source_file(path: &Path) -> Result<SourceFile, Finding> {
    Ok(SourceFile::new(
        path.display().to_string(),
        read_input(path, MAX_FILE_BYTES)?,
    ))
}
