//! Options and limits of a registry client.

use std::path::PathBuf;
use std::time::Duration;

use towpath_core::retry::{Backoff, Retry};
use towpath_formats::graph::release_metadata::MAX_BYTES;
use towpath_formats::sources::oci::LayerLimits;
use towpath_http::LeastRate;

#[derive(Debug, Clone, Default)]
pub struct RegistryOptions {
    /// Registry credentials, in Docker's config.json format.
    pub auth_file: Option<PathBuf>,
    /// Certificate authorities besides the system's, in PEM.
    pub ca_file: Option<PathBuf>,
    /// Use plain HTTP.
    pub plain_http: bool,
    pub limits: RegistryLimits,
}

#[derive(Debug, Clone)]
pub struct RegistryLimits {
    /// How long a connection may take.
    pub connect_timeout: Duration,
    /// How long a registry may be silent.
    pub idle_timeout: Duration,
    /// The fewest bytes in each such span of a longer answer.
    pub least_rate: LeastRate,
    /// How long a tag list, manifest or token may take.
    pub answer_timeout: Duration,
    /// How long a blob may take.
    pub blob_timeout: Duration,
    /// How long all of a scrape, or a graph-data image, may take.
    pub whole_timeout: Duration,
    /// How often a request is tried. If the registry asks for a longer wait than ours, we give up.
    pub retry: Retry,
    /// The largest manifest, configuration or token.
    pub manifest_bytes: u64,
    /// The largest page of tags.
    pub tags_bytes: u64,
    /// The most tags of a repository, over all pages.
    pub tags: usize,
    /// The most pages of tags. Registries may return smaller pages than requested.
    pub pages: usize,
    /// About the most memory that all releases of a scrape may take.
    pub releases_bytes: u64,
    pub release_layers: LayerLimits,
    pub graph_data_layers: LayerLimits,
}

impl Default for RegistryLimits {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(30),
            // 2 KiB a second, which a modem had.
            least_rate: LeastRate {
                bytes: 40 << 10,
                within: Duration::from_secs(20),
            },
            answer_timeout: Duration::from_secs(60),
            blob_timeout: Duration::from_secs(300),
            whole_timeout: Duration::from_secs(3_600),
            retry: Retry {
                attempts: 4,
                backoff: Backoff {
                    first: Duration::from_millis(250),
                    longest: Duration::from_secs(30),
                },
            },
            // As registries have it.
            manifest_bytes: 4 << 20,
            tags_bytes: 16 << 20,
            tags: 200_000,
            pages: 5_000,
            // Ten thousand releases that each name a hundred others take 70 MiB.
            releases_bytes: 256 << 20,
            // A real layer with release metadata has less than one MiB.
            release_layers: LayerLimits {
                layer_bytes: 64 << 20,
                inflated_bytes: 512 << 20,
                file_bytes: MAX_BYTES,
                kept_bytes: 4 * MAX_BYTES,
                kept_entries: 1_000,
                entries: 1_000_000,
            },
            // These are built on a base image, which must be read to know what is not in it.
            graph_data_layers: LayerLimits {
                layer_bytes: 512 << 20,
                inflated_bytes: 2 << 30,
                file_bytes: 64 << 20,
                kept_bytes: 256 << 20,
                kept_entries: 100_000,
                entries: 1_000_000,
            },
        }
    }
}
