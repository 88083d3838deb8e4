//! Registries: images, a real registry, and a double with faults on demand.

pub mod docker;
pub mod double;
pub mod images;
