//! What to mirror, as a list and as JSON, and what a mirror already has.
//!
//! `image_set` writes the same for oc-mirror.

pub mod aims;
mod have;
pub mod image_set;
mod json;
mod list;
pub mod request;
mod words;

pub use have::read_have;
pub use json::json;
pub use list::list;
pub use words::comments;

use jiff::Timestamp;
use towpath_core::graph::{Graph, ReleaseId};
use towpath_core::mirror::{Mirror, Need, Wish};

use crate::words::plain;

/// What was asked, and what was found.
#[derive(Clone, Copy)]
pub struct MirrorReport<'a> {
    pub graph: &'a Graph,
    pub wish: &'a Wish,
    pub mirror: &'a Mirror,
    /// Where the graph data is, for the list.
    pub graph_data: Option<&'a str>,
    /// What is listed if somebody has no way.
    pub completeness: Completeness,
    pub now: Timestamp,
}

/// What is listed if somebody has no way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completeness {
    /// Nothing: a list that looks whole and is not helps nobody.
    Whole,
    Partial,
}

/// A release that has no digest, so that nobody can tell whether it was mirrored right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoDigest(String);

impl std::fmt::Display for NoDigest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{}; name it by digest in the releases: registry/repository@sha256:…",
            self.0
        )
    }
}

impl std::error::Error for NoDigest {}

impl<'a> MirrorReport<'a> {
    /// What is to be listed, or the first release that cannot be.
    pub fn items(&self) -> Result<Vec<Item<'a>>, NoDigest> {
        let is_listed = self.mirror.stuck.is_empty() || self.completeness == Completeness::Partial;
        let needs = self.mirror.missing().filter(|_| is_listed);
        needs.map(|need| Item::of(self.graph, need)).collect()
    }

    fn version(&self, id: ReleaseId) -> String {
        self.graph.release(id).version.to_string()
    }
}

/// A release that is listed.
#[derive(Debug, Clone, Copy)]
pub struct Item<'a> {
    /// What it is needed for, and where.
    pub need: &'a Need,
    /// Its version and architecture are there.
    pub release: &'a towpath_core::graph::Release,
    /// The digest of its payload: `sha256:…`.
    pub digest: &'a str,
}

impl<'a> Item<'a> {
    fn of(graph: &'a Graph, need: &'a Need) -> Result<Self, NoDigest> {
        let release = graph.release(need.release);
        let digest = release
            .payload
            .split_once('@')
            .map(|(_, digest)| digest)
            .filter(|digest| is_digest(digest));
        let problem = || {
            let payload = plain(&release.payload);
            NoDigest(format!(
                "{} of {} has no digest: {payload}",
                release.version, release.arch
            ))
        };
        Ok(Self {
            need,
            release,
            digest: digest.ok_or_else(problem)?,
        })
    }

    /// Where its signature is, in every signature store: `sha256=…/signature-1`.
    pub fn signature(&self) -> String {
        format!("{}/signature-1", self.digest.replacen(':', "=", 1))
    }
}

/// Whether a text is an algorithm that registries know and as many hexadecimal digits as it gives.
fn is_digest(text: &str) -> bool {
    let digits = |algorithm: &str| match algorithm {
        "sha256" => Some(64),
        "sha384" => Some(96),
        "sha512" => Some(128),
        _ => None,
    };
    let is_hex = |hash: &str| {
        hash.bytes()
            .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    };
    text.split_once(':')
        .is_some_and(|(algorithm, hash)| digits(algorithm) == Some(hash.len()) && is_hex(hash))
}
