//! Registries: images, a real registry, and a server that does as it is told.

pub mod docker;
pub mod double;
pub mod images;
