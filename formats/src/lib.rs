//! From bytes to domain values, and from domain values to text and JSON. Still pure: adapters
//! bring the bytes and take them away.
//!
//! Every reader here is bounded, never panics, and returns findings with place and remedy.

use std::sync::Arc;

pub mod access;
pub mod agent;
pub mod audit;
pub mod certificate;
pub mod change;
pub mod cluster;
pub mod daemon_sets;
pub mod duration;
pub mod feedback;
pub mod findings;
pub mod fleet;
pub mod graph;
mod gzip;
pub mod minors;
pub mod mirror;
pub mod nodes;
pub mod path;
pub mod picture;
mod read;
pub mod reason;
pub mod room;
pub mod signatures;
pub mod sources;
mod tables;
pub mod timespan;
pub mod verdict;
pub mod words;

pub use gzip::gzip;

/// A file as an adapter found it. Copies share its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, relative to the source, with `/` between folders.
    pub path: String,
    pub bytes: Arc<[u8]>,
}

impl SourceFile {
    pub fn new(path: impl Into<String>, bytes: impl Into<Arc<[u8]>>) -> Self {
        Self {
            path: path.into(),
            bytes: bytes.into(),
        }
    }
}
