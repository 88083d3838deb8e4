//! Container images as registries serve them: names, digests, manifests, layers, and the
//! protocol's headers.
//!
//! Only what it takes to find a few small files in an image. Nothing here trusts a length: every
//! reader has a limit.

mod answers;
mod created;
mod headers;
mod layer;
mod manifest;
mod name;
mod tar;
mod tree;

pub use answers::{RegistryToken, read_config_arch, read_tags, read_token};
pub use created::read_config_created;
pub use headers::{Challenge, challenges, next_link};
pub use layer::{EntryKind, Layer, LayerEntry, LayerLimits, Spent};
pub use manifest::{ACCEPT, Descriptor, Manifest, NotAManifest, read_manifest};
pub use name::{Digest, ImageName, NotAName, Reference, Repository};
pub use tree::{GraphDataFiles, Tree, find_graph_data, is_graph_data};
