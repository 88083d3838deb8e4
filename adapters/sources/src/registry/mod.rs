//! OCI registries: the releases and the graph data in their images.
//!
//! A client of our own, of the four things that are asked of a registry: its tags, manifests, small blobs, layers. (docs/decisions tells why.) Every answer
//! has an end: in bytes, in time, in pages, in redirects, in attempts. What comes by digest is believed only once its digest is right.

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
