//! OCI registries: the releases and the graph data in their images.
//!
//! Our own client for the four things that we need: tags, manifests, small blobs and layers (docs/decisions says why).
//! Everything has a limit: bytes, time, pages, redirects, attempts. Content is used only after its digest was checked.

mod auth;
mod client;
mod created;
mod failure;
mod graph_data;
mod image;
mod options;
mod release;
mod scrape;
mod seen;
mod several;
mod tags;

pub use client::Registry;
pub use graph_data::graph_data_image;
pub use options::{RegistryLimits, RegistryOptions};
pub use release::release_image;
pub use scrape::{Progress, Scrape, Step, scrape};
