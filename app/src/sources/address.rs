//! How a source is named: one string, in a flag or in the file.
//!
//! | string | graph data | releases |
//! |---|---|---|
//! | a path | a directory | a Cincinnati graph file |
//! | `git+https://host/repo.git#REVISION:FOLDER` | a revision of a repository | |
//! | `https://host/…` | a `tar.gz` | a Cincinnati service, with `#channels=a,b` |
//! | `oci://registry/repository[:tag]` | a graph-data image | all release images of the repository, with `#arch=a,b` of those architectures |
//!
//! `oci+http://` is a registry without TLS. With `#edges=no` its releases count and the edges that they declare do not.
//!
//! Behind the `#` there may be `name=…` and `every=DURATION`, joined by `&`; a path has no options, since it may have any character.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use sha2::{Digest, Sha256};
use towpath_core::graph::ChannelName;
use towpath_core::hex;
use towpath_formats::sources::oci::{ImageName, Repository};
use towpath_formats::timespan::TimeSpan;
use towpath_http::is_loopback;
use towpath_sources::{GitRemote, without_credentials};

use crate::config::{DAY, SECOND};

/// The most channels, and the most architectures, that a service is asked for.
const MAX_ASKED: usize = 200;
/// The longest name of a source.
const MAX_NAME_BYTES: usize = 40;

/// What a source is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    GraphData,
    /// Blocks that are added to those of the graph data, and nothing else.
    Overlay,
    Releases,
    Platforms,
}

impl Role {
    /// The flag that names a source of it.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Self::GraphData => "--graph-data",
            Self::Overlay => "--overlay",
            Self::Releases => "--releases",
            Self::Platforms => "--platforms",
        }
    }

    /// Whether it is files of graph data, some or all.
    pub(crate) fn is_files(self) -> bool {
        matches!(self, Self::GraphData | Self::Overlay)
    }
}

/// Where a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// In the binary.
    Example,
    /// A directory, or a file.
    Path(PathBuf),
    Git(GitRemote),
    /// A revision of the repository that a directory is in; for commands that look once.
    Revision {
        directory: PathBuf,
        revision: String,
    },
    /// A `tar.gz`.
    Archive(String),
    /// A Cincinnati service.
    Upstream {
        url: String,
        channels: Vec<String>,
        arches: Vec<String>,
    },
    /// The halts of the fleet's store, by its address without credentials.
    Halts(String),
    /// Images in a registry: release images, or one with graph data.
    Images {
        images: Images,
        transport: Transport,
    },
    /// The images that an `UpdateService` object in this file names. It is read again with each read.
    UpdateService(PathBuf),
}

/// Which images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Images {
    /// One with graph data.
    GraphData(ImageName),
    /// Those of releases, of these architectures; of all if there are none.
    Releases {
        repository: Repository,
        arches: Vec<String>,
    },
}

/// How a registry is talked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Tls,
    /// On this machine, or by leave.
    Plain,
}

/// A source, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceSpec {
    pub(crate) name: Arc<str>,
    pub(crate) role: Role,
    pub(crate) location: Location,
    /// Read it this often.
    pub(crate) every: Duration,
    pub(crate) edges: Edges,
    /// As it was written.
    text: String,
}

/// What becomes of the edges that a source declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edges {
    Offered,
    /// Another source says what leads where.
    LeftOut,
}

/// How often sources are read that do not say it themselves.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intervals {
    pub(crate) local: Duration,
    pub(crate) remote: Duration,
    /// An image with graph data: one request says that its tag has not moved.
    pub(crate) graph_data_image: Duration,
}

impl Intervals {
    /// For a place of that kind.
    fn of(self, location: &Location) -> Duration {
        match location {
            Location::Images {
                images: Images::GraphData(_),
                ..
            } => self.graph_data_image,
            _ => self.remote,
        }
    }
}

impl SourceSpec {
    /// Reads what was written for a source of that role.
    pub(crate) fn parse(
        role: Role,
        text: &str,
        name: &str,
        intervals: Intervals,
        plain_http: bool,
    ) -> anyhow::Result<Self> {
        let parsed = || -> anyhow::Result<Self> {
            let Some((scheme, _)) = text.split_once("://") else {
                return Ok(Self::new(
                    role,
                    Location::Path(text.into()),
                    name,
                    intervals.local,
                    text,
                ));
            };
            let (address, fragment) = text.split_once('#').unwrap_or((text, ""));
            let mut options = Options::parse(fragment)?;
            let location = location(role, scheme, address, &mut options)?;
            check_plain_http(address, plain_http)?;
            let every = options
                .take("every")
                .map(|text| every(&text))
                .transpose()?
                .unwrap_or_else(|| intervals.of(&location));
            let name = options.take("name").unwrap_or_else(|| name.to_owned());
            let edges = edges(&location, options.take("edges"))?;
            options.finish()?;
            Ok(Self {
                edges,
                ..Self::new(role, location, &name, every, text)
            })
        };
        let spec = parsed().with_context(|| {
            format!("{:?} cannot be used as a source", without_credentials(text))
        })?;
        let well_formed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        match (1..=MAX_NAME_BYTES).contains(&spec.name.len()) && spec.name.bytes().all(well_formed)
        {
            true => Ok(spec),
            false => bail!(
                "{:?} cannot be a source's name; use lower-case letters, digits and -",
                spec.name
            ),
        }
    }

    /// One that is built in.
    pub(crate) fn example(role: Role, name: &str, intervals: Intervals) -> Self {
        Self::new(role, Location::Example, name, intervals.local, "")
    }

    /// The halts of a store.
    pub(crate) fn halts(store: &str) -> Self {
        let location = Location::Halts(store.to_owned());
        Self::new(
            Role::Overlay,
            location,
            super::halts::NAME,
            Duration::MAX,
            "",
        )
    }

    /// Other graph data, for a command that looks once.
    pub(crate) fn other(text: &str, plain_http: bool) -> anyhow::Result<Self> {
        let intervals = Intervals {
            local: Duration::MAX,
            remote: Duration::MAX,
            graph_data_image: Duration::MAX,
        };
        Self::parse(Role::GraphData, text, "other", intervals, plain_http)
    }

    /// A revision of the repository that a directory is in.
    pub(crate) fn revision(directory: &Path, revision: &str) -> Self {
        let location = Location::Revision {
            directory: directory.to_owned(),
            revision: revision.to_owned(),
        };
        Self::new(Role::GraphData, location, "other", Duration::MAX, revision)
    }

    /// What an `UpdateService` object names for that role.
    pub(crate) fn update_service(role: Role, file: &Path, name: &str, every: Duration) -> Self {
        let location = Location::UpdateService(file.to_owned());
        Self::new(role, location, name, every, &file.display().to_string())
    }

    fn new(role: Role, location: Location, name: &str, every: Duration, text: &str) -> Self {
        Self {
            name: name.into(),
            role,
            location,
            every,
            edges: Edges::Offered,
            text: text.to_owned(),
        }
    }

    /// As it was written, without what is secret.
    pub(crate) fn shown(&self) -> String {
        without_credentials(&self.text)
    }
}

impl Location {
    /// For people and machines.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Example => "example",
            Self::Path(_) => "path",
            Self::Git(_) => "git",
            Self::Revision { .. } => "revision",
            Self::Archive(_) => "archive",
            Self::Upstream { .. } => "upstream",
            Self::Halts(_) => "store",
            Self::Images { .. } | Self::UpdateService(_) => "registry",
        }
    }
}

impl Location {
    /// The place itself, so that a copy of another is not taken for it. What is not shown is in it as a checksum.
    pub(crate) fn identity(&self) -> String {
        let url = match self {
            Self::Git(remote) => remote.url.as_str(),
            Self::Archive(url) | Self::Upstream { url, .. } => url,
            Self::Example
            | Self::Path(_)
            | Self::Revision { .. }
            | Self::Halts(_)
            | Self::Images { .. }
            | Self::UpdateService(_) => "",
        };
        match url.split_once('?') {
            Some((_, query)) => {
                let sum = hex::encode(&Sha256::digest(query)[..8]);
                format!("{self} query {sum}")
            }
            None => self.to_string(),
        }
    }
}

/// Without credentials.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Example => f.write_str("built in"),
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Git(remote) => {
                write!(
                    f,
                    "git+{}#{}:{}",
                    without_credentials(&remote.url),
                    remote.revision,
                    remote.folder
                )
            }
            Self::Revision {
                directory,
                revision,
            } => write!(f, "{}#{revision}", directory.display()),
            Self::Archive(url) => f.write_str(&without_credentials(url)),
            Self::Halts(store) => f.write_str(store),
            Self::UpdateService(file) => write!(f, "UpdateService {}", file.display()),
            Self::Upstream {
                url,
                channels,
                arches,
            } => {
                let url = without_credentials(url);
                write!(
                    f,
                    "{url}#channels={}&arch={}",
                    channels.join(","),
                    arches.join(",")
                )
            }
            Self::Images { images, transport } => {
                let scheme = if *transport == Transport::Plain {
                    "oci+http"
                } else {
                    "oci"
                };
                match images {
                    Images::GraphData(image) => write!(f, "{scheme}://{image}"),
                    Images::Releases { repository, arches } if arches.is_empty() => {
                        write!(f, "{scheme}://{repository}")
                    }
                    Images::Releases { repository, arches } => {
                        write!(f, "{scheme}://{repository}#arch={}", arches.join(","))
                    }
                }
            }
        }
    }
}

fn location(
    role: Role,
    scheme: &str,
    address: &str,
    options: &mut Options,
) -> anyhow::Result<Location> {
    Ok(match (scheme, role) {
        ("git+https" | "git+http" | "git+file", Role::GraphData | Role::Overlay) => {
            Location::Git(git(address, options)?)
        }
        ("https" | "http", Role::GraphData | Role::Overlay) => {
            Location::Archive(address.to_owned())
        }
        ("https" | "http", Role::Releases) => upstream(address, options)?,
        ("oci" | "oci+http", Role::GraphData | Role::Overlay | Role::Releases) => {
            let transport = if scheme == "oci" {
                Transport::Tls
            } else {
                Transport::Plain
            };
            Location::Images {
                images: images(role, address, options)?,
                transport,
            }
        }
        (_, Role::GraphData | Role::Overlay) => {
            bail!("name a path, git+https://…, git+file://…, https://… or oci://…")
        }
        (_, Role::Releases) => bail!("name a path, https://…/graph or oci://…"),
        (_, Role::Platforms) => bail!("name a path"),
    })
}

/// The edges of images carry no risks: whoever leaves them out drops none.
fn edges(location: &Location, wanted: Option<String>) -> anyhow::Result<Edges> {
    match (wanted.as_deref(), location) {
        (None, _) => Ok(Edges::Offered),
        (
            Some("no"),
            Location::Images {
                images: Images::Releases { .. },
                ..
            },
        ) => Ok(Edges::LeftOut),
        (Some(other), _) => {
            bail!("edges={other}: only edges=no is possible, for the release images of a registry")
        }
    }
}

fn git(address: &str, options: &mut Options) -> anyhow::Result<GitRemote> {
    let url = address.trim_start_matches("git+").to_owned();
    let (revision, folder) = options
        .bare
        .take()
        .unwrap_or_default()
        .split_once(':')
        .map_or_else(
            || (String::new(), String::new()),
            |(revision, folder)| (revision.to_owned(), folder.trim_matches('/').to_owned()),
        );
    let revision = if revision.is_empty() {
        "HEAD".to_owned()
    } else {
        revision
    };
    let well_formed = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    if revision.starts_with('-') || revision.contains("..") || !revision.chars().all(well_formed) {
        bail!("{revision:?} is not the name of a branch, a tag or a commit");
    }
    Ok(GitRemote {
        url,
        revision,
        folder,
    })
}

fn upstream(url: &str, options: &mut Options) -> anyhow::Result<Location> {
    let channels = options
        .take("channels")
        .map(list)
        .context("say which channels to ask for: #channels=stable-4.20,…")?;
    let arches = options
        .take("arch")
        .map_or_else(|| vec!["amd64".to_owned()], list);
    for channel in &channels {
        ChannelName::new(channel)
            .with_context(|| format!("{channel:?} cannot be a channel's name"))?;
    }
    check_arches(&arches)?;
    if channels.len() * arches.len() > MAX_ASKED {
        bail!(
            "that is {} requests; the limit is {MAX_ASKED}",
            channels.len() * arches.len()
        );
    }
    Ok(Location::Upstream {
        url: url.to_owned(),
        channels,
        arches,
    })
}

fn images(role: Role, address: &str, options: &mut Options) -> anyhow::Result<Images> {
    let name = address.split_once("://").map_or(address, |(_, name)| name);
    if role.is_files() {
        return ImageName::parse(name)
            .map(Images::GraphData)
            .map_err(|error| anyhow!("{error}"));
    }
    let repository = Repository::parse(name).map_err(|error| anyhow!("{error}"))?;
    let arches = options.take("arch").map_or_else(Vec::new, list);
    check_arches(&arches)?;
    Ok(Images::Releases { repository, arches })
}

fn list(text: String) -> Vec<String> {
    text.split(',').map(str::trim).map(str::to_owned).collect()
}

fn check_arches(arches: &[String]) -> anyhow::Result<()> {
    let is_arch = |arch: &&String| {
        !arch.is_empty() && arch.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    match arches.iter().find(|arch| !is_arch(arch)) {
        Some(wrong) => bail!("{wrong:?} is not an architecture"),
        None => Ok(()),
    }
}

/// Plain HTTP is for this machine, or by leave.
pub(crate) fn check_plain_http(address: &str, plain_http: bool) -> anyhow::Result<()> {
    let address = address
        .trim_start_matches("git+")
        .trim_start_matches("oci+");
    let Some(rest) = address.strip_prefix("http://") else {
        return Ok(());
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    let host = host
        .rsplit_once(':')
        .filter(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()))
        .map_or(host, |(h, _)| h);
    match plain_http || is_loopback(host) {
        true => Ok(()),
        false => bail!(
            "plain HTTP can be read and changed on the network; use https, or allow it with --plain-http"
        ),
    }
}

fn every(text: &str) -> anyhow::Result<Duration> {
    let every = TimeSpan::between(SECOND, DAY)(text);
    every
        .map(TimeSpan::unsigned)
        .map_err(|problem| anyhow!("every={text}: {problem}"))
}

/// What stands behind the `#`.
struct Options {
    /// What has no key: git's revision.
    bare: Option<String>,
    named: Vec<(String, String)>,
}

impl Options {
    fn parse(fragment: &str) -> anyhow::Result<Self> {
        let mut options = Self {
            bare: None,
            named: Vec::new(),
        };
        for part in fragment.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some((key, value)) => options.named.push((key.to_owned(), value.to_owned())),
                None if options.bare.is_none() => {
                    let with_folder = if part.contains(':') {
                        part.to_owned()
                    } else {
                        format!("{part}:")
                    };
                    options.bare = Some(with_folder);
                }
                None => bail!("{part:?}: an option has a key and a value, as in every=60s"),
            }
        }
        Ok(options)
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.named.iter().position(|(name, _)| name == key)?;
        Some(self.named.remove(at).1)
    }

    fn finish(self) -> anyhow::Result<()> {
        match (self.bare, self.named.first()) {
            (Some(bare), _) => bail!("{:?}: only git has revisions", bare.trim_end_matches(':')),
            (None, Some((key, _))) => bail!("{key:?} is not an option here, or is given twice"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
