//! Graphs: what people write about them, what services and registries answer, and what clients, commands and the page are told.

pub mod cincinnati;
pub mod data;
pub mod explain;
pub mod lint;
pub mod platforms;
pub mod release;
pub mod release_images;
pub mod release_metadata;
pub mod releases;
pub mod request;
pub mod rollouts;
pub mod sheet;
pub mod upstream;
