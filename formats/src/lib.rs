//! Bytes to domain values and back. Still pure: adapters bring the bytes and take them away.
//!
//! Every reader here is bounded, never panics, and returns findings with place and remedy.

use std::sync::Arc;

pub mod agent;
pub mod audit;
pub mod cincinnati;
pub mod cluster_list;
pub mod cluster_objects;
pub mod cluster_shape;
pub mod diff;
pub mod docker_auth;
pub mod duration;
pub mod explain;
pub mod findings;
pub mod fleet;
pub mod fleet_input;
pub mod fleet_policy;
pub mod graph_data;
pub mod graph_lint;
pub mod graph_request;
pub mod image_set;
mod maintenance;
pub mod mirror;
pub mod oci;
pub mod path;
pub mod platforms;
mod read;
pub mod ready;
pub mod reason;
pub mod release;
pub mod release_images;
pub mod release_metadata;
pub mod releases;
pub mod report;
pub mod rollouts;
pub mod sheet;
pub mod signatures;
pub mod source_copy;
pub mod stamp;
mod tables;
pub mod token;
pub mod update_history;
pub mod upstream;
pub mod verdict;
pub mod words;

/// A file as an adapter found it. Copies share its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// Its path, relative to the source, with `/` between folders.
    pub path: String,
    pub bytes: Arc<[u8]>,
}
