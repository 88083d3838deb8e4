//! Graphs: graph data, the answers of services and registries, and the answers to clients,
//! commands and the page.

pub mod cincinnati;
pub mod data;
pub mod explain;
pub mod extend;
pub mod lint;
pub mod platforms;
pub(crate) mod promql;
pub mod release;
pub mod release_images;
pub mod release_metadata;
pub mod releases;
pub mod request;
pub mod rollouts;
pub mod sheet;
pub mod upstream;
